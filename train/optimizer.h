/* AdamW over the stripes of parameters that this rank owns, and the state hash of every tensor.
 *
 *     optimizer *o; TRY(optimizer_create(be, table, parameters, REDUCE_STRIPE, &o));
 *     optimizer_begin(o, &scalars);
 *     for (reduce_slice one; reduce_next(r, &one);) optimizer_update(o, &one);
 *     uint64_t state = optimizer_end(o);                  // collective: every node has the new parameters
 *     optimizer_free(o);
 *
 * m and v exist once in the job, shared out by stripes. Every trainable parameter moves in every step, with a gradient or without; frozen ones never.
 */
#ifndef FRETSAW_TRAIN_OPTIMIZER_H
#define FRETSAW_TRAIN_OPTIMIZER_H

#include <stdint.h>

#include "common/threads.h"
#include "model/tensors.h"
#include "train/reduce.h"

typedef struct optimizer {
    int64_t first, end; /* own parameters */
    int64_t stripe;
    float *m, *v;          /* end - first floats each */
    uint64_t *tensor_hash; /* table->count: of the whole tensors, after optimizer_end or optimizer_hash_all */
    uint64_t state;        /* all tensor hashes in one */
    /* Private: */
    backend *be;
    const tensor_table *table;
    float *parameters;
    adamw_step scalars;
    size_t *bytes_first; /* ranks + 1: where each rank's parameters begin */
} optimizer;

/* `parameters` is the whole arena, shared by the ranks of a node (common/comm.h). Errors: STATUS_RESOURCE. */
status optimizer_create(backend *be, const tensor_table *table, float *parameters, int64_t stripe, optimizer **out);
void optimizer_free(optimizer *o);
/* Bytes of m and v on this rank. */
size_t optimizer_bytes(const tensor_table *table, int64_t stripe);

void optimizer_begin(optimizer *o, const adamw_step *scalars);  /* local */
void optimizer_update(optimizer *o, const reduce_slice *slice); /* local */
uint64_t optimizer_end(optimizer *o);                           /* collective */
/* Hashes of the parameters as they are, without an update; `pool` shares the work. Collective. Returns the state. */
uint64_t optimizer_hash_all(optimizer *o, threads *pool);

#endif
