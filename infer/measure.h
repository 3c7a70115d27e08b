/* How good scores are: the area under the ROC curve over all rows and per language, for each label.
 *
 *     measure m;
 *     TRY(measure_create(&(measure_rows){.rows = n, .labels = C, .name = names, .score = score, .label = label, .lang = lang}, &m));
 *     measure_print(&m, stdout);
 *     json_t *j = measure_json(&m);
 *     measure_free(&m);
 *
 * Counts are exact integers (common/auc.h). Where a label has one class only, the area is undefined and said to be. Local.
 */
#ifndef FRETSAW_INFER_MEASURE_H
#define FRETSAW_INFER_MEASURE_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "common/auc.h"

typedef struct measure_rows {
    int64_t rows, labels;    /* n, C */
    const char *const *name; /* C label names */
    const float *score;      /* n x C, none NaN: STATUS_CHECK */
    const float *label;      /* n x C, NaN = unlabelled */
    const char *const *lang; /* n, "" where a row has none; NULL: no languages at all */
} measure_rows;

typedef struct measure {
    int64_t labels, langs;
    char **name;
    char **lang;      /* sorted by bytes */
    auc_count *count; /* (1 + langs) x C: all rows, then each language */
} measure;

status measure_create(const measure_rows *r, measure *out);
void measure_free(measure *m);
/* A line for all rows and one a language; with several labels, one a label and their mean. */
void measure_print(const measure *m, FILE *to);
/* {"toxic": {"all": {"auc": 0.9, "positive": ..., ...}, "lang": {"es": {...}}}}; "auc" is null with one class. NULL without memory. */
json_t *measure_json(const measure *m);

#endif
