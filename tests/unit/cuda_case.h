/* Random batches, inputs in any element type and float64 references for the tests of the device's own kernels on the host.
 *
 *     cuda_case c;
 *     cuda_case_begin(&c, CUDA_BFLOAT16, &(cuda_shape){.rows = 3, .longest = 40, .heads = 2, .head_size = 32}, 0.1);
 *     double *x = case_normal(&c, n, 1.0);              // values that the type holds exactly
 *     void *in = case_put(&c, x, n), *out = case_room(&c, n);
 *     CASE_TWICE(&c, out, n, cuda_cast(NULL, ...));     // ascending order, then two random ones: no fault, the same bits
 *     case_close("cast", case_get(&c, out, n), want, n, bound);
 *     cuda_case_end(&c);
 */
#ifndef FRETSAW_TESTS_UNIT_CUDA_CASE_H
#define FRETSAW_TESTS_UNIT_CUDA_CASE_H

#include <math.h>

#include "model/cpu/cpu.h"
#include "model/cuda/kernels.h"
#include "model/cuda/launch_host.h"
#include "support/support.h"

typedef struct cuda_shape {
    int64_t rows, longest, heads, head_size, outputs;
    int padded; /* rows filled up to `longest`, fewer keys than tokens */
} cuda_shape;

enum { CASE_VOCABULARY = 19, CASE_LAYER = 5, CASE_EPOCH = 7, CASE_BLOCKS = 400 };

typedef struct cuda_case {
    cuda_type type;
    cuda_shape shape;
    int64_t T, B, H, N, D, C;
    double drop_probability;
    dropout drop[5];    /* by site */
    cuda_rows rows;     /* the arrays are in launch memory, readable here as well */
    void *launch[CASE_BLOCKS], *host[CASE_BLOCKS];
    int launch_count, host_count;
    void *scratch;
} cuda_case;

void cuda_case_begin(cuda_case *c, cuda_type type, const cuda_shape *shape, double drop);
void cuda_case_end(cuda_case *c);
/* A random shape for the kernels that look at heads (`most` tokens a row at most). */
cuda_shape case_shape(int64_t most, int padded);

/* Host memory, zeroed; launch memory, NaN. Both are freed by cuda_case_end. */
double *case_doubles(cuda_case *c, int64_t n);
void *case_launch_bytes(cuda_case *c, size_t bytes);
/* Standard normal numbers times `scale`, rounded to the case's type (`case_normal`) or to float32. */
double *case_normal(cuda_case *c, int64_t n, double scale);
double *case_normal_float(cuda_case *c, int64_t n, double scale);
/* Launch memory with these values: of the case's type, or float32. */
void *case_put(cuda_case *c, const double *values, int64_t n);
float *case_put_float(cuda_case *c, const double *values, int64_t n);
/* Launch memory for n elements of the case's type; n floats. */
void *case_room(cuda_case *c, int64_t n);
float *case_room_float(cuda_case *c, int64_t n);
double *case_get(cuda_case *c, const void *from, int64_t n);
double *case_get_float(cuda_case *c, const float *from, int64_t n);
/* One value as the type stores it: bits, and back. An own conversion, by frexp and rint. */
uint16_t case_bits(cuda_type type, double x);
double case_value(cuda_type type, uint16_t bits);
/* The greatest relative error of rounding to the type. */
double case_half_unit(cuda_type type);

/* RULES' counter, one element: 0, or 1 / (1 - p). */
double case_kept(const cuda_case *c, int site, int64_t row, uint32_t element);
/* Greatest difference over the greatest wanted value. */
void case_close(const char *name, const double *got, const double *want, int64_t n, double bound);
/* The same over the greatest wanted value or `least`, where all that is wanted may be zero. */
void case_close_beside(const char *name, const double *got, const double *want, int64_t n, double bound, double least);
/* Each element within its own bound. */
void case_within(const char *name, const double *got, const double *want, const double *bound, int64_t n);
void case_no_fault(const char *where);
/* Groups of tokens that share a number (`number[t]`, below `numbers`, -1 for none), as the host sorts them. */
cuda_groups case_groups(cuda_case *c, const int32_t *number, int32_t numbers);

/* The same rows for the CPU back end, and one with room for them; the caller closes it. */
batch case_batch(const cuda_case *c);
backend *case_open_cpu(const cuda_case *c);

/* Copies, so that results of repeated runs can be compared. */
void *case_keep(cuda_case *c, const void *from, size_t bytes);
/* Runs the statements in ascending order and in two random ones: no fault, and the `bytes` at `out` the same each time. */
#define CASE_TWICE(c, out, bytes, ...)                                                                           \
    do {                                                                                                         \
        void *first_ = NULL;                                                                                     \
        for (int round_ = 0; round_ < 3; round_++) {                                                             \
            launch_set_order(round_ ? support_random() | 1 : 0);                                                 \
            __VA_ARGS__;                                                                                         \
            case_no_fault(#__VA_ARGS__);                                                                         \
            if (round_ == 0)                                                                                     \
                first_ = case_keep((c), (out), (bytes));                                                         \
            else                                                                                                 \
                ck_assert_msg(memcmp(first_, (out), (bytes)) == 0, "another order of blocks gives other bits: %s", #__VA_ARGS__); \
        }                                                                                                        \
        launch_set_order(0);                                                                                     \
    } while (0)

#endif
