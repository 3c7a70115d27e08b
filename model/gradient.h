/* A lane's gradient: a dense arena for all trainable tensors but the word table, and the word table's rows that the lane touched.
 *
 *     gradient *g;
 *     TRY(gradient_create(be, table, lane_tokens, &g));
 *     gradient_begin(g, ids, n);                       // all token ids of the lane, over its micro-batches
 *     ... bert_backward(model, batch, g) for each micro-batch ...
 *     for (int64_t i = 0; i < g->count; i++) use(g->ids[i], g->rows + i * H);
 *
 * The sparse table is keyed by token id, ascending, and set up for the whole lane before its first micro-batch, so that the
 * sums over a lane's tokens run on through micro-batches and don't depend on how the lane is cut. [PAD] has no row. Local.
 *
 * Where the back end has linear_fold_weight, the layers' weights, nearly all of the dense part, are not zeroed: the lane's first micro-batch overwrites
 * them. And with `folds` set before its last micro-batch, they join sums of lanes as they are made and are not kept in this gradient at all.
 */
#ifndef FRETSAW_MODEL_GRADIENT_H
#define FRETSAW_MODEL_GRADIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "common/tree.h"
#include "model/backend.h"
#include "model/tensors.h"

typedef struct gradient {
    float *dense; /* table->dense floats, memory of the back end; tensor t at t->gradient */
    float *rows;  /* capacity x H, memory of the back end; row i belongs to ids[i] */
    int32_t *ids; /* host; `count` ids, ascending */
    int64_t count, capacity, hidden, dense_count;
    bool begun; /* a micro-batch has been added since gradient_begin: bert_backward says so */
    int folds;  /* for the lane's last micro-batch: dense parts that the layers' weights join, the newest first (0: none) */
    float *fold[TREE_DEPTH];
    /* Private: */
    backend *be;
    const tensor_table *table; /* borrowed */
    int32_t *slot;    /* V: the row of an id, -1 without one */
    uint64_t *marked; /* V bits */
    int64_t vocabulary, pad_id;
} gradient;

/* Room for a lane of at most `lane_tokens` tokens. Errors: STATUS_RESOURCE. */
status gradient_create(backend *be, const tensor_table *table, int64_t lane_tokens, gradient **out);
void gradient_free(gradient *g);
/* Bytes of the back end and of the host that gradient_create takes, together. */
size_t gradient_bytes(const tensor_table *table, int64_t lane_tokens);
/* Zeroes the dense part (see above) and the rows, and sets up one row for each different id of the n given but [PAD]. Ids are below V. Returns the floats
 * that were zeroed. */
int64_t gradient_begin(gradient *g, const int32_t *ids, int64_t n);
/* to += from over the dense part without the layers' weights: what is left to add when these have been folded. */
void gradient_add_rest(gradient *to, const gradient *from);
/* Bytes of the pages, of `page` bytes, that hold layers' weights alone: what a gradient whose weights are always folded never touches. */
int64_t gradient_folded_bytes(const tensor_table *table, int64_t page);
/* The row of an id in this lane, or -1. */
int32_t gradient_slot(const gradient *g, int32_t id);

#endif
