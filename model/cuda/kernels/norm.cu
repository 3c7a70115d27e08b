/* Layer norm with what surrounds it: a warp has a token, a lane eight neighbouring columns of every 256. The row stays in registers. */
#include "model/cuda/kernels/fold.h"
#include "model/cuda/kernels/number.h"
#include "model/cuda/kernels/random.h"

enum { EIGHTS = CUDA_MAX_HIDDEN / (8 * WARP), NORM_WARPS = 4, NORM_TOKENS = 64 /* a block, on the way back: the fixed piece of its sums */ };

struct norm_view {
    int64_t T;
    int H;
    float epsilon;
    const int32_t *id, *place, *row;
    const uint64_t *sample;
    const float *gamma, *beta, *word, *position, *table;
    float *mean, *rstd;
    dropping drop;
};

static norm_view view_of(const cuda_norm_args *a)
{
    norm_view v = {};
    v.T = a->rows->tokens, v.H = (int)a->hidden, v.epsilon = a->epsilon;
    v.id = a->rows->id, v.place = a->rows->place, v.row = a->rows->row, v.sample = a->rows->sample;
    v.gamma = a->gamma, v.beta = a->beta, v.word = a->word, v.position = a->position, v.table = a->table;
    v.mean = a->mean, v.rstd = a->rstd;
    v.drop = dropping_of(a->drop, a->rows->epoch);
    return v;
}

/* This lane's j-th eight columns begin here; past H there are none. */
__device__ __forceinline__ int column_of(int j)
{
    return 8 * ((int)(threadIdx.x % WARP) + WARP * j);
}

__device__ __forceinline__ void drop_eight(const norm_view &n, int64_t t, int c, float v[8])
{
    if (n.drop.threshold)
        dropping_eight(n.drop, n.sample[n.row[t]], (uint32_t)(n.place[t] * n.H + c), v);
}

template <typename T> __device__ __forceinline__ void sum_of_embedding(const norm_view &n, int64_t t, int c, float v[8])
{
    float table[8], position[8];
    load8(n.word + (int64_t)n.id[t] * n.H + c, v);
    load8(n.table + c, table);
    load8(n.position + (int64_t)n.place[t] * n.H + c, position);
#pragma unroll
    for (int i = 0; i < 8; i++)
        v[i] = rounded<T>(v[i] + table[i] + position[i]);
}

template <typename T> __device__ __forceinline__ void sum_of_residual(const norm_view &n, int64_t t, int c, const T *x, const T *y, float v[8])
{
    float kept[8];
    load8(x + t * n.H + c, v);
    load8(y + t * n.H + c, kept);
    drop_eight(n, t, c, kept);
#pragma unroll
    for (int i = 0; i < 8; i++)
        v[i] = rounded<T>(v[i] + kept[i]);
}

/* A warp a token; a block NORM_WARPS tokens. */
template <typename T, bool EMBED> __global__ void __launch_bounds__(NORM_WARPS *WARP) norm_forward(norm_view n, const T *x, const T *y, T *sum, T *z)
{
    int64_t t = (int64_t)blockIdx.x * NORM_WARPS + threadIdx.x / WARP;
    if (t >= n.T)
        return;
    float v[EIGHTS][8], total = 0;
#pragma unroll
    for (int j = 0; j < EIGHTS; j++) {
        int c = column_of(j);
        if (c < n.H) {
            if (EMBED)
                sum_of_embedding<T>(n, t, c, v[j]);
            else
                sum_of_residual<T>(n, t, c, x, y, v[j]);
            store8(sum + t * n.H + c, v[j]);
            for (int i = 0; i < 8; i++)
                total += v[j][i];
        }
    }
    float mean = warp_sum(total) / (float)n.H, square = 0;
#pragma unroll
    for (int j = 0; j < EIGHTS; j++)
        if (column_of(j) < n.H)
            for (int i = 0; i < 8; i++)
                square = fmaf(v[j][i] - mean, v[j][i] - mean, square);
    float rstd = 1.0f / sqrtf(warp_sum(square) / (float)n.H + n.epsilon);
#pragma unroll
    for (int j = 0; j < EIGHTS; j++) {
        int c = column_of(j);
        if (c < n.H) {
            float gamma[8], beta[8];
            load8(n.gamma + c, gamma);
            load8(n.beta + c, beta);
            for (int i = 0; i < 8; i++)
                v[j][i] = fmaf((v[j][i] - mean) * rstd, gamma[i], beta[i]);
            if (EMBED)
                drop_eight(n, t, c, v[j]);
            store8(z + t * n.H + c, v[j]);
        }
    }
    if (threadIdx.x % WARP == 0) {
        n.mean[t] = mean;
        n.rstd[t] = rstd;
    }
}

/* What a lane has for its columns: the sums over its warp's tokens. */
struct norm_sums {
    float gamma[EIGHTS][8], beta[EIGHTS][8];
};

/* One token's way back. dz and sum are read before dx, which may lie where dz does. */
template <typename T, bool EMBED>
__device__ __forceinline__ void back_one(const norm_view &n, int64_t t, const T *dz, const T *sum, T *dx, T *dy, norm_sums &s)
{
    float mean = n.mean[t], rstd = n.rstd[t], hat[EIGHTS][8], g[EIGHTS][8], sum1 = 0, sum2 = 0;
#pragma unroll
    for (int j = 0; j < EIGHTS; j++) {
        int c = column_of(j);
        if (c < n.H) {
            float gamma[8];
            load8(sum + t * n.H + c, hat[j]);
            load8(dz + t * n.H + c, g[j]);
            load8(n.gamma + c, gamma);
            if (EMBED)
                drop_eight(n, t, c, g[j]);
            for (int i = 0; i < 8; i++) {
                hat[j][i] = (hat[j][i] - mean) * rstd;
                s.gamma[j][i] = fmaf(g[j][i], hat[j][i], s.gamma[j][i]);
                s.beta[j][i] += g[j][i];
                g[j][i] *= gamma[i];
                sum1 += g[j][i];
                sum2 = fmaf(g[j][i], hat[j][i], sum2);
            }
        }
    }
    sum1 = warp_sum(sum1) / (float)n.H;
    sum2 = warp_sum(sum2) / (float)n.H;
#pragma unroll
    for (int j = 0; j < EIGHTS; j++) {
        int c = column_of(j);
        if (c < n.H) {
            for (int i = 0; i < 8; i++)
                g[j][i] = (g[j][i] - sum1 - hat[j][i] * sum2) * rstd;
            store8(dx + t * n.H + c, g[j]);
            if (!EMBED) {
                drop_eight(n, t, c, g[j]);
                store8(dy + t * n.H + c, g[j]);
            }
        }
    }
}

/* Adds the warps' sums to the block's, one warp after another. */
__device__ __forceinline__ void add_to_block(const norm_view &n, const norm_sums &s, float *block)
{
#pragma unroll
    for (int w = 0; w < NORM_WARPS; w++) {
        if ((int)threadIdx.x / WARP == w)
#pragma unroll
            for (int j = 0; j < EIGHTS; j++)
                if (column_of(j) < n.H)
                    for (int i = 0; i < 8; i++) {
                        int c = column_of(j) + i;
                        block[c] = w ? block[c] + s.gamma[j][i] : s.gamma[j][i];
                        block[n.H + c] = w ? block[n.H + c] + s.beta[j][i] : s.beta[j][i];
                    }
        __syncthreads();
    }
}

/* A block has NORM_TOKENS tokens, its warp w the w-th quarter of them; part[block] = sums for gamma, then beta. */
template <typename T, bool EMBED>
__global__ void __launch_bounds__(NORM_WARPS *WARP) norm_backward(norm_view n, const T *dz, const T *sum, T *dx, T *dy, float *part)
{
    SHARED(float, block, 2 * CUDA_MAX_HIDDEN);
    const int64_t first = (int64_t)blockIdx.x * NORM_TOKENS + threadIdx.x / WARP * (NORM_TOKENS / NORM_WARPS);
    norm_sums s;
#pragma unroll
    for (int j = 0; j < EIGHTS; j++)
        for (int i = 0; i < 8; i++)
            s.gamma[j][i] = s.beta[j][i] = 0;
    for (int64_t t = first; t < first + NORM_TOKENS / NORM_WARPS && t < n.T; t++)
        back_one<T, EMBED>(n, t, dz, sum, dx, dy, s);
    add_to_block(n, s, block);
    for (int c = threadIdx.x; c < 2 * n.H; c += NORM_WARPS * WARP)
        part[(int64_t)blockIdx.x * 2 * n.H + c] = block[c];
}

/* ---- sums of the pieces: 32 columns a block, eight warps that have an eighth of the pieces each ---- */

enum { FOLD_WARPS = 8 };

__global__ void __launch_bounds__(FOLD_WARPS *WARP)
    fold_pieces_of_columns(int64_t pieces, int64_t columns, const float *part, int64_t split, float *first, float *second)
{
    SHARED(float, eighth, FOLD_WARPS *WARP);
    const int64_t c = (int64_t)blockIdx.x * WARP + threadIdx.x % WARP, share = (pieces + FOLD_WARPS - 1) / FOLD_WARPS;
    const int64_t begin = threadIdx.x / WARP * share, end = begin + share < pieces ? begin + share : pieces;
    float sum = 0;
    if (c < columns)
        for (int64_t p = begin; p < end; p++)
            sum += part[p * columns + c];
    eighth[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x >= WARP || c >= columns)
        return;
    for (int w = 1; w < FOLD_WARPS; w++)
        sum += eighth[w * WARP + threadIdx.x];
    float *to = c < split ? first + c : second + (c - split);
    *to += sum;
}

void fold_columns(cuda_stream stream, int64_t pieces, int64_t columns, const float *part, int64_t split, float *first, float *second)
{
    LAUNCH(stream, pieces_of(columns, WARP), FOLD_WARPS * WARP, fold_pieces_of_columns, pieces, columns, part, split, first, second);
}

/* ---- the calls ---- */

void cuda_embed_forward(cuda_stream stream, const cuda_norm_args *a)
{
    if (a->rows->tokens)
        WITH_TYPE(a->type, LAUNCH(stream, pieces_of(a->rows->tokens, NORM_WARPS), NORM_WARPS * WARP, (norm_forward<T, true>), view_of(a),
                                  (const T *)NULL, (const T *)NULL, (T *)a->sum, (T *)a->z));
}

void cuda_residual_norm_forward(cuda_stream stream, const cuda_norm_args *a)
{
    if (a->rows->tokens)
        WITH_TYPE(a->type, LAUNCH(stream, pieces_of(a->rows->tokens, NORM_WARPS), NORM_WARPS * WARP, (norm_forward<T, false>), view_of(a),
                                  (const T *)a->x, (const T *)a->y, (T *)a->sum, (T *)a->z));
}

void cuda_embed_norm_backward(cuda_stream stream, const cuda_norm_args *a)
{
    const int64_t blocks = pieces_of(a->rows->tokens, NORM_TOKENS);
    if (!blocks)
        return;
    WITH_TYPE(a->type, LAUNCH(stream, blocks, NORM_WARPS * WARP, (norm_backward<T, true>), view_of(a), (const T *)a->dz, (const T *)a->sum,
                              (T *)a->dx, (T *)NULL, (float *)a->scratch));
    fold_columns(stream, blocks, 2 * a->hidden, (const float *)a->scratch, a->hidden, a->dgamma, a->dbeta);
}

void cuda_residual_norm_backward(cuda_stream stream, const cuda_norm_args *a)
{
    const int64_t blocks = pieces_of(a->rows->tokens, NORM_TOKENS);
    if (!blocks)
        return;
    WITH_TYPE(a->type, LAUNCH(stream, blocks, NORM_WARPS * WARP, (norm_backward<T, false>), view_of(a), (const T *)a->dz, (const T *)a->sum,
                              (T *)a->dx, (T *)a->dy, (float *)a->scratch));
    fold_columns(stream, blocks, 2 * a->hidden, (const float *)a->scratch, a->hidden, a->dgamma, a->dbeta);
}
