#include "infer/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/files.h"
#include "infer/input.h"
#include "infer/outcome.h"
#include "infer/verify_links.h"
#include "preprocess/csv.h"

/* What the other ranks need to make the submission once more. */
typedef struct order {
    bool wanted, csv;
    int64_t decimals;
    int count, part[LINKS_PARTS]; /* of --input, or of --csv */
    int members, run[LINKS_PARTS]; /* of --verify */
    char weights[LINKS_PARTS][64];
} order;

/* Every scorer is one of the runs. */
static bool order_members(const links *l, order *o)
{
    const json_t *members = json_object_get(l->made, "scored_by");
    size_t count = json_array_size(members);
    if (count == 0 || count > LINKS_PARTS)
        return false;
    for (size_t i = 0; i < count; i++, o->members++) {
        const json_t *member = json_array_get(members, i);
        const char *weights = links_text(member, "weights");
        int64_t k = links_find_run(l, links_text(member, "run"));
        if (k < 0 || !weights || snprintf(o->weights[i], sizeof o->weights[i], "%s", weights) >= (int)sizeof o->weights[i])
            return false;
        o->run[i] = (int)k;
    }
    return true;
}

/* Whether all that the scores need is at hand: the rows, the sample, the runs. */
static void plan_again(links *l, order *o)
{
    bool sample = !json_object_get(l->made, "sample") || l->settings->sample, members = order_members(l, o);
    o->csv = l->scored_csv;
    o->count = l->scored_count;
    memcpy(o->part, l->scored, sizeof o->part);
    o->decimals = json_integer_value(json_object_get(l->made, "decimals"));
    o->wanted = l->broken == 0 && l->scored_given && sample && members;
    if (!o->wanted && l->broken == 0)
        link_unseen(l, "weights -> predictions -> submission: the scores themselves: give the scored rows with %s, the sample, and every run that "
                       "scored them", o->csv ? "--csv" : "--input");
}

static status look(links *l, order *o)
{
    TRY(links_read(l));
    links_of_data(l);
    links_of_runs(l);
    links_of_submission(l);
    plan_again(l, o);
    return STATUS_OK;
}

/* How the ids are called without a sample is the file's own affair: an older version called them all "id". */
static status take_heading(const char *submission, outcome *made)
{
    table header;
    TRY(table_read(submission, &(table_request){.numbers = TABLE_HEADER}, &header));
    char *name = made->scores.id_name;
    made->scores.id_name = header.id_name;
    header.id_name = name;
    table_free(&header);
    return STATUS_OK;
}

/* Rank 0: the text that these scores give, against the file. */
static status compare_text(links *l, const settings *s, dataset *d, const ensemble *e, const float *score)
{
    outcome made;
    bool stub;
    char hex[HASH_HEX];
    TRY(outcome_prepare(s, d, e, &made, &stub));
    status st = s->sample ? STATUS_OK : take_heading(s->out, &made);
    if (st == STATUS_OK)
        st = outcome_hash(&made, score, hex);
    if (st == STATUS_OK)
        link_file(l, "weights -> predictions -> submission: made once more", s->out, hex);
    outcome_free(&made);
    return st;
}

/* ---- how --csv was read ---- */

static option_list names_of(const json_t *reading, const char *key, char **room)
{
    const json_t *list = json_object_get(reading, key);
    size_t count = json_array_size(list);
    for (size_t i = 0; i < count && i < LINKS_PARTS; i++)
        room[i] = (char *)json_string_value(json_array_get(list, i));
    return (option_list){.item = room, .count = count < LINKS_PARTS ? count : LINKS_PARTS};
}

/* As the submission's provenance, which every rank reads, has it; the names are borrowed from there. */
typedef struct reading {
    json_t *made;
    char *id[LINKS_PARTS], *text[LINKS_PARTS], *lang[LINKS_PARTS];
} reading;

static status read_reading(const char *submission, reading *r, settings *s)
{
    TRY(links_read_made(submission, &r->made));
    const json_t *csv = json_object_get(r->made, "csv"), *unlabelled = json_object_get(csv, "unlabelled");
    s->id_column = names_of(csv, "id-column", r->id);
    s->text_column = names_of(csv, "text-column", r->text);
    s->lang_column = names_of(csv, "lang-column", r->lang);
    s->lang_given = false;
    const char *delimiter = links_text(csv, "delimiter");
    s->dialect = links_text(csv, "dialect") ? CSV_PANDAS : CSV_STRICT;
    s->delimiter = 0;
    for (int i = 0; i < (int)sizeof csv_delimiters; i++)
        s->delimiter = delimiter && *delimiter == csv_delimiters[i] ? i : s->delimiter;
    s->unlabelled_given = unlabelled != NULL;
    s->unlabelled = json_number_value(unlabelled);
    return STATUS_OK;
}

/* ---- once more ---- */

typedef struct again {
    settings s;
    reading reading;
    char *part[LINKS_PARTS];
    ensemble e;
    dataset *data;
    char *folder;
} again;

static status prepare_again(const links *l, const settings *given, const order *o, again *a)
{
    const char *folder[LINKS_PARTS], *weights[LINKS_PARTS];
    const option_list *from = o->csv ? &given->csv : &given->input;
    for (int i = 0; i < o->members; i++) {
        folder[i] = given->verify.item[o->run[i]];
        weights[i] = o->weights[i];
    }
    for (int i = 0; i < o->count; i++)
        a->part[i] = from->item[o->part[i]];
    option_list parts = {.item = a->part, .count = (size_t)o->count};
    a->s = *given;
    a->s.input = o->csv ? (option_list){0} : parts;
    a->s.csv = o->csv ? parts : (option_list){0};
    a->s.out = l->submission;
    a->s.decimals = o->decimals;
    a->s.decimals_given = o->decimals >= 0;
    if (o->csv)
        TRY(read_reading(l->submission, &a->reading, &a->s));
    TRY(ensemble_open_each(folder, weights, o->members, &a->e));
    return input_work_folder(&a->s, &a->folder);
}

/* Rank 0: what lies in the way of comparing scores; true where nothing does. */
static bool comparable(links *l, const order *o, const again *a, const char *here)
{
    const char *identity = links_text(json_object_get(l->made, "data"), "identity"), *there = links_text(l->made, "device");
    if (!links_equal(identity, dataset_identity(a->data))) {
        link_breaks(l, "scored data -> submission: the rows%s have identity %.16s..., not %.16s...", o->csv ? " that these CSVs give now" : "",
                    dataset_identity(a->data), identity ? identity : "(none told)");
        return false;
    }
    if (o->csv)
        link_holds(l, "CSV -> scored data -> submission: tokenized once more (identity %.16s...)", identity);
    if (strcmp(there ? there : "", here) != 0) {
        link_unseen(l, "weights -> predictions -> submission: the scores themselves: they were made on %s, whose bits are others than here (%s)",
                    there ? there : "the CPU", here[0] ? here : "the CPU");
        return false;
    }
    return true;
}

/* Collective. */
static status score_again(links *l, const order *o, again *a)
{
    predict_settings how = {.folder = a->folder, .block_rows = a->s.block_rows};
    float *score = NULL;
    TRY(input_open(&a->s, a->folder, &a->e, &a->data));
    TRY(network_place(&a->s, &how.network));
    bool go = comm_rank() == 0 && comparable(l, o, a, how.network.device_identity);
    if (!comm_any(go))
        return STATUS_OK;
    TRY(comm_agree(memory_new(&score, (size_t)predict_room(a->data, &a->e.member[0]) * sizeof *score, "scores")));
    status st = ensemble_score(&a->e, a->data, &how, score);
    if (st == STATUS_OK)
        st = comm_agree(comm_rank() == 0 ? compare_text(l, &a->s, a->data, &a->e, score) : STATUS_OK);
    free(score);
    return st;
}

/* Collective. */
static status make_again(links *l, const settings *s, const order *o)
{
    again *a;
    TRY(comm_agree(memory_new(&a, sizeof *a, "what scores once more")));
    status st = comm_agree(prepare_again(l, s, o, a));
    if (st == STATUS_OK)
        st = score_again(l, o, a);
    if (a->data && (st == STATUS_OK || st == STATUS_STOPPED))
        dataset_free(a->data); /* collective: not after an error that may be one rank's own */
    free(a->folder);
    ensemble_close(&a->e);
    json_decref(a->reading.made);
    free(a);
    return st;
}

status verify_chain(const settings *s, const char *submission)
{
    links l = {.settings = s, .submission = submission};
    order o = {0};
    status st = comm_agree(comm_rank() == 0 ? look(&l, &o) : STATUS_OK);
    if (st == STATUS_OK) {
        comm_broadcast(&o, sizeof o, 0);
        st = o.wanted ? make_again(&l, s, &o) : STATUS_OK;
    }
    if (st != STATUS_OK) {
        links_free(&l);
        return st;
    }
    if (comm_rank() == 0) {
        printf("%d links hold, %d are not checked, %d break\n", l.holding, l.unseen, l.broken);
        if (l.broken)
            st = fail(STATUS_CHECK, "the chain from CSVs to %s breaks: %s", submission, l.first);
    }
    links_free(&l);
    return comm_agree(st);
}
