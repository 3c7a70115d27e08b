/* AdamW over the stripes of parameters that this rank owns, and the state hash of every tensor.
 *
 *     optimizer *o; TRY(optimizer_create(be, table, parameters, weights, REDUCE_STRIPE, &o));
 *     optimizer_begin(o, &scalars);
 *     for (reduce_slice one; reduce_next(r, &one);) optimizer_update(o, &one);
 *     TRY(optimizer_end(o));                              // collective: every node has the new parameters
 *     optimizer_free(o);
 *
 * m and v exist once in the job, shared out by stripes. Every trainable parameter moves in every step, with a gradient or without; frozen ones never.
 * The parameters lie in the host's memory, where they are loaded and saved, and in the back end's, where they are computed with. On the CPU the two are
 * one. On a device the host's are behind after a step until optimizer_to_host.
 */
#ifndef FRETSAW_TRAIN_OPTIMIZER_H
#define FRETSAW_TRAIN_OPTIMIZER_H

#include <stdbool.h>
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
    float *parameters; /* the host's */
    float *weights;    /* the back end's */
    bool behind;       /* the host's are older */
    float *stage[2];   /* device: moments of a stripe on the host */
    float *kept;       /* float16: own gradient, until it is known that none overflowed */
    adamw_step scalars;
    size_t *bytes_first; /* ranks + 1: where each rank's parameters begin */
} optimizer;

/* `parameters` is the whole arena, shared by the ranks of a node (common/comm.h); `weights` is as large, in memory of the back end, or the same.
 * Errors: STATUS_RESOURCE. */
status optimizer_create(backend *be, const tensor_table *table, float *parameters, float *weights, int64_t stripe, optimizer **out);
void optimizer_free(optimizer *o);
/* Bytes of m and v on this rank, in the back end's memory. */
size_t optimizer_bytes(const tensor_table *table, int64_t stripe);

void optimizer_begin(optimizer *o, const adamw_step *scalars);  /* local */
void optimizer_update(optimizer *o, const reduce_slice *slice); /* local */
/* Collective: state and hashes of the new parameters. Errors, of this rank alone: STATUS_RESOURCE, a device or the way to another is lost. */
status optimizer_end(optimizer *o);
/* float16: keeps the gradient of a slice instead of updating with it; then whether any rank has met an overflow (collective, errors as above); then,
 * where none has, the update with all that was kept. */
void optimizer_keep(optimizer *o, const reduce_slice *slice);
status optimizer_overflowed(optimizer *o, bool *overflowed);
void optimizer_update_kept(optimizer *o);

/* Collective. The host's parameters are those of the back end, on every node. */
void optimizer_to_host(optimizer *o);
/* The host's parameters have been loaded: the back end takes them. Local. */
void optimizer_from_host(optimizer *o);
/* Moments of the own parameters [first, first + count), count at most a stripe, as memory of the host: valid until the next call. Where they were
 * changed there, optimizer_take_moments brings them back. Local. */
void optimizer_show_moments(optimizer *o, int64_t first, int64_t count, float **m, float **v);
void optimizer_take_moments(optimizer *o, int64_t first, int64_t count);

/* Hashes of the host's parameters as they are, without an update; `pool` shares the work. Collective. Returns the state. */
uint64_t optimizer_hash_all(optimizer *o, threads *pool);

#endif
