/* Everything of a layer that is no product, and the two ends: the table's calls as launches. embed_forward begins a micro-batch. */
#include <string.h>

#include "model/cuda/cuda_internal.h"

void cuda_embed(backend *be, const batch *b, int64_t H, const float *word, const float *position, const float *type, const float *gamma,
                const float *beta, float epsilon, const dropout *drop, float *sum, float *mean, float *rstd, float *y)
{
    cuda_backend *c = cuda_of(be);
    cuda_batch_stage(c, b);
    cuda_embed_forward(gpu_stream(c->gpu), &(cuda_norm_args){.type = c->type,
                                                             .rows = &c->rows,
                                                             .hidden = H,
                                                             .drop = drop,
                                                             .epsilon = epsilon,
                                                             .gamma = gamma,
                                                             .beta = beta,
                                                             .word = word,
                                                             .position = position,
                                                             .table = type,
                                                             .sum = sum,
                                                             .z = y,
                                                             .mean = mean,
                                                             .rstd = rstd});
}

void cuda_embed_back(backend *be, const batch *b, int64_t H, const float *dy, const float *sum, const float *mean, const float *rstd,
                     const float *gamma, const dropout *drop, const int32_t *slot, float *dsum, float *dgamma, float *dbeta, float *dword,
                     float *dposition, float *dtype_row)
{
    cuda_backend *c = cuda_of(be);
    cuda_groups words, places;
    cuda_embed_norm_backward(gpu_stream(c->gpu), &(cuda_norm_args){.type = c->type,
                                                       .rows = &c->rows,
                                                       .hidden = H,
                                                       .drop = drop,
                                                       .gamma = gamma,
                                                       .sum = (float *)sum,
                                                       .mean = (float *)mean,
                                                       .rstd = (float *)rstd,
                                                       .dz = dy,
                                                       .dx = dsum,
                                                       .dgamma = dgamma,
                                                       .dbeta = dbeta,
                                                       .scratch = c->scratch});
    cuda_batch_group(c, b, slot, &words, &places);
    cuda_embed_rows_backward(gpu_stream(c->gpu), c->type, &words, H, dsum, dword);
    cuda_embed_rows_backward(gpu_stream(c->gpu), c->type, &places, H, dsum, dposition);
    cuda_column_sum(gpu_stream(c->gpu), c->type, b->tokens, H, dsum, dtype_row, c->scratch);
}

void cuda_residual_norm(backend *be, const batch *b, int64_t H, const float *x, const float *y, const dropout *drop, const float *gamma,
                        const float *beta, float epsilon, float *sum, float *mean, float *rstd, float *z)
{
    cuda_backend *c = cuda_of(be);
    (void)b;
    cuda_residual_norm_forward(gpu_stream(c->gpu), &(cuda_norm_args){.type = c->type,
                                                                     .rows = &c->rows,
                                                                     .hidden = H,
                                                                     .drop = drop,
                                                                     .epsilon = epsilon,
                                                                     .gamma = gamma,
                                                                     .beta = beta,
                                                                     .x = x,
                                                                     .y = y,
                                                                     .sum = sum,
                                                                     .z = z,
                                                                     .mean = mean,
                                                                     .rstd = rstd});
}

void cuda_residual_norm_back(backend *be, const batch *b, int64_t H, const float *dz, const float *sum, const float *mean, const float *rstd,
                             const float *gamma, const dropout *drop, float *dx, float *dy, float *dgamma, float *dbeta)
{
    cuda_backend *c = cuda_of(be);
    (void)b;
    cuda_residual_norm_backward(gpu_stream(c->gpu), &(cuda_norm_args){.type = c->type,
                                                                      .rows = &c->rows,
                                                                      .hidden = H,
                                                                      .drop = drop,
                                                                      .gamma = gamma,
                                                                      .sum = (float *)sum,
                                                                      .mean = (float *)mean,
                                                                      .rstd = (float *)rstd,
                                                                      .dz = dz,
                                                                      .dx = dx,
                                                                      .dy = dy,
                                                                      .dgamma = dgamma,
                                                                      .dbeta = dbeta,
                                                                      .scratch = c->scratch});
}

/* cuDNN draws no mask of ours. Forward and back must take the same way. */
static bool fused_does(const cuda_backend *c, const dropout *drop)
{
    return c->fused && (!drop || drop->threshold == 0);
}

void cuda_attention(backend *be, const batch *b, int64_t H, int64_t N, const float *q, const float *k, const float *v, const dropout *drop,
                    float *out, float *row_max, float *row_sum)
{
    cuda_backend *c = cuda_of(be);
    (void)b;
    if (fused_does(c, drop)) {
        fused_run(c->fused, &c->fused_rows, q, k, v, out, row_max);
        return;
    }
    cuda_attention_forward(gpu_stream(c->gpu), &(cuda_attention_args){.type = c->type,
                                                                      .rows = &c->rows,
                                                                      .heads = N,
                                                                      .head_size = H / N,
                                                                      .drop = drop,
                                                                      .stride = H,
                                                                      .q = q,
                                                                      .k = k,
                                                                      .v = v,
                                                                      .out = out,
                                                                      .row_max = row_max,
                                                                      .row_sum = row_sum});
}

void cuda_attention_back(backend *be, const batch *b, int64_t H, int64_t N, const float *q, const float *k, const float *v, const dropout *drop,
                         const float *out, const float *row_max, const float *row_sum, const float *dout, float *dq, float *dk, float *dv)
{
    cuda_backend *c = cuda_of(be);
    (void)b;
    cuda_attention_backward(gpu_stream(c->gpu), &(cuda_attention_args){.type = c->type,
                                                                       .rows = &c->rows,
                                                                       .heads = N,
                                                                       .head_size = H / N,
                                                                       .drop = drop,
                                                                       .stride = H,
                                                                       .q = q,
                                                                       .k = k,
                                                                       .v = v,
                                                                       .out = (float *)out,
                                                                       .row_max = (float *)row_max,
                                                                       .row_sum = fused_does(c, drop) ? NULL : (float *)row_sum,
                                                                       .dout = dout,
                                                                       .dq = dq,
                                                                       .dk = dk,
                                                                       .dv = dv,
                                                                       .scratch = c->scratch});
}

void cuda_pool(backend *be, const batch *b, int64_t H, const float *x, float *pooled, int32_t *argmax)
{
    cuda_backend *c = cuda_of(be);
    (void)b;
    cuda_pool_forward(gpu_stream(c->gpu), c->type, &c->rows, H, x, pooled, argmax);
}

void cuda_pool_back(backend *be, const batch *b, int64_t H, const float *dpooled, const int32_t *argmax, float *dx)
{
    cuda_backend *c = cuda_of(be);
    (void)b;
    cuda_pool_backward(gpu_stream(c->gpu), c->type, &c->rows, H, dpooled, argmax, dx);
}

void cuda_head(backend *be, const batch *b, int64_t H, int64_t C, const float *pooled, const dropout *drop, const float *weight, const float *bias,
               float *dropped, float *logits)
{
    cuda_backend *c = cuda_of(be);
    (void)b;
    cuda_head_forward(gpu_stream(c->gpu), &c->rows, H, C, pooled, drop, weight, bias, dropped, logits);
}

void cuda_head_back(backend *be, const batch *b, int64_t H, int64_t C, const float *dlogits, const float *dropped, const dropout *drop,
                    const float *weight, float *dpooled, float *dweight, float *dbias)
{
    cuda_backend *c = cuda_of(be);
    (void)b;
    cuda_head_backward(gpu_stream(c->gpu), &c->rows, H, C, dlogits, dropped, drop, weight, dpooled, dweight, dbias);
}

/* The losses come back while the device goes on to the way back. */
void cuda_loss(backend *be, const batch *b, int64_t C, const float *logits, float factor, double *row_loss_host, float *dlogits)
{
    cuda_backend *c = cuda_of(be);
    cuda_wait_loss(be); /* of the call before: there is one place for them */
    cuda_loss_forward(gpu_stream(c->gpu), &c->rows, C, logits, factor * c->scale, c->loss_there, dlogits);
    gpu_download(c->gpu, c->loss, c->loss_there, (size_t)b->rows * sizeof(double));
    gpu_mark_set(c->gpu, c->loss_mark);
    c->loss_host = row_loss_host;
    c->loss_rows = b->rows;
}

void cuda_wait_loss(backend *be)
{
    cuda_backend *c = cuda_of(be);
    if (!c->loss_host)
        return;
    gpu_mark_wait(c->gpu, c->loss_mark);
    memcpy(c->loss_host, c->loss, (size_t)c->loss_rows * sizeof *c->loss);
    c->loss_host = NULL;
}

void cuda_sigmoid_op(backend *be, int64_t n, const float *logits, float *probability)
{
    cuda_sigmoid(gpu_stream(cuda_of(be)->gpu), n, logits, probability);
}
