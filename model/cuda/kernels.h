/* The device's own kernels, one C function a launch: no atomics, no state, nothing allocated, nothing waited for.
 *
 *     cuda_rows rows = {...};                                             // the micro-batch, in device memory
 *     cuda_norm_args a = {.type = CUDA_BFLOAT16, .rows = &rows, .hidden = H, ...};
 *     cuda_residual_norm_forward(stream, &a);
 *     if (cudaGetLastError() != cudaSuccess) ...                          // the caller's: a launch itself returns nothing
 *
 * Built twice from the same sources: `fretsaw_kernels_device` by nvcc, and `fretsaw_kernels_host` by the C++ compiler, which runs the
 * blocks on this machine's processor (launch.h), so that everything above can be tested without a device. Link one of them.
 *
 * Matrices are row-major. "activations" have the element type of the call; statistics, losses, logits, the head and all gradients of
 * parameters are float32, and so is every sum. Parameters that are vectors or tables (bias, gamma, beta, embeddings) are read as
 * float32 from the master weights. Activations are 16-byte aligned. Pointers inside the structs are device memory; the structs
 * themselves are the caller's and may go as soon as the call returns. Letters as in model/backend.h. The same input gives the same
 * bits on one GPU model, whatever the stream, the load or the number of processors: every sum has an order that follows from shapes.
 *
 * Limits: H % 8 == 0 and H <= CUDA_MAX_HIDDEN; D % 8 == 0 and D <= CUDA_MAX_HEAD; rows of at most 512 tokens; F, O % 8 == 0.
 * bfloat16 attention needs sm_80; float16 and float32 run from sm_75 on. `cuda_kernels_refuse` says so for a shape. All are local.
 */
#ifndef FRETSAW_MODEL_CUDA_KERNELS_H
#define FRETSAW_MODEL_CUDA_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "model/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CUstream_st *cuda_stream; /* cudaStream_t; NULL on the host */

typedef enum cuda_type { CUDA_FLOAT32, CUDA_BFLOAT16, CUDA_FLOAT16, CUDA_TYPES } cuda_type;
enum { CUDA_MAX_HIDDEN = 1024, CUDA_MAX_HEAD = 64, CUDA_MAX_ROW = 512, CUDA_MAX_PIECES = 32 };

static inline size_t cuda_type_bytes(cuda_type t)
{
    return t == CUDA_FLOAT32 ? 4 : 2;
}

/* NULL, or why these kernels can't run the shapes in `limits` with activations of `type` on compute capability `sm` (75, 80, ...). */
const char *cuda_kernels_refuse(const backend_limits *limits, cuda_type type, int sm);

/* Bytes of scratch that any of the calls below may use for a run within `limits`. Calls on one stream may share it; a second stream
 * needs its own. What it holds between calls does not matter. */
size_t cuda_scratch_bytes(const backend_limits *limits);

/* A micro-batch in device memory: model/batch.h's arrays, and which row each token lies in. */
typedef struct cuda_rows {
    int64_t rows, tokens, longest; /* B, T, most tokens in one row */
    uint32_t epoch;
    const int32_t *id, *place; /* T */
    const int32_t *row;        /* T: the row of a token */
    const int64_t *offset;     /* B + 1 */
    const int32_t *keys;       /* B */
    const uint64_t *sample;    /* B */
    const float *label;        /* B x C, or NULL */
} cuda_rows;

/* Tokens that add to the same row of a table, in groups: group g has token[first[g]] .. token[first[g + 1] - 1], ascending, and adds to
 * row target[g]. No two groups share a target. The host sorts once a micro-batch (counting sort, stable). Device memory. */
typedef struct cuda_groups {
    int64_t count;
    const int32_t *first;  /* count + 1 */
    const int32_t *token;  /* first[count] */
    const int32_t *target; /* count */
} cuda_groups;

/* ---- embeddings, residual and layer norm; T x H ---- */

typedef struct cuda_norm_args {
    cuda_type type;
    const cuda_rows *rows;
    int64_t hidden;
    const dropout *drop; /* host memory; NULL or threshold 0: off */
    float epsilon;
    const float *gamma, *beta;            /* H */
    const float *word, *position, *table; /* embedding: V x H, P x H, and the one row of the type table */
    const void *x, *y;                    /* residual, forward: activations. x may be z's predecessor; y is read only */
    void *sum, *z;                        /* out, forward: activations. Backward reads sum */
    float *mean, *rstd;                   /* T; out, forward; in, backward */
    const void *dz;                       /* backward, in: activations */
    void *dx, *dy;                        /* backward, out: activations; dx may be dz; dy NULL in the embedding */
    float *dgamma, *dbeta;                /* H: += */
    void *scratch;                        /* backward: cuda_scratch_bytes */
} cuda_norm_args;

/* sum = word[id] + table + position[place] (that order, float32, rounded once to `type`), z = dropout(layer norm(sum)). The norm's mean
 * and variance are those of the rounded sum, two passes. */
void cuda_embed_forward(cuda_stream stream, const cuda_norm_args *a);
/* sum = x + dropout(y), rounded to `type`; z = layer norm(sum) gamma + beta. z may be x or y; sum may be y. */
void cuda_residual_norm_forward(cuda_stream stream, const cuda_norm_args *a);
/* From dz: dx = gradient of sum; dgamma, dbeta +=. Embedding: dz goes through the dropout first, dx is dsum. Two launches. */
void cuda_embed_norm_backward(cuda_stream stream, const cuda_norm_args *a);
/* The same; dy = dx through the dropout. */
void cuda_residual_norm_backward(cuda_stream stream, const cuda_norm_args *a);
/* to[target[g]] += dsum of the group's tokens, one after another: each element is one chain of float32 additions, begun at what is
 * there. `to` has rows of H floats. For words (groups by slot) and positions (groups by place). */
void cuda_embed_rows_backward(cuda_stream stream, cuda_type type, const cuda_groups *g, int64_t hidden, const void *dsum, float *to);

/* ---- linear layers: what surrounds the product ---- */

/* pre = x + bias, rounded; y = gelu(pre). bias may be NULL (x has it already); pre may be NULL, and may be x, and so may y. */
void cuda_bias_gelu_forward(cuda_stream stream, cuda_type type, int64_t rows, int64_t F, const void *x, const float *bias, void *pre, void *y);
/* dpre = dy gelu'(pre), n elements, n % 8 == 0; dpre may be dy. */
void cuda_gelu_backward(cuda_stream stream, cuda_type type, int64_t n, const void *pre, const void *dy, void *dpre);
/* to[c] += sum over rows of x[r][c]; rows x O activations. Pieces of CUDA_COLUMN_ROWS rows, each ascending, folded ascending. */
void cuda_column_sum(cuda_stream stream, cuda_type type, int64_t rows, int64_t O, const void *x, float *to, void *scratch);
enum { CUDA_COLUMN_ROWS = 128 };
/* to += piece[0] + piece[1] + ... in a binary tree (neighbours first): the fold of a dW that was split over tokens. `pieces` lie
 * `stride` floats apart; 1 <= count <= CUDA_MAX_PIECES. n % 4 == 0, 16-byte aligned. */
void cuda_fold_split(cuda_stream stream, int64_t n, int count, int64_t stride, const float *pieces, float *to);

/* ---- attention over packed rows ---- */

typedef struct cuda_attention_args {
    cuda_type type;
    const cuda_rows *rows;
    int64_t heads, head_size;
    const dropout *drop; /* host memory; NULL or threshold 0: off */
    int64_t stride;      /* elements from one token to the next in q, k, v, dq, dk, dv: H, or 3 H for one joint matrix; % 8 == 0 */
    const void *q, *k, *v;
    void *out;                /* T x H */
    float *row_max, *row_sum; /* T x N: greatest scaled score, sum of exp(score - greatest); may both be NULL forward, in inference */
    const void *dout;         /* T x H */
    void *dq, *dk, *dv;       /* written, not added; zero for padding in dk, dv */
    void *scratch;            /* backward: cuda_scratch_bytes */
} cuda_attention_args;

void cuda_attention_forward(cuda_stream stream, const cuda_attention_args *a);
/* Reads out, row_max, row_sum; row_sum NULL: row_max is the logarithm of the softmax's whole sum. Three launches: out . dout, then dk and dv, then dq. */
void cuda_attention_backward(cuda_stream stream, const cuda_attention_args *a);

/* ---- head: x and dx are activations, the rest float32 ---- */

void cuda_pool_forward(cuda_stream stream, cuda_type type, const cuda_rows *rows, int64_t H, const void *x, float *pooled, int32_t *argmax);
void cuda_pool_backward(cuda_stream stream, cuda_type type, const cuda_rows *rows, int64_t H, const float *dpooled, const int32_t *argmax, void *dx);
/* dropped may be pooled. */
void cuda_head_forward(cuda_stream stream, const cuda_rows *rows, int64_t H, int64_t C, const float *pooled, const dropout *drop, const float *weight,
                       const float *bias, float *dropped, float *logits);
/* dweight, dbias +=, rows ascending. */
void cuda_head_backward(cuda_stream stream, const cuda_rows *rows, int64_t H, int64_t C, const float *dlogits, const float *dropped,
                        const dropout *drop, const float *weight, float *dpooled, float *dweight, float *dbias);
/* row_loss: B doubles in device memory. dlogits (may be NULL) = (sigmoid - label) * factor; a loss scale belongs into factor. */
void cuda_loss_forward(cuda_stream stream, const cuda_rows *rows, int64_t C, const float *logits, float factor, double *row_loss, float *dlogits);
void cuda_sigmoid(cuda_stream stream, int64_t n, const float *logits, float *probability);

/* ---- gradients and the optimizer; float32 ---- */

/* to += from. */
void cuda_add(cuda_stream stream, int64_t n, const float *from, float *to);
/* out[i] = a[a_row[i]] + b[b_row[i]] for i < count, rows of H floats; a row number of -1 is an absent row, which is not added. Merges two
 * sparse word tables. out is neither a nor b. */
void cuda_merge_rows(cuda_stream stream, int64_t count, int64_t H, const float *a, const int32_t *a_row, const float *b, const int32_t *b_row,
                     float *out);
/* *flag |= 1 if any of n floats is infinite or NaN. flag: one int32 in device memory, zeroed by the caller. */
void cuda_find_overflow(cuda_stream stream, int64_t n, const float *x, int32_t *flag, void *scratch);
/* to = from, rounded to nearest even; n elements. */
void cuda_cast(cuda_stream stream, cuda_type type, int64_t n, const float *from, void *to);

/* One AdamW step on n consecutive parameters (backend.h's adamw), bits as on the CPU. */
typedef struct cuda_adamw_args {
    int64_t n, first_index; /* first_index: of p[0] in the parameter arena, for the state hash */
    adamw_step step;
    int decayed;
    float unscale;     /* the gradient is multiplied by this first: 1 / loss scale, a power of two, or 1 */
    const float *grad; /* n, or NULL for zeros */
    float *m, *v, *p;
    cuda_type type; /* CUDA_FLOAT32: no copy */
    void *copy;     /* n elements of `type`: the new p, rounded; may be NULL */
    uint64_t *hash; /* device memory, += sum of mix64(first_index + i, bits of the new p[i]); may be NULL */
    void *scratch;
} cuda_adamw_args;
void cuda_adamw(cuda_stream stream, const cuda_adamw_args *a);

#ifdef __cplusplus
}
#endif
#endif
