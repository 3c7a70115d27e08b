/* Attention backward, without a sum that two blocks share: one kernel has a block own 64 keys and walk over the queries (dk, dv), one has
 * it own 64 queries and walk over the keys (dq). Both compute the probabilities again from the kept maximum and sum. */
#include "model/cuda/kernels/attention.h"

enum { DELTA_LANES = 8, DELTA_PLACES = ATTENTION_THREADS / DELTA_LANES };

/* delta[token, head] = out . dout: the sum over keys of P dP. Eight lanes a token and head, eight columns each. */
template <typename T>
__global__ void __launch_bounds__(ATTENTION_THREADS) attention_delta(int64_t places, int size, const T *out, const T *dout, float *delta)
{
    const int64_t place = (int64_t)blockIdx.x * DELTA_PLACES + threadIdx.x / DELTA_LANES;
    const int c = threadIdx.x % DELTA_LANES * 8;
    float sum = 0;
    if (place < places && c < size) {
        float x[8], y[8];
        load8(out + place * size + c, x);
        load8(dout + place * size + c, y);
        for (int i = 0; i < 8; i++)
            sum = fmaf(x[i], y[i], sum);
    }
    for (int bits = DELTA_LANES / 2; bits; bits /= 2)
        sum += __shfl_xor_sync(FULL_WARP, sum, bits);
    if (place < places && c == 0)
        delta[place] = sum;
}

/* What is kept of a query, ready to use: P = 2^(scale2 score - shift) * inverse. */
struct query_numbers {
    float shift, inverse, delta;
};

__device__ __forceinline__ query_numbers numbers_of(const attention_view &a, const attention_place &p, int query)
{
    query_numbers q = {0, 0, 0}; /* past the row's end: P = 0 */
    if (query < p.length) {
        const int64_t at = (p.first + query) * a.heads + p.head;
        q.shift = a.row_max[at] * 1.44269504f;
        q.inverse = a.row_sum ? 1.0f / a.row_sum[at] : 1.0f;
        q.delta = a.delta[at];
    }
    return q;
}

/* From a score and dP to what the products need: the dropped probability and the score's gradient. */
__device__ __forceinline__ void gradient_of(const attention_view &a, const query_numbers &q, bool kept, float score, float dp, float *dropped,
                                            float *ds)
{
    const float probability = ptx_exp2(fmaf(score, a.scale2, -q.shift)) * q.inverse, factor = kept ? a.drop.scale : 0.0f;
    *dropped = probability * factor;
    *ds = probability * (dp * factor - q.delta) * a.scale;
}

/* Grid: tiles of keys x heads x rows. Rows of the tiles are keys, columns are queries. */
template <typename T, int D>
__global__ void __launch_bounds__(ATTENTION_THREADS)
    attention_backward_keys(attention_view a, const T *q, const T *k, const T *v, const T *dout, T *dk, T *dv)
{
    constexpr int STRIDE = tile_shape<T, D>::STRIDE, STEP = attention_step<T>::BACKWARD, N = STEP / 8;
    SHARED(T, keys, ATTENTION_TILE * STRIDE);
    SHARED(T, values, ATTENTION_TILE * STRIDE);
    SHARED(T, queries, STEP * STRIDE);
    SHARED(T, gradients, STEP * STRIDE);
    SHARED(query_numbers, numbers, STEP);
    const attention_place p = attention_place_of(a);
    const int first = blockIdx.x * ATTENTION_TILE, own = threadIdx.x / WARP * 16, row = first + own + lane_of_warp() / 4, t = lane_of_warp() % 4;
    if (first >= p.length)
        return;
    const int64_t base = p.first * a.stride + p.head * a.size, base_out = p.first * a.H + p.head * a.size;
    tile_load<T, D>(keys, k + base + first * a.stride, a.stride, ATTENTION_TILE, p.length - first, a.size);
    tile_load<T, D>(values, v + base + first * a.stride, a.stride, ATTENTION_TILE, p.length - first, a.size);
    float sum_k[D / 8][4], sum_v[D / 8][4];
    tile_clear<D / 8>(sum_k);
    tile_clear<D / 8>(sum_v);
    for (int at = 0; at < p.length; at += STEP) {
        __syncthreads();
        tile_load<T, D>(queries, q + base + at * a.stride, a.stride, STEP, p.length - at, a.size);
        tile_load<T, D>(gradients, dout + base_out + (int64_t)at * a.H, a.H, STEP, p.length - at, a.size);
        if (threadIdx.x < STEP)
            numbers[threadIdx.x] = numbers_of(a, p, at + threadIdx.x);
        __syncthreads();
        if (first + own >= p.keys)
            continue; /* none of this warp's keys is one */
        const int columns = p.length - at;
        float c[N][4], dp[N][4];
        tile_clear<N>(c);
        tile_clear<N>(dp);
        tile_times_rows<T, D, N>(c, keys + own * STRIDE, queries, columns);
        tile_times_rows<T, D, N>(dp, values + own * STRIDE, gradients, columns);
        keep_by_key<N> keep(a, p, at, first + own, columns);
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int i = 0; i < 4 && 8 * n < columns; i++) {
                gradient_of(a, numbers[8 * n + 2 * t + i % 2], keep.at(n, i), c[n][i], dp[n][i], &c[n][i], &dp[n][i]);
                if (row + i / 2 * 8 >= p.keys)
                    c[n][i] = dp[n][i] = 0; /* padding is never a key */
            }
        tile_weighted_rows<T, D, N>(sum_v, c, gradients, columns);
        tile_weighted_rows<T, D, N>(sum_k, dp, queries, columns);
    }
    tile_store<T, D>(dk + base, a.stride, row, p.length, a.size, sum_k, 1.0f, 1.0f);
    tile_store<T, D>(dv + base, a.stride, row, p.length, a.size, sum_v, 1.0f, 1.0f);
}

/* Grid: tiles of queries x heads x rows. Rows of the tiles are queries, columns are keys. */
template <typename T, int D>
__global__ void __launch_bounds__(ATTENTION_THREADS)
    attention_backward_queries(attention_view a, const T *q, const T *k, const T *v, const T *dout, T *dq)
{
    constexpr int STRIDE = tile_shape<T, D>::STRIDE, STEP = attention_step<T>::BACKWARD, N = STEP / 8;
    SHARED(T, queries, ATTENTION_TILE * STRIDE);
    SHARED(T, gradients, ATTENTION_TILE * STRIDE);
    SHARED(T, keys, STEP * STRIDE);
    SHARED(T, values, STEP * STRIDE);
    const attention_place p = attention_place_of(a);
    const int first = blockIdx.x * ATTENTION_TILE, own = threadIdx.x / WARP * 16, row = first + own + lane_of_warp() / 4, t = lane_of_warp() % 4;
    if (first >= p.length)
        return;
    const int64_t base = p.first * a.stride + p.head * a.size, base_out = p.first * a.H + p.head * a.size;
    tile_load<T, D>(queries, q + base + first * a.stride, a.stride, ATTENTION_TILE, p.length - first, a.size);
    tile_load<T, D>(gradients, dout + base_out + (int64_t)first * a.H, a.H, ATTENTION_TILE, p.length - first, a.size);
    const query_numbers numbers[2] = {numbers_of(a, p, row), numbers_of(a, p, row + 8)};
    float sum[D / 8][4];
    tile_clear<D / 8>(sum);
    for (int at = 0; at < p.keys; at += STEP) {
        __syncthreads();
        tile_load<T, D>(keys, k + base + at * a.stride, a.stride, STEP, p.keys - at, a.size);
        tile_load<T, D>(values, v + base + at * a.stride, a.stride, STEP, p.keys - at, a.size);
        __syncthreads();
        if (first + own >= p.length)
            continue; /* none of this warp's queries is in the row */
        const int columns = p.keys - at;
        float c[N][4], dp[N][4], dropped;
        tile_clear<N>(c);
        tile_clear<N>(dp);
        tile_times_rows<T, D, N>(c, queries + own * STRIDE, keys, columns);
        tile_times_rows<T, D, N>(dp, gradients + own * STRIDE, values, columns);
        keep_by_query<N> keep(a, p, first + own, at, columns);
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int i = 0; i < 4 && 8 * n < columns; i++) {
                gradient_of(a, numbers[i / 2], keep.at(n, i), c[n][i], dp[n][i], &dropped, &dp[n][i]);
                if (at + 8 * n + 2 * t + i % 2 >= p.keys)
                    dp[n][i] = 0;
            }
        tile_weighted_rows<T, D, N>(sum, dp, keys, columns);
    }
    tile_store<T, D>(dq + base, a.stride, row, p.length, a.size, sum, 1.0f, 1.0f);
}

void cuda_attention_backward(cuda_stream stream, const cuda_attention_args *a)
{
    if (a->rows->rows == 0)
        return;
    const int64_t places = a->rows->tokens * a->heads;
    const launch_size grid(pieces_of(a->rows->longest, ATTENTION_TILE), a->heads, a->rows->rows);
    WITH_TYPE(a->type, LAUNCH(stream, pieces_of(places, DELTA_PLACES), ATTENTION_THREADS, attention_delta<T>, places, (int)a->head_size,
                              (const T *)a->out, (const T *)a->dout, (float *)a->scratch));
    WITH_HEAD(a->type, a->head_size,
              LAUNCH(stream, grid, ATTENTION_THREADS, (attention_backward_keys<T, SIZE>), attention_view_of(a), (const T *)a->q, (const T *)a->k,
                     (const T *)a->v, (const T *)a->dout, (T *)a->dk, (T *)a->dv));
    WITH_HEAD(a->type, a->head_size,
              LAUNCH(stream, grid, ATTENTION_THREADS, (attention_backward_queries<T, SIZE>), attention_view_of(a), (const T *)a->q, (const T *)a->k,
                     (const T *)a->v, (const T *)a->dout, (T *)a->dq));
}
