/* Gradients and the optimizer, float32, element by element; sums of the state hash and of overflow go through one piece a block. */
#include "model/cuda/kernels/number.h"

static constexpr int64_t UPDATE_BLOCKS = 1024;
enum { UPDATE_THREADS = 256, HASH_WARPS = UPDATE_THREADS / WARP };

static int64_t blocks_for(int64_t n)
{
    int64_t blocks = pieces_of(n, UPDATE_THREADS);
    return blocks < UPDATE_BLOCKS ? blocks : UPDATE_BLOCKS;
}

/* Threads of the whole grid stride over the elements. */
#define EACH(i, n) (int64_t i = (int64_t)blockIdx.x * UPDATE_THREADS + threadIdx.x; i < (n); i += (int64_t)gridDim.x * UPDATE_THREADS)

__global__ void __launch_bounds__(UPDATE_THREADS) add(int64_t n, const float *from, float *to)
{
    for
        EACH(i, n)
    to[i] += from[i];
}

void cuda_add(cuda_stream stream, int64_t n, const float *from, float *to)
{
    if (n)
        LAUNCH(stream, blocks_for(n), UPDATE_THREADS, add, n, from, to);
}

/* A block a row. */
__global__ void __launch_bounds__(UPDATE_THREADS)
    merge_rows(int64_t H, const float *a, const int32_t *a_row, const float *b, const int32_t *b_row, float *out)
{
    const int64_t i = blockIdx.x, ra = a_row[i], rb = b_row[i];
    for (int64_t c = threadIdx.x; c < H; c += UPDATE_THREADS)
        out[i * H + c] = rb < 0 ? a[ra * H + c] : ra < 0 ? b[rb * H + c] : a[ra * H + c] + b[rb * H + c];
}

void cuda_merge_rows(cuda_stream stream, int64_t count, int64_t H, const float *a, const int32_t *a_row, const float *b, const int32_t *b_row,
                     float *out)
{
    if (count)
        LAUNCH(stream, count, UPDATE_THREADS, merge_rows, H, a, a_row, b, b_row, out);
}

/* ---- overflow ---- */

/* Whether any thread of the block found one, for thread 0. */
__device__ __forceinline__ int any_of_block(int mine)
{
    SHARED(int32_t, found, HASH_WARPS);
    mine = __any_sync(FULL_WARP, mine);
    if (threadIdx.x % WARP == 0)
        found[threadIdx.x / WARP] = mine;
    __syncthreads();
    for (int w = 1; w < HASH_WARPS && threadIdx.x == 0; w++)
        mine |= found[w];
    return mine;
}

__global__ void __launch_bounds__(UPDATE_THREADS) find_overflow(int64_t n, const float *x, int32_t *part)
{
    int mine = 0;
    for
        EACH(i, n)
    mine |= (as_bits(x[i]) & 0x7f800000u) == 0x7f800000u;
    mine = any_of_block(mine);
    if (threadIdx.x == 0)
        part[blockIdx.x] = mine;
}

/* One block. */
__global__ void __launch_bounds__(UPDATE_THREADS) join_flags(int blocks, const int32_t *part, int32_t *flag)
{
    int mine = 0;
    for (int b = threadIdx.x; b < blocks; b += UPDATE_THREADS)
        mine |= part[b];
    mine = any_of_block(mine);
    if (threadIdx.x == 0 && mine)
        *flag |= 1;
}

void cuda_find_overflow(cuda_stream stream, int64_t n, const float *x, int32_t *flag, void *scratch)
{
    if (!n)
        return;
    LAUNCH(stream, blocks_for(n), UPDATE_THREADS, find_overflow, n, x, (int32_t *)scratch);
    LAUNCH(stream, 1, UPDATE_THREADS, join_flags, (int)blocks_for(n), (const int32_t *)scratch, flag);
}

/* ---- types ---- */

template <typename T> __global__ void __launch_bounds__(UPDATE_THREADS) cast(int64_t n, const float *from, T *to)
{
    for
        EACH(i, n)
    to[i] = round_to<T>(from[i]);
}

void cuda_cast(cuda_stream stream, cuda_type type, int64_t n, const float *from, void *to)
{
    if (n)
        WITH_TYPE(type, LAUNCH(stream, blocks_for(n), UPDATE_THREADS, cast<T>, n, from, (T *)to));
}

/* ---- AdamW and the state hash ---- */

/* common/hash.h's hash_mix64. */
__device__ __forceinline__ uint64_t mix(uint64_t index, uint32_t bits)
{
    uint64_t z = (index << 32 | index >> 32) ^ ((uint64_t)bits * 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    return z ^ (z >> 27);
}

/* The sum over the block's threads mod 2^64 (the order does not matter), for thread 0. */
__device__ __forceinline__ uint64_t sum_of_block(uint64_t mine)
{
    SHARED(uint64_t, sums, HASH_WARPS);
    mine = warp_sum(mine);
    if (threadIdx.x % WARP == 0)
        sums[threadIdx.x / WARP] = mine;
    __syncthreads();
    for (int w = 1; w < HASH_WARPS && threadIdx.x == 0; w++)
        mine += sums[w];
    return mine;
}

/* part[block] = the sum of the block's threads. */
__device__ __forceinline__ void put_sum(uint64_t mine, uint64_t *part)
{
    mine = sum_of_block(mine);
    if (threadIdx.x == 0)
        part[blockIdx.x] = mine;
}

/* One block. */
__global__ void __launch_bounds__(UPDATE_THREADS) join_hashes(int blocks, const uint64_t *part, uint64_t *hash)
{
    uint64_t mine = 0;
    for (int b = threadIdx.x; b < blocks; b += UPDATE_THREADS)
        mine += part[b];
    mine = sum_of_block(mine);
    if (threadIdx.x == 0)
        *hash += mine;
}

struct adamw_view {
    int64_t n, first;
    adamw_step s;
    int decayed;
    float unscale;
    const float *grad;
    float *m, *v, *p;
};

/* Below 2^-120 a moment is set to zero, as on the CPU (model/cpu/kernel_point.c says why). NaN stays. */
__device__ __forceinline__ float faded(float moment)
{
    return fabsf(moment) < 0x1p-120f ? 0.0f : moment;
}

template <typename T> __global__ void __launch_bounds__(UPDATE_THREADS) adamw(adamw_view a, T *copy, uint64_t *part)
{
    uint64_t hash = 0;
    for
        EACH(i, a.n)
        {
            const float g = a.grad ? a.grad[i] * a.unscale : 0.0f;
            const float m = faded(fmaf(a.s.one_minus_beta1, g, a.s.beta1 * a.m[i]));
            const float v = faded(fmaf(a.s.one_minus_beta2 * g, g, a.s.beta2 * a.v[i]));
            float p = fmaf(-a.s.step_size, m / (sqrtf(v) + a.s.epsilon), a.p[i]);
            if (a.decayed && a.s.decay != 0.0f) /* p - 0 p would turn -0 into +0 */
                p = fmaf(-a.s.decay, p, p);
            a.m[i] = m;
            a.v[i] = v;
            a.p[i] = p;
            if (copy)
                copy[i] = round_to<T>(p);
            hash += mix((uint64_t)(a.first + i), as_bits(p));
        }
    put_sum(hash, part);
}

void cuda_adamw(cuda_stream stream, const cuda_adamw_args *a)
{
    if (!a->n)
        return;
    adamw_view view = {a->n, a->first_index, a->step, a->decayed, a->unscale, a->grad, a->m, a->v, a->p};
    if (a->type == CUDA_FLOAT16)
        LAUNCH(stream, blocks_for(a->n), UPDATE_THREADS, adamw<fp16>, view, (fp16 *)a->copy, (uint64_t *)a->scratch);
    else
        LAUNCH(stream, blocks_for(a->n), UPDATE_THREADS, adamw<bf16>, view, a->type == CUDA_BFLOAT16 ? (bf16 *)a->copy : NULL,
               (uint64_t *)a->scratch);
    if (a->hash)
        LAUNCH(stream, 1, UPDATE_THREADS, join_hashes, (int)blocks_for(a->n), (const uint64_t *)a->scratch, a->hash);
}
