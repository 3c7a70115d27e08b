/* The own matrix product, C (+)= A B in float32, arithmetic version 1: every element of C is one fmaf chain over the whole of k in
 * ascending order, from +0 or (accumulate) from the value that is there. So no blocking, thread count or instruction set moves a bit.
 *
 *     gemm *g;
 *     TRY(gemm_create(CPU_ISA_AUTO, pool, &g));
 *     // y[T,O] = gelu(x[T,I] weight[O,I]^T + bias), the values before gelu kept in pre[T,O]
 *     gemm_run(g, &(gemm_product){.m = T, .n = O, .k = I, .a = x, .a_row = I, .a_k = 1, .b = weight, .b_k = 1, .b_col = I,
 *                                 .c = y, .ldc = O, .bias = bias, .pre = pre, .ldpre = O, .map = gelu});
 *     gemm_free(g);
 *
 * The strides say the layout; nothing has to be transposed beforehand. The four that the network needs:
 *
 *     forward        y[T,O]   = x[T,I] w[O,I]^T     m T, n O, k I    a x,  a_row I, a_k 1    b w,  b_k 1, b_col I
 *     to the input   dx[T,I]  = dy[T,O] w[O,I]      m T, n I, k O    a dy, a_row O, a_k 1    b w,  b_k I, b_col 1
 *     to the weight  dw[O,I] += dy[T,O]^T x[T,I]    m O, n I, k T    a dy, a_row 1, a_k O    b x,  b_k I, b_col 1
 *     one head       s[t,t]   = q[t,D] k[t,D]^T     m t, n t, k D    a q,  a_row H, a_k 1    b k,  b_k 1, b_col H   (gemm_run_worker)
 */
#ifndef FRETSAW_MODEL_CPU_GEMM_H
#define FRETSAW_MODEL_CPU_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "common/threads.h"
#include "model/cpu/isa.h"

typedef struct gemm gemm;

/* y[i] = f(x[i]) for n >= 1 consecutive elements, each by itself (where a row is cut must not matter); y may be x. No alignment is promised. */
typedef void (*gemm_map)(int64_t n, const float *x, float *y);

/* y[i] = f(with[i], x[i]), else the same. */
typedef void (*gemm_join)(int64_t n, const float *with, const float *x, float *y);

/* One product. A[i,p] = a[i*a_row + p*a_k], B[p,j] = b[p*b_k + j*b_col], C[i,j] = c[i*ldc + j]; strides in elements, any positive value;
 * packing is fastest where one of the two strides is 1. C must not overlap A or B. What is left out (0, NULL, false) is off.
 * When the chain of an element is complete, in this order: times scale; plus bias; kept in pre; map or join; each step rounded once. */
typedef struct gemm_product {
    int64_t m, n, k; /* any may be 0; with k = 0 the chain is its starting value */
    const float *a;
    int64_t a_row, a_k;
    const float *b;
    int64_t b_k, b_col;
    float *c;
    int64_t ldc;
    bool accumulate;   /* chains start from what c holds; else from +0 and c is only written */
    float scale;       /* 0 stands for 1 */
    const float *bias; /* n, one a column */
    float *pre;        /* m x n, the values that map reads; needs map; must not overlap c */
    int64_t ldpre;
    gemm_map map; /* c = map(value) */
    gemm_join join; /* instead of map: c = join(with, value) */
    const float *with; /* m x n; must not overlap c */
    int64_t ldwith;
    /* The values join these sums instead of c, one addition each: value = fold[i] + value for i = 0 .. folds - 1, kept in the last of them; the others and c, in
     * which parts of a long k lie meanwhile (more than gemm_whole_steps), hold anything after. Not with pre, map or join. */
    int folds;
    float *const *fold; /* each m x n from element fold_at on, rows ldc apart; must not overlap c */
    int64_t fold_at;
    float *row_sums; /* m: sums of A's rows are added to it, each one chain over k in ascending order */
} gemm_product;

/* Local. `isa` as for isa_choose; `pool` (may be NULL: one thread) is borrowed and must outlive it. Packing buffers for every worker are
 * allocated here, none later. Errors: STATUS_USAGE (an isa the machine lacks), STATUS_RESOURCE. */
status gemm_create(cpu_isa isa, threads *pool, gemm **out);
/* The same for a second-level cache of so many bytes instead of the machine's. It moves no bit. */
status gemm_create_for_cache(cpu_isa isa, threads *pool, int64_t l2, gemm **out);
void gemm_free(gemm *g);
/* The set in use, never AUTO. */
cpu_isa gemm_isa(const gemm *g);
/* From here on counts the processor's clock ticks that maps take, all workers together; and what it has counted. */
void gemm_time_maps(gemm *g);
uint64_t gemm_map_ticks(const gemm *g);
/* The longest k that is not cut into parts. `isa` as for isa_choose. */
int64_t gemm_whole_steps(cpu_isa isa);
/* Bytes of all packing buffers of a product object with this many workers. */
size_t gemm_workspace_bytes(cpu_isa isa, int workers);

/* Local. On all threads of the pool: C is cut into panels, k never. Not to be called from inside a task of that pool. */
void gemm_run(gemm *g, const gemm_product *p);
/* Local. On the calling thread alone, with the buffers of `worker` (0 .. threads_count - 1): for tasks that are already spread over the
 * pool, such as one row and head of attention. Quick for small shapes. */
void gemm_run_worker(gemm *g, int worker, const gemm_product *p);

#endif
