#include "shard/order.h"

#include "common/rng.h"

status order_make(const shard_options *o, int64_t kept, row_order *out)
{
    *out = (row_order){.shuffles = o->shuffle == SHUFFLE_YES, .chosen = o->sample > 0 && o->sample < kept ? o->sample : kept,
                       .permutation = permutation_make(kept, (uint64_t)o->seed, RNG_SHARD_ORDER, 0)};
    return permutation_remember(&out->permutation);
}

void order_positions(const row_order *r, int64_t first, int64_t count, int64_t *position)
{
    if (r->shuffles)
        permutation_find_range(&r->permutation, first, count, position);
    else
        for (int64_t i = 0; i < count; i++)
            position[i] = first + i;
}

void order_forget(row_order *r)
{
    permutation_forget(&r->permutation);
}
