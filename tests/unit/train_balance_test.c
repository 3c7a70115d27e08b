/* How even the deal to lanes is, on lengths as comments have them and on the real ones: lanes wait for the one with the most tokens. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/comm.h"
#include "model/input.h"
#include "store/dataset.h"
#include "support/stage_case.h"
#include "support/support.h"
#include "train/deal.h"
#include "train/sampler.h"

/* Mean of max/mean tokens over global batches of `lanes` x `rows`. */
static double imbalance(const int32_t *length, int64_t count, deal_kind kind, int64_t lanes, int64_t rows)
{
    double sum = 0;
    int64_t batches = count / (lanes * rows);
    deal *d;
    ck_ok(deal_create(kind, lanes, rows, &d));
    for (int64_t b = 0; b < batches; b++) {
        const int32_t *at = length + b * lanes * rows, *slot = deal_rows(d, at);
        int64_t most = 0, all = 0;
        for (int64_t lane = 0; lane < lanes; lane++) {
            int64_t tokens = 0;
            for (int64_t i = 0; i < rows; i++)
                tokens += at[slot[lane * rows + i]];
            most = tokens > most ? tokens : most;
            all += tokens;
        }
        sum += (double)most * (double)lanes / (double)all;
    }
    deal_free(d);
    return sum / (double)batches;
}

/* Prints what it found, so that a change for the worse within the bounds is seen too. */
static void check_balance(const char *what, const int32_t *length, int64_t rows)
{
    double wide = imbalance(length, rows, DEAL_BALANCED, 8, 64), narrow = imbalance(length, rows, DEAL_BALANCED, 8, 8);
    fprintf(stderr, "max/mean tokens, %s: balanced 8x64 %.5f, 8x8 %.4f; strided %.3f, %.3f\n", what, wide, narrow,
            imbalance(length, rows, DEAL_STRIDED, 8, 64), imbalance(length, rows, DEAL_STRIDED, 8, 8));
    ck_assert(wide <= 1.005 && narrow <= 1.05);
}

START_TEST(made_up_lengths)
{
    /* Log-normal, median 42, cut at 192. */
    enum { ROWS = 20000 };
    int32_t *length = malloc(ROWS * sizeof *length);
    for (int64_t i = 0; i < ROWS; i++) {
        double n = exp(3.75 + 0.95 * (double)support_normal());
        length[i] = n > 190 ? 192 : 2 + (int32_t)n;
    }
    check_balance("made up", length, ROWS);
    free(length);
}
END_TEST

START_TEST(real_lengths)
{
    const char *csv = support_data("comments/train.csv"), *vocab = support_data("vocab/bert-base-multilingual-uncased");
    if (!csv || !vocab) {
        support_skip("comments/train.csv");
        return;
    }
    char out[600];
    stage_options o;
    dataset *d;
    snprintf(out, sizeof out, "%s/out", support_scratch());
    stage_case(&o, (char *[]){(char *)csv}, 1, out);
    o.vocab = vocab;
    ck_ok(stage_run(&o, NULL));
    ck_ok(dataset_open((char *[]){out}, 1, &(dataset_limits){.memory = 1 << 20}, &d));
    int64_t rows = dataset_rows(d);
    int32_t *length = malloc((size_t)rows * sizeof *length);
    sampler s;
    ck_ok(sampler_make(rows, 8, 64, support_random(), &s));
    input_format f = {.max_length = 192};
    for (int64_t i = 0; i < rows; i++)
        length[i] = (int32_t)input_length(&f, dataset_length(d, sampler_row(&s, 0, i)));
    check_balance("comments/train.csv", length, rows);
    free(length);
    dataset_free(d);
}
END_TEST

int main(int argc, char **argv)
{
    if (comm_open(&argc, &argv) != STATUS_OK)
        return 1;
    int failed = support_run("train_balance", (const TTest *[]){made_up_lengths, real_lengths, NULL});
    comm_close();
    return failed;
}
