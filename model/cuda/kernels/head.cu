/* The head: pooling, its dropout and linear layer, the loss in double. Rows and outputs are few; all but x is float32. */
#include "model/cuda/kernels/number.h"
#include "model/cuda/kernels/random.h"

enum { POOL_THREADS = 128, HEAD_WARPS = 4, LOSS_THREADS = 128 };

/* ---- pooling: a block a row, a thread eight neighbouring columns ---- */

/* Mean: ascending sum, one division. A later token is the greatest only if it is greater: ties go to the lowest, and NaN at the first stays. */
template <typename T>
__global__ void __launch_bounds__(POOL_THREADS) pool_forward(const int64_t *offset, int H, const T *x, float *pooled, int32_t *argmax)
{
    const int c = 8 * (int)threadIdx.x;
    if (c >= H)
        return;
    const int64_t r = blockIdx.x, first = offset[r], end = offset[r + 1];
    float sum[8], best[8], v[8];
    int32_t where[8];
    load8(x + first * H + c, sum);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        best[i] = sum[i];
        where[i] = (int32_t)first;
    }
    for (int64_t t = first + 1; t < end; t++) {
        load8(x + t * H + c, v);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            sum[i] += v[i];
            where[i] = v[i] > best[i] ? (int32_t)t : where[i];
            best[i] = v[i] > best[i] ? v[i] : best[i];
        }
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        sum[i] /= (float)(end - first);
        argmax[r * H + c + i] = where[i];
    }
    store8(pooled + r * 2 * H + c, sum);
    store8(pooled + r * 2 * H + H + c, best);
}

/* A block a token. */
template <typename T>
__global__ void __launch_bounds__(POOL_THREADS)
    pool_backward(const int64_t *offset, const int32_t *row, int H, const float *dpooled, const int32_t *argmax, T *dx)
{
    const int c = 8 * (int)threadIdx.x;
    if (c >= H)
        return;
    const int64_t t = blockIdx.x, r = row[t];
    const float length = (float)(offset[r + 1] - offset[r]);
    float mean[8], greatest[8];
    load8(dpooled + r * 2 * H + c, mean);
    load8(dpooled + r * 2 * H + H + c, greatest);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        mean[i] /= length;
        if (argmax[r * H + c + i] == t)
            mean[i] += greatest[i];
    }
    store8(dx + t * H + c, mean);
}

void cuda_pool_forward(cuda_stream stream, cuda_type type, const cuda_rows *rows, int64_t H, const void *x, float *pooled, int32_t *argmax)
{
    if (rows->rows)
        WITH_TYPE(type, LAUNCH(stream, rows->rows, POOL_THREADS, pool_forward<T>, rows->offset, (int)H, (const T *)x, pooled, argmax));
}

void cuda_pool_backward(cuda_stream stream, cuda_type type, const cuda_rows *rows, int64_t H, const float *dpooled, const int32_t *argmax, void *dx)
{
    if (rows->tokens)
        WITH_TYPE(type, LAUNCH(stream, rows->tokens, POOL_THREADS, pool_backward<T>, rows->offset, rows->row, (int)H, dpooled, argmax, (T *)dx));
}

/* ---- linear layer on dropped rows ---- */

/* A block a row: its dropout, then a warp an output: lane l has columns l, l + 32, ..., then the warp's tree. */
__global__ void __launch_bounds__(HEAD_WARPS *WARP) head_forward(dropping drop, const uint64_t *sample, int H, int C, const float *pooled,
                                                                 const float *weight, const float *bias, float *dropped, float *logits)
{
    SHARED(float, row, 2 * CUDA_MAX_HIDDEN);
    const int64_t r = blockIdx.x;
    for (int c = 4 * (int)threadIdx.x; c < 2 * H; c += 4 * HEAD_WARPS * WARP) {
        float v[4];
        load4(pooled + r * 2 * H + c, v);
        if (drop.threshold) {
            uint32_t w[4];
            dropping_words(drop, sample[r], (uint32_t)c / 4, w);
            for (int i = 0; i < 4; i++)
                v[i] = dropping_apply(drop, w[i], v[i]);
        }
        store4(row + c, v);
        store4(dropped + r * 2 * H + c, v);
    }
    __syncthreads();
    for (int o = threadIdx.x / WARP; o < C; o += HEAD_WARPS) {
        float sum = 0;
        for (int c = threadIdx.x % WARP; c < 2 * H; c += WARP)
            sum = fmaf(row[c], weight[(int64_t)o * 2 * H + c], sum);
        sum = warp_sum(sum);
        if (threadIdx.x % WARP == 0)
            logits[r * C + o] = sum + bias[o];
    }
}

/* dpooled = dropout(dlogits weight); a block a row, four columns a thread, outputs ascending. */
__global__ void __launch_bounds__(HEAD_WARPS *WARP)
    head_back_rows(dropping drop, const uint64_t *sample, int H, int C, const float *dlogits, const float *weight, float *dpooled)
{
    const int64_t r = blockIdx.x;
    for (int c = 4 * (int)threadIdx.x; c < 2 * H; c += 4 * HEAD_WARPS * WARP) {
        float v[4] = {0, 0, 0, 0}, w[4];
        for (int o = 0; o < C; o++) {
            load4(weight + (int64_t)o * 2 * H + c, w);
            for (int i = 0; i < 4; i++)
                v[i] = fmaf(dlogits[r * C + o], w[i], v[i]);
        }
        if (drop.threshold) {
            uint32_t word[4];
            dropping_words(drop, sample[r], (uint32_t)c / 4, word);
            for (int i = 0; i < 4; i++)
                v[i] = dropping_apply(drop, word[i], v[i]);
        }
        store4(dpooled + r * 2 * H + c, v);
    }
}

/* dweight, dbias +=, one chain over the rows each. Grid: columns (the last block has the bias) x outputs. */
__global__ void __launch_bounds__(HEAD_WARPS *WARP)
    head_back_weight(int64_t rows, int H, int C, const float *dlogits, const float *dropped, float *dweight, float *dbias)
{
    const int c = (int)(blockIdx.x * HEAD_WARPS * WARP + threadIdx.x), o = blockIdx.y;
    if (c > 2 * H)
        return;
    float *to = c < 2 * H ? dweight + (int64_t)o * 2 * H + c : dbias + o, sum = *to;
    for (int64_t r = 0; r < rows; r++)
        sum = fmaf(dlogits[r * C + o], c < 2 * H ? dropped[r * 2 * H + c] : 1.0f, sum);
    *to = sum;
}

void cuda_head_forward(cuda_stream stream, const cuda_rows *rows, int64_t H, int64_t C, const float *pooled, const dropout *drop, const float *weight,
                       const float *bias, float *dropped, float *logits)
{
    if (rows->rows)
        LAUNCH(stream, rows->rows, HEAD_WARPS * WARP, head_forward, dropping_of(drop, rows->epoch), rows->sample, (int)H, (int)C, pooled, weight,
               bias, dropped, logits);
}

void cuda_head_backward(cuda_stream stream, const cuda_rows *rows, int64_t H, int64_t C, const float *dlogits, const float *dropped,
                        const dropout *drop, const float *weight, float *dpooled, float *dweight, float *dbias)
{
    if (!rows->rows)
        return;
    LAUNCH(stream, launch_size(pieces_of(2 * H + 1, HEAD_WARPS * WARP), C), HEAD_WARPS * WARP, head_back_weight, rows->rows, (int)H, (int)C, dlogits,
           dropped, dweight, dbias);
    LAUNCH(stream, rows->rows, HEAD_WARPS * WARP, head_back_rows, dropping_of(drop, rows->epoch), rows->sample, (int)H, (int)C, dlogits, weight,
           dpooled);
}

/* ---- loss: a thread a row ---- */

__device__ __forceinline__ double sigmoid_of(double z)
{
    double e = exp(-fabs(z));
    return z >= 0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
}

/* max(z, 0) - z y + log(1 + exp(-|z|)), summed over the outputs; NaN must reach the loss. */
__global__ void __launch_bounds__(LOSS_THREADS)
    loss_forward(int64_t rows, int C, const float *logits, const float *label, float factor, double *row_loss, float *dlogits)
{
    const int64_t r = (int64_t)blockIdx.x * LOSS_THREADS + threadIdx.x;
    if (r >= rows)
        return;
    double sum = 0;
    for (int64_t i = r * C; i < (r + 1) * C; i++) {
        double z = logits[i], y = label[i];
        sum += (z > 0 ? z : z != z ? z : 0.0) - z * y + log1p(exp(-fabs(z)));
        if (dlogits)
            dlogits[i] = (float)((sigmoid_of(z) - y) * (double)factor);
    }
    row_loss[r] = sum;
}

__global__ void __launch_bounds__(LOSS_THREADS) sigmoid(int64_t n, const float *logits, float *probability)
{
    const int64_t i = (int64_t)blockIdx.x * LOSS_THREADS + threadIdx.x;
    if (i < n)
        probability[i] = (float)sigmoid_of(logits[i]);
}

void cuda_loss_forward(cuda_stream stream, const cuda_rows *rows, int64_t C, const float *logits, float factor, double *row_loss, float *dlogits)
{
    if (rows->rows)
        LAUNCH(stream, pieces_of(rows->rows, LOSS_THREADS), LOSS_THREADS, loss_forward, rows->rows, (int)C, logits, rows->label, factor, row_loss,
               dlogits);
}

void cuda_sigmoid(cuda_stream stream, int64_t n, const float *logits, float *probability)
{
    if (n)
        LAUNCH(stream, pieces_of(n, LOSS_THREADS), LOSS_THREADS, sigmoid, n, logits, probability);
}
