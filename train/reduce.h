/* Brings the lanes' sums of all ranks together: every rank owns whole stripes of the parameters, receives the pieces of its own stripes and folds
 * them in the order of the tree over lanes. The result is handed on window by window, so that memory is bounded and the optimizer runs on it at once.
 *
 *     reduce *r; TRY(reduce_create(be, table, lanes, lane_tokens, REDUCE_STRIPE, &r));
 *     reduce_begin(r, sums);
 *     for (reduce_slice one; reduce_next(r, &one);) update(one.first, one.count, one.gradient);
 *     reduce_free(r);
 *
 * Stripes are `stripe` parameters long in table order, over the trainable ones; rank r owns stripes floor(r S / ranks) up to floor((r+1) S / ranks).
 * Dense parts travel straight out of the gradients; word rows as the run of whole or cut rows that meets a window. One rank folds the same pieces
 * in the same order, without messages. Gradients given to reduce_begin are used up: parts of them hold partial sums afterwards.
 * Nothing is allocated after create.
 *
 * Over links between devices dense parts need not wait for the last lane's end: as its way back leaves a layer behind, reduce_early sends that layer to
 * its owners, behind what the device computes meanwhile. The same sums in the same order, so the same bits.
 *
 * REDUCE_FAST is the measuring rod for what this costs: dense parts by the library's own summing collective, whose order is nobody's promise, so bits
 * depend on the ranks. Word rows travel as before.
 */
#ifndef FRETSAW_TRAIN_REDUCE_H
#define FRETSAW_TRAIN_REDUCE_H

#include <stdbool.h>
#include <stdint.h>

#include "train/sums.h"

enum { REDUCE_STRIPE = 1 << 22, REDUCE_WINDOW = 1 << 20 };

typedef enum reduce_kind { REDUCE_EXACT, REDUCE_FAST } reduce_kind;

typedef struct reduce reduce;

/* Part of a gradient of the whole job, over parameters [first, first + count) of this rank's own. */
typedef struct reduce_slice {
    int64_t first, count;
    const float *gradient; /* count floats, valid until the next call; NULL: all zero */
} reduce_slice;

/* Collective in the sense that all ranks give the same values. Errors: STATUS_RESOURCE. */
status reduce_create(backend *be, const tensor_table *table, int64_t lanes, int64_t lane_tokens, int64_t stripe, reduce_kind kind, reduce **out);
void reduce_free(reduce *r);
/* Bytes that reduce_create takes on this rank. */
size_t reduce_bytes(const tensor_table *table, int64_t lanes, int64_t lane_tokens, int64_t stripe);
/* Of the device, and besides, where there are links. */
size_t reduce_early_bytes(const tensor_table *table, int64_t lanes, int64_t stripe);

/* Whether reduce_early may be called: links and REDUCE_EXACT. */
bool reduce_is_early(const reduce *r);
/* Dense gradients from index `first` on are complete in all of this rank's pieces, its last lane being at hand (sums_fold_dense has been called): they
 * set out. All ranks call with the same falling values, the last one 0, or none does; before reduce_begin. Waits for nothing. */
void reduce_early(reduce *r, sums *mine, int64_t first);

/* Collective. `mine` has the pieces of this rank's lanes. All ranks are past their lanes (nobody reads parameters of this step any more). */
void reduce_begin(reduce *r, sums *mine);
/* Collective: every rank calls until it gets false. The slices cover this rank's parameters in ascending order. */
bool reduce_next(reduce *r, reduce_slice *slice);

/* Stripes: how many, and the first one of a rank. Local. */
int64_t reduce_stripes(const tensor_table *table, int64_t stripe);
int64_t reduce_first_stripe(int64_t rank, int64_t ranks, int64_t stripes);
/* First parameter of rank r; rank `ranks` gives the end. */
int64_t reduce_first_parameter(const tensor_table *table, int64_t stripe, int64_t rank, int64_t ranks);

#endif
