#include "report/chart.h"

#include <math.h>
#include <stdbool.h>

#include "report/html.h"

enum { PLANE = 1000, TICKS = 5 };

typedef struct axis {
    double low, high, step;
} axis;

/* ---- fewer points ---- */

int64_t chart_thin_extremes(const double *value, int64_t n, int64_t room, double *x, double *y)
{
    int64_t used = 0, pieces = room / 2;
    if (n <= room)
        return chart_thin_last(value, n, room, x, y);
    for (int64_t piece = 0; piece < pieces; piece++) {
        int64_t from = n * piece / pieces, to = n * (piece + 1) / pieces, low = -1, high = -1;
        for (int64_t i = from; i < to; i++) {
            if (isnan(value[i]))
                continue;
            low = low < 0 || value[i] < value[low] ? i : low;
            high = high < 0 || value[i] > value[high] ? i : high;
        }
        if (low < 0)
            continue;
        int64_t first = low < high ? low : high, second = low < high ? high : low;
        x[used] = (double)first + 1;
        y[used++] = value[first];
        if (second != first) {
            x[used] = (double)second + 1;
            y[used++] = value[second];
        }
    }
    return used;
}

int64_t chart_thin_last(const double *value, int64_t n, int64_t room, double *x, double *y)
{
    int64_t pieces = n < room ? n : room;
    for (int64_t piece = 0; piece < pieces; piece++) {
        int64_t i = n * (piece + 1) / pieces - 1;
        x[piece] = (double)i + 1;
        y[piece] = value[i];
    }
    return pieces;
}

void chart_smooth(const double *value, int64_t n, double window, double *to)
{
    double keep = 1 - 2 / (window + 1), sum = 0, weight = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!isnan(value[i])) {
            sum = keep * sum + (1 - keep) * value[i];
            weight = keep * weight + (1 - keep);
        }
        to[i] = weight > 0 ? sum / weight : NAN;
    }
}

/* ---- axes ---- */

static axis make_axis(double low, double high, bool tight)
{
    if (!(high > low)) {
        double around = fabs(low) > 0 ? fabs(low) * 0.1 : 1;
        low -= around;
        high += around;
    }
    double rough = (high - low) / TICKS, power = pow(10, floor(log10(rough))), part = rough / power;
    double step = power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
    if (tight)
        return (axis){low, high, step};
    return (axis){floor(low / step + 1e-9) * step, ceil(high / step - 1e-9) * step, step};
}

static int64_t borders(const chart_series *s)
{
    return s->kind == CHART_STEPS ? s->n + 1 : s->n;
}

static void find_ranges(const chart *c, axis *x, axis *y)
{
    double x0 = INFINITY, x1 = -INFINITY, y0 = INFINITY, y1 = -INFINITY;
    for (int s = 0; s < c->count; s++)
        for (int64_t i = 0; i < borders(&c->series[s]); i++) {
            x0 = fmin(x0, c->series[s].x[i]);
            x1 = fmax(x1, c->series[s].x[i]);
            if (i < c->series[s].n && !isnan(c->series[s].y[i])) {
                y0 = fmin(y0, c->series[s].y[i]);
                y1 = fmax(y1, c->series[s].y[i]);
            }
        }
    if (!(y1 >= y0))
        y0 = y1 = 0;
    *x = make_axis(x0, x1, true);
    x->step = c->whole_x && x->step < 1 ? 1 : x->step;
    *y = make_axis(isnan(c->y_low) ? y0 : c->y_low, isnan(c->y_high) ? y1 : c->y_high, false);
}

static double place(const axis *a, double value)
{
    return PLANE * (value - a->low) / (a->high - a->low);
}

static void tick_text(double value, double step, char to[HTML_NUMBER])
{
    double clean = fabs(value) < step * 1e-6 ? 0 : value;
    if (fabs(clean) >= 10000 && step >= 1000)
        snprintf(to, HTML_NUMBER, "%gk", clean / 1000);
    else
        snprintf(to, HTML_NUMBER, "%.10g", round(clean / step * 1e6) / 1e6 * step);
    if (fabs(clean) > 0 && fabs(clean) < 1e-3)
        snprintf(to, HTML_NUMBER, "%.3g", clean);
}

static void write_grid(FILE *out, const axis *y)
{
    for (double v = y->low; v <= y->high + y->step * 1e-6; v += y->step)
        fprintf(out, "<path class=\"grid\" d=\"M0 %.1fH%d\"/>", PLANE - place(y, v), PLANE);
}

static void write_ticks(FILE *out, const axis *x, const axis *y)
{
    char text[HTML_NUMBER];
    for (double v = y->low; v <= y->high + y->step * 1e-6; v += y->step) {
        tick_text(v, y->step, text);
        fprintf(out, "<span class=\"y\" style=\"bottom:%.2f%%\">%s</span>", place(y, v) / 10, text);
    }
    for (double v = ceil(x->low / x->step - 1e-9) * x->step; v <= x->high + x->step * 1e-6; v += x->step) {
        tick_text(v, x->step, text);
        fprintf(out, "<span class=\"x\" style=\"left:%.2f%%\">%s</span>", place(x, v) / 10, text);
    }
}

/* ---- series ---- */

static void write_line(FILE *out, const chart_series *s, const axis *x, const axis *y)
{
    const char *kind = s->kind == CHART_FAINT ? " faint" : s->kind == CHART_DASHED ? " dashed" : "";
    bool first = true;
    fprintf(out, "<path class=\"line c%d%s\" d=\"", s->colour, kind);
    for (int64_t i = 0; i < s->n; i++) {
        if (isnan(s->y[i]))
            continue;
        fprintf(out, "%c%.1f %.1f", first ? 'M' : 'L', place(x, s->x[i]), PLANE - place(y, s->y[i]));
        first = false;
    }
    fputs("\"/>", out);
    if (s->kind != CHART_DOTS)
        return;
    fprintf(out, "<path class=\"dot c%d\" d=\"", s->colour);
    for (int64_t i = 0; i < s->n; i++)
        if (!isnan(s->y[i])) /* a line of no length with round ends: a dot that no stretching bends */
            fprintf(out, "M%.1f %.1fh0", place(x, s->x[i]), PLANE - place(y, s->y[i]));
    fputs("\"/>", out);
}

static void write_steps(FILE *out, const chart_series *s, const axis *x, const axis *y)
{
    const char *const classes[] = {"area", "line"};
    for (int pass = 0; pass < 2; pass++) {
        fprintf(out, "<path class=\"%s c%d\" d=\"M%.1f %d", classes[pass], s->colour, place(x, s->x[0]), PLANE);
        for (int64_t i = 0; i < s->n; i++)
            fprintf(out, "V%.1fH%.1f", PLANE - place(y, s->y[i]), place(x, s->x[i + 1]));
        fprintf(out, "V%d\"/>", PLANE);
    }
}

/* What a pointing hand reads: the series by name, their points in the plane and in numbers. */
static void write_values(FILE *out, const chart *c, const axis *x, const axis *y)
{
    fputs("<script type=\"application/json\">{\"x\":\"", out);
    html_text(out, c->x_name);
    fputs("\",\"s\":[", out);
    bool first = true;
    for (int s = 0; s < c->count; s++) {
        const chart_series *one = &c->series[s];
        if (one->kind == CHART_FAINT || one->kind == CHART_DASHED)
            continue;
        fprintf(out, "%s{\"c\":%d,\"n\":\"", first ? "" : ",", one->colour);
        for (const char *p = one->name; *p; p++)
            if (*p == '"' || *p == '\\' || *p == '<' || (unsigned char)*p < 32)
                fprintf(out, "\\u%04x", (unsigned)(unsigned char)*p);
            else
                putc(*p, out);
        fputs("\",\"p\":[", out);
        bool begun = false;
        for (int64_t i = 0; i < one->n; i++) {
            if (isnan(one->y[i]))
                continue;
            double at = one->kind == CHART_STEPS ? (one->x[i] + one->x[i + 1]) / 2 : one->x[i];
            fprintf(out, "%s[%.0f,%.0f,%.6g,%.5g]", begun ? "," : "", place(x, at), PLANE - place(y, one->y[i]), at, one->y[i]);
            begun = true;
        }
        fputs("]}", out);
        first = false;
    }
    fputs("]}</script>", out);
}

static void write_legend(FILE *out, const chart *c)
{
    int shown = 0;
    for (int s = 0; s < c->count; s++)
        shown += c->series[s].kind != CHART_FAINT && c->series[s].kind != CHART_DASHED;
    if (shown < 2)
        return;
    fputs("<ul class=\"legend\">", out);
    for (int s = 0; s < c->count; s++) {
        if (c->series[s].kind == CHART_FAINT || c->series[s].kind == CHART_DASHED)
            continue;
        fprintf(out, "<li><i class=\"key c%d\"></i>", c->series[s].colour);
        html_text(out, c->series[s].name);
        fputs("</li>", out);
    }
    fputs("</ul>", out);
}

void chart_write(FILE *out, const chart *c)
{
    axis x, y;
    find_ranges(c, &x, &y);
    fputs("<figure><figcaption>", out);
    html_text(out, c->title);
    if (c->remark) {
        fputs(" <span class=\"remark\">", out);
        html_text(out, c->remark);
        fputs("</span>", out);
    }
    fputs("</figcaption>", out);
    write_legend(out, c);
    fprintf(out, "<div class=\"plot\"><svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"", PLANE, PLANE);
    html_text(out, c->title);
    fprintf(out, ", from %.4g to %.4g by %s", y.low, y.high, c->x_name);
    fputs("\">", out);
    write_grid(out, &y);
    for (int s = 0; s < c->count; s++) {
        if (c->series[s].kind == CHART_STEPS)
            write_steps(out, &c->series[s], &x, &y);
        else
            write_line(out, &c->series[s], &x, &y);
    }
    fputs("</svg>", out);
    write_ticks(out, &x, &y);
    fputs("<span class=\"xname\">", out);
    html_text(out, c->x_name);
    fputs("</span>", out);
    write_values(out, c, &x, &y);
    fputs("</div></figure>\n", out);
}
