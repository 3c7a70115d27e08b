/* How good the scores are: ROC, what scores each class gets, languages. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/chart.h"
#include "report/html.h"
#include "report/page.h"

enum { ROC_POINTS = 200, BINS = 25, HISTOGRAMS = 6 };

/* ---- ROC ---- */

/* A curve a run, or a label where one run has several. */
static status roc_chart(FILE *out, const page *p)
{
    static const double diagonal[2] = {0, 1};
    int64_t labels = p->judged[0].labels, curves = p->runs > 1 ? p->runs : labels < CHART_COLOURS ? labels : CHART_COLOURS;
    double *x = NULL, *y = NULL;
    char title[160];
    chart c = {.remark = "true against false positives", .x_name = "false-positive rate", .y_low = 0, .y_high = 1};
    snprintf(title, sizeof title, "ROC curve%s%.100s", labels > 1 && p->runs > 1 ? ": " : "", labels > 1 && p->runs > 1 ? p->judged[0].name[0] : "");
    c.title = title;
    c.series[c.count++] = (chart_series){.name = "chance", .colour = 7, .kind = CHART_DASHED, .n = 2, .x = diagonal, .y = diagonal};
    status st = memory_new(&x, (size_t)curves * ROC_POINTS * sizeof *x, "a curve");
    if (st == STATUS_OK)
        st = memory_new(&y, (size_t)curves * ROC_POINTS * sizeof *y, "a curve");
    for (int64_t i = 0; i < curves && st == STATUS_OK; i++) {
        const judged *j = &p->judged[p->runs > 1 ? i : 0];
        int64_t n;
        st = judged_roc(j, p->runs > 1 ? 0 : i, ROC_POINTS, x + i * ROC_POINTS, y + i * ROC_POINTS, &n);
        c.series[c.count++] = (chart_series){.name = p->runs > 1 ? p->run[i].name : j->name[i],
                                             .colour = (int)i,
                                             .kind = CHART_LINE,
                                             .n = n,
                                             .x = x + i * ROC_POINTS,
                                             .y = y + i * ROC_POINTS};
    }
    if (st == STATUS_OK)
        chart_write(out, &c);
    free(x);
    free(y);
    return st;
}

/* ---- histograms ---- */

static void histogram(FILE *out, const page *p, int r, int64_t label)
{
    double border[BINS + 1], share[2][BINS];
    const judged *j = &p->judged[r];
    char title[200];
    chart c = {.title = title, .remark = "share of each class", .x_name = "score", .y_low = 0, .y_high = NAN};
    if (p->runs > 1)
        snprintf(title, sizeof title, "Scores: %.100s", p->run[r].name);
    else
        snprintf(title, sizeof title, "Scores: %.100s", j->name[label]);
    for (int i = 0; i <= BINS; i++)
        border[i] = (double)i / BINS;
    if (judged_histogram(j, label, false, BINS, share[0]))
        c.series[c.count++] = (chart_series){.name = "label 0", .colour = 0, .kind = CHART_STEPS, .n = BINS, .x = border, .y = share[0]};
    if (judged_histogram(j, label, true, BINS, share[1]))
        c.series[c.count++] = (chart_series){.name = "label 1", .colour = 1, .kind = CHART_STEPS, .n = BINS, .x = border, .y = share[1]};
    if (c.count)
        chart_write(out, &c);
}

/* ---- languages ---- */

static void auc_cell(FILE *out, const auc_count *c)
{
    if (c->pairs == 0)
        fputs("<td>one class</td>", out);
    else
        fprintf(out, auc_error(c) > 0 ? "<td>%.5f <span class=\"remark\">± %.2g</span></td>" : "<td>%.5f</td>", auc_value(c), auc_error(c));
}

static void language_table(FILE *out, const page *p, int64_t label)
{
    const measure *m = &p->judged[0].auc;
    fputs("<div class=\"wide\"><table><tr><th>Language</th><th>Rows</th><th>Positive</th>", out);
    for (int r = 0; r < p->runs; r++) {
        fputs("<th>AUC", out);
        if (p->runs > 1) {
            fprintf(out, " <i class=\"key c%d\"></i>", r);
            html_text(out, p->run[r].name);
        }
        fputs("</th>", out);
    }
    fputs("</tr>\n", out);
    for (int64_t lang = 0; lang <= m->langs; lang++) { /* the first of the counts is over all rows */
        const auc_count *first = &m->count[lang * m->labels + label];
        char rows[HTML_NUMBER], positive[HTML_NUMBER];
        html_count((double)(first->positives + first->negatives), rows);
        html_count((double)first->positives, positive);
        fputs("<tr><td>", out);
        html_text(out, lang == 0 ? "all" : *m->lang[lang - 1] ? m->lang[lang - 1] : "(none)");
        fprintf(out, "</td><td>%s</td><td>%s</td>", rows, positive);
        for (int r = 0; r < p->runs; r++)
            auc_cell(out, &p->judged[r].auc.count[lang * m->labels + label]);
        fputs("</tr>\n", out);
    }
    fputs("</table></div>\n", out);
}

static void languages(FILE *out, const page *p)
{
    const judged *j = &p->judged[0];
    html_begin_section(out, "AUC by language", "±: the standard error (Hanley and McNeil), by which another draw of as many rows might differ.");
    for (int64_t label = 0; label < j->labels; label++) {
        if (j->labels > 1) {
            fputs("<h3>", out);
            html_text(out, j->name[label]);
            fputs("</h3>", out);
        }
        language_table(out, p, label);
    }
    html_end_section(out);
}

status quality_write(FILE *out, const page *p)
{
    if (!p->data)
        return STATUS_OK;
    int64_t labels = p->judged[0].labels;
    char remark[96];
    snprintf(remark, sizeof remark, "On the %" PRId64 " rows of --predictions.", p->judged[0].rows);
    html_begin_section(out, "Scores", remark);
    fputs("<div class=\"charts\">\n", out);
    TRY(roc_chart(out, p));
    for (int r = 0; r < (p->runs > 1 ? p->runs : 1) && r < HISTOGRAMS; r++)
        for (int64_t label = 0; label < (p->runs > 1 ? 1 : labels) && label < HISTOGRAMS; label++)
            histogram(out, p, r, label);
    fputs("</div>\n", out);
    html_end_section(out);
    languages(out, p);
    return mistakes_write(out, p);
}
