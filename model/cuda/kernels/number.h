/* The element types of activations and how eight of them are moved at once. Sums are float32 always.
 *
 *     float v[8];
 *     load8(x + 8 * i, v);                     // bfloat16 and float16: one load of 16 bytes; float32: two
 *     store8(y + 8 * i, v);                    // rounded to nearest even
 *
 * bfloat16 and float16 are held as their bits: the host has no type for them.
 */
#ifndef FRETSAW_MODEL_CUDA_KERNELS_NUMBER_H
#define FRETSAW_MODEL_CUDA_KERNELS_NUMBER_H

#include "model/cuda/kernels.h"
#include "model/cuda/kernels/ptx.h"

struct bf16 {
    uint16_t bits;
};
struct fp16 {
    uint16_t bits;
};

struct __align__(16) words4 {
    uint32_t w[4];
};
struct __align__(16) floats4 {
    float f[4];
};

__device__ __forceinline__ float as_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

__device__ __forceinline__ uint32_t as_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

__device__ __forceinline__ float to_float(float x)
{
    return x;
}
__device__ __forceinline__ float to_float(bf16 x)
{
    return as_float((uint32_t)x.bits << 16);
}
__device__ __forceinline__ float to_float(fp16 x)
{
    return ptx_from_half(x.bits);
}

template <typename T> __device__ __forceinline__ T round_to(float x);
template <> __device__ __forceinline__ float round_to<float>(float x)
{
    return x;
}
template <> __device__ __forceinline__ bf16 round_to<bf16>(float x)
{
    return bf16{ptx_to_bfloat(x)};
}
template <> __device__ __forceinline__ fp16 round_to<fp16>(float x)
{
    return fp16{ptx_to_half(x)};
}

/* What x is once it has been stored. */
template <typename T> __device__ __forceinline__ float rounded(float x)
{
    return to_float(round_to<T>(x));
}

/* Two neighbours in one word, the first in the low half. */
template <typename T> __device__ __forceinline__ uint32_t pair_of(float low, float high)
{
    return (uint32_t)round_to<T>(low).bits | (uint32_t)round_to<T>(high).bits << 16;
}

/* ---- eight elements, 16-byte aligned ---- */

__device__ __forceinline__ void load4(const float *p, float v[4])
{
    floats4 x = *(const floats4 *)p;
    for (int i = 0; i < 4; i++)
        v[i] = x.f[i];
}

__device__ __forceinline__ void store4(float *p, const float v[4])
{
    floats4 x;
    for (int i = 0; i < 4; i++)
        x.f[i] = v[i];
    *(floats4 *)p = x;
}

__device__ __forceinline__ void load8(const float *p, float v[8])
{
    load4(p, v);
    load4(p + 4, v + 4);
}

__device__ __forceinline__ void store8(float *p, const float v[8])
{
    store4(p, v);
    store4(p + 4, v + 4);
}

template <typename T> __device__ __forceinline__ void load8(const T *p, float v[8])
{
    words4 x = *(const words4 *)p;
    for (int i = 0; i < 4; i++) {
        v[2 * i] = to_float(T{(uint16_t)x.w[i]});
        v[2 * i + 1] = to_float(T{(uint16_t)(x.w[i] >> 16)});
    }
}

template <typename T> __device__ __forceinline__ void store8(T *p, const float v[8])
{
    words4 x;
    for (int i = 0; i < 4; i++)
        x.w[i] = pair_of<T>(v[2 * i], v[2 * i + 1]);
    *(words4 *)p = x;
}

/* ---- sums over a warp: every lane gets the same bits, by one fixed tree ---- */

__device__ __forceinline__ float warp_sum(float x)
{
    for (int bits = WARP / 2; bits; bits /= 2)
        x += __shfl_xor_sync(FULL_WARP, x, bits);
    return x;
}

__device__ __forceinline__ uint64_t warp_sum(uint64_t x)
{
    for (int bits = WARP / 2; bits; bits /= 2)
        x += __shfl_xor_sync(FULL_WARP, x, bits);
    return x;
}

/* Runs the statement with T as the element type that `type` names. */
#define WITH_TYPE(type, ...)                        \
    do {                                            \
        if ((type) == CUDA_FLOAT32) {               \
            typedef float T;                        \
            __VA_ARGS__;                            \
        } else if ((type) == CUDA_BFLOAT16) {       \
            typedef bf16 T;                         \
            __VA_ARGS__;                            \
        } else {                                    \
            typedef fp16 T;                         \
            __VA_ARGS__;                            \
        }                                           \
    } while (0)

static inline int64_t pieces_of(int64_t n, int64_t size)
{
    return (n + size - 1) / size;
}

#endif
