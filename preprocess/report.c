#include "preprocess/report.h"

#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/count.h"
#include "common/files.h"
#include "common/log.h"

/* Of tokens [UNK] above which a vocabulary hardly belongs to the texts: a multilingual one has 0.1 to 0.5% on comments of 17 languages,
 * an English one 6 to 15%. */
static const double UNKNOWN_PERCENT = 2;

/* ---- printing ---- */

static double share(int64_t part, int64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* The smallest length that at least `numerator`/`denominator` of the rows do not exceed. */
static int64_t quantile(const survey *v, int64_t rows, int64_t numerator, int64_t denominator)
{
    int64_t wanted = (rows * numerator + denominator - 1) / denominator, seen = 0;
    for (int64_t length = 0; length < SURVEY_LENGTHS; length++) {
        seen += v->lengths[length];
        if (seen >= wanted)
            return length;
    }
    return v->longest;
}

static const survey *sorted_by; /* for qsort */

static int by_rows(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b, rows_x = sorted_by->lang_rows[x], rows_y = sorted_by->lang_rows[y];
    return rows_x != rows_y ? (rows_x > rows_y ? -1 : 1) : x < y ? -1 : x > y;
}

static status print_langs(const parts_job *job, const survey *v, int64_t rows, FILE *to)
{
    enum { SHOWN = 40 };
    const lang_set *l = &job->checked->langs;
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
        fprintf(to, "                %-12s %12s %7.2f%% %12.1f %7.2f%%\n", l->text[k][0] ? l->text[k] : "(none)", count_grouped(n), share(n, rows),
                n ? (double)v->lang_ids[k] / (double)n : 0, share(v->lang_cut[k], n));
    }
    if (l->count > SHOWN)
        fprintf(to, "                and %s more\n", count_grouped(l->count - SHOWN));
    free(order);
    return STATUS_OK;
}

static void print_labels(const report_about *a, const survey *v, int64_t rows, FILE *to)
{
    const parts_job *job = a->job;
    const rowfile_meta *m = job->meta;
    if (m->labels == 0)
        fprintf(to, "  labels        none: no input has a label column; %s has %s, and --labels would name one\n",
                file_base(a->inputs[0]), job->checked->input[0].header);
    for (int64_t l = 0; l < m->labels; l++)
        fprintf(to, "  label         %s: %s labelled, %.2f%% of them 0.5 or more; %s unlabelled\n", m->label[l],
                count_grouped_of(v->labelled[l], "row"), share(v->positive[l], v->labelled[l]), count_grouped(rows - v->labelled[l]));
}

static status print(const report_about *a, const survey *v, const duplicate_counts *d, FILE *to)
{
    const parts_job *job = a->job;
    const check_result *c = job->checked;
    int64_t rows = c->rows;
    fprintf(to, "%s: %s of %s in %s", job->out, count_grouped_of(rows, "row"), count_grouped_of(a->input_count, "input"),
            count_grouped_of(a->files, a->file));
    if (*v->kept_parts)
        fprintf(to, ", %s of them kept from an earlier run", count_grouped(*v->kept_parts));
    fprintf(to, "\n  tokens        %s, %.3f%% of them [UNK]\n", count_grouped(*v->ids), share(*v->unknown, *v->ids));
    fprintf(to, "  length        with [CLS] and [SEP]: mean %.1f, median %s, 95%% up to %s, longest %s\n",
            rows ? (double)(*v->ids + SURVEY_SPECIALS * rows) / (double)rows : 0, count_grouped(quantile(v, rows, 1, 2)),
            count_grouped(quantile(v, rows, 19, 20)), count_grouped(v->longest));
    fprintf(to, "  cut           at %s: %s, %.2f%%\n", count_grouped(v->max_length), count_grouped_of(*v->cut, "row"), share(*v->cut, rows));
    if (!job->rules->na_keep)
        fprintf(to, "  missing text  %s, filled\n", count_grouped_of(*v->missing, "row"));
    if (job->clean)
        fprintf(to, "  cleaned       %s changed\n", count_grouped_of(*v->cleaned, "row"));
    fprintf(to, "  invalid UTF-8 %s in %s, replaced by U+FFFD\n", count_grouped_of(*v->replaced, "place"),
            count_grouped_of(*v->rows_replaced, "row"));
    fprintf(to, "  duplicates    %s with a text that an earlier one has; %s occurring more than once", count_grouped_of(d->rows, "row"),
            count_grouped_of(d->texts, "text"));
    fprintf(to, c->labels ? ", %s of them with different labels\n" : "\n", count_grouped(d->conflicts));
    print_labels(a, v, rows, to);
    return print_langs(job, v, rows, to);
}

status report_print(const report_about *a, const survey *v, const duplicate_counts *d, FILE *to)
{
    TRY(comm_agree(comm_rank() == 0 && to ? print(a, v, d, to) : STATUS_OK));
    if (share(*v->unknown, *v->ids) > UNKNOWN_PERCENT)
        log_warn("%.1f%% of the tokens are [UNK], words that this vocabulary cannot write and no model reads: it hardly belongs to the "
                 "languages of these texts (an English one for other scripts?); take another model's, such as a multilingual one's, and see by "
                 "preprocess view which words are lost", share(*v->unknown, *v->ids));
    return STATUS_OK;
}
