/* The same bits whatever the instruction set, the threads and the cutting of rows into batches. */
#include <stdio.h>

#include "common/hash.h"
#include "model/cpu/cpu.h"
#include "support/support.h"
#include "unit/ops_case.h"

static ops_result *run_whole(const ops_case *c, int thread_count, cpu_isa isa)
{
    threads *pool;
    ck_ok(threads_create(thread_count, &pool));
    backend *be = ops_open(c, pool, isa);
    ops_result *r = ops_result_new(c);
    ops_run(be, c, 0, c->B, r);
    be->ops->close(be);
    threads_free(pool);
    return r;
}

static void compare_everywhere(const ops_case *c)
{
    ops_result *first = run_whole(c, 1, CPU_ISA_PLAIN);
    for (int isa = CPU_ISA_PLAIN; isa <= CPU_ISA_AVX512; isa++) {
        if (!isa_supported((cpu_isa)isa)) {
            fprintf(stderr, "not on this processor: %s\n", isa_name((cpu_isa)isa));
            continue;
        }
        for (int n = 1; n <= 3; n++) {
            char what[64];
            snprintf(what, sizeof what, "%s, %d threads", isa_name((cpu_isa)isa), n);
            ops_result_expect_equal(what, first, run_whole(c, n, (cpu_isa)isa));
        }
    }
}

START_TEST(same_bits_for_every_isa_and_thread_count)
{
    for (int round = 0; round < 3; round++)
        compare_everywhere(ops_case_random(round == 1, round == 2 ? 0 : 0.3));
}
END_TEST

START_TEST(same_bits_for_rows_longer_than_a_tile)
{
    compare_everywhere(ops_case_new(&(ops_shape){.rows = 2, .longest = 130 + (int64_t)support_below(140), .heads = 2, .head_size = 10,
                                                 .feed_forward = 40, .outputs = 2, .dropout = 0.1}));
}
END_TEST

START_TEST(same_bits_for_every_cut_into_batches)
{
    for (int round = 0; round < 6; round++) {
        ops_case *c = ops_case_random(round % 2, 0.2);
        ops_result *whole = run_whole(c, 2, CPU_ISA_AUTO), *cut = ops_result_new(c);
        threads *pool;
        ck_ok(threads_create(2, &pool));
        backend *be = ops_open(c, pool, CPU_ISA_AUTO);
        for (int64_t row = 0; row < c->B;) {
            int64_t end = row + 1 + (int64_t)support_below((uint64_t)(c->B - row));
            ops_run(be, c, row, end, cut);
            row = end;
        }
        ops_result_expect_equal("cut", whole, cut);
        be->ops->close(be);
        threads_free(pool);
    }
}
END_TEST

/* AdamW and add in any ranges; the state hash is a sum over the ranges. */
START_TEST(optimizer_does_not_see_ranges)
{
    int64_t n = 200000 + (int64_t)support_below(50000), first = 1000 + (int64_t)support_below(1000);
    adamw_step s = {0.9f, 0.1f, 0.999f, 0.001f, 1e-6f, 1e-3f, 1e-5f};
    float *grad = ops_floats(n, 1), *start = ops_floats(n, 1), *p[2], *m[2], *v[2];
    uint64_t hash[2] = {0, 0};
    ops_case *c = ops_case_random(0, 0);
    for (int side = 0; side < 2; side++) {
        threads *pool;
        ck_ok(threads_create(1 + 2 * side, &pool));
        backend *be = ops_open(c, pool, side ? CPU_ISA_AUTO : CPU_ISA_PLAIN);
        p[side] = ops_floats(n, 0), m[side] = ops_floats(n, 0), v[side] = ops_floats(n, 0);
        be->ops->upload(be, p[side], start, (size_t)n * sizeof(float));
        for (int step = 0; step < 2; step++) {
            hash[side] = 0;
            for (int64_t at = 0; at < n;) {
                int64_t end = side ? at + 1 + (int64_t)support_below((uint64_t)(n - at)) : n;
                be->ops->adamw(be, end - at, first + at, &s, 1, grad + at, m[side] + at, v[side] + at, p[side] + at, &hash[side]);
                at = end;
            }
        }
        be->ops->add(be, m[side], grad, n);
        be->ops->close(be);
        threads_free(pool);
    }
    ck_assert(memcmp(p[0], p[1], (size_t)n * sizeof(float)) == 0);
    ck_assert(memcmp(m[0], m[1], (size_t)n * sizeof(float)) == 0);
    ck_assert(memcmp(v[0], v[1], (size_t)n * sizeof(float)) == 0);
    ck_assert_uint_eq(hash[0], hash[1]);
}
END_TEST

/* The sums of the workers come together: many steps on three threads, each hash against the scalar sum. */
START_TEST(state_hash_is_that_of_the_parameters)
{
    int64_t n = 200000 + (int64_t)support_below(100000);
    adamw_step s = {0.9f, 0.1f, 0.999f, 0.001f, 1e-6f, 1e-3f, 1e-5f};
    float *grad = ops_floats(n, 1), *p = ops_floats(n, 1), *m = ops_floats(n, 0), *v = ops_floats(n, 0), *sum = ops_floats(n, 1), *want = ops_floats(n, 0);
    ops_case *c = ops_case_random(0, 0);
    threads *pool;
    ck_ok(threads_create(3, &pool));
    backend *be = ops_open(c, pool, CPU_ISA_AUTO);
    for (int step = 0; step < 30; step++) {
        uint64_t hash = 0, expected = 0;
        be->ops->adamw(be, n, 5, &s, 1, grad, m, v, p, &hash);
        for (int64_t i = 0; i < n; i++) {
            uint32_t bits;
            memcpy(&bits, p + i, sizeof bits);
            expected += hash_mix64(5 + (uint64_t)i, bits);
        }
        ck_assert_uint_eq(hash, expected);
    }
    for (int64_t i = 0; i < n; i++)
        want[i] = sum[i] + grad[i];
    be->ops->add(be, sum, grad, n);
    ck_assert(memcmp(sum, want, (size_t)n * sizeof(float)) == 0);
    be->ops->close(be);
    threads_free(pool);
}
END_TEST

int main(void)
{
    threads_set_rounding();
    return support_run("ops_exact", (const TTest *const[]){same_bits_for_every_isa_and_thread_count, same_bits_for_rows_longer_than_a_tile,
                                                           same_bits_for_every_cut_into_batches, optimizer_does_not_see_ranges,
                                                           state_hash_is_that_of_the_parameters, NULL});
}
