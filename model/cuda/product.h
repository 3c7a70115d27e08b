/* The one door to cuBLASLt: matrix products of row-major matrices with a fixed algorithm each. product_cublas.c is the door; the tests have a twin
 * that checks what it is asked for and computes on the host (tests/support/product_host.c).
 *
 *     products *p; TRY(products_open(g, CUDA_BFLOAT16, &p));
 *     product_plan *plan;
 *     TRY(products_plan(p, &(product){.m = T, .n = O, .k = I, .b_transposed = true, .bias = true, .times = 1}, &plan));   // picks the algorithm
 *     products_run(p, plan, T, 1, x, weight, bias, y);              // again and again, with any m up to the plan's
 *     products_close(p);
 *
 * C[m,n] = A[m,k] B[k,n] (+ C), sums in float32. An algorithm is picked once a plan, by the library's own advice for the largest shape, among those
 * that do not split k; then it stays, whatever the number of tokens of a micro-batch is, so that a token's result does not depend on its company.
 * Advice and algorithm depend on GPU model and library version alone. Local.
 */
#ifndef FRETSAW_MODEL_CUDA_PRODUCT_H
#define FRETSAW_MODEL_CUDA_PRODUCT_H

#include "model/cuda/gpu.h"
#include "model/cuda/kernels.h"

enum { PRODUCT_ALIGNMENT = 16 }; /* bytes: of every matrix, and of its rows where the type allows */

typedef struct products products;
typedef struct product_plan product_plan;

/* Which side is tokens: that number may be smaller from call to call. */
typedef enum product_varies { PRODUCT_M, PRODUCT_K } product_varies;

typedef struct product {
    const char *name; /* for messages; static */
    int64_t m, n, k;  /* the largest */
    bool a_transposed, b_transposed; /* A is stored k x m; B is stored n x k */
    product_varies varies;
    bool c_float;    /* C is float32, else of the type */
    bool accumulate; /* C +=, else C = */
    bool bias;       /* plus a vector of n elements of the type, before the one rounding */
    int64_t times;   /* how many such products at once; A, B and C of the next one lie a_step, b_step, c_step elements further; 1: one */
    int64_t a_step, b_step, c_step;
} product;

status products_open(gpu *g, cuda_type type, products **out);
void products_close(products *p); /* NULL is fine; frees the plans too */
/* "cuBLASLt 13.1.0" */
const char *products_version(void);
/* Bytes of the device that products_open takes. */
size_t products_bytes(void);
/* STATUS_RESOURCE when the library has no algorithm without a split for this shape. */
status products_plan(products *p, const product *what, product_plan **out);
/* `tokens`: this call's m or k. `times` as planned, or fewer. bias NULL where the plan has none. Errors are kept in the
 * gpu. Nothing is allocated. */
void products_run(products *p, const product_plan *plan, int64_t tokens, int64_t times, const void *a, const void *b, const void *bias, void *c);

#endif
