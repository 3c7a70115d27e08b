/* Kernel source that nvcc compiles for the device and a C++ compiler for this machine: the launch, shared memory, and the host's
 * stand-ins for CUDA's words, which run a block's threads as fibers (launch_host.h).
 *
 *     template <typename T> __global__ void __launch_bounds__(128) scale(int64_t n, T *x)
 *     {
 *         SHARED(float, part, 4);                       // an array of the block; on the host with guards around it
 *         ... threadIdx.x, __syncthreads(), __shfl_xor_sync(FULL_WARP, v, 16) as in CUDA ...
 *     }
 *     LAUNCH(stream, blocks, 128, scale<float>, n, x);  // grid and block are launch_size(x, y, z) or a number; no dynamic shared memory
 *
 * Rules of this dialect, which the host checks: blocks are whole warps of one dimension; every warp operation is by all 32 lanes;
 * __syncthreads by all threads of the block and at one place; no thread leaves while others wait; at most 48 KiB of shared memory a
 * block; no atomics. Sums and products are written as such and as fmaf where fused: nvcc gets --fmad=false and the host
 * -ffp-contract=off, so what is not said to be fused is fused nowhere. Instructions that C++ has no word for stand in kernels/ptx.h.
 */
#ifndef FRETSAW_MODEL_CUDA_LAUNCH_H
#define FRETSAW_MODEL_CUDA_LAUNCH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { WARP = 32 };
#define FULL_WARP 0xffffffffu

#ifdef __CUDACC__

#include <cuda_runtime.h>
#define SHARED(type, name, count) __shared__ __align__(16) type name[count]
#define LAUNCH(stream, grid, block, kernel, ...) kernel<<<grid, block, 0, stream>>>(__VA_ARGS__)
typedef dim3 launch_size;

#else

#include "model/cuda/launch_host.h"

#define __global__ static
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define SHARED(type, name, count) type *const name = (type *)launch_shared(sizeof(type) * (size_t)(count), #name, __FILE__, __LINE__)
#define threadIdx (launch_now.thread)
#define blockIdx (launch_now.block)
#define blockDim (launch_now.block_size)
#define gridDim (launch_now.grid_size)
#define __syncthreads() launch_barrier(__FILE__, __LINE__)
#define __syncwarp() launch_warp_barrier(__FILE__, __LINE__)
#define __shfl_sync(mask, value, lane) launch_shuffle(mask, value, (unsigned)(lane) % WARP, __FILE__, __LINE__)
#define __shfl_xor_sync(mask, value, bits) launch_shuffle(mask, value, (threadIdx.x % WARP) ^ (unsigned)(bits), __FILE__, __LINE__)
#define __ballot_sync(mask, yes) launch_ballot(mask, (yes) != 0, __FILE__, __LINE__)
#define __any_sync(mask, yes) (launch_ballot(mask, (yes) != 0, __FILE__, __LINE__) != 0)
#define __all_sync(mask, yes) (launch_ballot(mask, (yes) != 0, __FILE__, __LINE__) == FULL_WARP)
#define __ldg(p) (*(p))

template <typename T> static inline T launch_shuffle(uint32_t mask, T value, uint32_t from, const char *file, int line)
{
    static_assert(sizeof(T) <= sizeof(launch_words), "a shuffle moves at most the words of one exchange");
    T got;
    memcpy(&got, launch_exchange("a shuffle", mask, &value, sizeof value, file, line)[from].word, sizeof got);
    return got;
}

static inline uint32_t launch_ballot(uint32_t mask, bool yes, const char *file, int line)
{
    uint32_t mine = yes, all = 0;
    const launch_words *words = launch_exchange("a vote", mask, &mine, sizeof mine, file, line);
    for (int lane = 0; lane < WARP; lane++)
        all |= words[lane].word[0] << lane;
    return all;
}

struct launch_size : launch_point {
    launch_size(int64_t a, int64_t b = 1, int64_t c = 1) : launch_point{(uint32_t)a, (uint32_t)b, (uint32_t)c} {}
};

template <typename Body> static void launch_block_body(void *body)
{
    (*(Body *)body)();
}

template <typename Body> static void launch_host(const char *name, launch_size grid, launch_size block, Body body)
{
    launch_run(name, grid, block, launch_block_body<Body>, &body);
}

#define LAUNCH(stream, grid, block, kernel, ...) ((void)(stream), launch_host(#kernel, grid, block, [&] { kernel(__VA_ARGS__); }))

#endif
#endif
