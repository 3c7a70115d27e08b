/* Sums that are rounded once: against __float128 where it is wide enough, in any order, and where doubles added in turn lose everything. */
#include "infer/exact_sum.h"

#include <math.h>

#include "support/support.h"

static double sum_of(const double *value, int n)
{
    exact_sum s = {0};
    for (int i = 0; i < n; i++)
        exact_sum_add(&s, value[i]);
    return exact_sum_value(&s);
}

static void shuffle(double *value, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int k = (int)support_below((uint64_t)i + 1);
        double held = value[i];
        value[i] = value[k];
        value[k] = held;
    }
}

START_TEST(known_sums)
{
    ck_assert(sum_of(NULL, 0) == 0);
    ck_assert(sum_of((double[]){1e100, 1, -1e100}, 3) == 1);
    ck_assert(sum_of((double[]){1, 0x1p-53}, 2) == 1);                          /* a tie goes to even */
    ck_assert(sum_of((double[]){1, 0x1p-53, 0x1p-200}, 3) == 1 + 0x1p-52);      /* the least piece decides it */
    ck_assert(sum_of((double[]){1, -0x1p-54, -0x1p-200}, 3) == 1 - 0x1p-53);
    ck_assert(sum_of((double[]){1 + 0x1p-52, 0x1p-53, -0x1p-200}, 3) == 1 + 0x1p-52);
    ck_assert(sum_of((double[]){0x1p-1074, 0x1p1000, -0x1p1000}, 3) == 0x1p-1074);
    exact_sum s = {0};
    exact_sum_add_product(&s, 1 + 0x1p-30, 1 - 0x1p-30); /* 1 - 2^-60 */
    exact_sum_add(&s, -1);
    ck_assert(exact_sum_value(&s) == -0x1p-60);
}
END_TEST

START_TEST(wide_sums)
{
    enum { N = 40 };
    support_seed();
    for (int round = 0; round < 2000; round++) {
        double value[N];
        __float128 exact = 0;
        for (int i = 0; i < N; i++) {
            value[i] = ldexp(support_normal(), (int)support_below(50)); /* 53 + 50 + log2(40) bits fit into 113 */
            exact += value[i];
        }
        double first = sum_of(value, N);
        ck_assert_msg(first == (double)exact, "round %d: %a, not %a", round, first, (double)exact);
        shuffle(value, N);
        ck_assert(sum_of(value, N) == first);
    }
}
END_TEST

START_TEST(any_order)
{
    enum { N = 30 };
    for (int round = 0; round < 2000; round++) {
        double value[N];
        for (int i = 0; i < N; i++)
            value[i] = ldexp(support_normal(), (int)support_below(1800) - 900);
        double first = sum_of(value, N);
        for (int again = 0; again < 3; again++) {
            shuffle(value, N);
            ck_assert(sum_of(value, N) == first);
        }
    }
}
END_TEST

int main(void)
{
    return support_run("exact sum", (const TTest *[]){known_sums, wide_sums, any_order, NULL});
}
