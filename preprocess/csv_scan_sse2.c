/* Built for any x86-64. */
#include <emmintrin.h>

#include "preprocess/csv_scan_kinds.h"

static inline uint64_t equal_bits(const __m128i v[4], char c)
{
    __m128i k = _mm_set1_epi8(c);
    uint64_t bits = 0;
    for (int i = 0; i < 4; i++)
        bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v[i], k)) << (16 * i);
    return bits;
}

static inline csv_masks masks_of(const uint8_t *p, char delimiter)
{
    __m128i v[4];
    for (int i = 0; i < 4; i++)
        v[i] = _mm_loadu_si128((const __m128i *)(p + 16 * i));
    return (csv_masks){equal_bits(v, '"'), equal_bits(v, delimiter), equal_bits(v, '\n'), equal_bits(v, '\r')};
}

static inline uint64_t prefix_xor(uint64_t x)
{
    for (int shift = 1; shift < 64; shift *= 2)
        x ^= x << shift;
    return x;
}

#define SCAN_NAME "sse2"
#define SCAN_TABLE csv_scan_sse2
#include "preprocess/csv_scan_body.h"
