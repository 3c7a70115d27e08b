#include "store/zstd_filter.h"

#include <hdf5.h>
#include <stdlib.h>
#include <zstd.h>

enum { MOST_CHUNK_BYTES = 1 << 30 };

static size_t decompress(size_t bytes, size_t *capacity, void **buffer)
{
    unsigned long long size = ZSTD_getFrameContentSize(*buffer, bytes);
    if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR || size > MOST_CHUNK_BYTES)
        return 0;
    void *out = H5allocate_memory(size ? size : 1, false);
    if (!out)
        return 0;
    size_t n = ZSTD_decompress(out, size, *buffer, bytes);
    if (ZSTD_isError(n)) {
        H5free_memory(out);
        return 0;
    }
    H5free_memory(*buffer);
    *buffer = out;
    *capacity = size ? size : 1;
    return n;
}

static size_t compress(int level, size_t bytes, size_t *capacity, void **buffer)
{
    size_t bound = ZSTD_compressBound(bytes);
    void *out = H5allocate_memory(bound, false);
    if (!out)
        return 0;
    size_t n = ZSTD_compress(out, bound, *buffer, bytes, level);
    if (ZSTD_isError(n)) {
        H5free_memory(out);
        return 0;
    }
    H5free_memory(*buffer);
    *buffer = out;
    *capacity = bound;
    return n;
}

/* HDF5's convention: 0 is failure, else the bytes now in *buffer. */
static size_t filter(unsigned flags, size_t values, const unsigned value[], size_t bytes, size_t *capacity, void **buffer)
{
    if (flags & H5Z_FLAG_REVERSE)
        return decompress(bytes, capacity, buffer);
    return compress(values > 0 ? (int)value[0] : ZSTD_FILTER_LEVEL, bytes, capacity, buffer);
}

bool zstd_filter_register(void)
{
    static const H5Z_class2_t class = {
        .version = H5Z_CLASS_T_VERS,
        .id = ZSTD_FILTER,
        .encoder_present = 1,
        .decoder_present = 1,
        .name = "zstd",
        .filter = filter,
    };
    return H5Zregister(&class) >= 0;
}
