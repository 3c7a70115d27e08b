#include "infer/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/files.h"
#include "infer/input.h"
#include "infer/outcome.h"
#include "infer/verify_links.h"

/* What the other ranks need to make the submission once more. */
typedef struct order {
    bool wanted;
    char weights[64];
    int64_t decimals;
    int count, input[LINKS_FOLDERS]; /* of --input */
} order;

/* Whether all that the scores need is at hand: the rows, the sample, no other run. */
static void plan_again(links *l, order *o)
{
    bool sample = !json_object_get(l->made, "sample") || l->settings->sample, given = l->scored_count > 0;
    const char *weights = json_string_value(json_object_get(l->member, "weights"));
    for (int i = 0; i < l->scored_count; i++) {
        given = given && l->scored[i] >= 0;
        o->input[i] = l->scored[i];
    }
    o->count = l->scored_count;
    o->decimals = json_integer_value(json_object_get(l->made, "decimals"));
    o->wanted = l->broken == 0 && given && sample && weights && json_array_size(json_object_get(l->made, "scored_by")) == 1 &&
                snprintf(o->weights, sizeof o->weights, "%s", weights) < (int)sizeof o->weights;
    if (!o->wanted && l->broken == 0)
        link_unseen(l, "weights -> predictions -> submission: the scores themselves: give the scored rows with --input, and the sample");
}

static status look(links *l, order *o)
{
    TRY(links_read(l));
    links_of_data(l);
    links_of_run(l);
    links_of_submission(l);
    plan_again(l, o);
    return STATUS_OK;
}

/* Rank 0: the text that these scores give, against the file. */
static status compare_text(links *l, const settings *s, dataset *d, const ensemble *e, const float *score)
{
    outcome made;
    bool stub;
    char hex[HASH_HEX];
    TRY(outcome_prepare(s, d, e, &made, &stub));
    status st = outcome_hash(&made, score, hex);
    if (st == STATUS_OK)
        link_file(l, "weights -> predictions -> submission: made once more", s->out, hex);
    outcome_free(&made);
    return st;
}

/* Collective. */
static status score_again(links *l, const settings *given, const order *o)
{
    settings s = *given;
    char *folder = NULL, *name = strdup(o->weights), *run_folder = strdup(l->folder);
    char *list[LINKS_FOLDERS];
    option_list runs = {.item = &run_folder, .count = 1}, weights = {.item = &name, .count = 1};
    ensemble e = {0};
    dataset *d = NULL;
    float *score = NULL;
    for (int i = 0; i < o->count; i++)
        list[i] = given->input.item[o->input[i]];
    s.input = (option_list){.item = list, .count = (size_t)o->count};
    s.csv = (option_list){0};
    s.out = l->submission;
    s.decimals = o->decimals;
    s.decimals_given = o->decimals >= 0;
    status st = comm_agree(name && run_folder ? ensemble_open(&runs, &weights, &e) : fail(STATUS_RESOURCE, "out of memory for a name"));
    if (st == STATUS_OK)
        st = comm_agree(input_work_folder(&s, &folder));
    if (st == STATUS_OK)
        st = input_open(&s, folder, &e, &d);
    if (st == STATUS_OK)
        st = comm_agree(memory_new(&score, (size_t)predict_room(d, &e.member[0]) * sizeof *score, "scores"));
    if (st == STATUS_OK) {
        predict_settings how = {.folder = folder, .block_rows = s.block_rows};
        st = network_place(&s, &how.network);
        if (st == STATUS_OK)
            st = ensemble_score(&e, d, &how, score);
    }
    if (st == STATUS_OK)
        st = comm_agree(comm_rank() == 0 ? compare_text(l, &s, d, &e, score) : STATUS_OK);
    if (st == STATUS_OK || st == STATUS_STOPPED)
        dataset_free(d);
    free(score);
    free(folder);
    free(name);
    free(run_folder);
    ensemble_close(&e);
    return st;
}

status verify_chain(const settings *s, const char *run_folder, const char *submission)
{
    links l = {.settings = s, .folder = run_folder, .submission = submission};
    order o = {0};
    TRY(comm_agree(comm_rank() == 0 ? look(&l, &o) : STATUS_OK));
    comm_broadcast(&o, sizeof o, 0);
    if (o.wanted)
        TRY(score_again(&l, s, &o));
    status st = STATUS_OK;
    if (comm_rank() == 0) {
        printf("%d links hold, %d are not checked, %d break\n", l.holding, l.unseen, l.broken);
        if (l.broken)
            st = fail(STATUS_CHECK, "the chain from CSVs to %s breaks: %s", submission, l.first);
    }
    links_free(&l);
    return comm_agree(st);
}
