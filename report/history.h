/* What a run has recorded: its steps and epochs, its times, and the JSON files beside them.
 *
 *     history h; TRY(history_read("runs/one", &h));
 *     for (int64_t i = 0; i < h.steps; i++) plot(i + 1, h.loss[i]);
 *     history_free(&h);
 *
 * Local. A run that goes on or was stopped is read as far as it has come; lost times are NaN.
 */
#ifndef FRETSAW_REPORT_HISTORY_H
#define FRETSAW_REPORT_HISTORY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/hash.h"
#include "common/status.h"
#include "model/phases.h"

typedef struct history_epoch {
    int64_t epoch, step, rows;
    double loss, auc; /* NaN: undefined */
} history_epoch;

typedef struct history {
    char *folder; /* as given, without a '/' at its end */
    char *name;   /* what the page calls it */
    int64_t steps;
    double *loss, *lr, *rows, *seconds; /* by step - 1 */
    int64_t epochs;
    history_epoch *epoch;
    double phase[PHASES], timed;              /* seconds over all steps that have times */
    double saving, validating;                /* seconds at the ends of epochs */
    json_t *about, *environment, *provenance; /* run.json; the other two may be NULL */
    char metrics_hash[HASH_HEX];
    bool finished;
} history;

/* STATUS_INPUT names the file, line and what is wrong. */
status history_read(const char *folder, history *h);
void history_free(history *h);

/* Index of the epoch with the highest AUC, -1 when none has one. */
int64_t history_best(const history *h);
/* Rows a second over all timed steps, and over the last `steps` of them; NaN without times. */
double history_rate(const history *h, int64_t steps);
/* A text of run.json, environment.json or provenance.json, NULL when it is not there. */
const char *history_text(const json_t *object, const char *key);

#endif
