/* Sixteen floats at once, the same bits on every machine.
 *
 *     vec16 sum = vec_zero();
 *     for (int64_t j = 0; j < n; j += 16)
 *         sum = vec_add(sum, vec_load(x + j, n - j));      // fewer than 16 left: the rest reads as 0
 *     float total = vec_sum(sum);                          // folded 8, 4, 2, 1
 *
 * A source that includes this is compiled three times: plain x86-64 (the compiler's vectors), AVX2 + FMA (two halves), AVX-512 (one
 * register; FRETSAW_ISA_AVX2 and FRETSAW_ISA_AVX512 say which). Each function is one correctly rounded operation an element, so the three give equal bits. ISA(name) makes the
 * name of the function for the instruction set at hand. Comparisons are false for NaN; vec_max(a, b) is a > b ? a : b.
 */
#ifndef FRETSAW_MODEL_CPU_VEC_H
#define FRETSAW_MODEL_CPU_VEC_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(FRETSAW_ISA_AVX512) || defined(FRETSAW_ISA_AVX2)
#include <immintrin.h>
#endif

#define VEC static inline __attribute__((always_inline, unused))

#if defined(FRETSAW_ISA_AVX512)

#define ISA(name) name##_avx512
typedef __m512 vec16;
typedef __m512i veci;
typedef __mmask16 vecm;

VEC vecm vecm_first(int64_t n) { return n >= 16 ? (vecm)0xffff : (vecm)((1u << n) - 1); }
VEC uint32_t vecm_bits(vecm m) { return m; }
VEC vecm vecm_from_bits(uint32_t bits) { return (vecm)bits; }
VEC vecm vecm_and(vecm a, vecm b) { return a & b; }
VEC vec16 vec_set(float x) { return _mm512_set1_ps(x); }
VEC vec16 vec_load_full(const float *p) { return _mm512_loadu_ps(p); }
VEC vec16 vec_load_part(const float *p, int64_t n) { return _mm512_maskz_loadu_ps(vecm_first(n), p); }
VEC void vec_store_full(float *p, vec16 x) { _mm512_storeu_ps(p, x); }
VEC void vec_store_part(float *p, vec16 x, int64_t n) { _mm512_mask_storeu_ps(p, vecm_first(n), x); }
VEC vec16 vec_add(vec16 a, vec16 b) { return _mm512_add_ps(a, b); }
VEC vec16 vec_sub(vec16 a, vec16 b) { return _mm512_sub_ps(a, b); }
VEC vec16 vec_mul(vec16 a, vec16 b) { return _mm512_mul_ps(a, b); }
VEC vec16 vec_div(vec16 a, vec16 b) { return _mm512_div_ps(a, b); }
VEC vec16 vec_sqrt(vec16 a) { return _mm512_sqrt_ps(a); }
VEC vec16 vec_fma(vec16 a, vec16 b, vec16 c) { return _mm512_fmadd_ps(a, b, c); }
VEC vec16 vec_max(vec16 a, vec16 b) { return _mm512_max_ps(a, b); }
VEC vec16 vec_min(vec16 a, vec16 b) { return _mm512_min_ps(a, b); }
VEC vecm vec_gt(vec16 a, vec16 b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
VEC vec16 vec_select(vecm m, vec16 a, vec16 b) { return _mm512_mask_blend_ps(m, b, a); }
VEC veci veci_set(uint32_t x) { return _mm512_set1_epi32((int)x); }
VEC veci veci_load_full(const void *p) { return _mm512_loadu_si512(p); }
VEC veci veci_load_part(const void *p, int64_t n) { return _mm512_maskz_loadu_epi32(vecm_first(n), p); }
VEC void veci_store_full(void *p, veci x) { _mm512_storeu_si512(p, x); }
VEC void veci_store_part(void *p, veci x, int64_t n) { _mm512_mask_storeu_epi32(p, vecm_first(n), x); }
VEC veci veci_add(veci a, veci b) { return _mm512_add_epi32(a, b); }
VEC veci veci_sub(veci a, veci b) { return _mm512_sub_epi32(a, b); }
VEC veci veci_xor(veci a, veci b) { return _mm512_xor_si512(a, b); }
VEC veci veci_and(veci a, veci b) { return _mm512_and_si512(a, b); }
VEC veci veci_select(vecm m, veci a, veci b) { return _mm512_mask_blend_epi32(m, b, a); }
VEC vecm veci_not_below(veci a, veci b) { return _mm512_cmpge_epu32_mask(a, b); }
VEC vecm veci_equal(veci a, veci b) { return _mm512_cmpeq_epi32_mask(a, b); }
VEC veci vec_as_int(vec16 x) { return _mm512_castps_si512(x); }
VEC vec16 veci_as_float(veci x) { return _mm512_castsi512_ps(x); }
#define veci_shift_left(x, n) _mm512_slli_epi32(x, n)
#define veci_shift_right_signed(x, n) _mm512_srai_epi32(x, n)

VEC float vec_sum(vec16 x)
{
    __m256 a = _mm256_add_ps(_mm512_castps512_ps256(x), _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(x), 1)));
    __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_shuffle_ps(b, b, 1)));
}

/* The greatest of the 16, folded like a sum by vec_max; NaN only by chance, as with every comparison. */
VEC float vec_greatest(vec16 x)
{
    __m256 a = _mm256_max_ps(_mm512_castps512_ps256(x), _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(x), 1)));
    __m128 b = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_max_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_max_ss(b, _mm_shuffle_ps(b, b, 1)));
}

/* 64-bit products of the even elements: low word in the even, high word in the odd one. */
VEC veci veci_multiply_even(veci a, veci b) { return _mm512_mul_epu32(a, b); }
VEC veci veci_odd_to_even(veci x) { return _mm512_srli_epi64(x, 32); } /* zeros in the odd elements */
/* Even elements of x; the even ones of y as the odd ones. */
VEC veci veci_even_and_odd(veci x, veci y) { return _mm512_mask_blend_epi32(0xaaaa, x, _mm512_slli_epi64(y, 32)); }

/* Position 4i + j of the inputs holds item 4j + i; out[k] gets w0..w3 of items 4k .. 4k+3, item after item. */
VEC void veci_interleave(veci w0, veci w1, veci w2, veci w3, veci out[4])
{
    __m512i a = _mm512_unpacklo_epi32(w0, w1), b = _mm512_unpacklo_epi32(w2, w3);
    __m512i c = _mm512_unpackhi_epi32(w0, w1), d = _mm512_unpackhi_epi32(w2, w3);
    out[0] = _mm512_unpacklo_epi64(a, b);
    out[1] = _mm512_unpackhi_epi64(a, b);
    out[2] = _mm512_unpacklo_epi64(c, d);
    out[3] = _mm512_unpackhi_epi64(c, d);
}

#elif defined(FRETSAW_ISA_AVX2)

#define ISA(name) name##_avx2
typedef struct vec16 {
    __m256 a, b;
} vec16;
typedef struct veci {
    __m256i a, b;
} veci;
typedef struct vecm {
    __m256 a, b; /* all ones or all zeros an element */
} vecm;

#define VEC_HALVES(type, call_a, call_b) ((type){call_a, call_b})
VEC __m256i vec_iota_below(int64_t n, int first)
{
    __m256i iota = _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(first));
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n > 16 ? 16 : (int)n), iota);
}
VEC vecm vecm_first(int64_t n) { return VEC_HALVES(vecm, _mm256_castsi256_ps(vec_iota_below(n, 0)), _mm256_castsi256_ps(vec_iota_below(n, 8))); }
VEC uint32_t vecm_bits(vecm m) { return (uint32_t)_mm256_movemask_ps(m.a) | (uint32_t)_mm256_movemask_ps(m.b) << 8; }
VEC vecm vecm_from_bits(uint32_t bits)
{
    __m256i all = _mm256_set1_epi32((int)bits), a = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128), b = _mm256_slli_epi32(a, 8);
    return VEC_HALVES(vecm, _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(all, a), a)),
                      _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(all, b), b)));
}
VEC vecm vecm_and(vecm x, vecm y) { return VEC_HALVES(vecm, _mm256_and_ps(x.a, y.a), _mm256_and_ps(x.b, y.b)); }
VEC vec16 vec_set(float x) { return VEC_HALVES(vec16, _mm256_set1_ps(x), _mm256_set1_ps(x)); }
VEC vec16 vec_load_full(const float *p) { return VEC_HALVES(vec16, _mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)); }
VEC vec16 vec_load_part(const float *p, int64_t n)
{
    return VEC_HALVES(vec16, _mm256_maskload_ps(p, vec_iota_below(n, 0)), n > 8 ? _mm256_maskload_ps(p + 8, vec_iota_below(n, 8)) : _mm256_setzero_ps());
}
VEC void vec_store_full(float *p, vec16 x) { _mm256_storeu_ps(p, x.a), _mm256_storeu_ps(p + 8, x.b); }
VEC void vec_store_part(float *p, vec16 x, int64_t n)
{
    _mm256_maskstore_ps(p, vec_iota_below(n, 0), x.a);
    if (n > 8)
        _mm256_maskstore_ps(p + 8, vec_iota_below(n, 8), x.b);
}
VEC vec16 vec_add(vec16 x, vec16 y) { return VEC_HALVES(vec16, _mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)); }
VEC vec16 vec_sub(vec16 x, vec16 y) { return VEC_HALVES(vec16, _mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)); }
VEC vec16 vec_mul(vec16 x, vec16 y) { return VEC_HALVES(vec16, _mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)); }
VEC vec16 vec_div(vec16 x, vec16 y) { return VEC_HALVES(vec16, _mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)); }
VEC vec16 vec_sqrt(vec16 x) { return VEC_HALVES(vec16, _mm256_sqrt_ps(x.a), _mm256_sqrt_ps(x.b)); }
VEC vec16 vec_fma(vec16 x, vec16 y, vec16 z) { return VEC_HALVES(vec16, _mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)); }
VEC vec16 vec_max(vec16 x, vec16 y) { return VEC_HALVES(vec16, _mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)); }
VEC vec16 vec_min(vec16 x, vec16 y) { return VEC_HALVES(vec16, _mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)); }
VEC vecm vec_gt(vec16 x, vec16 y) { return VEC_HALVES(vecm, _mm256_cmp_ps(x.a, y.a, _CMP_GT_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_GT_OQ)); }
VEC vec16 vec_select(vecm m, vec16 x, vec16 y) { return VEC_HALVES(vec16, _mm256_blendv_ps(y.a, x.a, m.a), _mm256_blendv_ps(y.b, x.b, m.b)); }
VEC veci veci_set(uint32_t x) { return VEC_HALVES(veci, _mm256_set1_epi32((int)x), _mm256_set1_epi32((int)x)); }
VEC veci veci_load_full(const void *p)
{
    return VEC_HALVES(veci, _mm256_loadu_si256((const __m256i *)p), _mm256_loadu_si256((const __m256i *)p + 1));
}
VEC veci vec_as_int(vec16 x) { return VEC_HALVES(veci, _mm256_castps_si256(x.a), _mm256_castps_si256(x.b)); }
VEC vec16 veci_as_float(veci x) { return VEC_HALVES(vec16, _mm256_castsi256_ps(x.a), _mm256_castsi256_ps(x.b)); }
VEC veci veci_load_part(const void *p, int64_t n) { return vec_as_int(vec_load_part(p, n)); }
VEC void veci_store_full(void *p, veci x) { _mm256_storeu_si256((__m256i *)p, x.a), _mm256_storeu_si256((__m256i *)p + 1, x.b); }
VEC void veci_store_part(void *p, veci x, int64_t n) { vec_store_part(p, veci_as_float(x), n); }
VEC veci veci_add(veci x, veci y) { return VEC_HALVES(veci, _mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)); }
VEC veci veci_sub(veci x, veci y) { return VEC_HALVES(veci, _mm256_sub_epi32(x.a, y.a), _mm256_sub_epi32(x.b, y.b)); }
VEC veci veci_xor(veci x, veci y) { return VEC_HALVES(veci, _mm256_xor_si256(x.a, y.a), _mm256_xor_si256(x.b, y.b)); }
VEC veci veci_and(veci x, veci y) { return VEC_HALVES(veci, _mm256_and_si256(x.a, y.a), _mm256_and_si256(x.b, y.b)); }
VEC veci veci_select(vecm m, veci x, veci y)
{
    return VEC_HALVES(veci, _mm256_blendv_epi8(y.a, x.a, _mm256_castps_si256(m.a)), _mm256_blendv_epi8(y.b, x.b, _mm256_castps_si256(m.b)));
}
VEC vecm veci_equal(veci x, veci y)
{
    return VEC_HALVES(vecm, _mm256_castsi256_ps(_mm256_cmpeq_epi32(x.a, y.a)), _mm256_castsi256_ps(_mm256_cmpeq_epi32(x.b, y.b)));
}
VEC vecm veci_not_below(veci x, veci y)
{
    return veci_equal(VEC_HALVES(veci, _mm256_max_epu32(x.a, y.a), _mm256_max_epu32(x.b, y.b)), x);
}
#define veci_shift_left(x, n) VEC_HALVES(veci, _mm256_slli_epi32((x).a, n), _mm256_slli_epi32((x).b, n))
#define veci_shift_right_signed(x, n) VEC_HALVES(veci, _mm256_srai_epi32((x).a, n), _mm256_srai_epi32((x).b, n))

VEC float vec_sum(vec16 x)
{
    __m256 a = _mm256_add_ps(x.a, x.b);
    __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_shuffle_ps(b, b, 1)));
}

VEC float vec_greatest(vec16 x)
{
    __m256 a = _mm256_max_ps(x.a, x.b);
    __m128 b = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_max_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_max_ss(b, _mm_shuffle_ps(b, b, 1)));
}

VEC veci veci_multiply_even(veci x, veci y) { return VEC_HALVES(veci, _mm256_mul_epu32(x.a, y.a), _mm256_mul_epu32(x.b, y.b)); }
VEC veci veci_odd_to_even(veci x) { return VEC_HALVES(veci, _mm256_srli_epi64(x.a, 32), _mm256_srli_epi64(x.b, 32)); }
VEC veci veci_even_and_odd(veci x, veci y)
{
    return VEC_HALVES(veci, _mm256_blend_epi32(x.a, _mm256_slli_epi64(y.a, 32), 0xaa), _mm256_blend_epi32(x.b, _mm256_slli_epi64(y.b, 32), 0xaa));
}

VEC void vec_interleave_half(__m256i w0, __m256i w1, __m256i w2, __m256i w3, __m256i out[4])
{
    __m256i a = _mm256_unpacklo_epi32(w0, w1), b = _mm256_unpacklo_epi32(w2, w3);
    __m256i c = _mm256_unpackhi_epi32(w0, w1), d = _mm256_unpackhi_epi32(w2, w3);
    out[0] = _mm256_unpacklo_epi64(a, b);
    out[1] = _mm256_unpackhi_epi64(a, b);
    out[2] = _mm256_unpacklo_epi64(c, d);
    out[3] = _mm256_unpackhi_epi64(c, d);
}
VEC void veci_interleave(veci w0, veci w1, veci w2, veci w3, veci out[4])
{
    __m256i a[4], b[4];
    vec_interleave_half(w0.a, w1.a, w2.a, w3.a, a);
    vec_interleave_half(w0.b, w1.b, w2.b, w3.b, b);
    for (int k = 0; k < 4; k++)
        out[k] = VEC_HALVES(veci, a[k], b[k]);
}

#else

#define ISA(name) name##_plain
/* the compiler's own vectors, which it lowers to whatever there is */
typedef float vec16 __attribute__((vector_size(64)));
typedef uint32_t veci __attribute__((vector_size(64)));
typedef int32_t vecm __attribute__((vector_size(64))); /* all ones or all zeros an element */

VEC vec16 vec_set(float x) { return (vec16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
VEC veci veci_set(uint32_t x) { return (veci){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
VEC vecm vecm_first(int64_t n)
{
    const vecm iota = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return iota < (vecm)veci_set(n > 16 ? 16 : (uint32_t)n);
}
VEC uint32_t vecm_bits(vecm m)
{
    uint32_t bits = 0;
    for (int i = 0; i < 16; i++)
        bits |= ((uint32_t)m[i] & 1u) << i;
    return bits;
}
VEC vecm vecm_from_bits(uint32_t bits)
{
    const veci one = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
    return (veci_set(bits) & one) != 0;
}
VEC vecm vecm_and(vecm a, vecm b) { return a & b; }
VEC vec16 vec_load_full(const float *p)
{
    vec16 x;
    memcpy(&x, p, sizeof x);
    return x;
}
VEC vec16 vec_load_part(const float *p, int64_t n)
{
    vec16 x = {0};
    memcpy(&x, p, (size_t)(n > 16 ? 16 : n) * sizeof *p);
    return x;
}
VEC void vec_store_full(float *p, vec16 x) { memcpy(p, &x, sizeof x); }
VEC void vec_store_part(float *p, vec16 x, int64_t n) { memcpy(p, &x, (size_t)(n > 16 ? 16 : n) * sizeof *p); }
VEC vec16 vec_add(vec16 a, vec16 b) { return a + b; }
VEC vec16 vec_sub(vec16 a, vec16 b) { return a - b; }
VEC vec16 vec_mul(vec16 a, vec16 b) { return a * b; }
VEC vec16 vec_div(vec16 a, vec16 b) { return a / b; }
VEC vec16 vec_sqrt(vec16 a)
{
    for (int i = 0; i < 16; i++)
        a[i] = sqrtf(a[i]);
    return a;
}
/* A call: without the instruction fmaf costs so much that inlining sixteen of them in each place gains nothing. */
static __attribute__((noinline, unused)) void vec_fma_each(vec16 *a, const vec16 *b, const vec16 *c)
{
    for (int i = 0; i < 16; i++)
        (*a)[i] = fmaf((*a)[i], (*b)[i], (*c)[i]);
}
VEC vec16 vec_fma(vec16 a, vec16 b, vec16 c)
{
    vec_fma_each(&a, &b, &c);
    return a;
}
VEC vecm vec_gt(vec16 a, vec16 b) { return a > b; }
VEC vec16 vec_select(vecm m, vec16 a, vec16 b) { return (vec16)((m & (vecm)a) | (~m & (vecm)b)); }
VEC vec16 vec_max(vec16 a, vec16 b) { return vec_select(a > b, a, b); }
VEC vec16 vec_min(vec16 a, vec16 b) { return vec_select(a < b, a, b); }
VEC veci veci_load_full(const void *p)
{
    veci x;
    memcpy(&x, p, sizeof x);
    return x;
}
VEC veci veci_load_part(const void *p, int64_t n)
{
    veci x = {0};
    memcpy(&x, p, (size_t)(n > 16 ? 16 : n) * sizeof x[0]);
    return x;
}
VEC void veci_store_full(void *p, veci x) { memcpy(p, &x, sizeof x); }
VEC void veci_store_part(void *p, veci x, int64_t n) { memcpy(p, &x, (size_t)(n > 16 ? 16 : n) * sizeof x[0]); }
VEC veci veci_add(veci a, veci b) { return a + b; }
VEC veci veci_sub(veci a, veci b) { return a - b; }
VEC veci veci_xor(veci a, veci b) { return a ^ b; }
VEC veci veci_and(veci a, veci b) { return a & b; }
VEC veci veci_select(vecm m, veci a, veci b) { return (veci)((m & (vecm)a) | (~m & (vecm)b)); }
VEC vecm veci_not_below(veci a, veci b) { return a >= b; }
VEC vecm veci_equal(veci a, veci b) { return a == b; }
VEC veci vec_as_int(vec16 x) { return (veci)x; }
VEC vec16 veci_as_float(veci x) { return (vec16)x; }
VEC veci veci_shift_left(veci x, int n) { return x << n; }
VEC veci veci_shift_right_signed(veci x, int n) { return (veci)((vecm)x >> n); }

VEC float vec_sum(vec16 x)
{
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            x[i] += x[i + half];
    return x[0];
}

VEC float vec_greatest(vec16 x)
{
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            x[i] = x[i] > x[i + half] ? x[i] : x[i + half];
    return x[0];
}

VEC veci veci_multiply_even(veci x, veci y)
{
    for (int i = 0; i < 16; i += 2) {
        uint64_t product = (uint64_t)x[i] * y[i];
        x[i] = (uint32_t)product;
        x[i + 1] = (uint32_t)(product >> 32);
    }
    return x;
}
VEC veci veci_odd_to_even(veci x)
{
    for (int i = 0; i < 16; i += 2) {
        x[i] = x[i + 1];
        x[i + 1] = 0;
    }
    return x;
}
VEC veci veci_even_and_odd(veci x, veci y)
{
    for (int i = 0; i < 16; i += 2)
        x[i + 1] = y[i];
    return x;
}

VEC void veci_interleave(veci w0, veci w1, veci w2, veci w3, veci out[4])
{
    for (int item = 0; item < 16; item++) {
        int from = 4 * (item % 4) + item / 4, to = 4 * (item % 4);
        out[item / 4][to] = w0[from];
        out[item / 4][to + 1] = w1[from];
        out[item / 4][to + 2] = w2[from];
        out[item / 4][to + 3] = w3[from];
    }
}

#endif

/* The first n elements of x, +0 in the others. */
VEC vec16 vec_keep(vec16 x, int64_t n) { return __builtin_expect(n >= 16, 1) ? x : vec_select(vecm_first(n), x, vec_set(0.0f)); }
VEC vec16 vec_zero(void) { return vec_set(0.0f); }
/* The first n of 16 elements; the rest reads as +0 and is not touched by a store. */
VEC vec16 vec_load(const float *p, int64_t n) { return __builtin_expect(n >= 16, 1) ? vec_load_full(p) : vec_load_part(p, n); }
VEC veci veci_load(const void *p, int64_t n) { return __builtin_expect(n >= 16, 1) ? veci_load_full(p) : veci_load_part(p, n); }
VEC void vec_store(float *p, vec16 x, int64_t n)
{
    if (__builtin_expect(n >= 16, 1))
        vec_store_full(p, x);
    else
        vec_store_part(p, x, n);
}
VEC void veci_store(void *p, veci x, int64_t n)
{
    if (__builtin_expect(n >= 16, 1))
        veci_store_full(p, x);
    else
        veci_store_part(p, x, n);
}
VEC vec16 vec_negate(vec16 x) { return veci_as_float(veci_xor(vec_as_int(x), veci_set(0x80000000u))); }
VEC vec16 vec_absolute(vec16 x) { return veci_as_float(veci_and(vec_as_int(x), veci_set(0x7fffffffu))); }

#endif
