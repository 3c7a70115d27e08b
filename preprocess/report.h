/* The closing report: rows, lengths, what the maximum length cuts, [UNK], duplicates, labels, languages. Read back from the parts,
 * so that it is the same for parts that an earlier run wrote.
 *
 *     TRY(report_print(&parts, 192, stdout));     // collective
 */
#ifndef FRETSAW_PREPROCESS_REPORT_H
#define FRETSAW_PREPROCESS_REPORT_H

#include <stdio.h>

#include "preprocess/parts.h"

/* Collective. `to` is used at rank 0 alone; NULL: nothing is printed. max_length: ids of a row with [CLS] and [SEP]. Errors: those of
 * reading row files, STATUS_RESOURCE. */
status report_print(const token_parts *p, int64_t max_length, FILE *to);

#endif
