/* AVX2 and FMA: 6 x 16, 12 of the 16 registers are sums. */
#include <immintrin.h>
#include <stdint.h>

#define REG      __m256
#define LANES    8
#define ROWS     6
#define A_STRIDE 8
#ifndef KC
#define KC 1024
#endif
#define KERNELS gemm_kernels_avx2
#define INLINE  static inline __attribute__((always_inline))

INLINE __m256i first(int64_t n)
{
    static const int32_t ones_then_zeros[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
    return _mm256_loadu_si256((const __m256i *)(ones_then_zeros + 8 - n));
}
INLINE REG reg_zero(void)
{
    return _mm256_setzero_ps();
}
INLINE REG reg_set(float x)
{
    return _mm256_set1_ps(x);
}
INLINE REG reg_load(const float *p)
{
    return _mm256_loadu_ps(p);
}
INLINE void reg_store(float *p, REG v)
{
    _mm256_storeu_ps(p, v);
}
INLINE REG reg_load_part(const float *p, int64_t n)
{
    return n == LANES ? reg_load(p) : _mm256_maskload_ps(p, first(n));
}
INLINE void reg_store_part(float *p, int64_t n, REG v)
{
    if (n == LANES)
        reg_store(p, v);
    else
        _mm256_maskstore_ps(p, first(n), v);
}
INLINE REG reg_fma(REG a, REG b, REG c)
{
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(c) : "x"(a), "x"(b)); /* the form whose sum stays where it is: the others cost moves */
    return c;
}
INLINE REG reg_mul(REG a, REG b)
{
    return _mm256_mul_ps(a, b);
}
INLINE REG reg_add(REG a, REG b)
{
    return _mm256_add_ps(a, b);
}
#define reg_keep(v)     __asm__("" : "+x"(v))
#define keep_address(p) __asm__("" : "+r"(p))

INLINE void reg_transpose(REG v[LANES])
{
    __m256 t[LANES];
    for (int i = 0; i < 8; i += 4) { /* 4 x 4 inside each half of the registers */
        __m256d a = _mm256_castps_pd(_mm256_unpacklo_ps(v[i], v[i + 1])), b = _mm256_castps_pd(_mm256_unpackhi_ps(v[i], v[i + 1]));
        __m256d c = _mm256_castps_pd(_mm256_unpacklo_ps(v[i + 2], v[i + 3])), d = _mm256_castps_pd(_mm256_unpackhi_ps(v[i + 2], v[i + 3]));
        t[i] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, c));
        t[i + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, c));
        t[i + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(b, d));
        t[i + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(b, d));
    }
    for (int i = 0; i < 4; i++) {
        v[i] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x20);
        v[i + 4] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x31);
    }
}

#include "model/cpu/gemm_template.h"
