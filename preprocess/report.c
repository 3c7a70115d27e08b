#include "preprocess/report.h"

#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "preprocess/duplicates.h"

enum { BLOCK = 65536, LENGTHS = 65536, SPECIALS = 2 };

/* Sums over rows, in one array so that the ranks add them in one go. */
typedef struct report_survey {
    int64_t *sums;
    size_t count;
    int64_t *lengths;              /* rows by length with specials; the last cell: that and more */
    int64_t *lang_rows, *lang_ids, *lang_cut; /* by language */
    int64_t *labelled, *positive;  /* by label */
    int64_t *ids, *unknown, *cut, *kept_parts; /* one each */
    int64_t longest;
    int64_t max_length;
    uint32_t unk;
    int64_t *offsets;
    uint16_t *langs;
    float *labels;
    uint32_t *tokens;
} report_survey;

static status survey_create(const token_parts *p, int64_t max_length, report_survey *v)
{
    const check_result *c = p->job->checked;
    size_t langs = (size_t)c->langs.count, labels = (size_t)c->labels;
    *v = (report_survey){.max_length = max_length, .unk = tokenizer_special_ids(p->job->tokenizer).unk, .count = LENGTHS + 1 + 3 * langs + 2 * labels + 4};
    TRY(memory_new(&v->sums, v->count * sizeof *v->sums, "the report"));
    int64_t *next = v->sums;
    int64_t **const arrays[] = {&v->lengths, &v->lang_rows, &v->lang_ids, &v->lang_cut, &v->labelled, &v->positive, &v->ids, &v->unknown, &v->cut, &v->kept_parts};
    const size_t sizes[] = {LENGTHS + 1, langs, langs, langs, labels, labels, 1, 1, 1, 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        *arrays[i] = next;
        next += sizes[i];
    }
    TRY(memory_new(&v->offsets, (BLOCK + 1) * sizeof *v->offsets, "the report"));
    TRY(memory_new(&v->langs, BLOCK * sizeof *v->langs, "the report"));
    TRY(memory_new(&v->labels, BLOCK * (labels + 1) * sizeof *v->labels, "the report"));
    return memory_new(&v->tokens, BLOCK * sizeof *v->tokens, "the report");
}

static void survey_free(report_survey *v)
{
    free(v->sums);
    free(v->offsets);
    free(v->langs);
    free(v->labels);
    free(v->tokens);
}

static void add_row(report_survey *v, int64_t i, int64_t labels)
{
    int64_t length = v->offsets[i + 1] - v->offsets[i] + SPECIALS;
    bool cut = length > v->max_length;
    v->lengths[length < LENGTHS ? length : LENGTHS]++;
    v->longest = length > v->longest ? length : v->longest;
    *v->ids += length - SPECIALS;
    *v->cut += cut;
    v->lang_rows[v->langs[i]]++;
    v->lang_ids[v->langs[i]] += length;
    v->lang_cut[v->langs[i]] += cut;
    for (int64_t l = 0; l < labels; l++) {
        float label = v->labels[i * labels + l];
        v->labelled[l] += label == label;
        v->positive[l] += label >= 0.5f;
    }
}

static status add_part(report_survey *v, rowfile *f)
{
    int64_t rows = rowfile_rows(f), tokens = rowfile_tokens(f), labels = rowfile_get_meta(f)->labels;
    for (int64_t first = 0; first < rows; first += BLOCK) {
        int64_t n = rows - first < BLOCK ? rows - first : BLOCK;
        TRY(rowfile_read_offsets(f, first, n + 1, v->offsets));
        TRY(rowfile_read_langs(f, first, n, v->langs));
        TRY(rowfile_read_labels(f, first, n, v->labels));
        for (int64_t i = 0; i < n; i++)
            add_row(v, i, labels);
    }
    for (int64_t first = 0; first < tokens; first += BLOCK) {
        int64_t n = tokens - first < BLOCK ? tokens - first : BLOCK;
        TRY(rowfile_read_tokens(f, first, n, v->tokens));
        for (int64_t i = 0; i < n; i++)
            *v->unknown += v->tokens[i] == v->unk;
    }
    return STATUS_OK;
}

static status add_parts(report_survey *v, const token_parts *p)
{
    for (int64_t i = comm_rank(); i < p->count; i += comm_size()) {
        rowfile *f;
        TRY(rowfile_open(p->part[i].path, &f));
        status st = add_part(v, f);
        rowfile_free(f);
        TRY(st);
        *v->kept_parts += p->part[i].kept;
    }
    return STATUS_OK;
}

/* ---- printing ---- */

/* 1234567 as 1,234,567; eight results can be in use at once. */
static const char *grouped(int64_t n)
{
    static char ring[8][32];
    static unsigned turn;
    char digits[24], *out = ring[turn++ % 8];
    int count = snprintf(digits, sizeof digits, "%lld", (long long)n), used = 0;
    for (int i = 0; i < count; i++) {
        if (i && (count - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = 0;
    return out;
}

static double share(int64_t part, int64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* The smallest length that at least `numerator`/`denominator` of the rows do not exceed. */
static int64_t quantile(const report_survey *v, int64_t rows, int64_t numerator, int64_t denominator)
{
    int64_t wanted = (rows * numerator + denominator - 1) / denominator, seen = 0;
    for (int64_t length = 0; length < LENGTHS; length++) {
        seen += v->lengths[length];
        if (seen >= wanted)
            return length;
    }
    return v->longest;
}

static const report_survey *sorted_by; /* for qsort */

static int by_rows(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b, rows_x = sorted_by->lang_rows[x], rows_y = sorted_by->lang_rows[y];
    return rows_x != rows_y ? (rows_x > rows_y ? -1 : 1) : x < y ? -1 : x > y;
}

static status print_langs(const token_parts *p, const report_survey *v, int64_t rows, FILE *to)
{
    enum { SHOWN = 40 };
    const lang_set *l = &p->job->checked->langs;
    int64_t *order = NULL;
    if (l->count == 1 && l->text[0][0] == 0)
        return STATUS_OK; /* no input has a language column */
    TRY(memory_new(&order, (size_t)l->count * sizeof *order, "the report"));
    for (int64_t i = 0; i < l->count; i++)
        order[i] = i;
    sorted_by = v;
    qsort(order, (size_t)l->count, sizeof *order, by_rows);
    fprintf(to, "  languages     %-12s %12s %8s %12s %8s\n", "", "rows", "share", "mean length", "cut");
    for (int64_t i = 0; i < l->count && i < SHOWN; i++) {
        int64_t k = order[i], n = v->lang_rows[k];
        fprintf(to, "                %-12s %12s %7.2f%% %12.1f %7.2f%%\n", l->text[k][0] ? l->text[k] : "(none)", grouped(n), share(n, rows),
                n ? (double)v->lang_ids[k] / (double)n : 0, share(v->lang_cut[k], n));
    }
    if (l->count > SHOWN)
        fprintf(to, "                and %s more\n", grouped(l->count - SHOWN));
    free(order);
    return STATUS_OK;
}

static void print_labels(const token_parts *p, const report_survey *v, int64_t rows, FILE *to)
{
    const rowfile_meta *m = p->job->meta;
    if (m->labels == 0)
        fprintf(to, "  labels        none: no input has a label column\n");
    for (int64_t l = 0; l < m->labels; l++)
        fprintf(to, "  label         %s: %s rows labelled, %.2f%% of them 0.5 or more; %s unlabelled\n", m->label[l], grouped(v->labelled[l]),
                share(v->positive[l], v->labelled[l]), grouped(rows - v->labelled[l]));
}

static status print(const token_parts *p, const report_survey *v, const duplicate_counts *d, FILE *to)
{
    const check_result *c = p->job->checked;
    int64_t rows = c->rows;
    fprintf(to, "%s: %s rows of %s input%s in %s part%s", p->job->out, grouped(rows), grouped(p->job->splits->inputs),
            p->job->splits->inputs == 1 ? "" : "s", grouped(p->count), p->count == 1 ? "" : "s");
    if (*v->kept_parts)
        fprintf(to, ", %s of them kept from an earlier run", grouped(*v->kept_parts));
    fprintf(to, "\n  tokens        %s, %.3f%% of them [UNK]\n", grouped(*v->ids), share(*v->unknown, *v->ids));
    fprintf(to, "  length        with [CLS] and [SEP]: mean %.1f, median %s, 95%% up to %s, longest %s\n",
            rows ? (double)(*v->ids + SPECIALS * rows) / (double)rows : 0, grouped(quantile(v, rows, 1, 2)), grouped(quantile(v, rows, 19, 20)),
            grouped(v->longest));
    fprintf(to, "  cut           at %s: %s rows, %.2f%%\n", grouped(v->max_length), grouped(*v->cut), share(*v->cut, rows));
    if (!p->job->rules->na_keep)
        fprintf(to, "  missing text  %s rows, filled\n", grouped(c->missing));
    fprintf(to, "  invalid UTF-8 %s places in %s rows, replaced by U+FFFD\n", grouped(c->replaced), grouped(c->rows_replaced));
    fprintf(to, "  duplicates    %s rows repeat a text; %s texts occur more than once", grouped(d->rows), grouped(d->texts));
    fprintf(to, c->labels ? ", %s of them with different labels\n" : "\n", grouped(d->conflicts));
    print_labels(p, v, rows, to);
    return print_langs(p, v, rows, to);
}

status report_print(const token_parts *p, int64_t max_length, FILE *to)
{
    report_survey v;
    duplicate_counts d;
    status st = survey_create(p, max_length, &v);
    if (st == STATUS_OK)
        st = add_parts(&v, p);
    TRY_DONE(comm_agree(st));
    comm_sum_int64(v.sums, v.count);
    comm_max_int64(&v.longest, 1);
    TRY_DONE(duplicates_count(p, p->job->checked->rows, p->job->rules->memory, &d));
    st = comm_agree(comm_rank() == 0 && to ? print(p, &v, &d, to) : STATUS_OK);
done:
    survey_free(&v);
    return st;
}
