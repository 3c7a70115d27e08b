/* The one door to cuDNN: attention without dropout over packed rows, by the library's fused kernel. fused_cudnn.c is the door; it opens the library at
 * run time, since many machines with a device lack it, and fused_none.c stands where there is no header to build with.
 *
 *     if (!fused_refuses(CUDA_BFLOAT16, 90)) { TRY(fused_open(g, CUDA_BFLOAT16, N, D, 192, &f)); ... }
 *     fused_run(f, &rows, q, k, v, out, lse);
 *     fused_close(f);
 *
 * One plan, made at fused_open and kept: its shape is FUSED_ROWS rows of `longest` tokens, whatever a micro-batch has, so that a row's result depends on
 * neither its company nor the size of a micro-batch; more rows are several calls, fewer are filled up with rows of no tokens. The plan is the
 * library's first advice that it does not call nondeterministic; it depends on GPU model, library version and shape alone. Sums in float32. Local.
 */
#ifndef FRETSAW_MODEL_CUDA_FUSED_H
#define FRETSAW_MODEL_CUDA_FUSED_H

#include "model/cuda/gpu.h"
#include "model/cuda/kernels.h"

enum { FUSED_ROWS = 256 };

typedef struct fused fused;

/* The rows of a micro-batch as the library takes them, in device memory; `rows` rounded up to FUSED_ROWS, the rest of no tokens. */
typedef struct fused_rows {
    int64_t rows;
    const int64_t *element;   /* rows + 1: a row's first element in q, k, v and out, that is token * H */
    const int64_t *statistic; /* rows + 1: and in lse, that is token * N */
    const int32_t *queries;   /* rows: its tokens */
    const int32_t *keys;      /* rows: how many of these are looked at */
} fused_rows;

static inline int64_t fused_round(int64_t rows)
{
    return (rows + FUSED_ROWS - 1) / FUSED_ROWS * FUSED_ROWS;
}

/* NULL, or why the library cannot serve this type on this compute capability: there is none, it is too old, ... The text is static. */
const char *fused_refuses(cuda_type type, int sm);
/* "cuDNN 9.19.0"; only where fused_refuses gives NULL. */
const char *fused_version(void);
/* Device memory of its own: the workspace. */
size_t fused_bytes(void);

/* Errors: STATUS_RESOURCE, with the library's reason. */
status fused_open(gpu *g, cuda_type type, int64_t heads, int64_t head_size, int64_t longest, fused **out);
void fused_close(fused *f); /* NULL is fine */
/* Which of the library's engines was taken, for the log. */
int64_t fused_engine(const fused *f);
/* q, k, v, out: T x H of the type, 16-byte aligned. lse: T x N floats, the logarithm of each softmax's sum; with it as row_max and 1 as row_sum the
 * own kernel goes back. Errors are kept in the gpu. */
void fused_run(fused *f, const fused_rows *rows, const void *q, const void *k, const void *v, void *out, float *lse);

#endif
