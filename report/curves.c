/* The training itself: figures, loss and rate over steps, AUC by epoch, throughput, time by phase. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/chart.h"
#include "report/html.h"
#include "report/page.h"

enum { RECENT = 100 }; /* steps that "now" means */

typedef double points[CHART_POINTS];

/* Points of all series of the chart in hand. */
typedef struct canvas {
    chart chart;
    points *x, *y;
} canvas;

static status canvas_open(canvas *c, const char *title, const char *remark, const char *x_name)
{
    *c = (canvas){.chart = {.title = title, .remark = remark, .x_name = x_name, .y_low = NAN, .y_high = NAN, .whole_x = true}};
    TRY(memory_new(&c->x, CHART_SERIES * sizeof *c->x, "a chart"));
    status st = memory_new(&c->y, CHART_SERIES * sizeof *c->y, "a chart");
    if (st != STATUS_OK)
        free(c->x);
    return st;
}

static void canvas_finish(FILE *out, canvas *c)
{
    chart_write(out, &c->chart);
    free(c->x);
    free(c->y);
}

/* The next series; its points are for the caller to fill. */
static chart_series *add(canvas *c, const char *name, int colour, chart_kind kind)
{
    int i = c->chart.count++;
    c->chart.series[i] = (chart_series){.name = name, .colour = colour, .kind = kind, .x = c->x[i], .y = c->y[i]};
    return &c->chart.series[i];
}

static double *room_x(const canvas *c, const chart_series *s)
{
    return c->x[s - c->chart.series];
}

static double *room_y(const canvas *c, const chart_series *s)
{
    return c->y[s - c->chart.series];
}

static const char *series_name(const page *p, int run, const char *alone)
{
    return p->runs > 1 ? p->run[run].name : alone;
}

/* ---- figures ---- */

static double last_loss(const history *h)
{
    double *smooth;
    if (memory_new(&smooth, (size_t)h->steps * sizeof *smooth, "smoothed losses") != STATUS_OK)
        return NAN;
    chart_smooth(h->loss, h->steps, RECENT, smooth);
    double last = smooth[h->steps - 1];
    free(smooth);
    return last;
}

static void run_figures(FILE *out, const history *h)
{
    char value[HTML_NUMBER], remark[96];
    int64_t best = history_best(h);
    fputs("<div class=\"stats\">\n", out);
    if (best >= 0) {
        snprintf(value, sizeof value, "%.5f", h->epoch[best].auc);
        snprintf(remark, sizeof remark, "epoch %" PRId64 " of %" PRId64, h->epoch[best].epoch, h->epoch[h->epochs - 1].epoch);
        html_stat(out, "Best validation AUC", value, remark);
    }
    html_number(last_loss(h), value);
    html_stat(out, "Training loss", value, "at the end, smoothed");
    html_count((double)h->steps, value);
    html_stat(out, "Steps", value, h->finished ? "finished" : "not finished: it was stopped or goes on");
    html_span(h->timed, value);
    html_stat(out, "Time in steps", value, "without validation and saving");
    html_count(history_rate(h, RECENT), value);
    snprintf(remark, sizeof remark, "rows/s, last %d steps", RECENT);
    html_stat(out, "Rate", value, remark);
    html_count(history_rate(h, h->steps), value);
    html_stat(out, "Rate over all", value, "rows/s, all steps");
    fputs("</div>\n", out);
}

/* ---- which is better ---- */

static const json_t *validated_on(const history *h)
{
    return json_object_get(json_object_get(h->about, "valid"), "identities");
}

/* The mean over the labels that have one; NaN: none has. */
static double judged_area(const judged *j)
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t label = 0; label < j->labels; label++)
        if (j->auc.count[label].pairs) {
            sum += auc_value(&j->auc.count[label]);
            n++;
        }
    return n ? sum / (double)n : NAN;
}

static double measure_of(const page *p, int r)
{
    int64_t best = history_best(&p->run[r]);
    if (p->data)
        return judged_area(&p->judged[r]);
    return best < 0 ? NAN : p->run[r].epoch[best].auc;
}

/* One line: which run is better and by which measure. Areas over other rows tell nothing of each other. */
static void verdict(FILE *out, const page *p)
{
    const char *by = p->data ? "AUC of the scored rows" : "validation AUC of its best epoch";
    int first = -1, second = -1;
    bool same = true;
    for (int r = 0; r < p->runs; r++) {
        double x = measure_of(p, r);
        same = same && (p->data || json_equal(validated_on(&p->run[0]), validated_on(&p->run[r])));
        if (isnan(x))
            continue;
        if (first < 0 || x > measure_of(p, first)) {
            second = first;
            first = r;
        } else if (second < 0 || x > measure_of(p, second)) {
            second = r;
        }
    }
    if (second < 0)
        return;
    fputs("<p class=\"verdict\">", out);
    if (!same) {
        fputs("Validated on different rows: their AUCs cannot be compared.</p>\n", out);
        return;
    }
    double above = measure_of(p, first) - measure_of(p, second);
    if (above > 0) {
        html_text(out, p->run[first].name);
        fprintf(out, " is %s by the %s: %.5f, ", p->runs > 2 ? "best" : "better", by, measure_of(p, first));
        fprintf(out, "%.2g above ", above);
        html_text(out, p->run[second].name);
    } else {
        html_text(out, p->run[first].name);
        fputs(" and ", out);
        html_text(out, p->run[second].name);
        fprintf(out, " are alike by the %s: %.5f", by, measure_of(p, first));
    }
    if (p->data && p->judged[first].labels == 1 && auc_error(&p->judged[first].auc.count[0]) > 0)
        fprintf(out, "; the standard error of one is %.2g", auc_error(&p->judged[first].auc.count[0]));
    fputs(".</p>\n", out);
}

static void comparison(FILE *out, const page *p)
{
    char text[HTML_NUMBER];
    html_begin_section(out, "Runs", NULL);
    verdict(out, p);
    fputs("<div class=\"wide\"><table><tr><th>Run</th><th>Best AUC</th><th>Epoch</th><th>Loss</th><th>Steps</th><th>Time</th><th>Rate</th>"
          "<th>Rate over all</th><th>Ranks</th></tr>\n",
          out);
    for (int r = 0; r < p->runs; r++) {
        const history *h = &p->run[r];
        int64_t best = history_best(h);
        fprintf(out, "<tr><td><i class=\"key c%d\"></i>", r);
        html_text(out, h->name);
        if (best >= 0)
            fprintf(out, "</td><td>%.5f</td><td>%" PRId64 "</td>", h->epoch[best].auc, h->epoch[best].epoch);
        else
            fputs("</td><td>–</td><td>–</td>", out);
        html_number(last_loss(h), text);
        fprintf(out, "<td>%s</td>", text);
        html_count((double)h->steps, text);
        fprintf(out, "<td>%s%s</td>", text, h->finished ? "" : " (unfinished)");
        html_span(h->timed, text);
        fprintf(out, "<td>%s</td>", text);
        html_count(history_rate(h, RECENT), text);
        fprintf(out, "<td>%s</td>", text);
        html_count(history_rate(h, h->steps), text);
        fprintf(out, "<td>%s</td><td>%" JSON_INTEGER_FORMAT "</td></tr>\n", text, json_integer_value(json_object_get(h->environment, "ranks")));
    }
    fprintf(out, "</table></div><p class=\"remark\">Loss: at the end, smoothed. Rate: rows/s over the last %d steps; Rate over all: over all of them.</p>\n",
            RECENT);
    html_end_section(out);
}

void curves_write_summary(FILE *out, const page *p)
{
    if (p->runs == 1)
        run_figures(out, &p->run[0]);
    else
        comparison(out, p);
}

/* ---- over steps ---- */

static status loss_chart(FILE *out, const page *p)
{
    canvas c;
    TRY(canvas_open(&c, "Training loss", "smoothed; faint: each step", "step"));
    for (int pass = 0; pass < 2; pass++)
        for (int r = 0; r < p->runs; r++) {
            const history *h = &p->run[r];
            double window = h->steps / 50.0 > 10 ? h->steps / 50.0 : 10, *smooth;
            chart_series *s = add(&c, series_name(p, r, "loss"), r, pass ? CHART_LINE : CHART_FAINT);
            if (!pass) {
                s->n = chart_thin_extremes(h->loss, h->steps, CHART_POINTS, room_x(&c, s), room_y(&c, s));
                continue;
            }
            TRY(memory_new(&smooth, (size_t)h->steps * sizeof *smooth, "smoothed losses"));
            chart_smooth(h->loss, h->steps, window, smooth);
            s->n = chart_thin_last(smooth, h->steps, CHART_POINTS / 2, room_x(&c, s), room_y(&c, s));
            free(smooth);
        }
    canvas_finish(out, &c);
    return STATUS_OK;
}

static status rate_chart(FILE *out, const page *p)
{
    canvas c;
    TRY(canvas_open(&c, "Learning rate", NULL, "step"));
    for (int r = 0; r < p->runs; r++) {
        chart_series *s = add(&c, series_name(p, r, "rate"), r, CHART_LINE);
        s->n = chart_thin_last(p->run[r].lr, p->run[r].steps, CHART_POINTS / 4, room_x(&c, s), room_y(&c, s));
    }
    c.chart.y_low = 0;
    canvas_finish(out, &c);
    return STATUS_OK;
}

/* Epochs beyond the points of a chart are thinned like steps. */
static int64_t epoch_points(const history *h, bool auc, double *x, double *y)
{
    int64_t used = 0, every = h->epochs / CHART_POINTS + 1;
    for (int64_t i = 0; i < h->epochs; i++)
        if (i % every == 0 || i == h->epochs - 1) {
            x[used] = (double)h->epoch[i].epoch;
            y[used++] = auc ? h->epoch[i].auc : h->epoch[i].loss;
            if (used == CHART_POINTS)
                break;
        }
    return used;
}

static status epoch_chart(FILE *out, const page *p, bool auc)
{
    canvas c;
    bool any = false;
    for (int r = 0; r < p->runs; r++)
        any |= auc ? history_best(&p->run[r]) >= 0 : p->run[r].epochs > 0;
    if (!any)
        return STATUS_OK;
    TRY(canvas_open(&c, auc ? "Validation AUC" : "Validation loss", NULL, "epoch"));
    for (int r = 0; r < p->runs; r++) {
        chart_series *s = add(&c, series_name(p, r, auc ? "AUC" : "loss"), r, CHART_DOTS);
        s->n = epoch_points(&p->run[r], auc, room_x(&c, s), room_y(&c, s));
    }
    canvas_finish(out, &c);
    return STATUS_OK;
}

/* ---- throughput ---- */

/* Rows a second: around each step, as rows over seconds of its neighbours, and of all steps so far. */
static status step_rates(const history *h, double *now, double *overall)
{
    double window = h->steps / 50.0 > 10 ? h->steps / 50.0 : 10, rows = 0, seconds = 0, *rows_near;
    TRY(memory_new(&rows_near, (size_t)h->steps * sizeof *rows_near, "rates"));
    chart_smooth(h->rows, h->steps, window, rows_near);
    chart_smooth(h->seconds, h->steps, window, now);
    for (int64_t i = 0; i < h->steps; i++) {
        if (!isnan(h->seconds[i])) {
            rows += h->rows[i];
            seconds += h->seconds[i];
        }
        now[i] = rows_near[i] / now[i];
        overall[i] = seconds > 0 ? rows / seconds : NAN;
    }
    free(rows_near);
    return STATUS_OK;
}

static status throughput_series(canvas *c, const page *p, int r)
{
    const history *h = &p->run[r];
    double *now = NULL, *overall = NULL;
    status st = memory_new(&now, (size_t)h->steps * sizeof *now, "rates");
    if (st == STATUS_OK)
        st = memory_new(&overall, (size_t)h->steps * sizeof *overall, "rates");
    if (st == STATUS_OK)
        st = step_rates(h, now, overall);
    if (st == STATUS_OK) {
        chart_series *s = add(c, series_name(p, r, "Rate"), r, CHART_LINE);
        s->n = chart_thin_last(now, h->steps, CHART_POINTS / 2, room_x(c, s), room_y(c, s));
    }
    if (st == STATUS_OK && p->runs == 1) {
        chart_series *s = add(c, "Rate over all so far", 1, CHART_LINE);
        s->n = chart_thin_last(overall, h->steps, CHART_POINTS / 4, room_x(c, s), room_y(c, s));
    }
    free(now);
    free(overall);
    return st;
}

static status throughput_chart(FILE *out, const page *p)
{
    canvas c;
    TRY(canvas_open(&c, "Throughput", p->runs > 1 ? "rows/s around each step" : "rows/s: around each step, and over all so far", "step"));
    for (int r = 0; r < p->runs; r++)
        TRY(throughput_series(&c, p, r));
    c.chart.y_low = 0;
    canvas_finish(out, &c);
    return STATUS_OK;
}

status curves_write_training(FILE *out, const page *p)
{
    bool timed = false;
    for (int r = 0; r < p->runs; r++)
        timed |= p->run[r].timed > 0;
    html_begin_section(out, "Training", NULL);
    fputs("<div class=\"charts\">\n", out);
    TRY(loss_chart(out, p));
    TRY(rate_chart(out, p));
    TRY(epoch_chart(out, p, true));
    TRY(epoch_chart(out, p, false));
    if (timed)
        TRY(throughput_chart(out, p));
    fputs("</div>\n", out);
    html_end_section(out);
    return STATUS_OK;
}

/* ---- time by phase ---- */

static const struct {
    const char *name;
    phase part[5];
    int parts;
} groups[] = {
    {"Reading rows", {PHASE_DATA}, 1},
    {"Forward: attention", {PHASE_QKV, PHASE_ATTENTION, PHASE_PROJECT}, 3},
    {"Forward: feed-forward", {PHASE_UP, PHASE_DOWN}, 2},
    {"Forward: rest", {PHASE_EMBED, PHASE_NORM, PHASE_HEAD}, 3},
    {"Backward: attention", {PHASE_BACK_QKV, PHASE_BACK_QKV_WEIGHT, PHASE_BACK_ATTENTION, PHASE_BACK_PROJECT, PHASE_BACK_PROJECT_WEIGHT}, 5},
    {"Backward: feed-forward", {PHASE_BACK_UP, PHASE_BACK_UP_WEIGHT, PHASE_BACK_GELU, PHASE_BACK_DOWN, PHASE_BACK_DOWN_WEIGHT}, 5},
    {"Backward: rest", {PHASE_BACK_EMBED, PHASE_BACK_NORM, PHASE_BACK_HEAD}, 3},
    {"Waiting for other ranks", {PHASE_WAIT}, 1},
    {"Adding gradients", {PHASE_REDUCE, PHASE_CLEAR}, 2},
    {"Updating weights", {PHASE_UPDATE}, 1},
};
enum { GROUPS = sizeof groups / sizeof *groups };

static double group_seconds(const history *h, int group)
{
    double sum = 0;
    if (group < GROUPS) {
        for (int i = 0; i < groups[group].parts; i++)
            sum += h->phase[groups[group].part[i]];
        return sum;
    }
    for (int g = 0; g < GROUPS; g++)
        sum += group_seconds(h, g);
    return h->timed > sum ? h->timed - sum : 0; /* the rest of each step */
}

static double longest_share(const page *p)
{
    double most = 0;
    for (int r = 0; r < p->runs; r++)
        for (int g = 0; g <= GROUPS && p->run[r].timed > 0; g++)
            most = fmax(most, group_seconds(&p->run[r], g) / p->run[r].timed);
    return most;
}

void curves_write_phases(FILE *out, const page *p)
{
    char text[HTML_NUMBER];
    double most = longest_share(p);
    if (!(most > 0))
        return;
    html_begin_section(out, "Time by phase", "Shares of the time in steps, on rank 0.");
    fputs("<div class=\"wide\"><table><tr><th>Phase</th>", out);
    if (p->runs == 1)
        fputs("<th></th><th>Share</th><th>Time</th>", out);
    for (int r = 0; r < p->runs && p->runs > 1; r++) {
        fprintf(out, "<th><i class=\"key c%d\"></i>", r);
        html_text(out, p->run[r].name);
        fputs("</th>", out);
    }
    fputs("</tr>\n", out);
    for (int g = 0; g <= GROUPS; g++) {
        fprintf(out, "<tr><td>%s</td>", g < GROUPS ? groups[g].name : "Rest");
        for (int r = 0; r < p->runs; r++) {
            double seconds = group_seconds(&p->run[r], g), share = p->run[r].timed > 0 ? seconds / p->run[r].timed : NAN;
            if (p->runs == 1)
                fprintf(out, "<td class=\"bars\"><span class=\"bar\" style=\"width:%.1f%%\"></span></td>", 100 * share / most);
            if (isnan(share))
                fputs("<td>–</td>", out);
            else
                fprintf(out, "<td>%.1f%%</td>", 100 * share);
            html_span(seconds, text);
            if (p->runs == 1)
                fprintf(out, "<td>%s</td>", text);
        }
        fputs("</tr>\n", out);
    }
    fputs("</table></div>\n", out);
    for (int r = 0; r < p->runs; r++) {
        const history *h = &p->run[r];
        if (!(h->saving + h->validating > 0))
            continue;
        fputs("<p class=\"remark\">", out);
        if (p->runs > 1) {
            html_text(out, h->name);
            fputs(": ", out);
        }
        html_span(h->validating, text);
        fprintf(out, "%s of validation and ", text);
        html_span(h->saving, text);
        fprintf(out, "%s of saving at the ends of epochs come on top.</p>\n", text);
    }
    html_end_section(out);
}
