/* What a run says about itself: recipe.conf and run.json at its start (and their comparison when it is resumed), environment.json at every start,
 * provenance.json at its end.
 *
 *     TRY(describe_begin(&t, &finished));         // fills t.state.run; a run in that folder must be the same one; writes nothing
 *     ... load weights ...
 *     TRY(describe_settle(&t));                   // only what could be started leaves a folder, which another start would be held against
 *     TRY(describe_environment(&t));
 *     TRY(describe_end(&t));                      // the run is finished from here on
 *
 * Collective; rank 0 reads and writes, errors are agreed on.
 */
#ifndef FRETSAW_TRAIN_DESCRIBE_H
#define FRETSAW_TRAIN_DESCRIBE_H

#include "train/trainer.h"

/* STATUS_USAGE names the options that differ from those the run was begun with; STATUS_INPUT other data, model or vocabulary; STATUS_CHECK another
 * version of the arithmetic. *finished: the run has ended before, nothing is to be done. */
status describe_begin(trainer *t, bool *finished);
status describe_settle(const trainer *t);
status describe_environment(const trainer *t);
status describe_end(const trainer *t);

#endif
