/* The closing report: rows, lengths, what the maximum length cuts, [UNK], duplicates, labels, languages.
 *
 *     survey_unite(&v);
 *     TRY(report_print(&(report_about){.job = &job, .inputs = paths, .input_count = count, .files = parts, .file = "part"}, &v, &duplicates, stdout));      // collective
 */
#ifndef FRETSAW_PREPROCESS_REPORT_H
#define FRETSAW_PREPROCESS_REPORT_H

#include <stdio.h>

#include "preprocess/duplicates.h"

typedef struct report_about {
    const parts_job *job;
    char *const *inputs; /* paths of the CSVs */
    int64_t input_count, files;
    const char *file; /* what one of them is called */
} report_about;

/* Collective. `v` and `d` have the sums of all ranks. `to` is used at rank 0 alone; NULL: nothing is printed. Error: STATUS_RESOURCE. */
status report_print(const report_about *a, const survey *v, const duplicate_counts *d, FILE *to);

#endif
