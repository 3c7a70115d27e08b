#include "infer/ensemble.h"

#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/log.h"
#include "infer/exact_sum.h"

static status check_member(const run *first, const run *r)
{
    if (first->labels != r->labels)
        return fail(STATUS_INPUT, "%s has %lld labels and %s has %lld: only runs of the same labels can be averaged", first->folder,
                    (long long)first->labels, r->folder, (long long)r->labels);
    for (int64_t i = 0; i < r->labels; i++)
        if (strcmp(first->label[i], r->label[i]) != 0)
            return fail(STATUS_INPUT, "label %lld of %s is \"%s\" and of %s \"%s\": only runs of the same labels can be averaged", (long long)i + 1,
                        first->folder, first->label[i], r->folder, r->label[i]);
    return predict_check_tokenizer(first->folder, first->tokenizer, r);
}

static status add_member(ensemble *e, const char *folder, const char *weights)
{
    TRY(run_open(folder, weights, &e->member[e->count]));
    e->count++;
    return check_member(&e->member[0], &e->member[e->count - 1]);
}

status ensemble_open(const option_list *folders, const option_list *weights, ensemble *out)
{
    ensemble e = {0};
    status st;
    TRY_DONE(memory_new(&e.member, folders->count * weights->count * sizeof *e.member, "runs"));
    for (size_t f = 0; f < folders->count; f++)
        for (size_t w = 0; w < weights->count; w++)
            TRY_DONE(add_member(&e, folders->item[f], weights->item[w]));
    *out = e;
    return STATUS_OK;
done:
    ensemble_close(&e);
    return st;
}

status ensemble_open_each(const char *const *folder, const char *const *weights, int64_t count, ensemble *out)
{
    ensemble e = {0};
    status st;
    TRY_DONE(memory_new(&e.member, (size_t)count * sizeof *e.member, "runs"));
    for (int64_t i = 0; i < count; i++)
        TRY_DONE(add_member(&e, folder[i], weights[i]));
    *out = e;
    return STATUS_OK;
done:
    ensemble_close(&e);
    return st;
}

void ensemble_close(ensemble *e)
{
    for (int64_t i = 0; i < e->count; i++)
        run_close(&e->member[i]);
    free(e->member);
    *e = (ensemble){0};
}

status ensemble_check_data(const ensemble *e, const char *name, const char *tokenizer)
{
    return predict_check_tokenizer(name, tokenizer, &e->member[0]);
}

static void take_means(const float *all, int64_t members, int64_t n, float *score)
{
    for (int64_t i = 0; i < n; i++) {
        exact_sum sum = {0};
        for (int64_t m = 0; m < members; m++)
            exact_sum_add(&sum, all[m * n + i]);
        score[i] = (float)(exact_sum_value(&sum) / (double)members);
    }
}

status ensemble_score(const ensemble *e, dataset *d, const predict_settings *s, float *score)
{
    int64_t n = predict_room(d, &e->member[0]);
    float *all = score;
    status st = STATUS_OK;
    if (e->count > 1)
        TRY(comm_agree(memory_new(&all, (size_t)(n * e->count) * sizeof *all, "scores of all runs")));
    for (int64_t m = 0; m < e->count && st == STATUS_OK; m++) {
        const run *r = &e->member[m];
        log_info("scoring with %s, %s (step %lld%s)", r->folder, r->weights, (long long)r->step, r->finished ? "" : ", training not finished");
        st = predict_rows(d, r, s, all + m * n);
    }
    if (e->count > 1) {
        if (st == STATUS_OK)
            take_means(all, e->count, n, score);
        free(all);
    }
    return st;
}
