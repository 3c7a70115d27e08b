#include "train/machines.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/comm.h"
#include "common/log.h"
#include "model/cpu/gemm.h"

/* Dense peaks of the tensor cores with float32 sums, in bfloat16 (T4: float16), and memory, as the makers' data sheets have them. */
static const struct {
    const char *name;
    double teraflops, gigabytes;
} cards[] = {
    {"T4", 65, 16},          {"L4", 121, 24},         {"RTX 3090", 71, 24}, {"RTX 4090", 165, 24},
    {"A100 40 GB", 312, 40}, {"A100 80 GB", 312, 80}, {"H100", 989, 80},    {"H200", 989, 141},
};

/* Of the measured products, and of a card's peak, what a whole step comes to. */
static const double SHARE_HERE = 0.75, SHARE_CARD = 0.35;
static const double LONG_ENOUGH = 0.25; /* seconds of measuring */

/* ---- this machine ---- */

static double run_products(gemm *g, const machines_product *s, const float *x, const float *w, float *y)
{
    const gemm_product forward = {.m = s->tokens,
                                  .n = s->outputs,
                                  .k = s->inputs,
                                  .a = x,
                                  .a_row = s->inputs,
                                  .a_k = 1,
                                  .b = w,
                                  .b_k = 1,
                                  .b_col = s->inputs,
                                  .c = y,
                                  .ldc = s->outputs};
    double one = 2.0 * (double)s->tokens * (double)s->inputs * (double)s->outputs, done = 0, begin, passed;
    gemm_run(g, &forward); /* pages and caches are warm then */
    begin = clock_seconds();
    do {
        gemm_run(g, &forward);
        done += one;
        passed = clock_seconds() - begin;
    } while (passed < LONG_ENOUGH);
    return done / passed;
}

static status measure_own(const machines_product *s, cpu_isa isa, int64_t threads_wanted, double *speed)
{
    threads *pool = NULL;
    gemm *g = NULL;
    float *x = NULL, *w = NULL, *y = NULL;
    status st;
    TRY_DONE(threads_create((int)threads_wanted, &pool));
    TRY_DONE(gemm_create(isa, pool, &g));
    TRY_DONE(memory_new(&x, (size_t)(s->tokens * s->inputs) * sizeof *x, "the measuring of products"));
    TRY_DONE(memory_new(&w, (size_t)(s->inputs * s->outputs) * sizeof *w, "the measuring of products"));
    TRY_DONE(memory_new(&y, (size_t)(s->tokens * s->outputs) * sizeof *y, "the measuring of products"));
    *speed = run_products(g, s, x, w, y);
done:
    free(x);
    free(w);
    free(y);
    gemm_free(g);
    threads_free(pool);
    return st;
}

status machines_measure(const machines_product *shape, cpu_isa isa, int64_t threads_wanted, double *speed)
{
    /* Few tokens are enough to keep all threads busy, and keep a slow machine below a second. */
    machines_product s = *shape;
    s.tokens = s.tokens < 128 * threads_wanted ? s.tokens : 128 * threads_wanted;
    double own = 0;
    comm_barrier();
    TRY(comm_agree(measure_own(&s, isa, threads_wanted, &own)));
    int64_t sum = (int64_t)own;
    comm_sum_int64(&sum, 1);
    *speed = (double)sum;
    return STATUS_OK;
}

/* ---- the table ---- */

static void print_time(double seconds)
{
    if (seconds < 10)
        printf("%9.2g s  ", seconds);
    else if (seconds < 90)
        printf("%9.1f s  ", seconds);
    else if (seconds < 5400)
        printf("%9.1f min", seconds / 60);
    else
        printf("%9.1f h  ", seconds / 3600);
}

void machines_print(double work, double speed, double card_bytes)
{
    printf("time for training and validation, by %.3g operations:\n", work);
    printf("  %-12s %21.3g TFLOP/s measured ", "this machine", speed * 1e-12);
    print_time(work / (speed * SHARE_HERE));
    printf("  (products alone; a step is taken to reach %.0f%% of them)\n", 100 * SHARE_HERE);
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) {
        bool fits = card_bytes < 0.95e9 * cards[i].gigabytes;
        printf("  %-12s %4.0f GB %13.0f TFLOP/s peak     ", cards[i].name, cards[i].gigabytes, cards[i].teraflops);
        print_time(work / (cards[i].teraflops * 1e12 * SHARE_CARD));
        printf(fits ? "\n" : "  too small\n");
    }
    printf(
        "  (cards: one of each, published dense peak in bfloat16 or float16, %.0f%% of it assumed, %.1f GB needed with a micro-batch of this size;\n"
        "  an estimate to choose by)\n",
        100 * SHARE_CARD, card_bytes * 1e-9);
}
