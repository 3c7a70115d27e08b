/* The gradient sums of the lanes that one rank runs: a stack that folds as the fixed tree over lanes does (common/tree.h).
 *
 *     sums *s; TRY(sums_create(be, table, first_lane, end_lane, lane_tokens, &s));
 *     sums_begin(s);
 *     for each lane: gradient *g = sums_next(s); ... gradient_begin, bert_backward into g, before the last time sums_last(s) ...; sums_fold(s, loss);
 *     for (int i = 0; i < s->pieces; i++) send(s->slot[i], s->loss[i]);
 *     sums_free(s);
 *
 * After the last lane, slot i holds piece i of tree_pieces(first, end): a whole aligned subtree. Word rows are merged by id; a row that one side
 * lacks is taken as it is, not added to zero. Local; nothing is allocated after create.
 */
#ifndef FRETSAW_TRAIN_SUMS_H
#define FRETSAW_TRAIN_SUMS_H

#include "common/tree.h"
#include "model/gradient.h"

typedef struct sums {
    int pieces; /* slots in use */
    gradient *slot[TREE_DEPTH];
    double loss[TREE_DEPTH]; /* sums over the same lanes, by the same tree */
    /* Private: */
    tree order;
    backend *be;
    int64_t first_lane;
    int64_t dense_done; /* of the lane at hand: from this index on sums_fold_dense has been */
    int room;           /* slots that exist */
} sums;

/* `lane_tokens` is the most tokens a lane may have. Errors: STATUS_RESOURCE. */
status sums_create(backend *be, const tensor_table *table, int64_t first_lane, int64_t end_lane, int64_t lane_tokens, sums **out);
void sums_free(sums *s);
/* Bytes that sums_create takes. */
size_t sums_bytes(const tensor_table *table, int64_t first_lane, int64_t end_lane, int64_t lane_tokens);
/* The most lanes that each slot comes to hold, by running the tree without numbers. Returns how many slots there are. */
int sums_slot_lanes(int64_t first, int64_t end, int64_t most[TREE_DEPTH]);
/* How many slots only lanes come into that are folded at once: where sums_last folds them, and each is one micro-batch that the back end's products take in
 * one piece, the layers' weights in these are never touched. */
int sums_untouched(int64_t first, int64_t end);
void sums_begin(sums *s);
/* Where the next lane's gradient goes; the caller begins it. */
gradient *sums_next(sums *s);
/* The lane at hand, whose dense gradient is complete from index `first` on: adds there what sums_fold would, which then leaves it out. Calls for one
 * lane come with descending `first`. */
void sums_fold_dense(sums *s, int64_t first);
/* The lane's last micro-batch is next: where the back end can, its way back adds the layers' weights to the sums that sums_fold would add them to, which
 * then leaves them out. Not with sums_fold_dense. */
void sums_last(sums *s);
/* The lane is complete: its loss, and all pairs that are complete now. */
void sums_fold(sums *s, double loss);

/* older += newer over the word rows of two gradients, ids ascending in both and in the result. */
void sums_add_rows(gradient *older, const gradient *newer);

#endif
