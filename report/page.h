/* The page: what main puts together, and its sections, each in a file of its own.
 *
 *     page p = {.runs = n, .run = histories}; TRY(page_read_scores(&settings, &p));
 *     TRY(page_write(&p, "report.html"));
 *     page_close(&p);
 *
 * Local. Sections write to a stream whose errors page_write looks at in the end.
 */
#ifndef FRETSAW_REPORT_PAGE_H
#define FRETSAW_REPORT_PAGE_H

#include <stdio.h>

#include "report/history.h"
#include "report/judged.h"
#include "report/originals.h"
#include "report/settings.h"

typedef struct page {
    int runs;
    history run[REPORT_RUNS];
    dataset *data;              /* NULL: no scores were given */
    judged judged[REPORT_RUNS]; /* of each run, with `data` */
    int64_t mistakes;
    option_list csv; /* where the mistakes' texts stand */
    originals_columns headings;
} page;

/* Runs, and scores where --predictions gives some. STATUS_INPUT, STATUS_USAGE. Collective in name only: one process. */
status page_open(const report_choice *s, const option_list *runs, page *p);
void page_close(page *p);
/* Atomic. */
status page_write(const page *p, const char *path);

/* ---- sections ---- */

void curves_write_summary(FILE *out, const page *p);    /* figures at the top; several runs: a table */
status curves_write_training(FILE *out, const page *p); /* loss, rate, AUC, throughput */
void curves_write_phases(FILE *out, const page *p);
status quality_write(FILE *out, const page *p);   /* nothing without scores */
status mistakes_write(FILE *out, const page *p); /* goes with scores */
status origin_write(FILE *out, const page *p); /* recipe, hashes, command */

#endif
