#include "store/chunk.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "common/hash.h"
#include "store/ids_frame.h"
#include "store/zstd_filter.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "row files are little-endian and values are copied as they lie in memory");

/* A skippable frame: magic, length of what follows, XXH3-64 of the frame before it. */
enum { SEAL_MAGIC = ZSTD_MAGIC_SKIPPABLE_START | 0xF, SEAL_BYTES = 16 };

void chunk_codec_clear(chunk_codec *c)
{
    ZSTD_freeCCtx(c->compressor);
    ZSTD_freeDCtx(c->decompressor);
    ids_packer_free(c->ids);
    free(c->shuffled);
    free(c->packed);
    memset(c, 0, sizeof *c);
}

static status reserve(uint8_t **buffer, size_t *capacity, size_t bytes)
{
    if (bytes <= *capacity)
        return STATUS_OK;
    TRY(memory_grow(buffer, bytes, "a chunk of a row file"));
    *capacity = bytes;
    return STATUS_OK;
}

size_t chunk_bound(size_t bytes)
{
    return ZSTD_compressBound(bytes) + 64 + SEAL_BYTES;
}

status chunk_reserve_packed(chunk_codec *c, size_t packed_bytes)
{
    return reserve(&c->packed, &c->packed_capacity, packed_bytes);
}

/* Byte j of element i goes to j * n + i. One loop for each width, in the shape that compilers vectorise. */
static void shuffle(const void *values, size_t bytes, size_t width, uint8_t *restrict out)
{
    size_t n = bytes / width;
    if (width == 2) {
        const uint16_t *v = values;
        for (size_t i = 0; i < n; i++) {
            out[i] = (uint8_t)v[i];
            out[n + i] = (uint8_t)(v[i] >> 8);
        }
    } else if (width == 4) {
        const uint32_t *v = values;
        for (size_t j = 0; j < 4; j++)
            for (size_t i = 0; i < n; i++)
                out[j * n + i] = (uint8_t)(v[i] >> (8 * j));
    } else {
        const uint64_t *v = values;
        for (size_t j = 0; j < 8; j++)
            for (size_t i = 0; i < n; i++)
                out[j * n + i] = (uint8_t)(v[i] >> (8 * j));
    }
}

static void unshuffle(const uint8_t *restrict in, size_t bytes, size_t width, void *restrict values)
{
    size_t n = bytes / width;
    if (width == 2) {
        uint16_t *restrict v = values;
        for (size_t i = 0; i < n; i++)
            v[i] = (uint16_t)(in[i] | in[n + i] << 8);
    } else if (width == 4) {
        uint32_t *restrict v = values;
        for (size_t i = 0; i < n; i++)
            v[i] = (uint32_t)in[i] | (uint32_t)in[n + i] << 8 | (uint32_t)in[2 * n + i] << 16 | (uint32_t)in[3 * n + i] << 24;
    } else {
        uint64_t *restrict v = values;
        for (size_t i = 0; i < n; i++) {
            uint32_t low = (uint32_t)in[i] | (uint32_t)in[n + i] << 8 | (uint32_t)in[2 * n + i] << 16 | (uint32_t)in[3 * n + i] << 24;
            uint32_t high = (uint32_t)in[4 * n + i] | (uint32_t)in[5 * n + i] << 8 | (uint32_t)in[6 * n + i] << 16 | (uint32_t)in[7 * n + i] << 24;
            v[i] = (uint64_t)high << 32 | low;
        }
    }
}

static void seal(uint8_t *packed, size_t frame)
{
    uint32_t head[2] = {(uint32_t)SEAL_MAGIC, SEAL_BYTES - sizeof head};
    uint64_t sum = hash_xxh3(packed, frame);
    memcpy(packed + frame, head, sizeof head);
    memcpy(packed + frame + sizeof head, &sum, sizeof sum);
}

static int is_sealed(const uint8_t *packed, size_t frame)
{
    uint32_t head[2];
    uint64_t sum;
    memcpy(head, packed + frame, sizeof head);
    memcpy(&sum, packed + frame + sizeof head, sizeof sum);
    return head[0] == (uint32_t)SEAL_MAGIC && head[1] == SEAL_BYTES - sizeof head && sum == hash_xxh3(packed, frame);
}

/* What packs byte planes is above all the entropy coder, with a table for each plane of 65,536 bytes (the window is one): matches are few, and
 * none far away. The few 8-byte numbers are packed best by the level's own settings, all others by long matches alone. */
static status set_up(chunk_codec *c, size_t width)
{
    bool wide = width == 8;
    const struct { ZSTD_cParameter name; int value; } set[] = {
        {ZSTD_c_compressionLevel, ZSTD_FILTER_LEVEL}, {ZSTD_c_windowLog, 16}, {ZSTD_c_strategy, wide ? ZSTD_dfast : ZSTD_fast},
        {ZSTD_c_hashLog, wide ? 0 : 11}, {ZSTD_c_minMatch, wide ? 0 : 7}, /* 0: the level's own */
    };
    if (!c->compressor && !(c->compressor = ZSTD_createCCtx()))
        return fail(STATUS_RESOURCE, "out of memory: a zstd compressor");
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        ZSTD_CCtx_setParameter(c->compressor, set[i].name, set[i].value);
    return STATUS_OK;
}

/* Shuffled bytes in *planes, which is `values` itself where elements are bytes, and room for the chunk packed. */
static status begin_pack(chunk_codec *c, const void *values, size_t bytes, size_t width, const uint8_t **planes)
{
    TRY(chunk_reserve_packed(c, chunk_bound(bytes)));
    *planes = values;
    if (width == 1)
        return STATUS_OK;
    TRY(reserve(&c->shuffled, &c->shuffled_capacity, bytes));
    shuffle(values, bytes, width, c->shuffled);
    *planes = c->shuffled;
    return STATUS_OK;
}

static void end_pack(chunk_codec *c, size_t frame, const uint8_t **packed, size_t *packed_bytes)
{
    seal(c->packed, frame);
    *packed = c->packed;
    *packed_bytes = frame + SEAL_BYTES;
}

status chunk_pack(chunk_codec *c, const void *values, size_t bytes, size_t width, const uint8_t **packed, size_t *packed_bytes)
{
    const uint8_t *planes;
    TRY(begin_pack(c, values, bytes, width, &planes));
    TRY(set_up(c, width));
    size_t frame = ZSTD_compress2(c->compressor, c->packed, c->packed_capacity - SEAL_BYTES, planes, bytes);
    if (ZSTD_isError(frame))
        return fail(STATUS_RESOURCE, "zstd cannot compress %zu bytes: %s", bytes, ZSTD_getErrorName(frame));
    end_pack(c, frame, packed, packed_bytes);
    return STATUS_OK;
}

status chunk_pack_ids(chunk_codec *c, const uint32_t *ids, size_t n, const uint8_t **packed, size_t *packed_bytes)
{
    const uint8_t *planes;
    size_t frame;
    TRY(begin_pack(c, ids, n * sizeof *ids, sizeof *ids, &planes));
    if (!c->ids)
        TRY(ids_packer_create(&c->ids));
    /* A chunk that was filled up with zeros is short of ids: plain bytes would make a long file of a few rows. */
    bool quick = c->quick && ids[n - 1] != 0;
    TRY(ids_frame_pack(c->ids, ids, planes, n, quick, c->packed, c->packed_capacity - SEAL_BYTES, &frame));
    end_pack(c, frame, packed, packed_bytes);
    return STATUS_OK;
}

const char *chunk_unpack(chunk_codec *c, const uint8_t *packed, size_t packed_bytes, void *values, size_t bytes, size_t width)
{
    if (packed_bytes <= SEAL_BYTES)
        return "is too short";
    size_t frame = packed_bytes - SEAL_BYTES;
    if (!is_sealed(packed, frame))
        return "does not agree with its checksum";
    if (ZSTD_getFrameContentSize(packed, frame) != bytes)
        return "is not of the chunk's size";
    if (!c->decompressor && !(c->decompressor = ZSTD_createDCtx()))
        return "finds no memory for a zstd decompressor";
    uint8_t *to = values;
    if (width > 1) {
        if (reserve(&c->shuffled, &c->shuffled_capacity, bytes) != STATUS_OK)
            return "finds no memory";
        to = c->shuffled;
    }
    if (ZSTD_decompressDCtx(c->decompressor, to, bytes, packed, frame) != bytes)
        return "is not valid zstd";
    if (width > 1)
        unshuffle(c->shuffled, bytes, width, values);
    return NULL;
}
