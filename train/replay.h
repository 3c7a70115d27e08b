/* One step of a run once more: from the checkpoint before it (or the initial weights), held against the run's metrics.jsonl.
 *
 *     TRY(replay_options("runs/one"));              // what the run was started with, for options that the command line leaves out
 *     ... trainer_open, and everything up to the checkpoint ...
 *     TRY(replay_steps(&t, 812));                   // STATUS_CHECK: the step came out otherwise, and how
 *
 * Nothing in the run's folder is written.
 */
#ifndef FRETSAW_TRAIN_REPLAY_H
#define FRETSAW_TRAIN_REPLAY_H

#include "train/trainer.h"

/* Reads environment.json of the run at `folder` into options that nobody has named, and makes it --out. STATUS_INPUT: no run. Local. */
status replay_options(const char *folder);
/* Collective. From t->state.step up to `step`: every step's line, its loss and state hash, must be that of metrics.jsonl. */
status replay_steps(trainer *t, int64_t step);

#endif
