/* Dropout inside a kernel: the CPU's very numbers, so the same elements are kept (model/backend.h has the layout of the counter).
 *
 *     dropping d = dropping_of(drop, epoch);                   // on the host, once a launch
 *     uint32_t w[4];
 *     dropping_words(d, sample, element / 4, w);               // elements 4k .. 4k+3
 *     y = dropping_apply(d, w[i], x);
 */
#ifndef FRETSAW_MODEL_CUDA_KERNELS_RANDOM_H
#define FRETSAW_MODEL_CUDA_KERNELS_RANDOM_H

#include "model/cuda/kernels.h"
#include "model/cuda/launch.h"

struct dropping {
    uint32_t threshold, place /* purpose, layer, site */, epoch;
    float scale;
    uint64_t seed;
};

static inline dropping dropping_of(const dropout *d, uint32_t epoch)
{
    if (!d || !d->threshold)
        return dropping{0, 0, 0, 1.0f, 0};
    return dropping{d->threshold, (uint32_t)DROPOUT_PURPOSE << 24 | d->layer << 12 | d->site, epoch, d->scale, d->seed};
}

/* Philox4x32-10 of the counter (block; place; sample low; epoch << 16 | sample high): common/rng.h. */
__device__ __forceinline__ void dropping_words(const dropping &d, uint64_t sample, uint32_t block, uint32_t w[4])
{
    uint32_t k0 = (uint32_t)d.seed, k1 = (uint32_t)(d.seed >> 32);
    uint32_t c0 = block, c1 = d.place, c2 = (uint32_t)sample, c3 = d.epoch << 16 | (uint32_t)(sample >> 32);
#pragma unroll
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * c0, b = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)b;
        c3 = (uint32_t)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    w[0] = c0, w[1] = c1, w[2] = c2, w[3] = c3;
}

__device__ __forceinline__ float dropping_apply(const dropping &d, uint32_t word, float x)
{
    return word >= d.threshold ? x * d.scale : 0.0f;
}

/* Eight neighbours, the first a multiple of 4. */
__device__ __forceinline__ void dropping_eight(const dropping &d, uint64_t sample, uint32_t element, float v[8])
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        uint32_t w[4];
        dropping_words(d, sample, element / 4 + (uint32_t)half, w);
        for (int i = 0; i < 4; i++)
            v[4 * half + i] = dropping_apply(d, w[i], v[4 * half + i]);
    }
}

#endif
