/* What attention's kernels share: where a row and head lie, and which probabilities dropout keeps.
 *
 *     attention_view a = attention_view_of(args);
 *     uint32_t mine, other; ...
 */
#ifndef FRETSAW_MODEL_CUDA_KERNELS_ATTENTION_H
#define FRETSAW_MODEL_CUDA_KERNELS_ATTENTION_H

#include "model/cuda/kernels/random.h"
#include "model/cuda/kernels/tile.h"

enum { ATTENTION_WARPS = 4, ATTENTION_THREADS = ATTENTION_WARPS * WARP, ATTENTION_TILE = 16 * ATTENTION_WARPS /* queries or keys of a block */ };

/* Keys (or queries) that a block takes in at a time: what 48 KiB of shared memory hold beside its own tile. */
template <typename T> struct attention_step {
    static constexpr int FORWARD = sizeof(T) == 2 ? 64 : 32, BACKWARD = sizeof(T) == 2 ? 32 : 16;
};

struct attention_view {
    int heads, size /* of a head */, H;
    int64_t stride;
    float scale;  /* 1 / sqrt D */
    float scale2; /* that times log2 e: exp(scale x) = 2^(scale2 x) */
    const int64_t *offset;
    const int32_t *keys;
    const uint64_t *sample;
    dropping drop;
    float *row_max, *row_sum, *delta;
};

/* One row and head. Pointers to it are base + first * stride + head * size. */
struct attention_place {
    int64_t first; /* token */
    int length, keys, head;
    uint64_t sample;
};

__device__ __forceinline__ attention_place attention_place_of(const attention_view &a)
{
    attention_place p;
    const int64_t row = blockIdx.z;
    p.first = a.offset[row];
    p.length = (int)(a.offset[row + 1] - p.first);
    p.keys = a.keys[row];
    p.head = blockIdx.y;
    p.sample = a.sample[row];
    return p;
}

static inline attention_view attention_view_of(const cuda_attention_args *a)
{
    attention_view v = {};
    v.heads = (int)a->heads, v.size = (int)a->head_size, v.H = (int)(a->heads * a->head_size), v.stride = a->stride;
    v.scale = 1.0f / sqrtf((float)a->head_size);
    v.scale2 = v.scale * 1.44269504f;
    v.offset = a->rows->offset, v.keys = a->rows->keys, v.sample = a->rows->sample;
    v.drop = dropping_of(a->drop, a->rows->epoch);
    v.row_max = a->row_max, v.row_sum = a->row_sum, v.delta = (float *)a->scratch;
    return v;
}

/* Four keys of one query are one counter: bit k is set where key k of the four is kept. */
__device__ __forceinline__ uint32_t keep_four(const attention_view &a, const attention_place &p, int query, int key)
{
    if (!a.drop.threshold)
        return 15;
    uint32_t w[4];
    dropping_words(a.drop, p.sample, ((uint32_t)p.head << 18 | (uint32_t)query << 9 | (uint32_t)key) / 4, w);
    return (uint32_t)(w[0] >= a.drop.threshold) | (uint32_t)(w[1] >= a.drop.threshold) << 1 | (uint32_t)(w[2] >= a.drop.threshold) << 2 |
           (uint32_t)(w[3] >= a.drop.threshold) << 3;
}

/* Which elements of a tile of queries (rows, the first is `query`) and keys (8 N columns, the first is `key`, a multiple of 8) are
 * kept; columns from `columns` on are not asked for. Two lanes share the four keys of a counter: the even one draws for row g, the odd one for row g
 * + 8, and they swap. */
template <int N> struct keep_by_query {
    uint32_t low, high; /* of rows g and g + 8, four bits a column of eight */

    __device__ __forceinline__ keep_by_query(const attention_view &a, const attention_place &p, int query, int key, int columns)
    {
        const int lane = lane_of_warp(), odd = lane & 1;
        uint32_t mine = 0;
#pragma unroll
        for (int n = 0; n < N; n++)
            if (8 * n < columns)
                mine |= keep_four(a, p, query + lane / 4 + 8 * odd, key + 8 * n + lane % 4 / 2 * 4) << 4 * n;
        const uint32_t other = __shfl_xor_sync(FULL_WARP, mine, 1);
        low = (odd ? other : mine) >> 2 * odd;
        high = (odd ? mine : other) >> 2 * odd;
    }

    /* Element i of column of eight n, as in tile.h. */
    __device__ __forceinline__ bool at(int n, int i) const
    {
        return ((i < 2 ? low : high) >> (4 * n + i % 2) & 1) != 0;
    }
};

/* The same where rows are keys and columns are queries: four lanes (g = 4a .. 4a+3) share the four keys of a counter, and of the four
 * counters that they need together (two queries, keys of g and of g + 8) each draws one. */
template <int N> struct keep_by_key {
    uint32_t kept[4]; /* of counter (query % 2) + 2 * (upper half), four bits a column of eight, this lane's key the lowest */

    __device__ __forceinline__ keep_by_key(const attention_view &a, const attention_place &p, int query, int key, int columns)
    {
        const int lane = lane_of_warp(), g = lane / 4, t = lane % 4, b = g % 4;
        uint32_t mine = 0;
#pragma unroll
        for (int n = 0; n < N; n++)
            if (8 * n < columns)
                mine |= keep_four(a, p, query + 8 * n + 2 * t + b % 2, key + g / 4 * 4 + b / 2 * 8) << 4 * n;
#pragma unroll
        for (int i = 0; i < 4; i++)
            kept[i] = __shfl_sync(FULL_WARP, mine, (g / 4 * 4 + i) * 4 + t) >> b;
    }

    __device__ __forceinline__ bool at(int n, int i) const
    {
        return (kept[i] >> 4 * n & 1) != 0;
    }
};

/* Runs the statement with T the element type and SIZE the head size that shared memory is laid out for. */
#define WITH_HEAD(type, head_size, ...)   \
    do {                                  \
        if ((head_size) <= 32) {          \
            enum { SIZE = 32 };           \
            WITH_TYPE(type, __VA_ARGS__); \
        } else {                          \
            enum { SIZE = 64 };           \
            WITH_TYPE(type, __VA_ARGS__); \
        }                                 \
    } while (0)

#endif
