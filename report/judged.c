#include "report/judged.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "infer/table.h"

typedef struct pair {
    float score;
    bool positive;
} pair;

/* ---- reading ---- */

static status find_columns(const table *t, const dataset *d, int64_t *place)
{
    for (int c = 0; c < dataset_labels(d); c++) {
        place[c] = table_column(t, dataset_label_name(d, c));
        if (place[c] < 0)
            return fail(STATUS_INPUT, "%s: no column '%s': give the file that infer --predictions wrote for these rows", t->path,
                        dataset_label_name(d, c));
    }
    return STATUS_OK;
}

static status read_id(dataset *d, int64_t row, char **id, size_t *room, size_t *bytes)
{
    TRY(dataset_id(d, row, *id, *room, bytes));
    if (*bytes + 1 <= *room)
        return STATUS_OK;
    TRY(memory_grow(id, *bytes + 1, "an id"));
    *room = *bytes + 1;
    return dataset_id(d, row, *id, *room, bytes);
}

static status match_rows(table *t, dataset *d, const int64_t *place, judged *j)
{
    size_t room = 64, bytes;
    char *id = NULL;
    status st;
    TRY_DONE(memory_new(&id, room, "an id"));
    for (int64_t row = 0; row < j->rows; row++) {
        TRY_DONE(read_id(d, row, &id, &room, &bytes));
        /* the usual file has the rows in the data's order */
        size_t own;
        const char *same = row < t->rows ? table_id(t, row, &own) : NULL;
        int64_t at = same && own == bytes && memcmp(same, id, bytes) == 0 ? row : table_find(t, id, bytes);
        if (at < 0)
            TRY_DONE(fail(STATUS_INPUT, "%s: no score for id '%.60s' (row %" PRId64 " of the input): score the same rows with infer --predictions",
                          t->path, id, row));
        for (int64_t c = 0; c < j->labels; c++) {
            double value = t->value[at * t->columns + place[c]];
            if (isnan(value))
                TRY_DONE(fail(STATUS_INPUT, "%s: the score of id '%.60s' is no number", t->path, id));
            j->score[row * j->labels + c] = (float)value;
        }
        memcpy(j->label + row * j->labels, dataset_label(d, row), (size_t)j->labels * sizeof *j->label);
        j->lang[row] = dataset_lang(d, row);
    }
done:
    free(id);
    return st;
}

static status make_room(const dataset *d, judged *j)
{
    size_t cells = (size_t)(j->rows * j->labels);
    TRY(memory_new(&j->score, cells * sizeof *j->score, "scores"));
    TRY(memory_new(&j->label, cells * sizeof *j->label, "labels"));
    TRY(memory_new(&j->lang, (size_t)j->rows * sizeof *j->lang, "languages"));
    TRY(memory_new(&j->name, (size_t)j->labels * sizeof *j->name, "label names"));
    for (int c = 0; c < j->labels; c++)
        j->name[c] = dataset_label_name(d, c);
    return STATUS_OK;
}

status judged_read(const char *predictions, dataset *d, judged *out)
{
    table t = {0};
    table_repeats repeats;
    int64_t *place = NULL;
    bool any_lang = false;
    *out = (judged){.rows = dataset_rows(d), .labels = dataset_labels(d)};
    status st;
    TRY_DONE(make_room(d, out));
    TRY_DONE(table_read(predictions, &(table_request){.numbers = TABLE_VALUES}, &t));
    TRY_DONE(table_index(&t, &repeats));
    TRY_DONE(memory_new(&place, (size_t)out->labels * sizeof *place, "columns"));
    TRY_DONE(find_columns(&t, d, place));
    TRY_DONE(match_rows(&t, d, place, out));
    for (int64_t row = 0; row < out->rows; row++)
        any_lang |= *out->lang[row] != 0;
    TRY_DONE(measure_create(&(measure_rows){.rows = out->rows,
                                            .labels = out->labels,
                                            .name = out->name,
                                            .score = out->score,
                                            .label = out->label,
                                            .lang = any_lang ? out->lang : NULL},
                            &out->auc));
done:
    table_free(&t);
    free(place);
    if (st != STATUS_OK)
        judged_free(out);
    return st;
}

void judged_free(judged *j)
{
    measure_free(&j->auc);
    free(j->score);
    free(j->label);
    free(j->lang);
    free(j->name);
    *j = (judged){0};
}

/* ---- curves ---- */

static int by_score(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    return (x->score < y->score) - (x->score > y->score); /* highest first */
}

static status labelled_pairs(const judged *j, int64_t label, pair **pairs, int64_t *n, int64_t *positives)
{
    *n = *positives = 0;
    TRY(memory_new(pairs, ((size_t)j->rows + 1) * sizeof **pairs, "scores"));
    for (int64_t row = 0; row < j->rows; row++) {
        float truth = j->label[row * j->labels + label];
        if (isnan(truth))
            continue;
        (*pairs)[(*n)++] = (pair){j->score[row * j->labels + label], truth >= 0.5f};
        *positives += truth >= 0.5f;
    }
    qsort(*pairs, (size_t)*n, sizeof **pairs, by_score);
    return STATUS_OK;
}

status judged_roc(const judged *j, int64_t label, int64_t room, double *x, double *y, int64_t *points)
{
    pair *pairs;
    int64_t n, positives, up = 0, right = 0, used = 0;
    *points = 0;
    TRY(labelled_pairs(j, label, &pairs, &n, &positives));
    if (positives > 0 && positives < n) {
        double kept = 0; /* length of the way, up plus right, at the last point kept */
        x[used] = y[used] = 0;
        used++;
        for (int64_t i = 0; i < n; i++) {
            up += pairs[i].positive;
            right += !pairs[i].positive;
            if (i + 1 < n && pairs[i + 1].score == pairs[i].score)
                continue; /* ties make one slanted piece */
            double fy = (double)up / (double)positives, fx = (double)right / (double)(n - positives);
            if (i + 1 < n && fx + fy - kept < 2.0 / (double)(room - 2))
                continue;
            kept = fx + fy;
            x[used] = fx;
            y[used++] = fy;
        }
    }
    free(pairs);
    *points = used;
    return STATUS_OK;
}

bool judged_histogram(const judged *j, int64_t label, bool positive, int bins, double *share)
{
    int64_t n = 0;
    memset(share, 0, (size_t)bins * sizeof *share);
    for (int64_t row = 0; row < j->rows; row++) {
        float truth = j->label[row * j->labels + label], score = j->score[row * j->labels + label];
        if (isnan(truth) || (truth >= 0.5f) != positive)
            continue;
        int bin = (int)(score * (float)bins);
        share[bin < 0 ? 0 : bin >= bins ? bins - 1 : bin] += 1;
        n++;
    }
    for (int i = 0; i < bins && n; i++)
        share[i] /= (double)n;
    return n > 0;
}

/* ---- mistakes ---- */

static double wrongness(const judged_mistake *m)
{
    return m->truth >= 0.5f ? 0.5 - m->score : m->score - 0.5;
}

static int by_wrongness(const void *a, const void *b)
{
    const judged_mistake *x = a, *y = b;
    double p = wrongness(x), q = wrongness(y);
    return p != q ? (p < q) - (p > q) : (x->row > y->row) - (x->row < y->row);
}

status judged_mistakes(const judged *j, bool missed, int64_t most, judged_mistake *to, int64_t *found)
{
    judged_mistake *all;
    int64_t n = 0;
    TRY(memory_new(&all, ((size_t)(j->rows * j->labels) + 1) * sizeof *all, "mistakes"));
    for (int64_t i = 0; i < j->rows * j->labels; i++) {
        judged_mistake m = {i / j->labels, i % j->labels, j->score[i], j->label[i]};
        if (!isnan(m.truth) && (m.truth >= 0.5f) == missed && wrongness(&m) > 0)
            all[n++] = m;
    }
    qsort(all, (size_t)n, sizeof *all, by_wrongness);
    memcpy(to, all, (size_t)(n < most ? n : most) * sizeof *to);
    *found = n;
    free(all);
    return STATUS_OK;
}
