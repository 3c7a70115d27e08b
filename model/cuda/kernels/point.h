/* exp and the normal distribution in float32, from fmaf alone: the same polynomials, and so the same bits, as model/cpu/math_vec.h.
 *
 *     float cdf, density;
 *     point_normal(x, &cdf, &density);         // gelu(x) = x Phi(x), its slope Phi(x) + x phi(x)
 */
#ifndef FRETSAW_MODEL_CUDA_KERNELS_POINT_H
#define FRETSAW_MODEL_CUDA_KERNELS_POINT_H

#include "model/cuda/kernels/number.h"

/* e^x for -80 <= x <= 0 and NaN, within 1 unit in the last place. */
__device__ __forceinline__ float point_exp(float x)
{
    const float magic = 0x1.8p23f; /* adding it leaves the nearest integer in the low bits */
    float shifted = fmaf(x, 0x1.715476p0f, magic), n = shifted - magic;
    float r = fmaf(n, 0x1.05c610p-29f, fmaf(n, -0x1.62e430p-1f, x));
    float p = fmaf(0x1.9e20f6p-13f, r, 0x1.6d4f3ap-10f);
    p = fmaf(p, r, 0x1.1112fep-7f);
    p = fmaf(p, r, 0x1.5554e6p-5f);
    p = fmaf(p, r, 0x1.555554p-3f);
    p = fmaf(p, r, 0.5f);
    p = fmaf(p, r, 1.0f);
    p = fmaf(p, r, 1.0f);
    return p * as_float((as_bits(shifted) - as_bits(magic) + 127u) << 23);
}

__device__ __forceinline__ void point_normal(float x, float *cdf, float *density)
{
    float square = -0.5f * x * x, e = point_exp(square > -80.0f || square != square ? square : -80.0f);
    float t = 1.0f / fmaf(fabsf(x), 0.265f, 1.0f);
    float q = fmaf(0.030624501f, t, -0.1433007f);
    q = fmaf(q, t, 0.21595031f);
    q = fmaf(q, t, -0.11428607f);
    q = fmaf(q, t, 0.1365545f);
    q = fmaf(q, t, 0.060895283f);
    q = fmaf(q, t, 0.102555f);
    q = fmaf(q, t, 0.10526679f);
    q = fmaf(q, t, 0.10574039f);
    float tail = e * (q * t);
    *cdf = x > 0.0f ? 1.0f - tail : tail;
    *density = e * 0.39894228f;
}

__device__ __forceinline__ float point_gelu(float x)
{
    float cdf, density;
    point_normal(x, &cdf, &density);
    return x * cdf;
}

__device__ __forceinline__ float point_gelu_slope(float x)
{
    float cdf, density;
    point_normal(x, &cdf, &density);
    return fmaf(x, density, cdf);
}

#endif
