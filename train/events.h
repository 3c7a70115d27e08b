/* The run's curves for TensorBoard: one event file, RUN/tensorboard/events.out.tfevents.0000000000.fretsaw, written while training goes on.
 *
 *     events *e; TRY(events_open("runs/one", step, &e));              // rank 0 only; a resumed run: what came after `step` is cut off
 *     TRY(events_step(e, &(events_scalars){.step = 1, .loss = 0.69, .lr = 3e-5, .rows_per_second = 512}));
 *     TRY(events_epoch(e, 812, 0.31, 0.94));
 *     events_close(e);
 *
 * Tags: train/loss, train/learning_rate, train/rows_per_second, valid/loss, valid/auc. Each step's record has the same length in every run of a
 * recipe (only wall times and rates differ), so a reader that follows the file while a run is resumed stays on record borders. Local.
 */
#ifndef FRETSAW_TRAIN_EVENTS_H
#define FRETSAW_TRAIN_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

typedef struct events events;

typedef struct events_scalars {
    int64_t step; /* from 1 */
    double loss, lr, rows_per_second;
} events_scalars;

/* Keeps the records of steps up to `step` and the validations before it (the epoch that ends at `step` is validated again); the rest, and a record
 * that is cut or damaged with all behind it, goes. STATUS_IO names the file. */
status events_open(const char *folder, int64_t step, events **out);
void events_close(events *e); /* NULL is fine */
status events_step(events *e, const events_scalars *s);
/* A NaN (no labelled rows; one class) is left out. */
status events_epoch(events *e, int64_t step, double loss, double auc);

/* CRC-32C (Castagnoli) of the bytes, as a record's checksum has it: rotated right by 15 and moved by a constant. */
uint32_t events_masked_crc(const void *p, size_t n);

#endif
