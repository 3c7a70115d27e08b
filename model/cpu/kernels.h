/* The loops of the CPU back end that are compiled for each instruction set. Private to model/cpu.
 *
 *     const cpu_kernels *k = cpu_kernels_for(isa);
 *     norm_job job = {...};
 *     k->norm_forward(&job, from, to, scratch);        // rows from .. to-1
 *
 * A kernel does its units from .. to-1 (tokens, columns, elements, rows or queries, as listed below), owns their
 * outputs, and gives the same bits however the units are cut. Local; nothing fails, nothing is allocated.
 */
#ifndef FRETSAW_MODEL_CPU_KERNELS_H
#define FRETSAW_MODEL_CPU_KERNELS_H

#include <stdint.h>

#include "model/backend.h"

/* Queries that attention works on at once: bounds its scratch. */
enum { ATTENTION_TILE = 128 };

/* What one worker needs between two loads: allocated once, when the back end is opened. */
typedef struct cpu_scratch {
    uint32_t *words;  /* random words of one row of elements, or of some queries: `most` and 80 more */
    int64_t most;
    uint32_t *counters; /* of those queries' words, most / 4 and 16 more; for rows of counters_keys keys */
    int64_t counters_keys;
    float *scores;    /* ATTENTION_TILE x width */
    float *gradients; /* the same */
    uint16_t *kept;   /* ATTENTION_TILE x width / 16: dropout's decisions, a bit an element */
    int64_t width;    /* longest row, rounded up to 16 */
    uint64_t hash;    /* sum of the state hash */
    int timed;        /* count what dropout's random words take */
    uint64_t dropout_ticks;
} cpu_scratch;

/* Embedding and residual share their layer norm. */
typedef struct norm_job {
    const batch *b;
    int64_t H;
    const dropout *drop;
    const float *gamma, *beta;
    float epsilon;
    const float *word, *position, *type;            /* embed_forward */
    const float *x, *y;                             /* residual_forward */
    float *sum, *mean, *rstd, *z;                   /* forward: out */
    const float *dz;                                /* backward: in */
    const float *saved_sum, *saved_mean, *saved_rstd;
    float *dx, *dy;                                 /* backward: out; dy NULL in embed_backward */
    float *dgamma, *dbeta;
    const int32_t *slot;
    float *dword, *dposition, *dtype_row;
} norm_job;

/* Some queries of one row and head. scores, gradients and kept are the worker's; row_max[i * stride] belongs to query i. */
typedef struct softmax_job {
    const batch *b;
    const dropout *drop;
    int64_t row, head, first_query; /* query i of the job is first_query + i of the row */
    int64_t keys, stride;
    float *row_max, *row_sum;
    const float *saved_max, *saved_sum;
    float scale; /* 1 / sqrt D, applied again on the way back */
} softmax_job;

typedef struct point_job {
    const float *x, *dy;
    float *y;
} point_job;

typedef struct pool_job {
    const batch *b;
    int64_t H;
    const float *x;
    float *pooled;
    int32_t *argmax;
    const float *dpooled;
    const int32_t *saved_argmax;
    float *dx;
    const dropout *drop;
} pool_job;

typedef struct adamw_job {
    const adamw_step *step;
    int64_t first_index;
    int decayed;
    const float *grad;
    float *m, *v, *p;
} adamw_job;

/* y[i] = gelu(x[i]): what the product applies to what it has finished. */
typedef void cpu_gelu_map(int64_t n, const float *x, float *y);
/* y[i] = dy[i] gelu'(pre[i]), also there. */
typedef void cpu_gelu_join(int64_t n, const float *pre, const float *dy, float *y);
typedef void cpu_kernel(const void *job, int64_t from, int64_t to, cpu_scratch *scratch);

/* name, and what a unit is */
#define CPU_KERNELS(X)                                                      \
    X(embed_forward)      /* token: norm_job */                             \
    X(residual_forward)   /* token: norm_job */                             \
    X(norm_backward)      /* token: norm_job */                             \
    X(drop_tokens)        /* token: norm_job, dx = dropout(dz) */           \
    X(norm_columns)       /* column: norm_job, dgamma and dbeta */          \
    X(embed_columns)      /* column: norm_job, dword, dposition, dtype */   \
    X(gelu_backward)      /* element: point_job, y = dy gelu'(x) */         \
    X(add)                /* element: point_job, y += x */                  \
    X(softmax_forward)    /* query: softmax_job */                          \
    X(softmax_again)      /* query: softmax_job */                          \
    X(softmax_backward)   /* query: softmax_job */                          \
    X(pool_forward)       /* row: pool_job */                               \
    X(pool_backward)      /* row: pool_job */                               \
    X(drop_rows)          /* row: pool_job, pooled = dropout(x), 2H wide */ \
    X(adamw)              /* element: adamw_job */

typedef struct cpu_kernels {
#define CPU_KERNEL_MEMBER(name) cpu_kernel *name;
    CPU_KERNELS(CPU_KERNEL_MEMBER)
#undef CPU_KERNEL_MEMBER
    cpu_gelu_map *gelu;
    cpu_gelu_join *gelu_join;
} cpu_kernels;

extern const cpu_kernels cpu_kernels_plain, cpu_kernels_avx2, cpu_kernels_avx512;

#ifdef ISA /* inside a source that is compiled for each instruction set */
#define CPU_KERNEL_DECLARE(name) cpu_kernel ISA(cpu_##name);
CPU_KERNELS(CPU_KERNEL_DECLARE)
#undef CPU_KERNEL_DECLARE
cpu_gelu_map ISA(cpu_gelu);
cpu_gelu_join ISA(cpu_gelu_join);
#endif

#endif
