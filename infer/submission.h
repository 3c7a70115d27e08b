/* submission.csv: written in the sample's order, or blended from several.
 *
 *     TRY(submission_text(&sample, &scores, NUMBER_SHORTEST, &text, &bytes));
 *     TRY(submission_blend(parts, 2, weights, &blended));
 *
 * Lines end with LF; a field is quoted where CSV needs it. Local: rank 0's business.
 */
#ifndef FRETSAW_INFER_SUBMISSION_H
#define FRETSAW_INFER_SUBMISSION_H

#include "infer/table.h"

/* Whether `scores` can be written in the order of `order` (NULL: its own): every id has one score and every score one id, columns match by name, or
 * are one on both sides, whatever they are called. STATUS_INPUT: how many do not, the first few, and what to do. Indexes both tables. */
status submission_match(table *order, table *scores);

/* The CSV: header and ids of `order` (NULL: those of `scores`), the numbers of `scores`, each rounded to float32. The caller frees *text.
 * STATUS_INPUT as submission_match, which it calls; STATUS_CHECK: a score that is not finite. */
status submission_text(table *order, table *scores, int decimals, char **text, size_t *bytes);

/* Mean by id, in the order of the first: weight x number added without rounding, divided once by the sum of the weights (by the count where weights is
 * NULL), rounded to float32: the order of the parts changes no bit. All parts must have the same ids, each once, and the same columns by name. */
status submission_blend(table *const *parts, int count, const double *weights, table *out);

#endif
