#include "support/packed_case.h"

#include <string.h>

#include <zlib.h>
#include <zstd.h>

#include "support/support.h"

static size_t pack_gzip(const uint8_t *p, size_t n, uint8_t *out, size_t room)
{
    z_stream z = {0};
    ck_assert_int_eq(deflateInit2(&z, 1 + (int)support_below(9), Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)p;
    z.avail_in = (uInt)n;
    z.next_out = out;
    z.avail_out = (uInt)room;
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t bytes = z.total_out;
    deflateEnd(&z);
    return bytes;
}


static size_t pack_zstd(const uint8_t *p, size_t n, uint8_t *out, size_t room)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, 1 + (int)support_below(5));
    size_t bytes = ZSTD_compress2(c, out, room, p, n);
    ck_assert(!ZSTD_isError(bytes));
    ZSTD_freeCCtx(c);
    return bytes;
}

size_t packed_case(packed_kind kind, const uint8_t *p, size_t n, int parts, uint8_t *out, size_t *ends)
{
    size_t used = 0, done = 0;
    for (int i = 0; i < parts; i++) {
        size_t take = i == parts - 1 ? n - done : support_below(n - done + 1), room = 2 * take + 200;
        if (kind == PACKED_ZSTD && !ends && support_below(3) == 0) { /* a frame that holds no data */
            memcpy(out + used, "\x53\x2A\x4D\x18\x04\0\0\0note", 12);
            used += 12;
        }
        used += kind == PACKED_GZIP ? pack_gzip(p + done, take, out + used, room) : pack_zstd(p + done, take, out + used, room);
        done += take;
        if (ends)
            ends[i] = used;
    }
    return used;
}
