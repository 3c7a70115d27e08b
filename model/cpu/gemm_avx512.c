/* AVX-512: 14 x 32, 28 of the 32 registers are sums; one vector of B and one value of A are multiplied twice a load. */
#include <immintrin.h>
#include <stdint.h>

#define REG      __m512
#define LANES    16
#define ROWS     14
#define A_STRIDE 16
#ifndef KC
#define KC 1024
#endif
#define KERNELS gemm_kernels_avx512
#define INLINE  static inline __attribute__((always_inline))

INLINE __mmask16 first(int64_t n)
{
    return (__mmask16)(0xffffu >> (16 - n));
}
INLINE REG reg_zero(void)
{
    return _mm512_setzero_ps();
}
INLINE REG reg_set(float x)
{
    return _mm512_set1_ps(x);
}
INLINE REG reg_load(const float *p)
{
    return _mm512_loadu_ps(p);
}
INLINE void reg_store(float *p, REG v)
{
    _mm512_storeu_ps(p, v);
}
INLINE REG reg_load_part(const float *p, int64_t n)
{
    return _mm512_maskz_loadu_ps(first(n), p);
}
INLINE void reg_store_part(float *p, int64_t n, REG v)
{
    _mm512_mask_storeu_ps(p, first(n), v);
}
INLINE REG reg_fma(REG a, REG b, REG c)
{
    __asm__("vfmadd231ps %2, %1, %0" : "+v"(c) : "v"(a), "v"(b)); /* the form whose sum stays where it is: the others cost moves */
    return c;
}
INLINE REG reg_mul(REG a, REG b)
{
    return _mm512_mul_ps(a, b);
}
INLINE REG reg_add(REG a, REG b)
{
    return _mm512_add_ps(a, b);
}
#define reg_keep(v)     __asm__("" : "+v"(v))
#define keep_address(p) __asm__("" : "+r"(p))

INLINE void reg_transpose(REG v[LANES])
{
    __m512 t[LANES];
    for (int i = 0; i < 16; i += 4) { /* 4 x 4 inside each quarter of the registers */
        __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(v[i], v[i + 1])), b = _mm512_castps_pd(_mm512_unpackhi_ps(v[i], v[i + 1]));
        __m512d c = _mm512_castps_pd(_mm512_unpacklo_ps(v[i + 2], v[i + 3])), d = _mm512_castps_pd(_mm512_unpackhi_ps(v[i + 2], v[i + 3]));
        t[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
        t[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
        t[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
        t[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
    }
    for (int i = 0; i < 4; i++) { /* then the quarters change places: row 4 q + i takes quarter q of t[i], t[4 + i], ... */
        __m512 a = _mm512_shuffle_f32x4(t[i], t[i + 4], 0x44), b = _mm512_shuffle_f32x4(t[i], t[i + 4], 0xee);
        __m512 c = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0x44), d = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0xee);
        v[i] = _mm512_shuffle_f32x4(a, c, 0x88);
        v[i + 4] = _mm512_shuffle_f32x4(a, c, 0xdd);
        v[i + 8] = _mm512_shuffle_f32x4(b, d, 0x88);
        v[i + 12] = _mm512_shuffle_f32x4(b, d, 0xdd);
    }
}

#include "model/cpu/gemm_template.h"
