/* Whether the disk has room for what a run will write, before hours are spent on it.
 *
 *     TRY(room_check_start(&t));       // a run without a checkpoint, before anything is written
 *     TRY(room_check(&t));             // a run that goes on, once the checkpoints that do not stay are gone
 *
 * Collective. No room for the next checkpoint is STATUS_IO; maybe too little for later ones is a warning; a file system that says nothing of use
 * is believed to have room.
 */
#ifndef FRETSAW_TRAIN_ROOM_H
#define FRETSAW_TRAIN_ROOM_H

#include "train/trainer.h"

/* Nothing, where there are checkpoints. */
status room_check_start(const trainer *t);
status room_check(const trainer *t);

#endif
