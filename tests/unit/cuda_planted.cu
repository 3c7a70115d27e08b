/* Kernels with a bug each, for cuda_launch_test.c: the harness must find every one. Compiled as the real ones are, never for a device. */
#include "unit/cuda_planted.h"

#include "model/cuda/kernels/number.h"

enum { PLANTED_THREADS = 128 };

/* The sum of a block through shared memory, each step halving: right with `barriers` set. */
__global__ void planted_sum(int barriers, const float *x, float *y)
{
    SHARED(float, part, PLANTED_THREADS);
    const int t = threadIdx.x;
    part[t] = x[blockIdx.x * PLANTED_THREADS + t];
    __syncthreads();
    for (int half = PLANTED_THREADS / 2; half; half /= 2) {
        if (t < half)
            part[t] += part[t + half];
        if (barriers)
            __syncthreads();
    }
    if (t == 0)
        y[blockIdx.x] = part[0];
}

/* Lanes of one warp pass values through shared memory. */
__global__ void planted_warp(int barrier, float *y)
{
    SHARED(float, part, PLANTED_THREADS);
    const int t = threadIdx.x;
    part[t] = (float)t;
    if (barrier)
        __syncwarp();
    y[blockIdx.x * PLANTED_THREADS + t] = part[t ^ 1];
}

/* A shuffle instead of the barrier: it moves values, but orders no memory. */
__global__ void planted_shuffle(float *y)
{
    SHARED(float, part, PLANTED_THREADS);
    const int t = threadIdx.x;
    part[t] = (float)t;
    const float zero = 0.0f * __shfl_xor_sync(FULL_WARP, 1.0f, 1);
    y[blockIdx.x * PLANTED_THREADS + t] = part[t ^ 1] + zero;
}

__global__ void planted_range(int past, float *y)
{
    SHARED(float, first, PLANTED_THREADS);
    SHARED(float, second, PLANTED_THREADS);
    first[(int)threadIdx.x + past] = 1;
    second[threadIdx.x] = 2;
    __syncthreads();
    y[threadIdx.x] = first[threadIdx.x] + second[threadIdx.x];
}

__global__ void planted_memory(int past, float *y)
{
    y[(int)threadIdx.x + past] = 1;
}

__global__ void planted_unwritten(float *y)
{
    SHARED(float, part, PLANTED_THREADS);
    if (threadIdx.x)
        part[threadIdx.x] = 1;
    __syncthreads();
    y[threadIdx.x] = part[threadIdx.x];
}

/* All blocks add to one place: what atomics are for, which are not used here. */
__global__ void planted_blocks(float *y)
{
    if (threadIdx.x == 0)
        y[0] += 1;
}

/* One block reads what another writes. */
__global__ void planted_neighbour(float *y)
{
    if (threadIdx.x == 0)
        y[blockIdx.x] = blockIdx.x ? y[blockIdx.x - 1] : 1.0f;
}

__global__ void planted_branch(float *y)
{
    if (threadIdx.x < WARP)
        __syncthreads();
    else
        __syncthreads();
    y[threadIdx.x] = 1;
}

__global__ void planted_leaves(float *y)
{
    if (threadIdx.x >= WARP)
        return;
    y[threadIdx.x] = 1;
    __syncthreads();
}

__global__ void planted_half_warp(float *y)
{
    float v = 1;
    if (threadIdx.x % WARP < WARP / 2)
        v = __shfl_xor_sync(FULL_WARP, v, 1);
    y[threadIdx.x] = v;
}

__global__ void planted_two_shuffles(float *y)
{
    float v = 1;
    if (threadIdx.x % WARP < WARP / 2)
        v = __shfl_xor_sync(FULL_WARP, v, 1);
    else
        v = __shfl_xor_sync(FULL_WARP, v, 2);
    y[threadIdx.x] = v;
}

__global__ void planted_mask(float *y)
{
    y[threadIdx.x] = __shfl_xor_sync(0xffffu, 1.0f, 1);
}

__global__ void planted_too_much(float *y)
{
    SHARED(float, much, LAUNCH_SHARED / 4);
    SHARED(float, more, 1);
    much[threadIdx.x] = more[0] = 1;
    y[threadIdx.x] = much[threadIdx.x];
}

/* Lane 0 goes with shuffles, votes, barriers as the device does: y[t] = what they give. */
__global__ void planted_sound(float *y)
{
    const int lane = threadIdx.x % WARP;
    const uint32_t odd = __ballot_sync(FULL_WARP, lane % 2);
    const int any = __any_sync(FULL_WARP, lane == 31), all = __all_sync(FULL_WARP, lane < 31);
    const uint64_t sum = warp_sum((uint64_t)threadIdx.x);
    const float first = __shfl_sync(FULL_WARP, (float)threadIdx.x, 5);
    y[blockIdx.x * PLANTED_THREADS + threadIdx.x] = (float)(odd == 0xaaaaaaaau) + 2 * any + 4 * all + 8 * (float)sum + 65536 * first;
}

void planted(planted_bug bug, int option, const float *x, float *y)
{
    switch (bug) {
    case PLANTED_SUM: LAUNCH(NULL, 5, PLANTED_THREADS, planted_sum, option, x, y); break;
    case PLANTED_WARP: LAUNCH(NULL, 1, PLANTED_THREADS, planted_warp, option, y); break;
    case PLANTED_SHUFFLE: LAUNCH(NULL, 1, PLANTED_THREADS, planted_shuffle, y); break;
    case PLANTED_RANGE: LAUNCH(NULL, 1, PLANTED_THREADS, planted_range, option, y); break;
    case PLANTED_MEMORY: LAUNCH(NULL, 1, PLANTED_THREADS, planted_memory, option, y); break;
    case PLANTED_UNWRITTEN: LAUNCH(NULL, 1, PLANTED_THREADS, planted_unwritten, y); break;
    case PLANTED_BLOCKS: LAUNCH(NULL, 5, PLANTED_THREADS, planted_blocks, y); break;
    case PLANTED_NEIGHBOUR: LAUNCH(NULL, 5, PLANTED_THREADS, planted_neighbour, y); break;
    case PLANTED_BRANCH: LAUNCH(NULL, 1, PLANTED_THREADS, planted_branch, y); break;
    case PLANTED_LEAVES: LAUNCH(NULL, 1, PLANTED_THREADS, planted_leaves, y); break;
    case PLANTED_HALF_WARP: LAUNCH(NULL, 1, PLANTED_THREADS, planted_half_warp, y); break;
    case PLANTED_TWO_SHUFFLES: LAUNCH(NULL, 1, PLANTED_THREADS, planted_two_shuffles, y); break;
    case PLANTED_MASK: LAUNCH(NULL, 1, PLANTED_THREADS, planted_mask, y); break;
    case PLANTED_TOO_MUCH: LAUNCH(NULL, 1, PLANTED_THREADS, planted_too_much, y); break;
    case PLANTED_SOUND: LAUNCH(NULL, 2, PLANTED_THREADS, planted_sound, y); break;
    }
}

/* ---- the twins of ptx.h, by one warp ---- */

__global__ void twin_multiply(int half, const uint16_t *a, const uint16_t *b, float *c)
{
    SHARED(bf16, left, 16 * 24);
    SHARED(bf16, right, 16 * 24);
    const int lane = threadIdx.x % WARP;
    for (int i = lane; i < 256; i += WARP) {
        left[i / 16 * 24 + i % 16].bits = a[i];
        right[i / 16 * 24 + i % 16].bits = b[i]; /* row k, columns n */
    }
    __syncwarp();
    uint32_t x[4], y[4];
    float sum[2][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}};
    ptx_load_fragments(left + lane % 16 * 24 + lane / 16 * 8, x);
    ptx_load_fragments_transposed(right + lane % 16 * 24 + lane / 16 * 8, y);
    for (int n = 0; n < 2; n++) {
        if (half)
            ptx_multiply_half(sum[n], x, y + 2 * n);
        else
            ptx_multiply_bfloat(sum[n], x, y + 2 * n);
        for (int i = 0; i < 4; i++)
            c[(lane / 4 + i / 2 * 8) * 16 + 8 * n + lane % 4 * 2 + i % 2] = sum[n][i];
    }
}

void planted_multiply(int half, const uint16_t *a, const uint16_t *b, float *c)
{
    LAUNCH(NULL, 1, WARP, twin_multiply, half, a, b, c);
}
