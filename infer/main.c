#include <stdio.h>
#include <stdlib.h>

#include "common/comm.h"
#include "common/count.h"
#include "common/files.h"
#include "common/log.h"
#include "common/program.h"
#include "common/stop.h"
#include "infer/input.h"
#include "infer/outcome.h"
#include "infer/replaced.h"
#include "infer/submission.h"
#include "infer/validate.h"
#include "infer/verify.h"
#include "preprocess/read_with.h"

/* ---- without a run: rank 0 alone ---- */

static status validate(const settings *s)
{
    validate_result result;
    TRY(validate_submission(s->validate, s->sample, stderr, &result));
    printf("%s: valid: %s in the order of %s\n", s->validate, count_of(result.rows, "record"), s->sample);
    return STATUS_OK;
}

static status read_blend_weights(const settings *s, double *weights)
{
    double sum = 0;
    for (size_t i = 0; i < s->blend_weights.count; i++) {
        TRY(option_read_real("blend-weights", s->blend_weights.item[i], &weights[i]));
        sum += weights[i];
    }
    if (s->blend_weights.count && !(sum > 0 || sum < 0))
        return fail(STATUS_USAGE, "--blend-weights: the weights add up to nothing; give weights such as 0.7,0.3");
    return STATUS_OK;
}

static status write_blend(const settings *s, table *blended)
{
    table sample = {0};
    char *text = NULL, sha256[HASH_HEX];
    size_t bytes;
    status st;
    if (s->sample)
        TRY(table_read(s->sample, &(table_request){.numbers = TABLE_IGNORE}, &sample));
    TRY_DONE(submission_text(s->sample ? &sample : NULL, blended, s->decimals_given ? (int)s->decimals : NUMBER_SHORTEST, &text, &bytes));
    TRY_DONE(hash_sha256_buffer(text, bytes, sha256));
    replaced_tell(s->out, sha256, NULL);
    TRY_DONE(outcome_put_file(s->out, text, bytes));
done:
    free(text);
    table_free(&sample);
    return st;
}

static status blend(const settings *s)
{
    size_t count = s->blend.count, read = 0;
    table *parts = NULL, **list = NULL, blended = {0};
    double *weights = NULL;
    status st;
    TRY_DONE(memory_new(&parts, count * sizeof *parts, "tables"));
    TRY_DONE(memory_new(&list, count * sizeof *list, "tables"));
    TRY_DONE(memory_new(&weights, count * sizeof *weights, "weights"));
    TRY_DONE(read_blend_weights(s, weights));
    for (; read < count; read++) {
        list[read] = &parts[read];
        TRY_DONE(table_read(s->blend.item[read], &(table_request){.numbers = TABLE_VALUES}, &parts[read]));
    }
    TRY_DONE(submission_blend(list, (int)count, s->blend_weights.count ? weights : NULL, &blended));
    TRY_DONE(write_blend(s, &blended));
done:
    table_free(&blended);
    for (size_t i = 0; i < read; i++)
        table_free(&parts[i]);
    free(parts);
    free(list);
    free(weights);
    return st;
}

/* ---- with runs: all ranks ---- */

/* The language's column may be missing from a test set, as long as nobody has asked for it here. */
static status read_as_trained(const run *r)
{
    bool lang = infer_settings.lang_given, id = infer_settings.id_given;
    const char *for_what = infer_settings.csv.count ? "--csv" : "--truth";
    if (!infer_settings.csv.count && !infer_settings.truth)
        return STATUS_OK;
    status st = read_with_underlay(&infer_program, infer_options, for_what, r->read_with, r->folder);
    infer_settings.lang_given = lang;
    infer_settings.id_given = id;
    return st;
}

/* Collective. Between preparing and writing, which are rank 0's. */
static status score_and_write(const settings *s, const char *folder, const ensemble *e, dataset *d)
{
    outcome o = {0};
    bool stub = false;
    float *score = NULL;
    predict_settings how = {.folder = folder, .block_rows = s->block_rows, .profile = s->profile};
    status st = comm_agree(comm_rank() == 0 ? outcome_prepare(s, d, e, &o, &stub) : STATUS_OK);
    if (st == STATUS_OK && !comm_any(stub)) {
        st = network_place(s, &how.network);
        if (st == STATUS_OK)
            st = comm_agree(memory_new(&score, (size_t)predict_room(d, &e->member[0]) * sizeof *score, "scores"));
        if (st == STATUS_OK)
            st = ensemble_score(e, d, &how, score);
        o.device = how.network.device_identity;
        if (st == STATUS_OK)
            st = comm_agree(comm_rank() == 0 ? outcome_write(&o, score) : STATUS_OK);
    }
    free(score);
    outcome_free(&o);
    return st;
}

static status predict(const settings *s)
{
    ensemble e = {0};
    dataset *d = NULL;
    char *folder = NULL;
    status st = comm_agree(ensemble_open(&s->runs, &s->weights, &e));
    if (st == STATUS_OK)
        st = comm_agree(read_as_trained(&e.member[0]));
    if (st == STATUS_OK)
        st = comm_agree(input_work_folder(s, &folder));
    if (st == STATUS_OK)
        st = input_open(s, folder, &e, &d);
    if (st == STATUS_OK)
        st = score_and_write(s, folder, &e, d);
    if (st == STATUS_STOPPED)
        log_warn("%s: %s", stop_wanted() ? stop_reason() : "another rank was told to stop", status_message());
    if (st == STATUS_OK || st == STATUS_STOPPED)
        dataset_free(d); /* collective: not after an error that may be one rank's own */
    free(folder);
    ensemble_close(&e);
    return st;
}

static status run_infer(const option_list *words)
{
    const settings *s = &infer_settings;
    settings_mode mode;
    if (words->count && !(s->verify.count && words->count == 1))
        return comm_agree(fail(STATUS_USAGE, "\"%s\" is no option: rows come by --input or --csv", words->item[0]));
    TRY(comm_agree(settings_check(s, &mode)));
    if (mode == MODE_BLEND || mode == MODE_VALIDATE)
        stop_release();
    else
        stop_open(s->time_limit, s->grace);
    if (mode == MODE_PREDICT)
        return predict(s);
    if (mode == MODE_VERIFY && !words->count)
        return comm_agree(fail(STATUS_USAGE, "--verify takes the runs and a submission: infer --verify runs/one submission.csv"));
    if (mode == MODE_VERIFY)
        return verify_chain(s, words->item[0]);
    if (comm_rank() != 0)
        return comm_agree(STATUS_OK);
    return comm_agree(mode == MODE_BLEND ? blend(s) : validate(s));
}

int main(int argc, char **argv)
{
    return program_main(&(program){.options = &infer_program, .table = infer_options, .run = run_infer}, argc, argv);
}
