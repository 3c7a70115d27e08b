/* Charts as SVG that fits any width: lines in a plane of 1000 x 1000 stretched to the plot, texts beside it in their own size.
 *
 *     chart c = {.title = "Loss", .x_name = "step", .y_low = NAN, .y_high = NAN, .count = 1,
 *                .series = {{.name = "smoothed", .colour = 0, .kind = CHART_LINE, .n = n, .x = x, .y = y}}};
 *     chart_write(out, &c);
 *
 * Points with a NaN are left out (the line goes on behind them). Local.
 */
#ifndef FRETSAW_REPORT_CHART_H
#define FRETSAW_REPORT_CHART_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { CHART_SERIES = 24, CHART_POINTS = 400, CHART_COLOURS = 8 };

typedef enum chart_kind {
    CHART_LINE,  /* with values on pointing */
    CHART_FAINT, /* behind the others; no legend, no values */
    CHART_DOTS,  /* a line with a dot at each point */
    CHART_DASHED,
    CHART_STEPS, /* a filled staircase: y[i] from x[i] to x[i + 1]; n values, n + 1 borders */
} chart_kind;

typedef struct chart_series {
    const char *name;
    int colour; /* 0 .. CHART_COLOURS - 1 */
    chart_kind kind;
    int64_t n;
    const double *x, *y;
} chart_series;

typedef struct chart {
    const char *title, *remark, *x_name; /* remark NULL: none */
    double y_low, y_high;                /* NaN: from the points */
    bool whole_x;                        /* steps or epochs: no ticks between them */
    int count;
    chart_series series[CHART_SERIES];
} chart;

void chart_write(FILE *out, const chart *c);

/* Step values 1..n as at most `room` points for a chart (room even): where there are more, the lowest and the highest of each equal piece, so that
 * no peak is lost. Returns how many points were written. */
int64_t chart_thin_extremes(const double *value, int64_t n, int64_t room, double *x, double *y);
/* The last value of each piece instead. */
int64_t chart_thin_last(const double *value, int64_t n, int64_t room, double *x, double *y);
/* Exponential mean over about `window` values, corrected for its start; NaN are passed over. to may not be value. */
void chart_smooth(const double *value, int64_t n, double window, double *to);

#endif
