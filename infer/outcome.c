#include "infer/outcome.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/count.h"
#include "common/files.h"
#include "common/log.h"
#include "infer/measure.h"
#include "infer/provenance.h"
#include "infer/replaced.h"
#include "infer/submission.h"
#include "preprocess/columns.h"
#include "preprocess/csv.h"
#include "preprocess/packed.h"
#include "preprocess/read_with.h"

/* ---- before ---- */

/* The heading that --csv has, where it is one of those looked for. Whatever else is wrong with the file, its records tell. */
static void take_csv_heading(const settings *s, char *to, size_t room)
{
    table header;
    table_request request = {.numbers = TABLE_HEADER, .id = &s->id_column, .delimiter = csv_delimiters[s->delimiter]};
    if (table_read(s->csv.item[0], &request, &header) != STATUS_OK)
        return;
    for (size_t i = 0; i < s->id_column.count; i++)
        if (strcmp(s->id_column.item[i], header.id_name) == 0)
            snprintf(to, room, "%s", header.id_name);
    table_free(&header);
}

/* What the ids are called where no sample says so: as in the CSVs that they came from. Of shards that were looked through for several names nobody
 * knows which it was. */
static void find_id_heading(const outcome *o, char *to, size_t room)
{
    size_t bytes, numbers = sizeof COLUMNS_NUMBER;
    snprintf(to, room, "id");
    if (o->settings->csv.count) {
        take_csv_heading(o->settings, to, room);
        return;
    }
    const char *names = read_with_value(dataset_read_with(o->data), "id-column", &bytes);
    if (bytes > numbers && memcmp(names + bytes - numbers, "," COLUMNS_NUMBER, numbers) == 0)
        bytes -= numbers;
    if (bytes && bytes < room && !memchr(names, ',', bytes) && *names != ':')
        snprintf(to, room, "%.*s", (int)bytes, names);
}

static status read_ids(outcome *o)
{
    char heading[256];
    find_id_heading(o, heading, sizeof heading);
    const run *r = &o->ensemble->member[0];
    size_t room = 256, bytes;
    char *id = NULL;
    status st;
    TRY(table_begin(heading, (const char *const *)r->label, r->labels, &o->scores));
    TRY_DONE(memory_new(&id, room, "an id"));
    for (int64_t row = 0; row < dataset_rows(o->data); row++) {
        TRY_DONE(dataset_id(o->data, row, id, room, &bytes));
        if (bytes + 1 > room) { /* it was cut: once more with room enough */
            room = bytes + 1;
            TRY_DONE(memory_grow(&id, room, "an id"));
            TRY_DONE(dataset_id(o->data, row, id, room, &bytes));
        }
        TRY_DONE(table_append(&o->scores, id, bytes, NULL));
    }
done:
    free(id);
    return st;
}

/* Column of the data's labels for a label of the run; where both have one alone, whatever it is called. */
static int find_label(const dataset *d, const run *r, int64_t label)
{
    if (r->labels == 1 && dataset_labels(d) == 1)
        return 0;
    for (int i = 0; i < dataset_labels(d); i++)
        if (strcmp(dataset_label_name(d, i), r->label[label]) == 0)
            return i;
    return -1;
}

static status take_data_labels(outcome *o)
{
    const run *r = &o->ensemble->member[0];
    int64_t known = 0;
    TRY(memory_new(&o->label, (size_t)(o->scores.rows * r->labels) * sizeof *o->label, "labels"));
    for (int64_t c = 0; c < r->labels; c++) {
        int place = find_label(o->data, r, c);
        for (int64_t row = 0; row < o->scores.rows; row++) {
            float label = place < 0 ? NAN : dataset_label(o->data, row)[place];
            o->label[row * r->labels + c] = label;
            known += !isnan(label);
        }
    }
    if (known == 0) {
        free(o->label);
        o->label = NULL;
    }
    return STATUS_OK;
}

static status take_truth(outcome *o)
{
    const settings *s = o->settings;
    const run *r = &o->ensemble->member[0];
    label_rule rule = {s->unlabelled_given, s->unlabelled};
    table truth;
    table_repeats repeats;
    status st;
    int64_t found = 0;
    if (s->truth_columns.count && (int64_t)s->truth_columns.count != r->labels)
        return fail(STATUS_USAGE, "--truth-columns names %zu columns, and the run has %lld labels; give one for each", s->truth_columns.count,
                    (long long)r->labels);
    read_with_names names;
    TRY(read_with_labels(r->read_with, r->label, r->labels, &names));
    char *const *wanted = s->truth_columns.count ? s->truth_columns.item : names.item;
    st = table_read(s->truth, &(table_request){.wanted = (const char *const *)wanted, .wanted_count = r->labels, .labels = &rule, .id = &s->id_column,
                                        .id_needed = s->id_given, .delimiter = csv_delimiters[s->delimiter]}, &truth);
    read_with_free_labels(&names);
    TRY(st);
    const table_fault *fault = &truth.fault[NUMBER_FOREIGN];
    if (fault->count)
        TRY_DONE(fail(STATUS_INPUT,
                      "%s: line %lld, column \"%s\": '%s' is no label: give a number from 0 to 1, nothing for unlabelled, or --unlabelled VALUE "
                      "(%lld such cells)",
                      s->truth, (long long)truth.line[fault->row], truth.column[fault->column], fault->text, (long long)fault->count));
    TRY_DONE(table_index(&truth, &repeats));
    if (repeats.count)
        TRY_DONE(fail(STATUS_INPUT, "%s: line %lld: the id stands in line %lld too; every id may have one label only", s->truth,
                      (long long)truth.line[repeats.row], (long long)truth.line[repeats.earlier]));
    TRY_DONE(memory_new(&o->label, (size_t)(o->scores.rows * r->labels) * sizeof *o->label, "labels"));
    for (int64_t row = 0; row < o->scores.rows; row++) {
        size_t bytes;
        const char *id = table_id(&o->scores, row, &bytes);
        int64_t from = table_find(&truth, id, bytes);
        found += from >= 0;
        for (int64_t c = 0; c < r->labels; c++)
            o->label[row * r->labels + c] = from < 0 ? NAN : (float)truth.value[from * truth.columns + c];
    }
    if (found == 0)
        st = fail(STATUS_INPUT, "%s: none of the input's %lld ids is in it; give the truth of the rows that are scored", s->truth,
                  (long long)o->scores.rows);
    else if (found < o->scores.rows)
        log_warn("%s has no label for %lld of %lld rows", s->truth, (long long)(o->scores.rows - found), (long long)o->scores.rows);
done:
    table_free(&truth);
    return st;
}

static status take_langs(outcome *o)
{
    bool any = false;
    TRY(memory_new(&o->lang, (size_t)o->scores.rows * sizeof *o->lang, "languages of rows"));
    for (int64_t row = 0; row < o->scores.rows; row++) {
        o->lang[row] = dataset_lang(o->data, row);
        any = any || *o->lang[row];
    }
    if (!any) {
        free(o->lang);
        o->lang = NULL;
    }
    return STATUS_OK;
}

static status copy_sample(const settings *s, int64_t rows)
{
    char *text = NULL;
    size_t bytes;
    packed_copy plain;
    TRY(packed_open_copy(s->sample, &plain));
    status st = file_read_all(plain.file ? plain.name : s->sample, 0, &text, &bytes);
    packed_close_copy(&plain);
    if (st == STATUS_OK)
        st = outcome_put_file(s->out, text, bytes);
    free(text);
    if (st == STATUS_OK)
        log_info("the input has %s, fewer than --stub-below %lld: %s is a copy of the sample, without scores", count_of(rows, "row"),
                 (long long)s->stub_below, s->out);
    return st;
}

static status prepare(outcome *o)
{
    const settings *s = o->settings;
    TRY(read_ids(o));
    if (s->sample)
        TRY(table_read(s->sample, &(table_request){.numbers = TABLE_IGNORE}, &o->sample));
    TRY(submission_match(s->sample ? &o->sample : NULL, &o->scores));
    if (s->truth)
        TRY(take_truth(o));
    else
        TRY(take_data_labels(o));
    return o->label ? take_langs(o) : STATUS_OK;
}

status outcome_prepare(const settings *s, dataset *d, const ensemble *e, outcome *out, bool *stub)
{
    outcome o = {.settings = s, .data = d, .ensemble = e, .device = ""};
    *stub = s->stub_below > dataset_rows(d);
    *out = o;
    if (*stub)
        return copy_sample(s, dataset_rows(d));
    status st = prepare(&o);
    if (st != STATUS_OK)
        outcome_free(&o);
    *out = o;
    return st;
}

void outcome_free(outcome *o)
{
    table_free(&o->scores);
    table_free(&o->sample);
    free(o->label);
    free(o->lang);
    *o = (outcome){0};
}

/* ---- after ---- */

status outcome_put_file(const char *path, const char *text, size_t bytes)
{
    uint64_t there;
    if (file_exists(path) && file_size(path, &there) == STATUS_OK && there == bytes) {
        char *old;
        size_t n;
        TRY(file_read_all(path, 0, &old, &n));
        bool same = n == bytes && memcmp(old, text, n) == 0;
        free(old);
        if (same) {
            log_info("%s is already done and whole", path);
            return STATUS_OK;
        }
    }
    TRY(file_write_atomic(path, text, bytes));
    log_info("wrote %s", path);
    return STATUS_OK;
}

/* Where `e` is given, who made the file that is replaced is told. */
static status write_table(const char *path, table *order, table *scores, int decimals, const ensemble *e, char sha256[HASH_HEX])
{
    char *text;
    size_t bytes;
    TRY(submission_text(order, scores, decimals, &text, &bytes));
    status st = hash_sha256_buffer(text, bytes, sha256);
    if (st == STATUS_OK && e)
        replaced_tell(path, sha256, e);
    if (st == STATUS_OK)
        st = outcome_put_file(path, text, bytes);
    free(text);
    return st;
}

static status measure_scores(const outcome *o, const float *score)
{
    const run *r = &o->ensemble->member[0];
    measure m;
    TRY(measure_create(
        &(measure_rows){
            .rows = o->scores.rows, .labels = r->labels, .name = (const char *const *)r->label, .score = score, .label = o->label, .lang = o->lang},
        &m));
    measure_print(&m, stdout);
    status st = STATUS_OK;
    if (o->settings->report) {
        json_t *j = measure_json(&m);
        char *text = j ? json_dumps(j, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
        st = text ? outcome_put_file(o->settings->report, text, strlen(text)) : fail(STATUS_RESOURCE, "out of memory for the report");
        json_decref(j);
        free(text);
    }
    measure_free(&m);
    return st;
}

status outcome_hash(outcome *o, const float *score, char sha256[HASH_HEX])
{
    char *text;
    size_t bytes;
    int decimals = o->settings->decimals_given ? (int)o->settings->decimals : NUMBER_SHORTEST;
    for (int64_t i = 0; i < o->scores.rows * o->scores.columns; i++)
        o->scores.value[i] = score[i];
    TRY(submission_text(o->sample.rows ? &o->sample : NULL, &o->scores, decimals, &text, &bytes));
    status st = hash_sha256_buffer(text, bytes, sha256);
    free(text);
    return st;
}

status outcome_write(outcome *o, const float *score)
{
    const settings *s = o->settings;
    int decimals = s->decimals_given ? (int)s->decimals : NUMBER_SHORTEST;
    char sha256[HASH_HEX], unused[HASH_HEX];
    for (int64_t i = 0; i < o->scores.rows * o->scores.columns; i++)
        o->scores.value[i] = score[i];
    TRY(write_table(s->out, o->sample.rows ? &o->sample : NULL, &o->scores, decimals, o->ensemble, sha256));
    if (s->predictions)
        TRY(write_table(s->predictions, NULL, &o->scores, NUMBER_SHORTEST, NULL, unused));
    TRY(provenance_write(o, sha256));
    if (o->label)
        return measure_scores(o, score);
    if (s->report)
        return fail(STATUS_INPUT, "--report: no labels are known, so there is no AUC to report; give --truth FILE (the submission is written)");
    return STATUS_OK;
}
