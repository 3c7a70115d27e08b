#include "infer/validate.h"

#include <math.h>
#include <string.h>

#include "common/files.h"
#include "infer/table.h"

typedef struct report {
    const table *given, *sample;
    FILE *to;
    int faults; /* kinds */
} report;

static void say_line(report *r, int64_t count, int64_t line, const char *what, const char *detail, const char *advice)
{
    fprintf(r->to, "%s: line %lld: %s%s (%lld in all); %s\n", r->given->path, (long long)line, what, detail, (long long)count, advice);
    r->faults++;
}

static void check_header(report *r)
{
    const table *g = r->given, *s = r->sample;
    bool same = g->columns == s->columns && g->id_place == s->id_place && strcmp(g->id_name, s->id_name) == 0;
    for (int64_t c = 0; same && c < s->columns; c++)
        same = strcmp(g->column[c], s->column[c]) == 0;
    if (same)
        return;
    fprintf(r->to, "%s: line 1: the header differs from that of %s, which is \"%s", g->path, s->path, s->id_name);
    for (int64_t c = 0; c < s->columns; c++)
        fprintf(r->to, ",%s", s->column[c]);
    fprintf(r->to, "\"; write the sample's header\n");
    r->faults++;
}

/* Ids of `from` that `in` lacks. */
static int64_t count_absent(const table *from, const table *in, int64_t *first)
{
    int64_t count = 0;
    for (int64_t row = 0; row < from->rows; row++) {
        size_t bytes;
        const char *id = table_id(from, row, &bytes);
        if (table_find(in, id, bytes) < 0 && count++ == 0)
            *first = row;
    }
    return count;
}

static void check_ids(report *r, const table_repeats *repeats)
{
    const table *g = r->given, *s = r->sample;
    int64_t first = 0, count;
    char id[64];
    if (repeats->count) {
        table_show_id(g, repeats->row, id);
        say_line(r, repeats->count, g->line[repeats->row], "this id stands in an earlier line too: ", id, "keep one of them");
    }
    count = count_absent(g, s, &first);
    if (count) {
        table_show_id(g, first, id);
        say_line(r, count, g->line[first], "the sample has no such id: ", id, "take the line out, or use the sample of this test set");
    }
    count = count_absent(s, g, &first);
    if (count) {
        table_show_id(s, first, id);
        fprintf(r->to, "%s: %lld ids of %s are missing, the first %s (its line %lld); every id of the sample needs a line\n", g->path,
                (long long)count, s->path, id, (long long)s->line[first]);
        r->faults++;
    }
    if (g->rows != s->rows) {
        fprintf(r->to, "%s: %lld records, and the sample has %lld; write one for each of its ids\n", g->path, (long long)g->rows, (long long)s->rows);
        r->faults++;
    }
}

/* Told only where the ids are the right ones: else everything behind the first fault is out of place. */
static void check_order(report *r)
{
    const table *g = r->given, *s = r->sample;
    int64_t first = 0, count = 0;
    char id[64];
    for (int64_t row = 0; row < s->rows; row++) {
        size_t a, b;
        const char *x = table_id(g, row, &a), *y = table_id(s, row, &b);
        if ((a != b || memcmp(x, y, a) != 0) && count++ == 0)
            first = row;
    }
    if (count) {
        table_show_id(s, first, id);
        say_line(r, count, g->line[first], "not in the sample's order: here belongs ", id, "sort the lines as the sample has them");
    }
}

static void check_numbers(report *r, validate_result *result)
{
    static const char *const what[] = {
        [NUMBER_EMPTY] = "an empty cell", [NUMBER_FOREIGN] = "not a number: ", [NUMBER_NOT_FINITE] = "not a finite number: "};
    const table *g = r->given;
    int64_t first = 0;
    for (int kind = NUMBER_EMPTY; kind <= NUMBER_NOT_FINITE; kind++)
        if (g->fault[kind].count)
            say_line(r, g->fault[kind].count, g->line[g->fault[kind].row], what[kind], g->fault[kind].text, "put a probability there");
    for (int64_t i = 0; i < g->rows * g->columns; i++)
        if ((g->value[i] < 0 || g->value[i] > 1) && result->outside++ == 0)
            first = i / g->columns;
    if (result->outside)
        fprintf(r->to, "%s: line %lld: a number outside [0, 1] (%lld in all): allowed, but probabilities lie inside\n", g->path,
                (long long)g->line[first], (long long)result->outside);
}

status validate_submission(const char *path, const char *sample_path, FILE *to, validate_result *result)
{
    table given = {0}, sample = {0};
    table_repeats in_given, in_sample;
    report r = {.given = &given, .sample = &sample, .to = to};
    status st;
    *result = (validate_result){0};
    TRY_DONE(table_read(sample_path, &(table_request){.numbers = TABLE_IGNORE}, &sample));
    st = table_read(path, &(table_request){.numbers = TABLE_VALUES}, &given);
    if (st == STATUS_INPUT && file_exists(path)) { /* no CSV that can be read is no submission */
        fprintf(to, "%s\n", status_message());
        st = fail(STATUS_CHECK,
                  "%s is not a valid submission for %s: it cannot be read as a CSV; correct it or write it again with infer --sample-submission",
                  path, sample_path);
    }
    TRY_DONE(st);
    TRY_DONE(table_index(&sample, &in_sample));
    TRY_DONE(table_index(&given, &in_given));
    if (in_sample.count) {
        char id[64];
        table_show_id(&sample, in_sample.row, id);
        st = fail(STATUS_INPUT, "%s: line %lld: the id %s stands there twice; that is no sample submission", sample_path,
                  (long long)sample.line[in_sample.row], id);
        goto done;
    }
    check_header(&r);
    int before = r.faults;
    check_ids(&r, &in_given);
    if (r.faults == before)
        check_order(&r);
    check_numbers(&r, result);
    result->rows = given.rows;
    if (r.faults)
        st = fail(STATUS_CHECK,
                  "%s is not a valid submission for %s: %d kinds of fault, listed above; correct them or write it again with infer "
                  "--sample-submission",
                  path, sample_path, r.faults);
done:
    table_free(&given);
    table_free(&sample);
    return st;
}
