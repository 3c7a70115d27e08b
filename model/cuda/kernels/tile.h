/* Products of small tiles by a warp, for attention: 16 rows by 8 N columns, tensor cores for 16-bit types, fmaf for float32.
 *
 *     float c[N][4];                                        // lane 4g+t: c[n] = columns 8n+2t, 8n+2t+1 of row g, then of row g + 8
 *     tile_times_rows<T, D, N>(c, a, b, rows);              // c += a (16 x D) b (8N x D)^T, both in shared memory
 *     tile_weighted_rows<T, D, N>(o, c, b, rows);           // o (16 x D) += c (16 x 8N, rounded to T) b (8N x D)
 *
 * Of b only the first `rows` matter; what lies behind, rounded up to 16, is not computed (c keeps what it has there, which must be 0).
 * A tile in shared memory has rows of TILE_STRIDE elements: D and a little more, so that eight rows lie in different banks. Columns
 * past the head's size are zero. All are by whole warps.
 */
#ifndef FRETSAW_MODEL_CUDA_KERNELS_TILE_H
#define FRETSAW_MODEL_CUDA_KERNELS_TILE_H

#include "model/cuda/kernels/number.h"

template <typename T, int D> struct tile_shape {
    static constexpr int STRIDE = D + (sizeof(T) == 2 ? 8 : 4);
};

__device__ __forceinline__ int lane_of_warp()
{
    return (int)threadIdx.x % WARP;
}

/* Copies `rows` rows of `size` columns into the tile by all threads of the block; zero from row `valid` and column `size` on. */
template <typename T, int D> __device__ __forceinline__ void tile_load(T *tile, const T *from, int64_t stride, int rows, int valid, int size)
{
    for (int i = threadIdx.x; i < rows * (D / 8); i += (int)blockDim.x) {
        const int r = i / (D / 8), c = i % (D / 8) * 8;
        float v[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        if (r < valid && c < size)
            load8(from + r * stride + c, v);
        store8(tile + r * tile_shape<T, D>::STRIDE + c, v);
    }
}

/* ---- 16-bit types ---- */

__device__ __forceinline__ void multiply(bf16, float c[4], const uint32_t a[4], const uint32_t b[2])
{
    ptx_multiply_bfloat(c, a, b);
}
__device__ __forceinline__ void multiply(fp16, float c[4], const uint32_t a[4], const uint32_t b[2])
{
    ptx_multiply_half(c, a, b);
}

template <typename T, int D, int N> struct tile_math {
    static constexpr int STRIDE = tile_shape<T, D>::STRIDE;

    static __device__ __forceinline__ void times_rows(float c[N][4], const T *a, const T *b, int rows)
    {
        const int lane = lane_of_warp();
        const T *row_a = a + lane % 16 * STRIDE + lane / 16 * 8, *row_b = b + (lane % 8 + lane / 16 * 8) * STRIDE + lane / 8 % 2 * 8;
#pragma unroll
        for (int k = 0; k < D; k += 16) {
            uint32_t left[4], right[4];
            ptx_load_fragments(row_a + k, left);
#pragma unroll
            for (int n = 0; n < N; n += 2)
                if (8 * n < rows) {
                    ptx_load_fragments(row_b + n * 8 * STRIDE + k, right);
                    multiply(T(), c[n], left, right);
                    multiply(T(), c[n + 1], left, right + 2);
                }
        }
    }

    static __device__ __forceinline__ void weighted_rows(float o[D / 8][4], const float c[N][4], const T *b, int rows)
    {
        const int lane = lane_of_warp();
        const T *row_b = b + lane % 16 * STRIDE + lane / 16 * 8;
#pragma unroll
        for (int n = 0; n < N; n += 2) {
            if (8 * n >= rows)
                break;
            const uint32_t left[4] = {pair_of<T>(c[n][0], c[n][1]), pair_of<T>(c[n][2], c[n][3]), pair_of<T>(c[n + 1][0], c[n + 1][1]),
                                      pair_of<T>(c[n + 1][2], c[n + 1][3])};
#pragma unroll
            for (int d = 0; d < D / 8; d += 2) {
                uint32_t right[4];
                ptx_load_fragments_transposed(row_b + n * 8 * STRIDE + d * 8, right);
                multiply(T(), o[d], left, right);
                multiply(T(), o[d + 1], left, right + 2);
            }
        }
    }
};

/* ---- float32: each element one chain of fmaf, ascending ---- */

template <int D, int N> struct tile_math<float, D, N> {
    static constexpr int STRIDE = tile_shape<float, D>::STRIDE;

    static __device__ __forceinline__ void times_rows(float c[N][4], const float *a, const float *b, int rows)
    {
        const int g = lane_of_warp() / 4, t = lane_of_warp() % 4;
#pragma unroll 2
        for (int k = 0; k < D; k += 4) {
            float low[4], high[4], right[4];
            load4(a + g * STRIDE + k, low);
            load4(a + (g + 8) * STRIDE + k, high);
#pragma unroll
            for (int n = 0; n < N; n++)
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    if (8 * n >= rows)
                        break;
                    load4(b + (8 * n + 2 * t + e) * STRIDE + k, right);
#pragma unroll
                    for (int i = 0; i < 4; i++) {
                        c[n][e] = fmaf(low[i], right[i], c[n][e]);
                        c[n][2 + e] = fmaf(high[i], right[i], c[n][2 + e]);
                    }
                }
        }
    }

    static __device__ __forceinline__ void weighted_rows(float o[D / 8][4], const float c[N][4], const float *b, int rows)
    {
        const int lane = lane_of_warp(), t = lane % 4;
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int k = 0; k < 8; k++) {
                if (8 * n >= rows)
                    break;
                /* column 8n + k of the weights is with lane k / 2 of this lane's four */
                const float low = __shfl_sync(FULL_WARP, c[n][k % 2], lane / 4 * 4 + k / 2);
                const float high = __shfl_sync(FULL_WARP, c[n][2 + k % 2], lane / 4 * 4 + k / 2);
                const float *row = b + (8 * n + k) * STRIDE + 2 * t;
#pragma unroll
                for (int d = 0; d < D / 8; d++) {
                    const float x = row[8 * d], y = row[8 * d + 1];
                    o[d][0] = fmaf(low, x, o[d][0]);
                    o[d][1] = fmaf(low, y, o[d][1]);
                    o[d][2] = fmaf(high, x, o[d][2]);
                    o[d][3] = fmaf(high, y, o[d][3]);
                }
            }
    }
};

template <typename T, int D, int N> __device__ __forceinline__ void tile_times_rows(float c[N][4], const T *a, const T *b, int rows)
{
    tile_math<T, D, N>::times_rows(c, a, b, rows);
}

template <typename T, int D, int N> __device__ __forceinline__ void tile_weighted_rows(float o[D / 8][4], const float c[N][4], const T *b, int rows)
{
    tile_math<T, D, N>::weighted_rows(o, c, b, rows);
}

template <int N> __device__ __forceinline__ void tile_clear(float c[N][4])
{
#pragma unroll
    for (int n = 0; n < N; n++)
        for (int i = 0; i < 4; i++)
            c[n][i] = 0;
}

/* Two neighbours, rounded: 16-bit types as one word. */
__device__ __forceinline__ void store2(float *p, float x, float y)
{
    p[0] = x;
    p[1] = y;
}
template <typename T> __device__ __forceinline__ void store2(T *p, float x, float y)
{
    *(uint32_t *)p = pair_of<T>(x, y);
}

/* Rows `row` (this lane's g, then g + 8) below `rows` of the tile o * factor go to memory, columns below `size`. */
template <typename T, int D>
__device__ __forceinline__ void tile_store(T *to, int64_t stride, int row, int rows, int size, const float o[D / 8][4], float low, float high)
{
    const int t = lane_of_warp() % 4;
#pragma unroll
    for (int d = 0; d < D / 8; d++)
        if (8 * d < size) {
            if (row < rows)
                store2(to + row * stride + 8 * d + 2 * t, o[d][0] * low, o[d][1] * low);
            if (row + 8 < rows)
                store2(to + (row + 8) * stride + 8 * d + 2 * t, o[d][2] * high, o[d][3] * high);
        }
}

#endif
