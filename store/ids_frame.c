#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_compressSequences, in the shared library since 1.5.0 */
#include "store/ids_frame.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
    LEAST_IDS = 4,  /* of a repeat: what its three numbers cost pays then even in the low plane, where bytes are nearly random */
    LEAST_RUN = 10, /* equal bytes in a row of the high planes */
    TABLE_BITS = 13, /* 16 KiB, which stay in the first-level cache */
    CALM = 7,        /* after every 2^CALM ids without a repeat the steps of the search grow by one */
    MOST_SEQUENCES = 2 * (IDS_FRAME_MOST / LEAST_IDS + 1) + 2 * (IDS_FRAME_MOST / LEAST_RUN + 1),
};

struct ids_packer {
    ZSTD_CCtx *zstd;
    uint16_t place[1 << TABLE_BITS]; /* where ids of this hash were met last */
    ZSTD_Sequence sequence[MOST_SEQUENCES];
    uint8_t high[2 * IDS_FRAME_MOST + 4096]; /* the frame of the two high planes alone, when quick */
};

void ids_packer_free(ids_packer *p)
{
    if (p)
        ZSTD_freeCCtx(p->zstd);
    free(p);
}

status ids_packer_create(ids_packer **out)
{
    ids_packer *p;
    *out = NULL;
    TRY(memory_new(&p, sizeof *p, "packing ids"));
    if (!(p->zstd = ZSTD_createCCtx())) {
        ids_packer_free(p);
        return fail(STATUS_RESOURCE, "out of memory: a zstd compressor");
    }
    /* The search is ours, so that its table is as small as can be; the window holds all planes, so that each may be a block. */
    static const struct { ZSTD_cParameter name; int value; } set[] = {
        {ZSTD_c_compressionLevel, 3}, {ZSTD_c_windowLog, 18}, {ZSTD_c_strategy, ZSTD_fast}, {ZSTD_c_hashLog, ZSTD_HASHLOG_MIN}, {ZSTD_c_minMatch, 3},
        {ZSTD_c_blockDelimiters, ZSTD_sf_explicitBlockDelimiters},
    };
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        ZSTD_CCtx_setParameter(p->zstd, set[i].name, set[i].value);
    *out = p;
    return STATUS_OK;
}

static inline uint64_t two_at(const uint32_t *ids, size_t i)
{
    uint64_t two;
    memcpy(&two, ids + i, sizeof two);
    return two;
}

/* Of the four ids from i on, which have 17 bits as a rule: so shifted they hardly overlap. */
static inline size_t hash_at(const uint32_t *ids, size_t i)
{
    return (size_t)((two_at(ids, i) ^ two_at(ids, i + 2) << 15) * 0x9E3779B97F4A7C15u >> (64 - TABLE_BITS));
}

static ZSTD_Sequence *put_match(ZSTD_Sequence *s, size_t offset, size_t literals, size_t length)
{
    *s = (ZSTD_Sequence){.offset = (unsigned)offset, .litLength = (unsigned)literals, .matchLength = (unsigned)length};
    return s + 1;
}

static ZSTD_Sequence *end_block(ZSTD_Sequence *s, size_t literals)
{
    *s = (ZSTD_Sequence){.litLength = (unsigned)literals};
    return s + 1;
}

/* Repeats of LEAST_IDS ids or more, one after the other, and the end of the block. Every other id is looked up and all
 * are remembered, but for those that longer steps pass over. */
static ZSTD_Sequence *find_repeats(ids_packer *p, const uint32_t *ids, size_t n, ZSTD_Sequence *s)
{
    size_t done = 0, i = 1;
    memset(p->place, 0, sizeof p->place);
    while (i + LEAST_IDS < n) {
        size_t hash = hash_at(ids, i), from = p->place[hash];
        p->place[hash] = (uint16_t)i;
        if ((two_at(ids, from) ^ two_at(ids, i)) | (two_at(ids, from + 2) ^ two_at(ids, i + 2))) {
            p->place[hash_at(ids, i + 1)] = (uint16_t)(i + 1);
            i += 2 + ((i - done) >> CALM);
            continue;
        }
        size_t begin = i, end = i + LEAST_IDS, offset = i - from;
        while (end < n && ids[end - offset] == ids[end])
            end++;
        while (begin > done && begin > offset && ids[begin - offset - 1] == ids[begin - 1])
            begin--;
        s = put_match(s, offset, begin - done, end - begin);
        done = i = end;
    }
    return end_block(s, n - done);
}

/* Bit k: byte k at p is as the one before it; of bytes from..n-1, others 0. */
static uint64_t same_few(const uint8_t *p, size_t from, size_t n)
{
    uint64_t same = 0;
    for (size_t k = from; k < n; k++)
        same |= (uint64_t)(p[k] == p[k - 1]) << k;
    return same;
}

/* The same of 64 bytes. */
#ifdef __SSE2__
static inline uint64_t same_16(const uint8_t *p)
{
    __m128i here = _mm_loadu_si128((const __m128i *)(const void *)p), before = _mm_loadu_si128((const __m128i *)(const void *)(p - 1));
    return (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(here, before));
}

static inline uint64_t same_64(const uint8_t *p)
{
    return same_16(p) | same_16(p + 16) << 16 | same_16(p + 32) << 32 | same_16(p + 48) << 48;
}
#else
static inline uint64_t same_64(const uint8_t *p)
{
    return same_few(p, 0, 64);
}
#endif

/* Runs of one byte: each byte but the first repeats the one before. Where runs begin and end are the bits that change. */
static ZSTD_Sequence *find_runs(const uint8_t *plane, size_t n, ZSTD_Sequence *s)
{
    size_t done = 0, begin = 0, block = 0;
    bool inside = false;
    for (uint64_t last = 0; block < n; block += 64) {
        bool whole = block > 0 && n - block >= 64;
        uint64_t same = whole ? same_64(plane + block) : same_few(plane + block, block == 0, n - block < 64 ? n - block : 64);
        for (uint64_t change = same ^ (same << 1 | last); change; change &= change - 1) {
            size_t at = block + (size_t)__builtin_ctzll(change);
            if (inside && at - begin >= LEAST_RUN) {
                s = put_match(s, 1, begin - done, at - begin);
                done = at;
            }
            begin = at;
            inside = !inside;
        }
        last = same >> 63;
    }
    if (inside && n - begin >= LEAST_RUN) {
        s = put_match(s, 1, begin - done, n - begin);
        done = n;
    }
    return end_block(s, n - done);
}

static status compress(ids_packer *p, const ZSTD_Sequence *end, const uint8_t *planes, size_t bytes, uint8_t *out, size_t room, size_t *packed)
{
    *packed = ZSTD_compressSequences(p->zstd, out, room, p->sequence, (size_t)(end - p->sequence), planes, bytes);
    if (ZSTD_isError(*packed))
        return fail(STATUS_RESOURCE, "zstd cannot compress %zu bytes: %s", bytes, ZSTD_getErrorName(*packed));
    return STATUS_OK;
}

/* ---- quick: a frame put together by hand (RFC 8878, 3.1.1) ---- */

/* Bytes before the first block; without a dictionary. */
static size_t header_bytes(const uint8_t *frame)
{
    static const size_t size_field[] = {0, 2, 4, 8};
    unsigned about = frame[4], single = about >> 5 & 1, size = about >> 6;
    return 5 + !single + (size ? size_field[size] : single);
}

static uint8_t *put(uint8_t *to, uint32_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        *to++ = (uint8_t)(value >> 8 * i);
    return to;
}

/* The low planes as one block of plain bytes; behind it the blocks of the high planes, which were packed as a frame of their own: a plain block
 * changes nothing of what the next one may refer to, so that they mean the same here. */
static status pack_quickly(ids_packer *p, const uint8_t *planes, size_t n, uint8_t *out, size_t room, size_t *bytes)
{
    enum { MAGIC_BYTES = 4, SIZE_4_SINGLE = 0xA0, PLAIN = 0, BLOCK_HEADER = 3 };
    size_t high;
    ZSTD_Sequence *end = find_runs(planes + 2 * n, n, p->sequence);
    TRY(compress(p, find_runs(planes + 3 * n, n, end), planes + 2 * n, 2 * n, p->high, sizeof p->high, &high));
    size_t skip = header_bytes(p->high);
    uint8_t *to = put(out, ZSTD_MAGICNUMBER, MAGIC_BYTES);
    to = put(to, SIZE_4_SINGLE, 1);
    to = put(to, (uint32_t)(4 * n), 4);
    to = put(to, (uint32_t)(2 * n) << 3 | PLAIN << 1, BLOCK_HEADER);
    *bytes = (size_t)(to - out) + 2 * n + high - skip;
    if (*bytes > room)
        return fail(STATUS_RESOURCE, "packing ids: no room for %zu bytes", *bytes);
    memcpy(to, planes, 2 * n);
    memcpy(to + 2 * n, p->high + skip, high - skip);
    return STATUS_OK;
}

status ids_frame_pack(ids_packer *p, const uint32_t *ids, const uint8_t *planes, size_t n, bool quick, uint8_t *out, size_t room, size_t *bytes)
{
    if (quick)
        return pack_quickly(p, planes, n, out, room, bytes);
    ZSTD_Sequence *low = p->sequence, *end = find_repeats(p, ids, n, low);
    size_t found = (size_t)(end - low);
    memcpy(end, low, found * sizeof *end); /* the second plane repeats where the first does */
    end = find_runs(planes + 2 * n, n, end + found);
    return compress(p, find_runs(planes + 3 * n, n, end), planes, 4 * n, out, room, bytes);
}
