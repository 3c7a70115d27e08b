/* From a step's number to the micro-batches of each lane: which rows, in which lane, in which order, with their tokens.
 *
 *     feeder *f; TRY(feeder_create(&setting, &f));
 *     TRY(feeder_begin_step(f, step));                             // lengths of the whole global batch, dealt to lanes
 *     TRY(feeder_begin_lane(f, lane, &ids, &n));                   // reads the lane's tokens
 *     for (const batch *b; (b = feeder_next(f));) ...              // micro-batches; NULL after the last
 *     feeder_free(f);
 *
 * All local, and a function of (data, setting, step, lane) alone. Nothing is allocated after create.
 */
#ifndef FRETSAW_TRAIN_FEEDER_H
#define FRETSAW_TRAIN_FEEDER_H

#include <stdbool.h>
#include <stdint.h>

#include "model/batch.h"
#include "model/input.h"
#include "train/deal.h"
#include "train/sampler.h"

typedef struct feeder feeder;

typedef struct feeder_setting {
    dataset *data;
    const sampler *order;
    input_format input;
    bool padded; /* fill every row up to input.max_length */
    deal_kind deal;
    int64_t lanes, batch;
    int64_t micro_tokens; /* M >= input.max_length */
    bool even;            /* micro-batches of nearly equal size: where the cut changes no bit */
    int64_t vocabulary;   /* ids are below it: STATUS_INPUT names the row where one is not */
} feeder_setting;

/* `setting` is copied; what it points at is the caller's. Errors: STATUS_RESOURCE. */
status feeder_create(const feeder_setting *setting, feeder **out);
void feeder_free(feeder *f);
/* Bytes that feeder_create takes. */
size_t feeder_bytes(const feeder_setting *setting, int outputs);

status feeder_begin_step(feeder *f, int64_t step);
/* Tokens of the step's global batch, [CLS] and [SEP] included, padding not. */
int64_t feeder_step_tokens(const feeder *f);
/* Tokens dealt to one lane of the step. */
int64_t feeder_lane_tokens(const feeder *f, int64_t lane);
/* All ids of the lane's rows, end to end; valid until the next lane. */
status feeder_begin_lane(feeder *f, int64_t lane, const int32_t **ids, int64_t *n);
const batch *feeder_next(feeder *f);
/* Whether the micro-batch that feeder_next gave last is its lane's last. */
bool feeder_lane_ends(const feeder *f);
/* Dataset row of row i of the micro-batch that feeder_next gave last. */
int64_t feeder_row(const feeder *f, int64_t i);

/* Rows of one micro-batch at most: each has at least [CLS] and [SEP]. */
int64_t feeder_micro_rows(int64_t micro_tokens, int64_t lane_rows);

#endif
