/* Area under the ROC curve in exact integers, over rows dealt to any number of ranks.
 *
 *     auc_count c;
 *     TRY(auc_compute(score, label, n, &c));             // collective: rows may lie on any rank
 *     if (c.pairs) printf("%.6f", auc_value(&c)); else puts("undefined: one class");
 *
 * A label is positive from 0.5 on; NaN labels are unlabelled, left out and counted. Equal float scores tie, -0 = +0; a NaN score is STATUS_CHECK.
 */
#ifndef FRETSAW_COMMON_AUC_H
#define FRETSAW_COMMON_AUC_H

#include <stdint.h>

#include "common/status.h"

typedef struct auc_count {
    unsigned __int128 twice_wins; /* over pairs of a positive and a negative: 2 where the positive scores higher, 1 for a tie */
    unsigned __int128 pairs;
    int64_t positives, negatives, unlabelled;
} auc_count;

/* Collective. score, label: this rank's n rows. The result is the same at every rank and for every deal of the rows. */
status auc_compute(const float *score, const float *label, int64_t n, auc_count *out);
/* Local: rows of this process alone. */
status auc_compute_local(const float *score, const float *label, int64_t n, auc_count *out);
/* twice_wins / (2 pairs) with one rounding of the final division; call only when pairs > 0. */
double auc_value(const auc_count *c);
/* Its standard error by Hanley and McNeil (1982), from the area and the numbers of rows alone; 0 where the area is 0 or 1. For a person: how far
 * another draw of as many rows might be off. Call only when pairs > 0. */
double auc_error(const auc_count *c);
/* " (standard error 0.0123)", "" where it is 0. */
const char *auc_error_text(const auc_count *c, char text[48]);

#endif
