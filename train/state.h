/* state.json of a checkpoint or an epoch's weights: text out and in, with a hash over itself.
 *
 *     TRY(state_text(&state, table, o->tensor_hash, o->state, &text));
 *     TRY(state_read("runs/one/step-000812/state.json", table, &state, tensor_hash));
 *
 * Local. The same state gives the same bytes.
 */
#ifndef FRETSAW_TRAIN_STATE_H
#define FRETSAW_TRAIN_STATE_H

#include "train/checkpoint.h"

/* The caller frees *text. */
status state_text(const checkpoint_state *s, const tensor_table *table, const uint64_t *tensor_hash, uint64_t all, char **text);
/* tensor_hash has room for table->count. STATUS_INPUT: damaged, another version, or of a model with other tensors. */
status state_read(const char *path, const tensor_table *table, checkpoint_state *s, uint64_t *tensor_hash);

#endif
