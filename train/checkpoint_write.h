/* The files of one checkpoint that a rank writes: its stripes of optimizer state and, on the first rank, the model.
 *
 *     TRY(checkpoint_write_files(&place, ".step-000812.tmp", optimizer, comm_rank() == 0, &state));    // state.file: hashes of the model's files
 *
 * Several files are written at once, and the disk works while the next ones are hashed and copied: the stall is about what the disk alone takes.
 * Local.
 */
#ifndef FRETSAW_TRAIN_CHECKPOINT_WRITE_H
#define FRETSAW_TRAIN_CHECKPOINT_WRITE_H

#include "train/checkpoint.h"

/* On success all files are on the disk, and so are their names in `folder`, which the caller renames. STATUS_IO: some may be there, for the caller to
 * remove. state->step is the checkpoint's. */
status checkpoint_write_files(const checkpoint_place *place, const char *folder, optimizer *o, bool model_too, checkpoint_state *state);

#endif
