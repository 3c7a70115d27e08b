/* --plan: what a run needs, without running it.
 *
 *     TRY(plan_print(&t));         // collective, after trainer_open; rank 0 prints on stdout
 *
 * Memory of the rank that needs most, and what each node needs once; disk; arithmetic; steps; hours here and on known cards (train/machines.h).
 */
#ifndef FRETSAW_TRAIN_PLAN_H
#define FRETSAW_TRAIN_PLAN_H

#include "train/traffic.h"

typedef struct plan_memory {
    int64_t gradients, activations, optimizer, exchange, kernels, program; /* bytes of this rank */
    int64_t rank;                                                          /* their sum */
    int64_t parameters;                                                    /* bytes once a node */
    int64_t tokens;                                                        /* the data sets, once a node */
    int64_t weights;                                                       /* parameters on the device, in the type too */
    int64_t device;                                                        /* bytes on this rank's device; 0 on the CPU */
} plan_memory;

/* Local. */
void plan_count_memory(const trainer *t, const traffic *moved, plan_memory *m);
/* Floating-point operations of an epoch, forward and backward, a multiplication and an addition being two. */
double plan_count_work(const trainer *t);
status plan_print(const trainer *t);
/* The most memory that a rank really took, into the log: private, without what is counted once a node; and the bytes that the first step moved. Collective, at the end of a run. */
void plan_report_peak(const trainer *t);

#endif
