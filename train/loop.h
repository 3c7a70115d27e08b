/* The training from where it stands to its end or to a stop.
 *
 *     TRY(loop_resume(&t, INT64_MAX, &resumed));   // the newest whole checkpoint of at most so many steps into parameters, optimizer and t->state
 *     TRY(loop_run(&t));                   // STATUS_STOPPED: everything saved, the same command goes on
 *
 * Collective.
 */
#ifndef FRETSAW_TRAIN_LOOP_H
#define FRETSAW_TRAIN_LOOP_H

#include "train/trainer.h"

/* False: nothing was saved yet, the initial weights are needed. */
status loop_resume(trainer *t, int64_t last, bool *resumed);
status loop_run(trainer *t);

#endif
