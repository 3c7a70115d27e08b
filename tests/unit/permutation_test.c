#include "common/permutation.h"

#include <math.h>
#include <stdlib.h>

#include "common/rng.h"
#include "support/support.h"

static void check_bijection(int64_t n, uint64_t seed, uint32_t purpose, uint32_t epoch)
{
    permutation p = permutation_make(n, seed, purpose, epoch), known = p;
    ck_ok(permutation_remember(&known));
    unsigned char *seen = calloc((size_t)n + 1, 1);
    ck_assert_ptr_nonnull(seen);
    for (int64_t i = 0; i < n; i++) {
        int64_t v = permutation_at(&p, i);
        ck_assert_msg(v >= 0 && v < n && !seen[v], "n %lld: position %lld gives %lld", (long long)n, (long long)i, (long long)v);
        seen[v] = 1;
        ck_assert_int_eq(permutation_find(&p, v), i);
        ck_assert_int_eq(permutation_at(&known, i), v);
        ck_assert_int_eq(permutation_find(&known, v), i);
    }
    permutation_forget(&known);
    free(seen);
}

START_TEST(permutation_small_bijections)
{
    uint64_t seed = support_random();
    for (int64_t n = 0; n <= 300; n++)
        check_bijection(n, seed, RNG_SHARD_ORDER, 0);
    for (int i = 0; i < 10; i++)
        check_bijection((int64_t)support_below(20000) + 1, support_random(), RNG_EPOCH_ORDER, (uint32_t)support_below(100));
}
END_TEST

START_TEST(permutation_big_inverse)
{
    static const int64_t sizes[] = {(int64_t)1 << 40, ((int64_t)1 << 40) + 1, (int64_t)1 << 62, 3000000019};
    for (int s = 0; s < 4; s++) {
        permutation p = permutation_make(sizes[s], support_random(), RNG_EPOCH_ORDER, 3);
        for (int i = 0; i < 2000; i++) {
            int64_t at = (int64_t)support_below((uint64_t)sizes[s]), v = permutation_at(&p, at);
            ck_assert(v >= 0 && v < sizes[s]);
            ck_assert_int_eq(permutation_find(&p, v), at);
        }
    }
}
END_TEST

/* Any stretch of rows, with the table and without, and nothing behind it is touched. */
START_TEST(permutation_ranges)
{
    for (int i = 0; i < 300; i++) {
        int64_t n = (int64_t)support_below(i < 150 ? 2000 : 3000000) + 1, first = (int64_t)support_below((uint64_t)n), found[1001];
        int64_t most = n - first < 1000 ? n - first : 1000, count = support_below(4) ? (int64_t)support_below((uint64_t)most + 1) : most;
        permutation p = permutation_make(n, support_random(), RNG_SHARD_ORDER, 0);
        if (i & 1)
            ck_ok(permutation_remember(&p));
        found[count] = -7;
        permutation_find_range(&p, first, count, found);
        for (int64_t k = 0; k < count; k++)
            ck_assert_int_eq(found[k], permutation_find(&p, first + k));
        ck_assert_int_eq(found[count], -7);
        permutation_forget(&p);
    }
}
END_TEST

/* The definition, written out a second time with halves as struct fields and the walk as recursion. */
static uint64_t defined(uint64_t n, uint64_t seed, uint32_t purpose, uint32_t epoch, uint64_t x)
{
    int k = 0;
    while (pow(4.0, k) < (double)n)
        k++;
    uint64_t size = (uint64_t)1 << k, a = x / size, b = x % size;
    for (uint32_t round = 0; round < 6; round++) {
        uint32_t w[4], counter[4] = {(uint32_t)b, round, purpose, epoch};
        rng_philox(seed, counter, w);
        uint64_t old = a;
        a = b;
        b = old ^ (w[0] % size);
    }
    x = a * size + b;
    return x < n ? x : defined(n, seed, purpose, epoch, x);
}

START_TEST(permutation_as_defined)
{
    for (int i = 0; i < 2000; i++) {
        uint64_t n = support_below((uint64_t)1 << (1 + support_below(30))) + 1, seed = support_random(), x = support_below(n);
        uint32_t epoch = (uint32_t)support_below(50);
        permutation p = permutation_make((int64_t)n, seed, RNG_EPOCH_ORDER, epoch);
        ck_assert_int_eq(permutation_at(&p, (int64_t)x), (int64_t)defined(n, seed, RNG_EPOCH_ORDER, epoch, x));
    }
    /* Another seed, purpose or epoch is another order. */
    int same[3] = {0};
    uint64_t seed = support_random();
    permutation p = permutation_make(1000, seed, 1, 5), q[3];
    q[0] = permutation_make(1000, seed + 1, 1, 5);
    q[1] = permutation_make(1000, seed, 2, 5);
    q[2] = permutation_make(1000, seed, 1, 6);
    for (int64_t i = 0; i < 1000; i++)
        for (int j = 0; j < 3; j++)
            same[j] += permutation_at(&p, i) == permutation_at(&q[j], i);
    for (int j = 0; j < 3; j++)
        ck_assert_int_lt(same[j], 20);
}
END_TEST

/* Over many seeds each position takes each value about equally often: chi-squared on 12 x 12 cells. */
START_TEST(permutation_spreads)
{
    enum { N = 12, SEEDS = 6000 };
    int64_t count[N][N] = {{0}};
    for (int s = 0; s < SEEDS; s++) {
        permutation p = permutation_make(N, support_random(), RNG_SHARD_ORDER, 0);
        for (int64_t i = 0; i < N; i++)
            count[i][permutation_at(&p, i)]++;
    }
    double chi = 0, expected = (double)SEEDS / N;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            chi += ((double)count[i][j] - expected) * ((double)count[i][j] - expected) / expected;
    ck_assert_msg(chi < 250, "chi-squared %.1f with 121 degrees of freedom", chi); /* about eight standard deviations */
}
END_TEST

int main(void)
{
    return support_run("permutation",
                       (const TTest *[]){permutation_small_bijections, permutation_big_inverse, permutation_ranges, permutation_as_defined,
                                         permutation_spreads, NULL});
}
