/* Time of each operation at one shape: where a step goes, and what is not a product.
 *
 *     ops_bench [threads] [isa] [tokens] [hidden] [heads] [row length]
 *
 * With one thread it counts processor time, so that a busy machine disturbs it less; with more, time on the wall.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "model/cpu/cpu.h"

typedef struct shape {
    int64_t T, H, N, F, length;
} shape;

static clockid_t timer = CLOCK_MONOTONIC;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(timer, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float *random_floats(backend *be, int64_t n)
{
    void *p = NULL;
    if (be->ops->allocate(be, (size_t)n * sizeof(float), "bench", &p) != STATUS_OK) {
        fprintf(stderr, "%s\n", status_message());
        exit(STATUS_RESOURCE);
    }
    uint32_t state = 12345;
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        ((float *)p)[i] = (float)(int32_t)state * 0x1p-31f;
    }
    return p;
}

static batch make_batch(const shape *s)
{
    int64_t rows = s->T / s->length;
    int32_t *id = calloc((size_t)s->T, 4), *place = calloc((size_t)s->T, 4), *keys = calloc((size_t)rows, 4);
    int64_t *offset = calloc((size_t)rows + 1, 8);
    uint64_t *sample = calloc((size_t)rows, 8);
    float *label = calloc((size_t)rows, 4);
    if (!id || !place || !keys || !offset || !sample || !label)
        exit(STATUS_RESOURCE);
    for (int64_t t = 0; t < s->T; t++) {
        id[t] = (int32_t)(t * 7 % 1000);
        place[t] = (int32_t)(t % s->length);
    }
    for (int64_t r = 0; r < rows; r++) {
        keys[r] = (int32_t)s->length;
        offset[r + 1] = (r + 1) * s->length;
        sample[r] = (uint64_t)r;
    }
    return (batch){rows, s->T, s->length, 0, id, place, offset, keys, sample, label};
}

#define TIME(name, per_layer, call)                                                           \
    do {                                                                                      \
        double best_ = 1e9;                                                                   \
        for (int i_ = 0; i_ < 4; i_++) {                                                      \
            double start_ = seconds();                                                        \
            call;                                                                             \
            double took_ = seconds() - start_;                                                \
            best_ = took_ < best_ ? took_ : best_;                                            \
        }                                                                                     \
        printf("%-34s %9.3f ms x %g\n", name, best_ * 1e3, (double)(per_layer));              \
        *(((const char *)name)[0] == '*' ? &product : &other) += best_ * 1e3 * (per_layer);   \
    } while (0)

static void measure(backend *be, const shape *s)
{
    const backend_ops *op = be->ops;
    int64_t T = s->T, H = s->H, F = s->F, N = s->N;
    batch b = make_batch(s);
    dropout drop = {429496729u, 1 / 0.9f, 42, 3, 1};
    float *x = random_floats(be, T * F), *y = random_floats(be, T * F), *z = random_floats(be, T * F), *w = random_floats(be, F * H), *dw = random_floats(be, F * H);
    float *q = random_floats(be, T * H), *k = random_floats(be, T * H), *v = random_floats(be, T * H), *out = random_floats(be, T * H), *bias = random_floats(be, F);
    float *dq = random_floats(be, T * H), *dk = random_floats(be, T * H), *dv = random_floats(be, T * H), *top = random_floats(be, T * N), *sum = random_floats(be, T * N);
    float *gamma = random_floats(be, H), *beta = random_floats(be, H), *table = random_floats(be, 1000 * H), *mean = random_floats(be, T), *rstd = random_floats(be, T);
    double product = 0, other = 0;
    TIME("* linear H>H forward", 4, op->linear_forward(be, T, H, H, x, w, bias, y));
    TIME("* linear H>F gelu forward", 1, op->linear_gelu_forward(be, T, H, F, q, w, bias, y, z));
    TIME("  (the same without gelu)", 0, op->linear_forward(be, T, H, F, q, w, bias, y));
    TIME("* linear F>H forward", 1, op->linear_forward(be, T, F, H, x, w, bias, out));
    TIME("* linear H>H to the input", 4, op->linear_backward_input(be, T, H, H, q, w, out, 0));
    TIME("* linear F>H to the input", 1, op->linear_backward_input(be, T, F, H, q, w, y, 0));
    TIME("* linear H>F to the input", 1, op->linear_backward_input(be, T, H, F, x, w, out, 0));
    TIME("* linear H>H to the weight", 4, op->linear_backward_weight(be, T, H, H, q, k, dw, bias));
    TIME("* linear F>H to the weight", 1, op->linear_backward_weight(be, T, F, H, x, k, dw, bias));
    TIME("* linear H>F to the weight", 1, op->linear_backward_weight(be, T, H, F, q, x, dw, bias));
    TIME("  gelu backward", 1, op->gelu_backward(be, T * F, x, y, z));
    TIME("  residual norm forward", 2, op->residual_norm_forward(be, &b, H, q, k, &drop, gamma, beta, 1e-12f, out, mean, rstd, y));
    TIME("  residual norm backward", 2, op->residual_norm_backward(be, &b, H, v, out, mean, rstd, gamma, &drop, dq, dk, gamma, beta));
    TIME("  attention forward", 1, op->attention_forward(be, &b, H, N, q, k, v, &drop, out, top, sum));
    TIME("  attention backward", 1, op->attention_backward(be, &b, H, N, q, k, v, &drop, out, top, sum, x, dq, dk, dv));
    printf("a layer: products %.1f ms, the rest %.1f ms (%.1f%%)\n", product, other, 100 * other / (product + other));
    drop.threshold = 0;
    TIME("  attention forward, no dropout", 0, op->attention_forward(be, &b, H, N, q, k, v, &drop, out, top, sum));
    TIME("  attention backward, no dropout", 0, op->attention_backward(be, &b, H, N, q, k, v, &drop, out, top, sum, x, dq, dk, dv));
    drop.threshold = 429496729u;
    TIME("  embed forward", 0, op->embed_forward(be, &b, H, table, table, gamma, gamma, beta, 1e-12f, &drop, out, mean, rstd, y));
    TIME("  embed backward", 0, op->embed_backward(be, &b, H, q, out, mean, rstd, gamma, &drop, b.id, dq, gamma, beta, table, table, bias));
    TIME("  pool forward", 0, op->pool_forward(be, &b, H, q, y, (int32_t *)z));
    TIME("  pool backward", 0, op->pool_backward(be, &b, H, y, (int32_t *)z, q));
    int64_t n = 4 * F * H;
    float *p = random_floats(be, n), *g = random_floats(be, n), *m1 = random_floats(be, n), *m2 = random_floats(be, n);
    adamw_step step = {0.9f, 0.1f, 0.999f, 0.001f, 1e-6f, 1e-6f, 1e-8f};
    uint64_t hash = 0;
    op->zero(be, m2, (size_t)n * sizeof(float));
    TIME("  adamw, a million parameters", 0, op->adamw(be, 1000000, 0, &step, 1, g, m1, m2, p, &hash));
    TIME("  adamw, four feed-forwards", 0, op->adamw(be, n, 0, &step, 1, g, m1, m2, p, &hash));
    TIME("  add, four feed-forwards", 0, op->add(be, p, g, n));
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1;
    cpu_isa isa = CPU_ISA_AUTO;
    threads *pool;
    backend *be;
    shape s = {argc > 3 ? strtol(argv[3], NULL, 10) : 1024, argc > 4 ? strtol(argv[4], NULL, 10) : 768, argc > 5 ? strtol(argv[5], NULL, 10) : 12, 0,
               argc > 6 ? strtol(argv[6], NULL, 10) : 128};
    s.F = 4 * s.H;
    backend_limits limits = {s.T, s.T / s.length, s.length, s.H, s.N, s.F, 1000, 1, false};
    threads_set_rounding();
    if (count == 1)
        timer = CLOCK_PROCESS_CPUTIME_ID;
    if (isa_parse(argc > 2 ? argv[2] : "auto", &isa) != STATUS_OK || threads_create(count, &pool) != STATUS_OK ||
        backend_open_cpu(&limits, pool, isa, &be) != STATUS_OK) {
        fprintf(stderr, "%s\n", status_message());
        return STATUS_USAGE;
    }
    printf("%s, %d threads, T %d, H %d, N %d, F %d, rows of %d\n", isa_name(backend_cpu_isa(be)), count, (int)s.T, (int)s.H, (int)s.N, (int)s.F, (int)s.length);
    measure(be, &s);
    be->ops->close(be);
    threads_free(pool);
    return 0;
}
