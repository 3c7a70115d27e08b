#include <stdlib.h>

#include "common/auc.h"
#include "common/comm.h"
#include "support/auc_cases.h"
#include "support/support.h"

/* All ranks draw the same random numbers: rank 0's seed. */
static uint64_t draw_seed(void)
{
    uint64_t seed = comm_rank() == 0 ? support_random() : 0;
    comm_broadcast(&seed, sizeof seed, 0);
    return seed;
}

static uint64_t next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

START_TEST(auc_dealt_anyhow)
{
    const char *path = support_oracle("auc/auc.json");
    if (!path) {
        support_skip("auc/auc.json");
        return;
    }
    auc_cases *all = auc_cases_load(path);
    uint64_t state = draw_seed();
    for (int i = 0; i < all->count; i++)
        for (int deal = 0; deal < 3; deal++) {
            const auc_case *c = &all->list[i];
            float *score = malloc((size_t)c->n * sizeof *score + 1), *label = malloc((size_t)c->n * sizeof *label + 1);
            int64_t n = 0;
            auc_count got;
            ck_assert(score && label);
            for (int64_t j = 0; j < c->n; j++) /* deal 2 leaves all to one rank, and others empty */
                if ((int)((deal == 2 ? (uint64_t)i : next(&state)) % (uint64_t)comm_size()) == comm_rank()) {
                    score[n] = c->score[j];
                    label[n++] = c->label[j];
                }
            for (int64_t j = n - 1; j > 0; j--) {
                int64_t k = (int64_t)support_below((uint64_t)j + 1);
                float s = score[j], l = label[j];
                score[j] = score[k], label[j] = label[k];
                score[k] = s, label[k] = l;
            }
            ck_ok(auc_compute(score, label, n, &got));
            auc_cases_compare(c, &got);
            free(score);
            free(label);
        }
    auc_cases_free(all);
}
END_TEST

/* More rows, heavy ties and unlabelled ones: over ranks as in one place. */
START_TEST(auc_ranks_as_local)
{
    enum { N = 20000 };
    static float score[N], label[N], my_score[N], my_label[N];
    uint64_t state = draw_seed();
    int64_t n = 0;
    for (int i = 0; i < N; i++) {
        score[i] = (float)(next(&state) % 700) / 700.0f - 0.1f;
        label[i] = next(&state) % 10 == 0 ? NAN : (float)(next(&state) % 2);
        if ((int)(next(&state) % (uint64_t)comm_size()) == comm_rank()) {
            my_score[n] = score[i];
            my_label[n++] = label[i];
        }
    }
    auc_count whole, got;
    ck_ok(auc_compute_local(score, label, N, &whole));
    ck_ok(auc_compute(my_score, my_label, n, &got));
    ck_assert(got.twice_wins == whole.twice_wins && got.pairs == whole.pairs);
    ck_assert(got.positives == whole.positives && got.negatives == whole.negatives && got.unlabelled == whole.unlabelled);
}
END_TEST

/* A fault on one rank is everyone's error. */
START_TEST(auc_nan_on_one_rank)
{
    float score = comm_rank() == comm_size() - 1 ? NAN : 0.5f, label = 1.0f;
    auc_count got;
    ck_fails(auc_compute(&score, &label, 1, &got), STATUS_CHECK, "not a number");
}
END_TEST

int main(int argc, char **argv)
{
    if (comm_open(&argc, &argv) != STATUS_OK)
        return 1;
    int failed = support_run("auc over ranks", (const TTest *[]){auc_dealt_anyhow, auc_ranks_as_local, auc_nan_on_one_rank, NULL});
    failed = comm_any(failed);
    comm_close();
    return failed;
}
