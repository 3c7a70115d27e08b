/* What surrounds a product: bias, GELU, column sums for bias gradients, the fold of a split weight gradient; and the way back into the
 * rows of an embedding table. */
#include "model/cuda/kernels/fold.h"
#include "model/cuda/kernels/number.h"
#include "model/cuda/kernels/point.h"

enum { POINT_THREADS = 256, COLUMN_WARPS = 8, COLUMN_WIDTH = 8 * WARP, EMBED_THREADS = 128 };

/* ---- eight elements a thread ---- */

__device__ __forceinline__ int64_t eighth_of_thread()
{
    return ((int64_t)blockIdx.x * POINT_THREADS + threadIdx.x) * 8;
}

template <typename T> __global__ void __launch_bounds__(POINT_THREADS) bias_gelu(int64_t n, int F, const T *x, const float *bias, T *pre, T *y)
{
    int64_t i = eighth_of_thread();
    if (i >= n)
        return;
    float v[8];
    load8(x + i, v);
    if (bias) {
        float b[8];
        load8(bias + i % F, b);
        for (int k = 0; k < 8; k++)
            v[k] = rounded<T>(v[k] + b[k]);
    }
    if (pre)
        store8(pre + i, v);
    for (int k = 0; k < 8; k++)
        v[k] = point_gelu(v[k]);
    store8(y + i, v);
}

template <typename T> __global__ void __launch_bounds__(POINT_THREADS) gelu_back(int64_t n, const T *pre, const T *dy, T *dpre)
{
    int64_t i = eighth_of_thread();
    if (i >= n)
        return;
    float v[8], d[8];
    load8(pre + i, v);
    load8(dy + i, d);
    for (int k = 0; k < 8; k++)
        d[k] *= point_gelu_slope(v[k]);
    store8(dpre + i, d);
}

void cuda_bias_gelu_forward(cuda_stream stream, cuda_type type, int64_t rows, int64_t F, const void *x, const float *bias, void *pre, void *y)
{
    if (rows)
        WITH_TYPE(type, LAUNCH(stream, pieces_of(rows * F, 8 * POINT_THREADS), POINT_THREADS, bias_gelu<T>, rows * F, (int)F, (const T *)x, bias,
                               (T *)pre, (T *)y));
}

void cuda_gelu_backward(cuda_stream stream, cuda_type type, int64_t n, const void *pre, const void *dy, void *dpre)
{
    if (n)
        WITH_TYPE(type, LAUNCH(stream, pieces_of(n, 8 * POINT_THREADS), POINT_THREADS, gelu_back<T>, n, (const T *)pre, (const T *)dy, (T *)dpre));
}

/* ---- column sums: a block has 256 columns of CUDA_COLUMN_ROWS rows, a warp an eighth of these rows ---- */

template <typename T> __global__ void __launch_bounds__(COLUMN_WARPS *WARP) column_pieces(int64_t rows, int64_t O, const T *x, float *part)
{
    SHARED(float, eighth, COLUMN_WARPS *COLUMN_WIDTH);
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const int64_t c = (int64_t)blockIdx.x * COLUMN_WIDTH + 8 * lane;
    const int64_t begin = (int64_t)blockIdx.y * CUDA_COLUMN_ROWS + warp * (CUDA_COLUMN_ROWS / COLUMN_WARPS);
    float sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    if (c < O)
        for (int64_t r = begin; r < begin + CUDA_COLUMN_ROWS / COLUMN_WARPS && r < rows; r++) {
            float v[8];
            load8(x + r * O + c, v);
            for (int i = 0; i < 8; i++)
                sum[i] += v[i];
        }
    store8(eighth + warp * COLUMN_WIDTH + 8 * lane, sum);
    __syncthreads();
    const int64_t column = (int64_t)blockIdx.x * COLUMN_WIDTH + threadIdx.x;
    if (column >= O)
        return;
    float total = eighth[threadIdx.x];
    for (int w = 1; w < COLUMN_WARPS; w++)
        total += eighth[w * COLUMN_WIDTH + threadIdx.x];
    part[(int64_t)blockIdx.y * O + column] = total;
}

void cuda_column_sum(cuda_stream stream, cuda_type type, int64_t rows, int64_t O, const void *x, float *to, void *scratch)
{
    const int64_t pieces = pieces_of(rows, CUDA_COLUMN_ROWS);
    if (!pieces)
        return;
    WITH_TYPE(type, LAUNCH(stream, launch_size(pieces_of(O, COLUMN_WIDTH), pieces), COLUMN_WARPS * WARP, column_pieces<T>, rows, O, (const T *)x,
                           (float *)scratch));
    fold_columns(stream, pieces, O, (const float *)scratch, O, to, NULL);
}

/* ---- the fold of a split product: four elements a thread ---- */

/* The binary tree over pieces, neighbours first, as a counter adds: at most six sums are open. */
__global__ void __launch_bounds__(POINT_THREADS) fold_split(int64_t n, int count, int64_t stride, const float *pieces, float *to)
{
    const int64_t i = ((int64_t)blockIdx.x * POINT_THREADS + threadIdx.x) * 4;
    if (i >= n)
        return;
    float open[6][4], v[4], total[4];
#pragma unroll
    for (int p = 0; p < CUDA_MAX_PIECES; p++) {
        if (p < count) {
            load4(pieces + p * stride + i, v);
            /* p's trailing ones say how many finished sums it completes */
#pragma unroll
            for (int level = 0; level < 5; level++) {
                if ((p >> level & 1) == 0) {
                    for (int k = 0; k < 4; k++)
                        open[level][k] = v[k];
                    break;
                }
                for (int k = 0; k < 4; k++)
                    v[k] = open[level][k] + v[k];
                if (level == 4)
                    for (int k = 0; k < 4; k++)
                        open[5][k] = v[k];
            }
        }
    }
    int have = 0;
#pragma unroll
    for (int level = 0; level < 6; level++) /* what is left, from the smallest up */
        if (count >> level & 1) {
            for (int k = 0; k < 4; k++)
                v[k] = have ? open[level][k] + v[k] : open[level][k];
            have = 1;
        }
    load4(to + i, total);
    for (int k = 0; k < 4; k++)
        total[k] += v[k];
    store4(to + i, total);
}

void cuda_fold_split(cuda_stream stream, int64_t n, int count, int64_t stride, const float *pieces, float *to)
{
    if (n)
        LAUNCH(stream, pieces_of(n, 4 * POINT_THREADS), POINT_THREADS, fold_split, n, count, stride, pieces, to);
}

/* ---- rows of an embedding table: a block a group of tokens, eight columns a thread ---- */

template <typename T>
__global__ void __launch_bounds__(EMBED_THREADS)
    embed_rows(const int32_t *first, const int32_t *token, const int32_t *target, int H, const T *dsum, float *to)
{
    const int c = 8 * (int)threadIdx.x;
    if (c >= H)
        return;
    float sum[8], v[8];
    float *row = to + (int64_t)target[blockIdx.x] * H + c;
    load8(row, sum);
    for (int i = first[blockIdx.x]; i < first[blockIdx.x + 1]; i++) {
        load8(dsum + (int64_t)token[i] * H + c, v);
        for (int k = 0; k < 8; k++)
            sum[k] += v[k];
    }
    store8(row, sum);
}

void cuda_embed_rows_backward(cuda_stream stream, cuda_type type, const cuda_groups *g, int64_t hidden, const void *dsum, float *to)
{
    if (g->count)
        WITH_TYPE(type, LAUNCH(stream, g->count, EMBED_THREADS, embed_rows<T>, g->first, g->token, g->target, (int)hidden, (const T *)dsum, to));
}
