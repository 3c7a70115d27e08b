/* Attention forward: a block has 64 queries of one row and head, a warp 16 of them, and walks over the row's keys a tile at a time. The
 * sums of what it has seen are rescaled when a greater score comes, so that no score leaves the registers. */
#include "model/cuda/kernels/attention.h"

/* What a lane knows of its two queries (rows g and g + 8). */
struct forward_state {
    float greatest[2], sum[2];
};

/* Scores become exp(score - greatest so far), `o` and the sums are rescaled to it. Keys from `valid` on have weight 0: whole columns of eight are
 * left at the 0 they have. */
template <int N, int DT>
__device__ __forceinline__ void softmax_step(const attention_view &a, int valid, float c[N][4], float o[DT][4], forward_state &s)
{
    const int t = lane_of_warp() % 4;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float greatest = s.greatest[h], sum = 0;
#pragma unroll
        for (int n = 0; n < N; n++)
            for (int e = 0; e < 2 && 8 * n < valid; e++) {
                if (8 * n + 2 * t + e >= valid)
                    c[n][2 * h + e] = -INFINITY;
                greatest = fmaxf(greatest, c[n][2 * h + e]);
            }
        greatest = fmaxf(greatest, __shfl_xor_sync(FULL_WARP, greatest, 1));
        greatest = fmaxf(greatest, __shfl_xor_sync(FULL_WARP, greatest, 2));
        const float again = ptx_exp2((s.greatest[h] - greatest) * a.scale2), shift = greatest * a.scale2;
#pragma unroll
        for (int n = 0; n < N; n++)
            for (int e = 0; e < 2 && 8 * n < valid; e++) {
                c[n][2 * h + e] = ptx_exp2(fmaf(c[n][2 * h + e], a.scale2, -shift));
                sum += c[n][2 * h + e];
            }
        s.greatest[h] = greatest;
        s.sum[h] = fmaf(s.sum[h], again, sum);
#pragma unroll
        for (int d = 0; d < DT; d++) {
            o[d][2 * h] *= again;
            o[d][2 * h + 1] *= again;
        }
    }
}

template <int N>
__device__ __forceinline__ void drop_weights(const attention_view &a, const attention_place &p, int query, int key, int columns, float c[N][4])
{
    if (!a.drop.threshold)
        return;
    const keep_by_query<N> keep(a, p, query, key, columns);
#pragma unroll
    for (int n = 0; n < N; n++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            c[n][i] = keep.at(n, i) ? c[n][i] * a.drop.scale : 0.0f;
}

/* Grid: tiles of queries x heads x rows; a tile past the row's end has nothing to do. */
template <typename T, int D>
__global__ void __launch_bounds__(ATTENTION_THREADS) attention_forward(attention_view a, const T *q, const T *k, const T *v, T *out)
{
    constexpr int STRIDE = tile_shape<T, D>::STRIDE, STEP = attention_step<T>::FORWARD, N = STEP / 8;
    SHARED(T, queries, ATTENTION_TILE * STRIDE);
    SHARED(T, keys, STEP * STRIDE);
    SHARED(T, values, STEP * STRIDE);
    const attention_place p = attention_place_of(a);
    const int first = blockIdx.x * ATTENTION_TILE, own = threadIdx.x / WARP * 16;
    if (first >= p.length)
        return;
    const int64_t base = p.first * a.stride + p.head * a.size;
    tile_load<T, D>(queries, q + base + first * a.stride, a.stride, ATTENTION_TILE, p.length - first, a.size);
    float o[D / 8][4];
    tile_clear<D / 8>(o);
    forward_state s = {{-INFINITY, -INFINITY}, {0, 0}};
    for (int at = 0; at < p.keys; at += STEP) {
        __syncthreads();
        tile_load<T, D>(keys, k + base + at * a.stride, a.stride, STEP, p.keys - at, a.size);
        tile_load<T, D>(values, v + base + at * a.stride, a.stride, STEP, p.keys - at, a.size);
        __syncthreads();
        if (first + own >= p.length)
            continue; /* none of this warp's queries is in the row */
        float c[N][4];
        tile_clear<N>(c);
        tile_times_rows<T, D, N>(c, queries + own * STRIDE, keys, p.keys - at);
        softmax_step<N, D / 8>(a, p.keys - at, c, o, s);
        drop_weights<N>(a, p, first + own, at, p.keys - at, c);
        tile_weighted_rows<T, D, N>(o, c, values, p.keys - at);
    }
    const int row = first + own + lane_of_warp() / 4;
    for (int h = 0; h < 2; h++) {
        s.sum[h] += __shfl_xor_sync(FULL_WARP, s.sum[h], 1);
        s.sum[h] += __shfl_xor_sync(FULL_WARP, s.sum[h], 2);
        if (a.row_max && lane_of_warp() % 4 == 0 && row + 8 * h < p.length) {
            a.row_max[(p.first + row + 8 * h) * a.heads + p.head] = s.greatest[h] * a.scale;
            a.row_sum[(p.first + row + 8 * h) * a.heads + p.head] = s.sum[h];
        }
    }
    tile_store<T, D>(out + p.first * a.H + p.head * a.size, a.H, row, p.length, a.size, o, 1.0f / s.sum[0], 1.0f / s.sum[1]);
}

void cuda_attention_forward(cuda_stream stream, const cuda_attention_args *a)
{
    if (a->rows->rows == 0)
        return;
    const launch_size grid(pieces_of(a->rows->longest, ATTENTION_TILE), a->heads, a->rows->rows);
    WITH_HEAD(a->type, a->head_size,
              LAUNCH(stream, grid, ATTENTION_THREADS, (attention_forward<T, SIZE>), attention_view_of(a), (const T *)a->q, (const T *)a->k,
                     (const T *)a->v, (T *)a->out));
}
