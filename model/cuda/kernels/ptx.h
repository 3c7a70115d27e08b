/* Every instruction that C++ has no word for, each with its twin for the host: tensor cores, loading their fragments, conversions.
 *
 *     uint32_t a[4], b[4]; float c[4];
 *     ptx_load_fragments(address_of_this_lanes_row, a);           // four 8 x 8 matrices of 16-bit elements from shared memory
 *     ptx_multiply<bf16>(c, a, b);                                // c (16 x 8) += a (16 x 16) b (16 x 8), sums in float32
 *
 * Lane 4 g + t holds: of a, rows g and g + 8, columns 2t, 2t+1 (a[0], a[1]) and 2t+8, 2t+9 (a[2], a[3]); of b, rows 2t, 2t+1 (b[0]) and
 * 2t+8, 2t+9 (b[1]) of column g; of c, columns 2t, 2t+1 of row g (c[0], c[1]) and of row g + 8 (c[2], c[3]). All are by the whole warp.
 * The twins round once a product of 16 (a double sum); tensor cores cut off small parts on the way: equal to float32's rounding, not
 * bit for bit. sm_75 knows float16 only, in two halves of 8; bfloat16 needs sm_80.
 */
#ifndef FRETSAW_MODEL_CUDA_KERNELS_PTX_H
#define FRETSAW_MODEL_CUDA_KERNELS_PTX_H

#include "model/cuda/launch.h"

#ifdef __CUDACC__

/* 2^x, relative error below 2^-22; results below 2^-126 are 0. */
__device__ __forceinline__ float ptx_exp2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ float ptx_from_half(uint16_t bits)
{
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}

/* To nearest even; infinite past the greatest. */
__device__ __forceinline__ uint16_t ptx_to_half(float x)
{
    uint16_t bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}

__device__ __forceinline__ uint16_t ptx_to_bfloat(float x)
{
#if __CUDA_ARCH__ >= 800
    uint16_t bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
#else
    uint32_t bits = __float_as_uint(x);
    return x != x ? 0x7fff : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#endif
}

__device__ __forceinline__ void ptx_load_fragments(const void *row, uint32_t m[4])
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3]) : "r"((uint32_t)__cvta_generic_to_shared(row)) : "memory");
}

__device__ __forceinline__ void ptx_load_fragments_transposed(const void *row, uint32_t m[4])
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3]) : "r"((uint32_t)__cvta_generic_to_shared(row)) : "memory");
}

#define PTX_MULTIPLY(type)                                                                                                          \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "       \
                 "{%0, %1, %2, %3};"                                                                                                \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

__device__ __forceinline__ void ptx_multiply_half(float c[4], const uint32_t a[4], const uint32_t b[2])
{
#if __CUDA_ARCH__ >= 800
    PTX_MULTIPLY("f16");
#else
    for (int k = 0; k < 2; k++)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[2 * k]), "r"(a[2 * k + 1]), "r"(b[k]));
#endif
}

__device__ __forceinline__ void ptx_multiply_bfloat(float c[4], const uint32_t a[4], const uint32_t b[2])
{
#if __CUDA_ARCH__ >= 800
    PTX_MULTIPLY("bf16");
#else
    asm volatile("trap;"); /* cuda_kernels_refuse has said no */
    (void)c, (void)a, (void)b;
#endif
}
#undef PTX_MULTIPLY

#else

static inline float ptx_exp2(float x)
{
    float y = exp2f(x);
    return y < 0x1p-126f ? 0.0f : y;
}

static inline float ptx_from_half(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, rest = bits & 0x7fff, out;
    float x;
    if (rest >= 0x7c00)
        out = sign | 0x7f800000u | (rest & 0x3ff) << 13;
    else if (rest >= 0x400)
        out = sign | ((rest << 13) + 0x38000000u);
    else
        return (sign ? -0x1p-24f : 0x1p-24f) * (float)rest;
    memcpy(&x, &out, sizeof x);
    return x;
}

static inline uint16_t ptx_to_half(float x)
{
    uint32_t bits, sign;
    memcpy(&bits, &x, sizeof bits);
    sign = bits >> 16 & 0x8000;
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u)
        return 0x7fff;
    if (bits >= 0x477ff000u) /* halfway between the greatest and what would follow it */
        return (uint16_t)(sign | 0x7c00);
    if (bits < 0x38800000u) /* a multiple of 2^-24: adding 0.75 rounds there, ties to even */
        return (uint16_t)(sign | (uint32_t)((fabsf(x) + 0.75f - 0.75f) * 0x1p24f));
    bits -= 0x38000000u;
    return (uint16_t)(sign | (bits + 0xfff + (bits >> 13 & 1)) >> 13);
}

static inline uint16_t ptx_to_bfloat(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return x != x ? 0x7fff : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

struct ptx_row {
    const uint16_t *p;
};

static inline void ptx_load_fragments(const void *row, uint32_t m[4])
{
    ptx_row mine = {(const uint16_t *)row};
    const launch_words *rows = launch_exchange("ptx_load_fragments", FULL_WARP, &mine, sizeof mine, __FILE__, __LINE__);
    unsigned lane = threadIdx.x % WARP;
    for (unsigned i = 0; i < 4; i++) {
        ptx_row from;
        memcpy(&from, rows[8 * i + lane / 4].word, sizeof from);
        m[i] = from.p[lane % 4 * 2] | (uint32_t)from.p[lane % 4 * 2 + 1] << 16;
    }
}

static inline void ptx_load_fragments_transposed(const void *row, uint32_t m[4])
{
    ptx_row mine = {(const uint16_t *)row};
    const launch_words *rows = launch_exchange("ptx_load_fragments_transposed", FULL_WARP, &mine, sizeof mine, __FILE__, __LINE__);
    unsigned lane = threadIdx.x % WARP;
    for (unsigned i = 0; i < 4; i++) {
        ptx_row low, high;
        memcpy(&low, rows[8 * i + lane % 4 * 2].word, sizeof low);
        memcpy(&high, rows[8 * i + lane % 4 * 2 + 1].word, sizeof high);
        m[i] = low.p[lane / 4] | (uint32_t)high.p[lane / 4] << 16;
    }
}

struct ptx_operands {
    uint32_t a[4], b[2];
};

/* One place's sum in double, rounded once. */
template <typename Convert> static inline void ptx_multiply_twin(float c[4], const uint32_t a[4], const uint32_t b[2], Convert convert)
{
    ptx_operands mine = {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}}, left[8], right[8];
    const launch_words *all = launch_exchange("ptx_multiply", FULL_WARP, &mine, sizeof mine, __FILE__, __LINE__);
    unsigned lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    for (unsigned i = 0; i < 4; i++) {
        memcpy(&left[i], all[4 * g + i].word, sizeof left[i]);               /* rows g, g + 8 */
        memcpy(&right[i], all[4 * (2 * t) + i].word, sizeof right[i]);       /* column 2t */
        memcpy(&right[4 + i], all[4 * (2 * t + 1) + i].word, sizeof right[i]); /* column 2t + 1 */
    }
    for (int i = 0; i < 4; i++) {
        double sum = c[i];
        for (int k = 0; k < 16; k++) {
            uint32_t x = left[k % 8 / 2].a[k / 8 * 2 + i / 2], y = right[i % 2 * 4 + k % 8 / 2].b[k / 8];
            sum += (double)convert((uint16_t)(x >> k % 2 * 16)) * convert((uint16_t)(y >> k % 2 * 16));
        }
        c[i] = (float)sum;
    }
}

static inline void ptx_multiply_half(float c[4], const uint32_t a[4], const uint32_t b[2])
{
    ptx_multiply_twin(c, a, b, ptx_from_half);
}

static inline void ptx_multiply_bfloat(float c[4], const uint32_t a[4], const uint32_t b[2])
{
    ptx_multiply_twin(c, a, b, [](uint16_t bits) {
        uint32_t wide = (uint32_t)bits << 16;
        float x;
        memcpy(&x, &wide, sizeof x);
        return x;
    });
}

#endif
#endif
