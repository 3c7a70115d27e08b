#include "common/auc.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "support/auc_cases.h"
#include "support/support.h"

typedef unsigned __int128 wide;

START_TEST(auc_oracle)
{
    const char *path = support_oracle("auc/auc.json");
    if (!path) {
        support_skip("auc/auc.json");
        return;
    }
    auc_cases *all = auc_cases_load(path);
    ck_assert_int_eq(all->count, 60);
    for (int i = 0; i < all->count; i++) {
        const auc_case *c = &all->list[i];
        auc_count got;
        ck_ok(auc_compute_local(c->score, c->label, c->n, &got));
        auc_cases_compare(c, &got);
    }
    auc_cases_free(all);
}
END_TEST

/* Every pair looked at, on scores with many ties, both zeros, denormals and infinities. */
START_TEST(auc_every_pair)
{
    static const float odd[] = {0.0f, -0.0f, 1e-45f, -1e-45f, 3e-39f, 1e-38f, INFINITY, -INFINITY, 0.5f, -2.0f};
    enum { N = 60 };
    for (int round = 0; round < 300; round++) {
        float score[N], label[N];
        int n = (int)support_below(N + 1);
        auc_count got;
        int64_t wins = 0, pairs = 0, unlabelled = 0;
        for (int i = 0; i < n; i++) {
            score[i] = support_below(3) ? odd[support_below(10)] : (float)support_below(5);
            label[i] = support_below(6) == 0 ? NAN : support_below(2) ? (float)support_uniform() : support_below(2) ? 0.5f : 0.49999997f;
            unlabelled += isnan(label[i]);
        }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                if (label[i] >= 0.5f && label[j] < 0.5f) {
                    pairs++;
                    wins += score[i] > score[j] ? 2 : score[i] == score[j];
                }
        ck_ok(auc_compute_local(score, label, n, &got));
        ck_assert(got.twice_wins == (wide)wins && got.pairs == (wide)pairs && got.unlabelled == unlabelled);
        ck_assert_int_eq(got.positives + got.negatives + got.unlabelled, n);
    }
}
END_TEST

START_TEST(auc_refuses_nan)
{
    auc_count got;
    ck_fails(auc_compute_local((float[]){0.5f, NAN}, (float[]){0, 1}, 2, &got), STATUS_CHECK, "row 1");
    ck_fails(auc_compute((float[]){0.5f, NAN}, (float[]){0, 1}, 2, &got), STATUS_CHECK, "row 1");
}
END_TEST

/* Exact for small integers against the processor's own division; rounded to even far beyond 64 bits. */
/* By hand: an area of 0.893 over 51 and 58 cases (Hanley and McNeil's own example) has Q1 = 0.80668 and Q2 = 0.84253, and so a variance of 0.0010571. */
START_TEST(error_of_the_paper)
{
    char text[48];
    auc_count c = {.twice_wins = 5283, .pairs = 51 * 58, .positives = 51, .negatives = 58};
    ck_assert_double_eq_tol(auc_value(&c), 0.893, 2e-4);
    ck_assert_double_eq_tol(auc_error(&c) * auc_error(&c), 0.0010571, 2e-7);
    ck_assert_str_eq(auc_error_text(&c, text), " (standard error 0.033)");
    c.twice_wins = 2 * 51 * 58;
    ck_assert_double_eq(auc_error(&c), 0);
    ck_assert_str_eq(auc_error_text(&c, text), "");
    c = (auc_count){.twice_wins = 1, .pairs = 1, .positives = 1, .negatives = 1}; /* a tie */
    ck_assert_double_eq(auc_error(&c), 0.5);
}
END_TEST

START_TEST(auc_value_rounds_once)
{
    for (int i = 0; i < 20000; i++) {
        int64_t pairs = (int64_t)support_below((uint64_t)1 << (1 + support_below(51))) + 1;
        int64_t wins = (int64_t)support_below((uint64_t)pairs * 2 + 1);
        auc_count c = {.twice_wins = (wide)wins, .pairs = (wide)pairs};
        ck_assert_double_eq(auc_value(&c), (double)wins / (double)(2 * pairs));
        c.twice_wins *= ((wide)1 << 70) + 12345; /* the same quotient with both integers beyond 64 bits */
        c.pairs *= ((wide)1 << 70) + 12345;
        ck_assert_double_eq(auc_value(&c), (double)wins / (double)(2 * pairs));
    }
    /* 1/2 + 2^-54 lies halfway between two doubles and goes to the even one; a hair more goes up. */
    auc_count c = {.pairs = (wide)1 << 119};
    c.twice_wins = c.pairs + ((wide)1 << (120 - 54));
    ck_assert_double_eq(auc_value(&c), 0.5);
    c.twice_wins++;
    ck_assert_double_eq(auc_value(&c), nextafter(0.5, 1.0));
}
END_TEST

int main(void)
{
    return support_run("auc", (const TTest *[]){auc_oracle, auc_every_pair, auc_refuses_nan, auc_value_rounds_once, error_of_the_paper, NULL});
}
