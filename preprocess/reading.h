/* One rank's reading of runs of pieces, row by row: shows how far it is, and ends early when this rank or another one is to stop.
 *
 *     reading r = {.splits = &splits, .maker = maker, .all = bytes, .shown = progress_begin("tokenize", "bytes", bytes)};
 *     TRY(reading_run(&r, first_piece, end_piece, take, job));      // pieces of one input
 *     if (r.stopped) ...
 *
 * Local.
 */
#ifndef FRETSAW_PREPROCESS_READING_H
#define FRETSAW_PREPROCESS_READING_H

#include "common/log.h"
#include "preprocess/rows.h"

typedef struct reading {
    const csv_splits *splits;
    row_maker *maker;
    progress *shown;
    int64_t all;           /* bytes that all ranks read together */
    uint64_t done, looked; /* bytes behind this rank; of them at the last look at whether to stop */
    bool stopped;          /* this rank was asked to stop, or another one cannot go on (comm_flag_raise) */
} reading;

typedef status (*reading_take)(void *job, const rowfile_row *r, int64_t unknown);
/* Errors: those of rows_next and of `take`. */
status reading_run(reading *r, int64_t first, int64_t end, reading_take take, void *job);

#endif
