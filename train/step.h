/* One optimizer step: next batch, forward, backward for each lane of this rank; then reduce and update over all ranks.
 *
 *     step_result r;
 *     TRY(step_run(&t, &r));
 *     if (r.stop && !r.done) ...         // the step was given up: the weights are those of the step before
 *
 * Collective. A NaN or infinite loss is STATUS_CHECK, on the rank that met it, with step, lane and rows.
 */
#ifndef FRETSAW_TRAIN_STEP_H
#define FRETSAW_TRAIN_STEP_H

#include "train/trainer.h"

enum { STEP_REASON = 96 };

typedef struct step_result {
    bool done; /* the parameters are updated and t->state.step has gone on by one */
    bool stop; /* some rank has a reason to stop */
    bool save; /* rank 0's clock says that a checkpoint is due */
    double loss, rate;
    int64_t tokens;
    char reason[STEP_REASON]; /* of stop */
} step_result;

status step_run(trainer *t, step_result *result);

/* Local: whether this rank has a reason to stop or has heard of another's; a reason of its own is passed on to all. Asked at every micro-batch. */
bool step_stop_noticed(void);
/* Collective: waits for all ranks, looking at signals meanwhile, then tells whether any was left incomplete, any wants to stop, and why. */
typedef struct step_report {
    int64_t incomplete, stop, save;
    double loss[2 * TREE_DEPTH];
    char reason[STEP_REASON];
} step_report;
/* `all` has room for comm_size() reports. The sums of incomplete and stop, and the first reason, go into *mine. */
void step_agree(step_report *mine, step_report *all);

#endif
