/* The closing report: rows, lengths, what the maximum length cuts, [UNK], duplicates, labels, languages.
 *
 *     survey_unite(&v);
 *     TRY(report_print(&parts, &v, stdout));      // collective
 */
#ifndef FRETSAW_PREPROCESS_REPORT_H
#define FRETSAW_PREPROCESS_REPORT_H

#include <stdio.h>

#include "preprocess/parts.h"

/* Collective. `v` has the sums of all ranks. `to` is used at rank 0 alone; NULL: nothing is printed. Errors: those of reading row files,
 * STATUS_RESOURCE. */
status report_print(const token_parts *p, const survey *v, FILE *to);

#endif
