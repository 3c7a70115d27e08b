/* What the sources of the CUDA back end share. Private to model/cuda. No header of CUDA's is needed here: the doors (gpu.h, product.h, fused.h, link.h) and
 * kernels.h stand between.
 *
 *     cuda_backend *c = cuda_of(be);
 *     cuda_add(gpu_stream(c->gpu), n, from, to);
 */
#ifndef FRETSAW_MODEL_CUDA_CUDA_INTERNAL_H
#define FRETSAW_MODEL_CUDA_CUDA_INTERNAL_H

#include "model/cuda/fused.h"
#include "model/cuda/gpu.h"
#include "model/cuda/kernels.h"
#include "model/cuda/link.h"
#include "model/cuda/product.h"
#include "model/device.h"

/* Memory of the host and its mirror on the device, filled here and copied there. */
typedef struct cuda_mirror {
    char *host, *there;
    size_t bytes;
    gpu_mark *mark; /* set once nothing that is under way reads it any more */
} cuda_mirror;

/* The products of one pair of sizes: a layer's, forward and back. */
typedef struct cuda_linear {
    int64_t I, O;
    product_plan *forward, *input, *input_added, *weight, *weight_rest;
    int64_t chunk; /* tokens of a piece of dW: follows from I, O and the largest micro-batch alone */
} cuda_linear;

enum { CUDA_SLOTS = 2, CUDA_SHAPES = 3, CUDA_LISTS = 4, CUDA_HASHES = 512, CUDA_STAGE = 4 << 20, CUDA_LIST = 1 << 18, CUDA_MERGE_ROWS = 4096 };

typedef struct cuda_backend {
    backend base; /* first: a backend * is a cuda_backend * */
    gpu *gpu;
    products *products;
    fused *fused; /* attention without dropout by cuDNN; NULL: by the own kernel */
    link_ranks *link;
    cuda_type type;
    backend_limits limits;
    size_t used; /* bytes on the device */
    char about[DEVICE_NAME], identity[DEVICE_NAME];
    /* memory of its own */
    void *scratch; /* of kernels */
    float *split;  /* pieces of a dW */
    float *spare;  /* CUDA_MERGE_ROWS rows of H, or the word rows of a window on their way up the tree */
    size_t spare_floats;
    cuda_linear linear[CUDA_SHAPES];
    /* weights as operations read them */
    const float *parameters;
    void *copy; /* of the type; NULL with float32 */
    int64_t parameters_count, fresh_first, fresh_end; /* what adamw has copied since the last change */
    float scale;
    /* the micro-batch at hand */
    cuda_mirror slot[CUDA_SLOTS];
    int slot_at;
    cuda_rows rows;
    fused_rows fused_rows; /* the same for cuDNN, where that is asked for */
    const batch *given; /* of the last stage: only to compare addresses */
    int32_t *group_of;  /* V: while tokens are sorted, the group of a row; else -1 */
    /* lists of row numbers */
    cuda_mirror list[CUDA_LISTS];
    int list_at;
    size_t list_used;
    /* copies of pageable memory */
    char *stage[2];
    gpu_mark *stage_mark[2], *copies;
    /* promises to the host */
    double *loss, *loss_there, *loss_host;
    int64_t loss_rows;
    gpu_mark *loss_mark;
    uint64_t *hash, *hash_there; /* CUDA_HASHES */
    uint64_t *hash_host[CUDA_HASHES];
    int hashes;
    int32_t *overflow, *overflow_there;
    int64_t *overflow_host;
} cuda_backend;

static inline cuda_backend *cuda_of(backend *be)
{
    return (cuda_backend *)be;
}

static inline const cuda_backend *cuda_of_const(const backend *be)
{
    return (const cuda_backend *)be;
}

static inline size_t cuda_round(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* cuda_memory.c: allocation with its count, mirrors, copies */
status cuda_take(cuda_backend *c, size_t bytes, const char *what, void **out);
status cuda_mirror_create(cuda_backend *c, size_t bytes, const char *what, cuda_mirror *m);
void cuda_mirror_free(cuda_backend *c, cuda_mirror *m);
/* Room for `bytes` of a list of row numbers that the next kernels read; *there is its mirror once cuda_list_send has been called. */
void *cuda_list_take(cuda_backend *c, size_t bytes, void **there);
void cuda_list_send(cuda_backend *c, void *host, size_t bytes);
status cuda_memory_open(cuda_backend *c);
void cuda_memory_close(cuda_backend *c);
status cuda_allocate(backend *be, size_t bytes, const char *what, void **out);
void cuda_release(backend *be, void *p);
void cuda_upload(backend *be, void *to, const void *from, size_t bytes);
void cuda_download(backend *be, void *to, const void *from, size_t bytes);
void cuda_zero_op(backend *be, void *p, size_t bytes);
extern const device cuda_device;

/* cuda_batch.c: the micro-batch on the device */
size_t cuda_slot_bytes(const backend_limits *l);
status cuda_batch_open(cuda_backend *c);
void cuda_batch_close(cuda_backend *c);
/* Copies the batch to the device unless it is the one at hand. embed_forward does, everything after finds it. */
void cuda_batch_stage(cuda_backend *c, const batch *b);
/* Tokens by their row of the lane's table (-1: none), and by their place. */
void cuda_batch_group(cuda_backend *c, const batch *b, const int32_t *slot, cuda_groups *words, cuda_groups *places);

/* cuda_linear.c: products and their surroundings */
size_t cuda_split_floats(const backend_limits *l);
status cuda_linear_open(cuda_backend *c);
void cuda_linear_forward(backend *be, int64_t T, int64_t I, int64_t O, const float *x, const float *weight, const float *bias, float *y);
void cuda_linear_gelu_forward(backend *be, int64_t T, int64_t I, int64_t O, const float *x, const float *weight, const float *bias, float *pre,
                              float *y);
void cuda_linear_backward_input(backend *be, int64_t T, int64_t I, int64_t O, const float *dy, const float *weight, float *dx, int continue_sum);
void cuda_linear_backward_weight(backend *be, int64_t T, int64_t I, int64_t O, const float *x, const float *dy, float *dweight, float *dbias);
void cuda_gelu_back(backend *be, int64_t n, const float *pre, const float *dy, float *dpre);
status cuda_keep_parameters(backend *be, const float *parameters, int64_t n);
void cuda_parameters_changed(backend *be);

/* cuda_layer.c: norms, attention, head, loss */
void cuda_embed(backend *be, const batch *b, int64_t H, const float *word, const float *position, const float *type, const float *gamma,
                const float *beta, float epsilon, const dropout *drop, float *sum, float *mean, float *rstd, float *y);
void cuda_embed_back(backend *be, const batch *b, int64_t H, const float *dy, const float *sum, const float *mean, const float *rstd,
                     const float *gamma, const dropout *drop, const int32_t *slot, float *dsum, float *dgamma, float *dbeta, float *dword,
                     float *dposition, float *dtype_row);
void cuda_residual_norm(backend *be, const batch *b, int64_t H, const float *x, const float *y, const dropout *drop, const float *gamma,
                        const float *beta, float epsilon, float *sum, float *mean, float *rstd, float *z);
void cuda_residual_norm_back(backend *be, const batch *b, int64_t H, const float *dz, const float *sum, const float *mean, const float *rstd,
                             const float *gamma, const dropout *drop, float *dx, float *dy, float *dgamma, float *dbeta);
void cuda_attention(backend *be, const batch *b, int64_t H, int64_t N, const float *q, const float *k, const float *v, const dropout *drop,
                    float *out, float *row_max, float *row_sum);
void cuda_attention_back(backend *be, const batch *b, int64_t H, int64_t N, const float *q, const float *k, const float *v, const dropout *drop,
                         const float *out, const float *row_max, const float *row_sum, const float *dout, float *dq, float *dk, float *dv);
void cuda_pool(backend *be, const batch *b, int64_t H, const float *x, float *pooled, int32_t *argmax);
void cuda_pool_back(backend *be, const batch *b, int64_t H, const float *dpooled, const int32_t *argmax, float *dx);
void cuda_head(backend *be, const batch *b, int64_t H, int64_t C, const float *pooled, const dropout *drop, const float *weight, const float *bias,
               float *dropped, float *logits);
void cuda_head_back(backend *be, const batch *b, int64_t H, int64_t C, const float *dlogits, const float *dropped, const dropout *drop,
                    const float *weight, float *dpooled, float *dweight, float *dbias);
void cuda_loss(backend *be, const batch *b, int64_t C, const float *logits, float factor, double *row_loss_host, float *dlogits);
void cuda_sigmoid_op(backend *be, int64_t n, const float *logits, float *probability);
void cuda_wait_loss(backend *be);

/* cuda_gradient.c: sums of lanes, the optimizer, promises */
status cuda_gradient_open(cuda_backend *c);
void cuda_gradient_close(cuda_backend *c);
void cuda_add_op(backend *be, float *to, const float *from, int64_t n);
void cuda_merge(backend *be, int64_t width, float *older, const int32_t *older_ids, int64_t older_count, const float *newer, const int32_t *newer_ids,
                int64_t newer_count);
void cuda_fold_rows(backend *be, int64_t width, int64_t first, int64_t end, const row_piece *pieces, int count, float *to);
void cuda_adamw_op(backend *be, int64_t n, int64_t first_index, const adamw_step *s, int decayed, const float *grad, float *m, float *v, float *p,
                   uint64_t *hash);
void cuda_look_for_overflow(backend *be, const float *p, int64_t n, int64_t *found);
void cuda_wait(backend *be);

#endif
