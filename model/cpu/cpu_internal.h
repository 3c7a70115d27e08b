/* What the sources of the CPU back end share. Private to model/cpu.
 *
 *     cpu_backend *cpu = cpu_of(be);
 *     cpu_run(cpu, cpu->kernel->add, &job, n, 1 << 15);      // all units on all threads, 32768 a task
 */
#ifndef FRETSAW_MODEL_CPU_CPU_INTERNAL_H
#define FRETSAW_MODEL_CPU_CPU_INTERNAL_H

#include "common/threads.h"
#include "model/backend.h"
#include "model/cpu/gemm.h"
#include "model/cpu/kernels.h"

typedef struct cpu_backend {
    backend base; /* first: a backend * is a cpu_backend * */
    threads *pool;
    int workers;
    const cpu_kernels *kernel;
    gemm *product;
    cpu_scratch *scratch; /* one a worker */
    int64_t *row_order;   /* rows: attention's tasks, longest row first */
    double timed_since;   /* backend_cpu_profile: by both clocks, 0 before */
    uint64_t ticks_then;
} cpu_backend;

static inline cpu_backend *cpu_of(backend *be)
{
    return (cpu_backend *)be;
}

/* Local. Units 0 .. n-1 in tasks of `grain` units. */
void cpu_run(cpu_backend *cpu, cpu_kernel *kernel, const void *job, int64_t n, int64_t grain);

enum { LONGEST_ROW = 512 }; /* tokens; dropout's counter has 9 bits for a key */

/* Units a task: long enough to be worth handing out, short enough to share evenly. */
enum { GRAIN_TOKENS = 32, GRAIN_COLUMNS = 64, GRAIN_ELEMENTS = 1 << 14, GRAIN_PARAMETERS = 1 << 16 };

/* The operations, as backend.h has them. */
void cpu_linear_forward(backend *be, int64_t T, int64_t I, int64_t O, const float *x, const float *weight, const float *bias, float *y);
void cpu_linear_gelu_forward(backend *be, int64_t T, int64_t I, int64_t O, const float *x, const float *weight, const float *bias, float *pre, float *y);
void cpu_linear_backward_input(backend *be, int64_t T, int64_t I, int64_t O, const float *dy, const float *weight, float *dx, int continue_sum);
void cpu_linear_gelu_backward_input(backend *be, int64_t T, int64_t I, int64_t O, const float *dy, const float *weight, const float *pre, float *dpre);
void cpu_linear_backward_weight(backend *be, int64_t T, int64_t I, int64_t O, const float *x, const float *dy, float *dweight, float *dbias);
void cpu_linear_fold_weight(backend *be, int64_t T, int64_t I, int64_t O, const float *x, const float *dy, float *dweight, float *dbias, bool begin,
                            int folds, float *const *fold);
void cpu_gelu_backward(backend *be, int64_t n, const float *pre, const float *dy, float *dpre);
void cpu_embed_forward(backend *be, const batch *b, int64_t H, const float *word, const float *position, const float *type, const float *gamma,
                       const float *beta, float epsilon, const dropout *drop, float *sum, float *mean, float *rstd, float *y);
void cpu_embed_backward(backend *be, const batch *b, int64_t H, const float *dy, const float *sum, const float *mean, const float *rstd,
                        const float *gamma, const dropout *drop, const int32_t *slot, float *dsum, float *dgamma, float *dbeta, float *dword,
                        float *dposition, float *dtype_row);
void cpu_residual_norm_forward(backend *be, const batch *b, int64_t H, const float *x, const float *y, const dropout *drop, const float *gamma,
                               const float *beta, float epsilon, float *sum, float *mean, float *rstd, float *z);
void cpu_residual_norm_backward(backend *be, const batch *b, int64_t H, const float *dz, const float *sum, const float *mean, const float *rstd,
                                const float *gamma, const dropout *drop, float *dx, float *dy, float *dgamma, float *dbeta);
void cpu_attention_forward(backend *be, const batch *b, int64_t H, int64_t N, const float *q, const float *k, const float *v, const dropout *drop,
                           float *out, float *row_max, float *row_sum);
void cpu_attention_backward(backend *be, const batch *b, int64_t H, int64_t N, const float *q, const float *k, const float *v, const dropout *drop,
                            const float *out, const float *row_max, const float *row_sum, const float *dout, float *dq, float *dk, float *dv);
void cpu_pool_forward(backend *be, const batch *b, int64_t H, const float *x, float *pooled, int32_t *argmax);
void cpu_pool_backward(backend *be, const batch *b, int64_t H, const float *dpooled, const int32_t *argmax, float *dx);
void cpu_head_forward(backend *be, const batch *b, int64_t H, int64_t C, const float *pooled, const dropout *drop, const float *weight,
                      const float *bias, float *dropped, float *logits);
void cpu_head_backward(backend *be, const batch *b, int64_t H, int64_t C, const float *dlogits, const float *dropped, const dropout *drop,
                       const float *weight, float *dpooled, float *dweight, float *dbias);
void cpu_loss_forward(backend *be, const batch *b, int64_t C, const float *logits, float factor, double *row_loss_host, float *dlogits);
void cpu_sigmoid(backend *be, int64_t n, const float *logits, float *probability);
void cpu_adamw(backend *be, int64_t n, int64_t first_index, const adamw_step *s, int decayed, const float *grad, float *m, float *v, float *p,
               uint64_t *hash);
void cpu_merge_rows(backend *be, int64_t width, float *older, const int32_t *older_ids, int64_t older_count, const float *newer,
                    const int32_t *newer_ids, int64_t newer_count);
void cpu_fold_rows(backend *be, int64_t width, int64_t first, int64_t end, const row_piece *pieces, int count, float *to);

#endif
