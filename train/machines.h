/* How long a training would take: on this machine, by products of the network's own shape done for a moment, and on graphics cards, by their
 * makers' figures. For --plan.
 *
 *     double speed; TRY(machines_measure(&(machines_product){.tokens = 2048, .inputs = 768, .outputs = 3072}, isa, threads, &speed));
 *     machines_print(work, speed, &need);      // rank 0, on stdout
 */
#ifndef FRETSAW_TRAIN_MACHINES_H
#define FRETSAW_TRAIN_MACHINES_H

#include <stdint.h>

#include "model/cpu/isa.h"

typedef struct machines_product {
    int64_t tokens, inputs, outputs;
} machines_product;

/* Collective: all ranks compute at once, as in training. *speed is the sum of their floating-point operations a second, a multiplication and an
 * addition being two. Takes less than a second. STATUS_RESOURCE. */
status machines_measure(const machines_product *shape, cpu_isa isa, int64_t threads, double *speed);
/* Local. `work` in operations; card_bytes: the memory that a card needs. */
void machines_print(double work, double speed, double card_bytes);

#endif
