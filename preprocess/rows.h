/* From records of a checked CSV to rows: id, labels and language as they are stored, the text filled where it is missing, its tokens.
 *
 *     row_maker *m;
 *     TRY(rows_create(&job, &survey, &m));
 *     TRY(rows_begin(m, first_piece, end_piece));       // pieces of one input
 *     while (rows_next(m, &row, &unknown, &more) == STATUS_OK && more) ...     // row is valid until the next call
 *     rows_free(m);
 *
 * Missing texts, cleaned texts and invalid UTF-8 are counted in the survey. Local.
 */
#ifndef FRETSAW_PREPROCESS_ROWS_H
#define FRETSAW_PREPROCESS_ROWS_H

#include "preprocess/check.h"
#include "preprocess/survey.h"
#include "preprocess/tokenizer.h"

typedef struct parts_job {
    const csv_splits *splits;
    const check_rules *rules;
    check_result *checked;
    const tokenizer *tokenizer;
    const rowfile_meta *meta;
    const option_list *fill;
    bool clean;             /* texts are cleaned, so the report says how many */
    const char *out;
} parts_job;

typedef struct row_maker row_maker;
status rows_create(const parts_job *job, survey *counts, row_maker **out);
void rows_free(row_maker *m); /* NULL is fine */
status rows_begin(row_maker *m, int64_t first_piece, int64_t end_piece);
/* *more false: no row is left. STATUS_INPUT when the CSV is not what was checked. */
status rows_next(row_maker *m, rowfile_row *row, int64_t *unknown, bool *more);
/* Where the record of the last row starts in the file. */
uint64_t rows_byte(const row_maker *m);
/* Counts the rest of the rows without making them. */
status rows_count(row_maker *m);
/* "... changed while it was read" */
status rows_changed(const row_maker *m);

#endif
