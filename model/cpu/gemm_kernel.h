/* What the loops of gemm.c need from one instruction set: how to pack, and how to do one tile. Not for users of gemm.h.
 *
 *     const gemm_kernels *kernels = gemm_kernels_of(isa);
 *     kernels->pack(&(gemm_pack){...});       // B into panels of `cols` lanes, A into panels of `rows` lanes where it is not read in place
 *     kernels->tile(&(gemm_tile){...});       // rows x cols results of kc steps
 *
 * A packed panel holds, step of k after step of k, the values of its lanes (rows of A or columns of B) side by side, at a fixed
 * distance `stride`, so that the tile reads both operands straight through.
 */
#ifndef FRETSAW_MODEL_CPU_GEMM_KERNEL_H
#define FRETSAW_MODEL_CPU_GEMM_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "model/cpu/isa.h"

/* `lanes` cut into `count` panels whose sizes differ by at most one (even) or that are all full but the last. */
typedef struct gemm_cut {
    int64_t lanes, count;
    int64_t size, larger; /* the first `larger` panels have size + 1 lanes, the others size (the last: what is left) */
} gemm_cut;

static inline int64_t gemm_cut_start(const gemm_cut *cut, int64_t panel)
{
    int64_t start = panel * cut->size + (panel < cut->larger ? panel : cut->larger);
    return start < cut->lanes ? start : cut->lanes;
}

typedef struct gemm_pack {
    const float *from;
    int64_t lane_stride, k_stride; /* of `from` */
    int64_t k;
    gemm_cut cut;
    float *to;            /* 64-byte aligned */
    int64_t stride;       /* lanes a panel has room for: gemm_kernels.a_stride or cols */
    int64_t panel_stride; /* floats from panel to panel, at least k * stride */
} gemm_pack;

typedef struct gemm_tile {
    int64_t k;
    const float *a, *b;
    int64_t a_row, a_k; /* strides of a: one of them is 1; a packed panel has 1 and gemm_kernels.a_stride */
    int64_t b_k;        /* stride of b's steps, whose columns lie side by side and are read in whole registers; packed: gemm_kernels.cols */
    int64_t rows, cols; /* 1 .. gemm_kernels.rows, cols */
    const float *start; /* where the chains start: rows x cols, or NULL for +0 */
    int64_t start_stride;
    float *to;
    int64_t to_stride;
    bool finish; /* last part of k: times scale, plus bias (may be NULL) */
    float scale;
    const float *bias;
    const float *next; /* C of the tile that follows: fetched meanwhile; NULL: it is near */
} gemm_tile;

/* rows x cols values join as many sums, the newest first: value = sum[i] + value for i = 0 .. count - 1, kept in the last of them. */
typedef struct gemm_fold {
    const float *value;
    int64_t value_stride;
    float *const *sum; /* count of them, each to be read from element `at` on */
    int count;
    int64_t at, stride;
    int64_t rows, cols;
} gemm_fold;

typedef struct gemm_kernels {
    int64_t rows, cols; /* of a full tile */
    int64_t lanes;      /* of a register */
    int64_t a_stride;
    int64_t kc; /* most steps of k in a packed panel */
    void (*pack)(const gemm_pack *p);
    void (*sum_lanes)(const gemm_pack *p, float *sums); /* sums[lane] += its values in the packed panels `to`, k ascending */
    void (*tile)(const gemm_tile *t);
    void (*fold)(const gemm_fold *f);
} gemm_kernels;

extern const gemm_kernels gemm_kernels_plain, gemm_kernels_avx2, gemm_kernels_avx512;

#endif
