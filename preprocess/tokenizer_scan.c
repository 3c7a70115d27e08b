#include "preprocess/tokenizer_scan.h"

#include <string.h>

#include "preprocess/unicode.h"
#include "preprocess/utf8.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { STEP = 16 };

/* Bytes of the white space of str.split() at p, 0 where there is none. Valid text. */
static size_t space_bytes(const unsigned char *p)
{
    if (p[0] < 0x80)
        return (p[0] >= 9 && p[0] <= 13) || (p[0] >= 28 && p[0] <= 32);
    if (p[0] != 0xC2 && (p[0] < 0xE1 || p[0] > 0xE3))
        return 0;
    size_t bytes;
    uint32_t c = utf8_get((const char *)p, &bytes);
    return unicode_get(c)->flags & UNICODE_SPACE ? bytes : 0;
}

#ifdef __SSE2__
static inline __m128i between(__m128i x, int low, int high)
{
    __m128i above = _mm_sub_epi8(x, _mm_set1_epi8((char)low));
    return _mm_cmpeq_epi8(_mm_min_epu8(above, _mm_set1_epi8((char)(high - low))), above);
}

/* Of the 16 bytes at p, of which one more may be read: those that may be white space other than a single ' ', as bits. */
static inline unsigned odd_bytes(const unsigned char *p)
{
    __m128i x = _mm_loadu_si128((const __m128i *)p), y = _mm_loadu_si128((const __m128i *)(p + 1)), space = _mm_set1_epi8(' ');
    __m128i twice = _mm_and_si128(_mm_cmpeq_epi8(x, space), _mm_cmpeq_epi8(y, space));
    __m128i lead = _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8((char)0xC2)), between(x, 0xE1, 0xE3));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(twice, lead), between(x, 0, 31)));
}

static inline uint64_t separators_16(const char *p)
{
    __m128i x = _mm_loadu_si128((const __m128i *)p);
    __m128i signs = _mm_or_si128(_mm_or_si128(between(x, 32, 47), between(x, 58, 64)), _mm_or_si128(between(x, 91, 96), between(x, 123, 126)));
    return (uint64_t)(unsigned)_mm_movemask_epi8(signs);
}

static inline uint64_t separators(const char *p)
{
    return separators_16(p) | separators_16(p + 16) << 16 | separators_16(p + 32) << 32 | separators_16(p + 48) << 48;
}

/* Copies bytes from `i` on as long as no odd one comes and a whole step is left. Returns how many. */
static inline size_t copy_plain(const unsigned char *u, size_t n, size_t i, char *out)
{
    size_t from = i;
    while (i + STEP < n) {
        unsigned odd = odd_bytes(u + i);
        memcpy(out + (i - from), u + i, STEP);
        if (odd)
            return i - from + (size_t)__builtin_ctz(odd);
        i += STEP;
    }
    return i - from;
}
#else
static inline uint64_t separators(const char *p)
{
    uint64_t found = 0;
    for (int i = 0; i < SCAN_BLOCK; i++) {
        unsigned char c = (unsigned char)p[i];
        found |= (uint64_t)((c >= 32 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126)) << i;
    }
    return found;
}

static inline size_t copy_plain(const unsigned char *u, size_t n, size_t i, char *out)
{
    (void)u, (void)n, (void)i, (void)out;
    return 0;
}
#endif

size_t scan_join(const char *text, size_t n, char *out)
{
    const unsigned char *u = (const unsigned char *)text;
    size_t written = 0, i = 0, space;
    for (; i < n && (space = space_bytes(u + i)) > 0; i += space) { /* so that a space never comes first */
    }
    while (i < n) {
        size_t plain = copy_plain(u, n, i, out + written);
        written += plain;
        i += plain;
        space = space_bytes(u + i);
        if (!space) {
            out[written++] = text[i++];
            continue;
        }
        if (out[written - 1] != ' ')
            out[written++] = ' ';
        for (i += space; i < n && (space = space_bytes(u + i)) > 0; i += space) { /* a run of them is one */
        }
    }
    return written && out[written - 1] == ' ' ? written - 1 : written;
}

size_t scan_words(scan_edges *e, const char *p, size_t n)
{
    size_t kept = e->count - e->used; /* the beginning of a word whose end is still to come */
    if (kept)
        e->at[0] = e->at[e->used];
    e->count = kept;
    /* One block more than the text has ends a word at its very end. */
    while (e->count < 2 * SCAN_BATCH && e->block <= n) {
        uint64_t outside = separators(p + e->block), edges = outside ^ (outside << 1 | e->outside);
        e->outside = outside >> 63;
        for (; edges; edges &= edges - 1)
            e->at[e->count++] = e->block + (size_t)__builtin_ctzll(edges);
        e->block += SCAN_BLOCK;
    }
    e->used = e->count & ~(size_t)1;
    return e->used / 2;
}
