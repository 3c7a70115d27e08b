/* Deals the rows of a global batch to lanes, and cuts a lane's rows into micro-batches.
 *
 *     deal *d; TRY(deal_create(DEAL_BALANCED, lanes, batch, &d));
 *     const int32_t *slot = deal_rows(d, length);             // slot[lane * batch + i]: index into the global batch, ascending within a lane
 *     int64_t end = deal_micro_end(length, slot + lane * batch, batch, from, max_tokens, padded);
 *     deal_free(d);
 *
 * A function of the lengths alone: the same on every rank. All local; nothing is allocated after create.
 */
#ifndef FRETSAW_TRAIN_DEAL_H
#define FRETSAW_TRAIN_DEAL_H

#include <stdint.h>

#include "common/status.h"

/* Balanced: longest rows first, each to the lane with the fewest tokens that has room, ties to the lowest lane.
 * Strided: slot mod lanes, as DistributedSampler deals. */
typedef enum deal_kind { DEAL_BALANCED, DEAL_STRIDED } deal_kind;

typedef struct deal deal;

status deal_create(deal_kind kind, int64_t lanes, int64_t batch, deal **out);
void deal_free(deal *d);
/* `length` has lanes * batch entries: tokens of each row of the global batch after truncation, [CLS] and [SEP] included. The result is valid until
 * the next call. */
const int32_t *deal_rows(deal *d, const int32_t *length);

/* End of the micro-batch that begins at `from`: the longest run slots[from .. end) with at most max_tokens tokens. `padded` > 0 counts every row
 * as that long. max_tokens is at least the longest row, so that end > from. */
int64_t deal_micro_end(const int32_t *length, const int32_t *slots, int64_t count, int64_t from, int64_t max_tokens, int64_t padded);

/* The smallest limit that cuts the lane into no more micro-batches than max_tokens does, so that they are nearly equal: the fewer a product's rows, the
 * more of it is overhead. For back ends on which the cut changes no bit. */
int64_t deal_micro_even(const int32_t *length, const int32_t *slots, int64_t count, int64_t max_tokens, int64_t padded);

/* First lane of rank r of `ranks`: floor(r lanes / ranks). Rank r runs lanes deal_first_lane(r) up to deal_first_lane(r + 1). */
int64_t deal_first_lane(int64_t rank, int64_t ranks, int64_t lanes);

#endif
