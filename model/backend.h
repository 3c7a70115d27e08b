/* One table of operations that a back end fills (model/cpu, model/cuda). The network (model/bert.c) calls nothing else.
 *
 *     backend *be;
 *     backend_open_cpu(&(backend_limits){.hidden = H, ...}, pool, CPU_ISA_AUTO, &be);   // model/cpu/cpu.h
 *     be->ops->linear_forward(be, T, I, O, x, weight, bias, y);
 *     be->ops->close(be);
 *
 * Matrices are row-major and contiguous, float32. Letters: T tokens, B rows, H hidden, N heads, D = H/N, F feed-forward,
 * V vocabulary, C outputs, I/O a linear layer's inputs and outputs. Linear weights are O x I, as PyTorch stores them.
 * All pointers are memory of the back end (ops->allocate), which the host can read on the CPU only; a batch, ids and what is said to be the host's lie
 * in the host's memory, and may be changed as soon as the call is back. Operations are local, use the back end's own threads, allocate
 * nothing, and cannot fail on the CPU; a device works them off in their order behind the caller's back and keeps its first error for ops->check.
 * Activations (T x anything) are elements of the back end's type: float on the CPU. With a 16-bit type, `float *` stands for memory of two bytes an
 * element in which the back end alone can read; everything else (statistics, pooled, logits, gradients of parameters, parameters) is float always.
 * Exactness (docs/reproducibility.md):
 * every element of a product is one fmaf chain over all of k, ascending; "+=" continues that chain from the value that is there,
 * so cutting a lane's tokens into micro-batches changes no bit. No result depends on the number of threads or the vector width.
 */
#ifndef FRETSAW_MODEL_BACKEND_H
#define FRETSAW_MODEL_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "model/batch.h"

typedef struct backend backend;

/* What one dropout site needs; threshold 0 turns it off. Word of Philox4x32-10 with key = seed, counter =
 * (element / 4, DROPOUT_PURPOSE << 24 | layer << 12 | site, sample low 32, epoch << 16 | sample >> 32), word = element mod 4;
 * kept when word >= threshold, then scaled. Element: hidden = place * H + column; attention = head << 18 | query << 9 | key; head = column. */
enum { DROPOUT_PURPOSE = 3 };
enum dropout_site { SITE_EMBEDDING = 0, SITE_ATTENTION = 1, SITE_ATTENTION_OUT = 2, SITE_FEED_FORWARD_OUT = 3, SITE_HEAD = 4 };
typedef struct dropout {
    uint32_t threshold; /* floor(p * 2^32) */
    float scale;        /* 1 / (1 - p) */
    uint64_t seed;
    uint32_t layer;
    uint32_t site;
} dropout;

/* The largest shapes of the run: what the workspace is sized for, once. */
typedef struct backend_limits {
    int64_t tokens;       /* T of a micro-batch */
    int64_t rows;         /* B of a micro-batch */
    int64_t longest;      /* tokens of one row, at most 512 */
    int64_t hidden, heads, feed_forward, vocabulary, outputs;
    bool fused;           /* on a device: attention without dropout by its maker's library (--attention) */
} backend_limits;

/* Scalars of one AdamW step, all computed once a step in double and rounded to float by train/adamw.c. */
typedef struct adamw_step {
    float beta1, one_minus_beta1, beta2, one_minus_beta2, epsilon;
    float step_size; /* lr * sqrt(1 - beta2^t) / (1 - beta1^t) */
    float decay;     /* lr * weight decay */
} adamw_step;

/* Rows of the word table's gradient in one piece of a sum: row i is that of ids[i], and lies i * width - skip floats behind `rows`, so that a piece
 * may begin within a row. `lanes` of the tree over lanes went into it. */
enum { ROW_PIECES = 4096 }; /* at most, as lanes */
typedef struct row_piece {
    const int32_t *ids; /* host; ascending */
    int64_t count;
    const float *rows;
    int64_t skip;
    int64_t lanes;
} row_piece;

typedef struct backend_ops {
    const char *name;

    /* ---- memory ---- */
    status (*allocate)(backend *be, size_t bytes, const char *what, void **out); /* 64-byte aligned, zeroed */
    void (*release)(backend *be, void *p);
    void (*upload)(backend *be, void *to, const void *from_host, size_t bytes);
    void (*download)(backend *be, void *to_host, const void *from, size_t bytes);
    void (*zero)(backend *be, void *p, size_t bytes);
    void (*add)(backend *be, float *to, const float *from, int64_t n); /* to += from; one rounded addition an element */
    status (*check)(backend *be);                                    /* the first error since the last check */
    void (*wait)(backend *be);      /* all that was asked for is done, and every value promised to the host is there */
    void (*wait_loss)(backend *be); /* the row losses of the last loss_forward are there; what was asked for after it may still be under way */
    /* Weights that operations are given lie in these n floats, which are the caller's; a back end of another type keeps its own copy. Once, before
     * the first operation on weights. Errors: STATUS_RESOURCE. */
    status (*keep_parameters)(backend *be, const float *parameters, int64_t n);
    void (*parameters_changed)(backend *be); /* that copy is stale from here on */
    void (*close)(backend *be);

    /* ---- linear layers; x: T x I, y, dy: T x O, weight: O x I, bias: O ---- */
    void (*linear_forward)(backend *be, int64_t T, int64_t I, int64_t O, const float *x, const float *weight, const float *bias, float *y);
    /* pre = x weight^T + bias, y = gelu(pre) = 0.5 pre (1 + erf(pre / sqrt 2)); pre may be NULL in inference. */
    void (*linear_gelu_forward)(backend *be, int64_t T, int64_t I, int64_t O, const float *x, const float *weight, const float *bias, float *pre, float *y);
    /* dx = dy weight; with `continue_sum` the chain starts from what dx holds. */
    void (*linear_backward_input)(backend *be, int64_t T, int64_t I, int64_t O, const float *dy, const float *weight, float *dx, int continue_sum);
    /* dpre = (dy weight) * gelu'(pre): linear_backward_input from +0 and gelu_backward in one, the same bits. May be NULL: then the two do it. */
    void (*linear_gelu_backward_input)(backend *be, int64_t T, int64_t I, int64_t O, const float *dy, const float *weight, const float *pre, float *dpre);
    /* dweight += dy^T x, dbias += column sums of dy (fmaf(1, dy, sum) in token order). */
    void (*linear_backward_weight)(backend *be, int64_t T, int64_t I, int64_t O, const float *x, const float *dy, float *dweight, float *dbias);
    /* linear_backward_weight at the ends of a lane, the same bits with less memory moved. `begin`: dweight is taken for zeros, whatever it holds. `folds` > 0: it is
     * the lane's last, and joins sums of lanes: value = fold[i] + value for i = 0 .. folds - 1, kept in the last of them (O x I each); dweight and the others hold
     * anything after. dbias is only added to. May be NULL: then gradients are cleared before and added after. */
    void (*linear_fold_weight)(backend *be, int64_t T, int64_t I, int64_t O, const float *x, const float *dy, float *dweight, float *dbias, bool begin,
                               int folds, float *const *fold);
    /* dpre = dy * gelu'(pre), n elements; may run in place (dpre == dy). */
    void (*gelu_backward)(backend *be, int64_t n, const float *pre, const float *dy, float *dpre);

    /* ---- embeddings: sum[t] = word[id] + type[0] + position[place], added in that order ----
     * y = dropout(layer norm(sum)); sum (T x H), mean and rstd (T) are kept for the way back. */
    void (*embed_forward)(backend *be, const batch *b, int64_t H, const float *word, const float *position, const float *type, const float *gamma,
                          const float *beta, float epsilon, const dropout *drop, float *sum, float *mean, float *rstd, float *y);
    /* dsum (T x H) comes out; dgamma, dbeta, dposition, dtype_row += in token order. Word rows: dword[slot[t]] += dsum[t] in token
     * order, where slot[t] (host) is the token's row in the lane's sparse table, or -1 for a token without gradient ([PAD]). */
    void (*embed_backward)(backend *be, const batch *b, int64_t H, const float *dy, const float *sum, const float *mean, const float *rstd,
                           const float *gamma, const dropout *drop, const int32_t *slot, float *dsum, float *dgamma, float *dbeta,
                           float *dword, float *dposition, float *dtype_row);

    /* ---- residual and layer norm: sum = x + dropout(y); z = layer norm(sum) * gamma + beta. All T x H. ---- */
    void (*residual_norm_forward)(backend *be, const batch *b, int64_t H, const float *x, const float *y, const dropout *drop, const float *gamma,
                                  const float *beta, float epsilon, float *sum, float *mean, float *rstd, float *z);
    /* From dz: dx = dsum (the residual's part) and dy = dsum through the dropout; dgamma, dbeta += in token order. dx may be dz. */
    void (*residual_norm_backward)(backend *be, const batch *b, int64_t H, const float *dz, const float *sum, const float *mean, const float *rstd,
                                   const float *gamma, const dropout *drop, float *dx, float *dy, float *dgamma, float *dbeta);

    /* ---- attention over packed rows; q, k, v, out: T x H, head n in columns n*D .. n*D+D-1 ----
     * score = (q . k chain over D) * (1 / sqrt D); softmax over the row's first keys[r] tokens (true maximum first); dropout; times v.
     * row_max, row_sum: T x N, kept for the way back (probabilities are computed again, not stored). */
    void (*attention_forward)(backend *be, const batch *b, int64_t H, int64_t N, const float *q, const float *k, const float *v, const dropout *drop,
                              float *out, float *row_max, float *row_sum);
    /* dout in, dq, dk, dv out (written, not added). `out` is the forward result. */
    void (*attention_backward)(backend *be, const batch *b, int64_t H, int64_t N, const float *q, const float *k, const float *v, const dropout *drop,
                               const float *out, const float *row_max, const float *row_sum, const float *dout, float *dq, float *dk, float *dv);

    /* ---- head: pooled (B x 2H) = mean | max over a row's tokens (offset[r] .. offset[r+1]); argmax: B x H, token of the maximum, lowest on ties ---- */
    void (*pool_forward)(backend *be, const batch *b, int64_t H, const float *x, float *pooled, int32_t *argmax);
    void (*pool_backward)(backend *be, const batch *b, int64_t H, const float *dpooled, const int32_t *argmax, float *dx); /* dx written */
    /* dropped = dropout(pooled); logits (B x C) = dropped weight^T + bias; weight: C x 2H. Serves as its own saved state. */
    void (*head_forward)(backend *be, const batch *b, int64_t H, int64_t C, const float *pooled, const dropout *drop, const float *weight,
                         const float *bias, float *dropped, float *logits);
    void (*head_backward)(backend *be, const batch *b, int64_t H, int64_t C, const float *dlogits, const float *dropped, const dropout *drop,
                          const float *weight, float *dpooled, float *dweight, float *dbias); /* dweight, dbias += */
    /* Row losses in double (sum over C of the element losses, host memory, B) and dlogits = (sigmoid(z) - label) * factor (dlogits may be NULL).
     * loss(z, y) = max(z, 0) - z y + log1p(exp(-|z|)). The losses are there after wait_loss. */
    void (*loss_forward)(backend *be, const batch *b, int64_t C, const float *logits, float factor, double *row_loss_host, float *dlogits);
    /* probability = sigmoid(logit), n elements. */
    void (*sigmoid)(backend *be, int64_t n, const float *logits, float *probability);

    /* ---- optimizer on n consecutive parameters: m = b1 m + (1-b1) g; v = b2 v + (1-b2) g g; p -= step_size * m / (sqrt v + eps); p -= decay * p ----
     * `decayed` nonzero where decay applies. *hash (host) += sum over elements of mix64(first_index + i, bits of the new p) mod 2^64 (common/hash.h),
     * so that the state hash costs no pass of its own; it is there after wait. grad NULL: a gradient of zeros. */
    void (*adamw)(backend *be, int64_t n, int64_t first_index, const adamw_step *s, int decayed, const float *grad, float *m, float *v, float *p,
                  uint64_t *hash);

    /* ---- rows of the word table's gradient, `width` floats each ----
     * older: rows of older_ids become the rows of both lists' ids, ascending (there is room): older + newer, one addition an element, where both have the
     * id, else the row as it is. The lists are the host's. */
    void (*merge_rows)(backend *be, int64_t width, float *older, const int32_t *older_ids, int64_t older_count, const float *newer,
                       const int32_t *newer_ids, int64_t newer_count);
    /* to (end - first floats) = parameters [first, end) of the word table's gradient: each element the sum over the pieces that have its row, by the
     * tree over lanes (common/tree.h), pieces in lane order; 0 where none has it. */
    void (*fold_rows)(backend *be, int64_t width, int64_t first, int64_t end, const row_piece *pieces, int count, float *to);
} backend_ops;

typedef enum backend_type { TYPE_FLOAT32, TYPE_BFLOAT16, TYPE_FLOAT16 } backend_type;

/* Every back end's own struct begins with this. */
struct backend {
    const backend_ops *ops;
    backend_type type;            /* of activations */
    const struct device *device;  /* what only a device has (model/device.h); NULL: memory of the back end is the host's */
};

static inline size_t backend_type_bytes(backend_type type)
{
    return type == TYPE_FLOAT32 ? 4 : 2;
}

#endif
