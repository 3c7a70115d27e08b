/* Random batches and inputs for the tests of a back end's operations, and one call that runs every operation on them.
 *
 *     ops_case *c = ops_case_new(&(ops_shape){.rows = 3, .longest = 20, .heads = 2, .head_size = 8, .padded = 1});
 *     ops_result *r = ops_result_new(c);
 *     ops_run(be, c, 0, c->b.rows, r);            // rows 0 .. B-1; again with other rows goes on with the same sums
 *     ops_result_expect_equal("2 threads", r, other);
 */
#ifndef FRETSAW_TESTS_UNIT_OPS_CASE_H
#define FRETSAW_TESTS_UNIT_OPS_CASE_H

#include "common/threads.h"
#include "model/backend.h"
#include "model/cpu/isa.h"

typedef struct ops_shape {
    int64_t rows, longest, heads, head_size, feed_forward, outputs;
    int padded;      /* rows filled up to `longest`, fewer keys than tokens */
    double dropout;  /* probability, 0 for none */
} ops_shape;

enum { OPS_VOCABULARY = 23, OPS_LAYER = 5 };

typedef struct ops_case {
    ops_shape shape;
    batch b;
    int64_t T, B, H, N, D, F, C;
    uint64_t seed;
    dropout drop[5]; /* by site */
    int32_t *slot;
    /* inputs: T x H unless said */
    float *x, *y, *q, *k, *v, *dz, *dout, *wide /* T x F */;
    float *word /* V x H */, *position /* longest x H */, *type, *gamma, *beta;
    float *weight /* F x H */, *bias /* F */, *head_weight /* C x 2H */, *head_bias;
    float epsilon, factor;
} ops_case;

/* Outputs of everything, in the order of backend.h; each has a place in `all`. */
typedef struct ops_result {
    struct { const char *name; float *p; int64_t n; } all[64];
    int count;
    float *linear, *pre, *gelu, *gelu_only, *gelu_back, *gelu_fused, *linear_dx, *linear_dx_continued, *dweight, *dbias;
    float *embed_sum, *embed_mean, *embed_rstd, *embed_y, *embed_dsum, *embed_dgamma, *embed_dbeta, *dword, *dposition, *dtype_row;
    float *norm_sum, *norm_mean, *norm_rstd, *norm_z, *norm_dx, *norm_dy, *norm_dgamma, *norm_dbeta;
    float *attention_out, *row_max, *row_sum, *dq, *dk, *dv;
    float *pooled, *argmax /* int32 bits, counted from the row's first token */, *pool_dx, *dropped, *logits, *dlogits, *dpooled, *head_dweight, *head_dbias, *probability;
    double *row_loss;
} ops_result;

float *ops_floats(int64_t n, double scale); /* normal random numbers, freed never: tests are short */
ops_case *ops_case_new(const ops_shape *shape);
ops_case *ops_case_random(int padded, double dropout); /* a random small shape, printed */
/* A back end for the case. */
backend *ops_open(const ops_case *c, threads *pool, cpu_isa isa);
ops_result *ops_result_new(const ops_case *c);
void ops_run(backend *be, const ops_case *c, int64_t first_row, int64_t end_row, ops_result *out);
void ops_result_expect_equal(const char *what, const ops_result *a, const ops_result *b);

#endif
