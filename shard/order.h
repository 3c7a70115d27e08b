/* The final order of the rows: where each kept one goes, and how many are chosen.
 *
 *     row_order order;
 *     TRY(comm_agree(order_make(o, kept, &order)));
 *     order_positions(&order, first, count, position);      // of the kept rows first .. first + count - 1
 *     order_forget(&order);
 *
 * Local.
 */
#ifndef FRETSAW_SHARD_ORDER_H
#define FRETSAW_SHARD_ORDER_H

#include "common/permutation.h"
#include "shard/shard.h"

enum { ORDER_AT_ONCE = 1024 }; /* positions that are well asked for together */

typedef struct row_order {
    bool shuffles;
    int64_t chosen; /* rows whose position is below it go to shards */
    permutation permutation;
} row_order;

/* By the seed, --shuffle and --sample of *o. Error: STATUS_RESOURCE. */
status order_make(const shard_options *o, int64_t kept, row_order *out);
void order_positions(const row_order *r, int64_t first, int64_t count, int64_t *position);
void order_forget(row_order *r); /* fine on a zeroed one */

#endif
