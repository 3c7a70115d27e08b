#include "infer/measure.h"

#include <stdlib.h>
#include <string.h>

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Index of the row's language in a list that grows; the last one found is tried first, since rows of a language often stand together. */
static status find_lang(measure *m, const char *lang, int64_t *last, int64_t *capacity)
{
    if (*last < m->langs && strcmp(m->lang[*last], lang) == 0)
        return STATUS_OK;
    for (*last = 0; *last < m->langs; ++*last)
        if (strcmp(m->lang[*last], lang) == 0)
            return STATUS_OK;
    if (m->langs == *capacity) {
        *capacity = *capacity ? *capacity * 2 : 32;
        TRY(memory_grow(&m->lang, (size_t)*capacity * sizeof *m->lang, "names of languages"));
    }
    m->lang[m->langs] = strdup(lang);
    if (!m->lang[m->langs])
        return fail(STATUS_RESOURCE, "out of memory for the name of a language");
    m->langs++;
    return STATUS_OK;
}

static status collect_langs(const measure_rows *r, measure *m)
{
    int64_t last = 0, capacity = 0;
    for (int64_t i = 0; r->lang && i < r->rows; i++)
        TRY(find_lang(m, r->lang[i], &last, &capacity));
    if (m->langs)
        qsort(m->lang, (size_t)m->langs, sizeof *m->lang, compare_names);
    return STATUS_OK;
}

/* The rows of one label, of one language or of all (lang NULL). */
static status count_subset(const measure_rows *r, int64_t label, const char *lang, float *score, float *truth, auc_count *out)
{
    int64_t n = 0;
    for (int64_t i = 0; i < r->rows; i++) {
        if (lang && strcmp(r->lang[i], lang) != 0)
            continue;
        score[n] = r->score[i * r->labels + label];
        truth[n++] = r->label[i * r->labels + label];
    }
    return auc_compute_local(score, truth, n, out);
}

status measure_create(const measure_rows *r, measure *out)
{
    measure m = {.labels = r->labels};
    float *score = NULL, *truth = NULL;
    status st = STATUS_OK;
    TRY_DONE(collect_langs(r, &m));
    TRY_DONE(memory_new(&m.name, (size_t)r->labels * sizeof *m.name, "label names"));
    TRY_DONE(memory_new(&m.count, (size_t)((1 + m.langs) * r->labels) * sizeof *m.count, "counts"));
    TRY_DONE(memory_new(&score, (size_t)r->rows * sizeof *score, "scores"));
    TRY_DONE(memory_new(&truth, (size_t)r->rows * sizeof *truth, "labels"));
    for (int64_t c = 0; c < r->labels; c++) {
        m.name[c] = strdup(r->name[c]);
        if (!m.name[c]) {
            st = fail(STATUS_RESOURCE, "out of memory for the name of a label");
            goto done;
        }
        for (int64_t l = -1; l < m.langs; l++)
            TRY_DONE(count_subset(r, c, l < 0 ? NULL : m.lang[l], score, truth, &m.count[(l + 1) * r->labels + c]));
    }
    *out = m;
    m = (measure){0};
done:
    free(score);
    free(truth);
    measure_free(&m);
    return st;
}

void measure_free(measure *m)
{
    for (int64_t i = 0; m->name && i < m->labels; i++)
        free(m->name[i]);
    for (int64_t i = 0; i < m->langs; i++)
        free(m->lang[i]);
    free(m->name);
    free(m->lang);
    free(m->count);
    *m = (measure){0};
}

static void print_line(FILE *to, const char *label, const char *what, const auc_count *c)
{
    fprintf(to, "AUC %s %-8s ", label, what);
    char error[48];
    if (c->pairs)
        fprintf(to, "%.6f%s", auc_value(c), auc_error_text(c, error));
    else if (c->positives + c->negatives == 0)
        fprintf(to, "undefined: no labels");
    else
        fprintf(to, "undefined: one class");
    fprintf(to, "  (%lld positive, %lld negative, %lld unlabelled)\n", (long long)c->positives, (long long)c->negatives, (long long)c->unlabelled);
}

void measure_print(const measure *m, FILE *to)
{
    double sum = 0;
    int64_t defined = 0;
    for (int64_t c = 0; c < m->labels; c++) {
        print_line(to, m->name[c], "all", &m->count[c]);
        if (m->count[c].pairs) {
            sum += auc_value(&m->count[c]);
            defined++;
        }
        for (int64_t l = 0; l < m->langs; l++)
            print_line(to, m->name[c], *m->lang[l] ? m->lang[l] : "(none)", &m->count[(1 + l) * m->labels + c]);
    }
    if (m->labels > 1 && defined)
        fprintf(to, "AUC mean over %lld of %lld labels %.6f\n", (long long)defined, (long long)m->labels, sum / (double)defined);
}

static json_t *count_json(const auc_count *c)
{
    return json_pack("{s:o, s:I, s:I, s:I}", "auc", c->pairs ? json_real(auc_value(c)) : json_null(), "positive", (json_int_t)c->positives,
                     "negative", (json_int_t)c->negatives, "unlabelled", (json_int_t)c->unlabelled);
}

json_t *measure_json(const measure *m)
{
    json_t *all = json_object();
    for (int64_t c = 0; c < m->labels; c++) {
        json_t *langs = json_object();
        for (int64_t l = 0; l < m->langs; l++)
            json_object_set_new(langs, m->lang[l], count_json(&m->count[(1 + l) * m->labels + c]));
        json_object_set_new(all, m->name[c], json_pack("{s:o, s:o}", "all", count_json(&m->count[c]), "lang", langs));
    }
    return all;
}
