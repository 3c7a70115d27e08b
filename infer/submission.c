#include "infer/submission.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer/exact_sum.h"

enum { FEW = 3 }; /* ids named in a message */

/* ---- text ---- */

typedef struct writer {
    char *text;
    size_t bytes, room;
} writer;

static status put(writer *w, const char *text, size_t bytes)
{
    if (w->bytes + bytes + 1 > w->room) {
        size_t room = (w->bytes + bytes + 1) * 2 + 4096;
        TRY(memory_grow(&w->text, room, "the text of a submission"));
        w->room = room;
    }
    if (bytes)
        memcpy(w->text + w->bytes, text, bytes);
    w->bytes += bytes;
    w->text[w->bytes] = 0;
    return STATUS_OK;
}

/* Quoted where a reader would otherwise take it apart, trim it, or drop the line as empty. */
static status put_field(writer *w, const char *text, size_t bytes)
{
    bool plain = bytes > 0 && text[0] != ' ' && text[0] != '\t' && text[bytes - 1] != ' ' && text[bytes - 1] != '\t';
    for (size_t i = 0; plain && i < bytes; i++)
        plain = text[i] != ',' && text[i] != '"' && text[i] != '\n' && text[i] != '\r';
    if (plain)
        return put(w, text, bytes);
    TRY(put(w, "\"", 1));
    for (size_t i = 0, end; i < bytes; i = end) {
        const char *quote = memchr(text + i, '"', bytes - i);
        end = quote ? (size_t)(quote - text) + 1 : bytes;
        TRY(put(w, text + i, end - i));
        if (quote)
            TRY(put(w, "\"", 1));
    }
    return put(w, "\"", 1);
}

static status put_header(writer *w, const table *t)
{
    TRY(put_field(w, t->id_name, strlen(t->id_name)));
    for (int64_t c = 0; c < t->columns; c++) {
        TRY(put(w, ",", 1));
        TRY(put_field(w, t->column[c], strlen(t->column[c])));
    }
    return put(w, "\n", 1);
}

/* ---- matching ---- */

static const char *table_name(const table *t, const char *fallback)
{
    return t->path ? t->path : fallback;
}

static status refuse_repeats(table *t, const char *fallback)
{
    table_repeats repeats;
    char id[64];
    TRY(table_index(t, &repeats));
    if (repeats.count == 0)
        return STATUS_OK;
    table_show_id(t, repeats.row, id);
    return fail(STATUS_INPUT,
                "%s: %lld ids stand there twice, the first %s in record %lld and again in record %lld; every id may have one score only",
                table_name(t, fallback), (long long)repeats.count, id, (long long)repeats.earlier + 1, (long long)repeats.row + 1);
}

/* How many ids of `a` are not in `b`, and the first few for a message. */
static int64_t count_missing(const table *a, const table *b, char *few, size_t room)
{
    int64_t missing = 0;
    *few = 0;
    for (int64_t row = 0; row < a->rows; row++) {
        size_t bytes, used = strlen(few);
        const char *id = table_id(a, row, &bytes);
        char shown[64];
        if (table_find(b, id, bytes) >= 0)
            continue;
        table_show_id(a, row, shown);
        if (missing < FEW)
            snprintf(few + used, room - used, "%s%s", missing ? ", " : "", shown);
        else if (missing == FEW)
            snprintf(few + used, room - used, ", ...");
        missing++;
    }
    return missing;
}

/* Both indexed. The two must hold the same ids. */
static status same_ids(const table *order, const char *order_name, const table *scores, const char *scores_name, const char *advice)
{
    char lacking[300], extra[300];
    int64_t lack = count_missing(order, scores, lacking, sizeof lacking), more = count_missing(scores, order, extra, sizeof extra);
    const char *a = table_name(order, order_name), *b = table_name(scores, scores_name);
    if (lack && more)
        return fail(STATUS_INPUT, "%lld of the %lld ids of %s have no score in %s (%s), and %lld ids there are not asked for (%s); %s",
                    (long long)lack, (long long)order->rows, a, b, lacking, (long long)more, extra, advice);
    if (lack)
        return fail(STATUS_INPUT, "%lld of the %lld ids of %s have no score in %s: %s; %s", (long long)lack, (long long)order->rows, a, b, lacking,
                    advice);
    if (more)
        return fail(STATUS_INPUT, "%lld of the %lld ids of %s are not in %s: %s; %s", (long long)more, (long long)scores->rows, b, a, extra, advice);
    return STATUS_OK;
}

/* place[c] = column of `scores` for column c of `order`. */
static status match_columns(const table *order, const char *order_name, const table *scores, const char *scores_name, int64_t *place)
{
    for (int64_t c = 0; c < order->columns; c++) {
        place[c] = order->columns == 1 && scores->columns == 1 ? 0 : table_column(scores, order->column[c]);
        if (place[c] < 0)
            return fail(STATUS_INPUT,
                        "%s has a column \"%s\", for which %s has no scores (it has %lld columns, the first \"%s\"); use the sample and the "
                        "run of the same competition",
                        table_name(order, order_name), order->column[c], table_name(scores, scores_name), (long long)scores->columns,
                        scores->columns ? scores->column[0] : "");
    }
    return STATUS_OK;
}

static status put_rows(writer *w, const table *order, const table *scores, const int64_t *place, int decimals)
{
    for (int64_t row = 0; row < order->rows; row++) {
        size_t bytes;
        const char *id = table_id(order, row, &bytes);
        int64_t from = order == scores ? row : table_find(scores, id, bytes);
        TRY(put_field(w, id, bytes));
        for (int64_t c = 0; c < order->columns; c++) {
            char text[NUMBER_BYTES] = ",", shown[64];
            float value = (float)scores->value[from * scores->columns + place[c]];
            if (!isfinite(value)) {
                table_show_id(order, row, shown);
                return fail(STATUS_CHECK, "the score of id %s, column \"%s\", is not a finite number; look at the weights", shown, order->column[c]);
            }
            TRY(put(w, ",", 1));
            int n = number_print(value, decimals, text);
            TRY(put(w, text, (size_t)n));
        }
        TRY(put(w, "\n", 1));
    }
    return STATUS_OK;
}

/* Indexes, compares, and finds the columns: place has room for order->columns. */
static status match(table *order, table *scores, int64_t *place)
{
    static const char sample[] = "the sample", input[] = "the input";
    TRY(refuse_repeats(scores, input));
    if (order != scores) {
        TRY(refuse_repeats(order, sample));
        TRY(same_ids(order, sample, scores, input, "give the input and the sample submission of the same test set"));
    }
    return match_columns(order, sample, scores, input, place);
}

status submission_match(table *order, table *scores)
{
    int64_t *place;
    if (!order)
        order = scores;
    TRY(memory_new(&place, (size_t)order->columns * sizeof *place, "columns"));
    status st = match(order, scores, place);
    free(place);
    return st;
}

status submission_text(table *order, table *scores, int decimals, char **text, size_t *bytes)
{
    writer w = {0};
    int64_t *place = NULL;
    status st;
    if (!order)
        order = scores;
    TRY_DONE(memory_new(&place, (size_t)order->columns * sizeof *place, "columns"));
    TRY_DONE(match(order, scores, place));
    TRY_DONE(put_header(&w, order));
    TRY_DONE(put_rows(&w, order, scores, place, decimals));
    *text = w.text;
    *bytes = w.bytes;
    w.text = NULL;
done:
    free(w.text);
    free(place);
    return st;
}

/* ---- blend ---- */

static status refuse_faults(const table *t)
{
    static const char *const what[] = {[NUMBER_EMPTY] = "are empty", [NUMBER_FOREIGN] = "are no numbers", [NUMBER_NOT_FINITE] = "are not finite"};
    for (int kind = NUMBER_EMPTY; kind <= NUMBER_NOT_FINITE; kind++) {
        const table_fault *f = &t->fault[kind];
        if (f->count)
            return fail(STATUS_INPUT, "%s: %lld cells %s, the first in line %lld, column \"%s\": '%s'; put a number between 0 and 1 there", t->path,
                        (long long)f->count, what[kind], (long long)t->line[f->row], t->column[f->column], f->text);
    }
    return STATUS_OK;
}

/* Numbers of one part, in the rows and columns of `out`. */
static status read_part(const table *out, const table *part, double *value)
{
    int64_t *place = NULL;
    TRY(memory_new(&place, (size_t)out->columns * sizeof *place, "columns"));
    status st = match_columns(out, "", part, "", place);
    for (int64_t row = 0; st == STATUS_OK && row < out->rows; row++) {
        size_t bytes;
        const char *id = table_id(out, row, &bytes);
        int64_t from = table_find(part, id, bytes);
        for (int64_t c = 0; c < out->columns; c++)
            value[row * out->columns + c] = part->value[from * part->columns + place[c]];
    }
    free(place);
    return st;
}

/* Sums without rounding, so that the order of the parts changes no bit. */
static status take_means(table *const *parts, int count, const double *weights, table *out)
{
    int64_t cells = out->rows * out->columns;
    double *value;
    exact_sum total = {0};
    TRY(memory_new(&value, (size_t)(cells * count) * sizeof *value, "the numbers to blend"));
    status st = STATUS_OK;
    for (int i = 0; i < count && st == STATUS_OK; i++) {
        st = read_part(out, parts[i], value + i * cells);
        exact_sum_add(&total, weights ? weights[i] : 1);
    }
    for (int64_t k = 0; k < cells && st == STATUS_OK; k++) {
        exact_sum sum = {0};
        for (int i = 0; i < count; i++)
            exact_sum_add_product(&sum, weights ? weights[i] : 1, value[i * cells + k]);
        out->value[k] = (float)(exact_sum_value(&sum) / exact_sum_value(&total));
    }
    free(value);
    return st;
}

status submission_blend(table *const *parts, int count, const double *weights, table *out)
{
    const table *head = parts[0];
    status st;
    TRY(table_begin(head->id_name, (const char *const *)head->column, head->columns, out));
    for (int i = 0; i < count; i++) {
        TRY_DONE(refuse_faults(parts[i]));
        TRY_DONE(refuse_repeats(parts[i], ""));
        if (parts[i]->columns != head->columns) {
            st = fail(STATUS_INPUT, "%s has %lld columns of numbers and %s has %lld; only files of the same columns can be blended", parts[i]->path,
                      (long long)parts[i]->columns, head->path, (long long)head->columns);
            goto done;
        }
        TRY_DONE(same_ids(head, "", parts[i], "", "only files of the same test set can be blended"));
    }
    for (int64_t row = 0; row < head->rows; row++) {
        size_t bytes;
        const char *id = table_id(head, row, &bytes);
        TRY_DONE(table_append(out, id, bytes, NULL));
    }
    TRY_DONE(take_means(parts, count, weights, out));
    return STATUS_OK;
done:
    table_free(out);
    return st;
}
