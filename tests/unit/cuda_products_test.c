/* product_cublas.c, the door itself, over a stand-in for cuBLASLt: row-major products come out right through column-major layouts, and of the
 * algorithms that are offered the one that leaves sums whole, takes our alignment and any number of tokens is picked and kept. */
#include <math.h>
#include <stdlib.h>

#include "model/cuda/product.h"
#include "support/cublaslt_host.h"
#include "support/support.h"

enum { TOKENS = 96, IN = 24, OUT = 40, TIMES = 3 };

static float value(cuda_type type, const void *p, int64_t i)
{
    uint32_t bits;
    float x;
    if (type == CUDA_FLOAT32)
        return ((const float *)p)[i];
    if (type == CUDA_FLOAT16)
        return (float)((const _Float16 *)p)[i];
    bits = (uint32_t)((const uint16_t *)p)[i] << 16;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* n small whole numbers: exact in every type. */
static void *numbers(gpu *g, cuda_type type, int64_t n)
{
    void *p;
    ck_ok(gpu_allocate(g, (size_t)n * 4, "numbers", &p));
    for (int64_t i = 0; i < n; i++) {
        float x = (float)((int)support_below(7) - 3);
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        if (type == CUDA_FLOAT32)
            ((float *)p)[i] = x;
        else if (type == CUDA_FLOAT16)
            ((_Float16 *)p)[i] = (_Float16)x;
        else
            ((uint16_t *)p)[i] = (uint16_t)(bits >> 16);
    }
    return p;
}

/* One product of a plan with `tokens` tokens against its definition. All values are whole and below 2^11, so only bfloat16 rounds. */
static void check(gpu *g, cuda_type type, const product *w, const product_plan *plan, products *all, int64_t tokens, int64_t times)
{
    const int64_t m = w->varies == PRODUCT_M ? tokens : w->m, k = w->varies == PRODUCT_K ? tokens : w->k, n = w->n;
    const cuda_type c_type = w->c_float ? CUDA_FLOAT32 : type;
    void *a = numbers(g, type, times * TOKENS * OUT), *b = numbers(g, type, times * TOKENS * OUT), *bias = numbers(g, type, n),
         *c = numbers(g, c_type, times * TOKENS * OUT), *before = numbers(g, CUDA_FLOAT32, times * TOKENS * OUT);
    for (int64_t i = 0; i < times * TOKENS * OUT; i++)
        ((float *)before)[i] = value(c_type, c, i);
    products_run(all, plan, tokens, times, a, b, w->bias ? bias : NULL, c);
    ck_assert_msg(stand.faults == 0, "%s", stand.fault);
    ck_assert_int_eq(stand.algorithm, STAND_GOOD);
    ck_ok(gpu_check(g));
    for (int64_t t = 0; t < times; t++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                const int64_t at = t * w->c_step + i * n + j;
                double want = (w->accumulate ? (double)((float *)before)[at] : 0) + (w->bias ? (double)value(type, bias, j) : 0);
                for (int64_t x = 0; x < k; x++)
                    want += (double)value(type, a, t * w->a_step + (w->a_transposed ? x * m + i : i * k + x)) *
                            (double)value(type, b, t * w->b_step + (w->b_transposed ? j * k + x : x * n + j));
                ck_assert_msg(fabs((double)value(c_type, c, at) - want) <= (c_type == CUDA_BFLOAT16 ? fabs(want) / 128 : 0),
                              "%s, %d tokens, type %d: %g, not %g at %d, %d of product %d", w->name, (int)tokens, (int)type,
                              (double)value(c_type, c, at), want, (int)i, (int)j, (int)t);
            }
    void *const own[] = {a, b, bias, c, before};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        gpu_release(g, own[i]);
}

START_TEST(products_through_the_library)
{
    const product what[] = {
        {.name = "forward", .m = TOKENS, .n = OUT, .k = IN, .b_transposed = true, .bias = true, .times = 1},
        {.name = "back", .m = TOKENS, .n = IN, .k = OUT, .times = 1},
        {.name = "back, added", .m = TOKENS, .n = IN, .k = OUT, .accumulate = true, .times = 1},
        {.name = "weight, a piece", .m = OUT, .n = IN, .k = TOKENS, .a_transposed = true, .varies = PRODUCT_K, .c_float = true, .times = 1},
        {.name = "weight, pieces", .m = OUT, .n = IN, .k = 32, .a_transposed = true, .varies = PRODUCT_K, .c_float = true, .times = TIMES,
         .a_step = 32 * OUT, .b_step = 32 * IN, .c_step = OUT * IN}};
    for (cuda_type type = CUDA_FLOAT32; type < CUDA_TYPES; type++) {
        gpu *g;
        products *all;
        product_plan *plan;
        stand = (stand_record){0};
        ck_ok(gpu_open(0, &g));
        ck_ok(products_open(g, type, &all));
        for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
            ck_ok(products_plan(all, &what[i], &plan));
            if (what[i].times > 1) {
                check(g, type, &what[i], plan, all, what[i].k, TIMES);
                check(g, type, &what[i], plan, all, what[i].k, TIMES - 1);
                continue;
            }
            check(g, type, &what[i], plan, all, TOKENS, 1);
            check(g, type, &what[i], plan, all, 1, 1);
            check(g, type, &what[i], plan, all, 1 + (int64_t)support_below(TOKENS), 1);
        }
        products_close(all);
        gpu_close(g);
    }
}
END_TEST

int main(void)
{
    return support_run("cuda products", (const TTest *const[]){products_through_the_library, NULL});
}
