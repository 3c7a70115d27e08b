/* The records of a run: metrics.jsonl (the same bytes for any ranks, threads and restarts) and timing.jsonl (which are not), line by line, cut back
 * to a checkpoint's step when a run is resumed. Each line of metrics.jsonl ends with a check that follows from the line and the check before it.
 *
 *     records *r; TRY(records_open("runs/one", step, steps_per_epoch, &r));     // rank 0 only
 *     TRY(records_step(r, &(record_step){...}));
 *     TRY(records_flush(r));                                                    // on disk; before a checkpoint is made visible
 *     records_close(r);
 *
 * Local: rank 0 alone keeps them.
 */
#ifndef FRETSAW_TRAIN_RECORDS_H
#define FRETSAW_TRAIN_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "model/phases.h"

enum { RECORD_BYTES = 320 }; /* a step's line, the newline left out */

typedef struct records records;

typedef struct record_step {
    int64_t step, epoch; /* from 1 */
    double loss, lr;
    int64_t rows, tokens;
    uint64_t state;
} record_step;

/* Keeps the lines of steps 1 .. step, and of epochs that ended before `step`; drops the rest. STATUS_INPUT names the first line of
 * metrics.jsonl that is damaged or missing. */
status records_open(const char *folder, int64_t step, int64_t steps_per_epoch, records **out);
void records_close(records *r);
status records_step(records *r, const record_step *line);
/* The line that records_step writes, without check and newline. Local. */
void records_step_text(const record_step *line, char text[RECORD_BYTES]);
/* Whether a line of the file, without its newline, is that text with a check. Local. */
bool records_same_line(const char *line, const char *text);
/* `text` is a whole JSON object of one line, without the newline: the line of an epoch, {"epoch":1,...}. */
status records_epoch(records *r, const char *text);
status records_timing(records *r, int64_t step, double seconds, const phase_timer *since);
/* Seconds between the epoch's last step and the next one's first: saving and validation. */
status records_epoch_timing(records *r, int64_t epoch, double save, double evaluate);
/* `text` is a whole JSON object of one line, {"profile":{...}}; on resume it is dropped. */
status records_profile(records *r, const char *text);
status records_flush(records *r);

/* The shortest decimal form that reads back the same double, as a JSON number; `to` has room for 32. */
void records_number(double value, char *to);

#endif
