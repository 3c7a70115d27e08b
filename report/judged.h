/* Scores beside the labels they should have met: what ROC, histograms, languages and mistakes are made from.
 *
 *     judged j; TRY(judged_read("valid-scores.csv", d, &j));      // d: the rows that were scored
 *     int64_t n = judged_roc(&j, 0, 200, x, y);
 *     judged_free(&j);
 *
 * Local. Rows are matched by id, so the order of the file does not matter.
 */
#ifndef FRETSAW_REPORT_JUDGED_H
#define FRETSAW_REPORT_JUDGED_H

#include <stdbool.h>
#include <stdint.h>

#include "infer/measure.h"
#include "store/dataset.h"

typedef struct judged {
    int64_t rows, labels;
    float *score;      /* rows x labels */
    float *label;      /* rows x labels; NaN: unlabelled */
    const char **lang; /* rows; of the data set */
    const char **name; /* labels; of the data set */
    measure auc;
} judged;

typedef struct judged_mistake {
    int64_t row, label;
    float score, truth;
} judged_mistake;

/* STATUS_INPUT: a label's column or a row's score is missing, or a score is no number; the message names file and id. */
status judged_read(const char *predictions, dataset *d, judged *out);
void judged_free(judged *j);

/* The curve of one label as at most `room` points (at least 2) from (0, 0) to (1, 1): false-positive rate and true-positive rate. 0 with one class.
 * STATUS_RESOURCE. */
status judged_roc(const judged *j, int64_t label, int64_t room, double *x, double *y, int64_t *points);
/* Shares of the rows of a class (positive or not) in `bins` equal pieces of 0..1; false when the class is empty. */
bool judged_histogram(const judged *j, int64_t label, bool positive, int bins, double *share);
/* The `most` labelled scores farthest on the wrong side of 0.5, of positives (missed) or negatives (false alarms), worst first; of equal ones the
 * first row first. *found is how many there are. */
status judged_mistakes(const judged *j, bool missed, int64_t most, judged_mistake *to, int64_t *found);

#endif
