/* A micro-batch of rows laid end to end, without padding: what every operation of a back end reads.
 *
 *     batch b;                                              // plain struct, arrays owned by a batch_builder (batch.c)
 *     batch_builder_create(max_tokens, max_rows, outputs, &builder);
 *     batch_builder_begin(builder, epoch); batch_builder_add(builder, ids, n, sample, labels); ...
 *     bert_forward(model, batch_builder_view(builder));
 *
 * Letters: B rows, T tokens in all ([CLS], [SEP] and, with padded pooling, the padding among them), C outputs.
 */
#ifndef FRETSAW_MODEL_BATCH_H
#define FRETSAW_MODEL_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"

typedef struct batch {
    int64_t rows;            /* B */
    int64_t tokens;          /* T = offset[B] */
    int64_t longest;         /* most tokens in one row */
    uint32_t epoch;          /* for the dropout counter */
    const int32_t *id;       /* T, vocabulary ids */
    const int32_t *place;    /* T, the token's index in its row: position embedding and dropout */
    const int64_t *offset;   /* B+1, first token of each row */
    const int32_t *keys;     /* B, how many of the row's first tokens attention may look at: its length, or less with padded pooling */
    const uint64_t *sample;  /* B, index in the epoch's order: keys the dropout */
    const float *label;      /* B x C, or NULL in inference */
} batch;

typedef struct batch_builder batch_builder;

/* Local. Room for `max_tokens` tokens in at most `max_rows` rows with `outputs` labels each. Errors: STATUS_RESOURCE. */
status batch_builder_create(int64_t max_tokens, int64_t max_rows, int outputs, batch_builder **out);
void batch_builder_free(batch_builder *b);
/* Empties it for the rows of `epoch`. */
void batch_builder_begin(batch_builder *b, uint32_t epoch);
/* True when a row of `tokens` more tokens still fits. */
bool batch_builder_fits(const batch_builder *b, int64_t tokens);
/* Appends a row: `ids` has n entries, [CLS] and [SEP] included; `padded` >= n adds id `pad` up to that length, or 0 for none.
 * `labels` has C entries or is NULL (then the view's label is NULL). The caller has asked batch_builder_fits. */
void batch_builder_add(batch_builder *b, const int32_t *ids, int64_t n, int64_t padded, int32_t pad, uint64_t sample, const float *labels);
/* The batch so far; valid until the next begin or free. */
const batch *batch_builder_view(batch_builder *b);

#endif
