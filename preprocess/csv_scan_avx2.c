/* Built with -mavx2 -mpclmul -mbmi -mpopcnt; runs only where csv_scan.c finds all four. */
#include <immintrin.h>

#include "preprocess/csv_scan_kinds.h"

static inline uint64_t equal_bits(__m256i low, __m256i high, char c)
{
    __m256i k = _mm256_set1_epi8(c);
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, k)) |
           (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, k)) << 32;
}

static inline csv_masks masks_of(const uint8_t *p, char delimiter)
{
    __m256i low = _mm256_loadu_si256((const __m256i *)p), high = _mm256_loadu_si256((const __m256i *)(p + 32));
    return (csv_masks){equal_bits(low, high, '"'), equal_bits(low, high, delimiter), equal_bits(low, high, '\n'), equal_bits(low, high, '\r')};
}

static inline uint64_t prefix_xor(uint64_t x)
{
    return (uint64_t)_mm_cvtsi128_si64(_mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)x), _mm_set1_epi8((char)0xFF), 0));
}

#define SCAN_NAME "avx2"
#define SCAN_TABLE csv_scan_avx2
#include "preprocess/csv_scan_body.h"
