#include "train/optimizer.h"

#include <stdlib.h>

#include "common/comm.h"
#include "model/state_hash.h"

status optimizer_create(backend *be, const tensor_table *table, float *parameters, int64_t stripe, optimizer **out)
{
    optimizer *o;
    void *room;
    *out = NULL;
    TRY(memory_new(&o, sizeof *o, "the optimizer"));
    *out = o;
    *o = (optimizer){.be = be,
                     .table = table,
                     .parameters = parameters,
                     .stripe = stripe,
                     .first = reduce_first_parameter(table, stripe, comm_rank(), comm_size()),
                     .end = reduce_first_parameter(table, stripe, comm_rank() + 1, comm_size())};
    TRY(be->ops->allocate(be, (size_t)(o->end - o->first) * sizeof(float), "the optimizer's first moments", &room));
    o->m = room;
    TRY(be->ops->allocate(be, (size_t)(o->end - o->first) * sizeof(float), "the optimizer's second moments", &room));
    o->v = room;
    TRY(memory_new(&o->tensor_hash, (size_t)table->count * sizeof *o->tensor_hash, "state hashes"));
    TRY(memory_new(&o->bytes_first, ((size_t)comm_size() + 1) * sizeof *o->bytes_first, "the optimizer"));
    for (int r = 0; r <= comm_size(); r++)
        o->bytes_first[r] = (size_t)reduce_first_parameter(table, stripe, r, comm_size()) * sizeof(float);
    return STATUS_OK;
}

void optimizer_free(optimizer *o)
{
    if (!o)
        return;
    if (o->m)
        o->be->ops->release(o->be, o->m);
    if (o->v)
        o->be->ops->release(o->be, o->v);
    free(o->tensor_hash);
    free(o->bytes_first);
    free(o);
}

size_t optimizer_bytes(const tensor_table *table, int64_t stripe)
{
    int64_t first = reduce_first_parameter(table, stripe, comm_rank(), comm_size()),
            end = reduce_first_parameter(table, stripe, comm_rank() + 1, comm_size());
    return (size_t)(end - first) * 2 * sizeof(float);
}

/* Frozen tensors come last and never change: their hashes stay. */
static void clear_hashes(optimizer *o, bool frozen_too)
{
    for (int t = 0; t < o->table->count; t++)
        if (frozen_too || !o->table->tensors[t].frozen)
            o->tensor_hash[t] = 0;
}

void optimizer_begin(optimizer *o, const adamw_step *scalars)
{
    o->scalars = *scalars;
    clear_hashes(o, false);
}

void optimizer_update(optimizer *o, const reduce_slice *slice)
{
    tensor_range range;
    for (int64_t at = slice->first; tensor_table_range(o->table, at, slice->first + slice->count, &range); at += range.count) {
        const float *grad = slice->gradient ? slice->gradient + (at - slice->first) : NULL;
        o->be->ops->adamw(o->be, range.count, at, &o->scalars, range.tensor->decay, grad, o->m + (at - o->first), o->v + (at - o->first),
                          o->parameters + at, &o->tensor_hash[range.tensor - o->table->tensors]);
    }
}

/* Sums the trainable tensors' hashes over the ranks; those of frozen ones are known to all. */
static uint64_t sum_hashes(optimizer *o)
{
    size_t trainable = 0;
    while (trainable < (size_t)o->table->count && !o->table->tensors[trainable].frozen)
        trainable++;
    comm_sum_uint64(o->tensor_hash, trainable);
    o->state = state_hash_all(o->table, o->tensor_hash);
    return o->state;
}

uint64_t optimizer_end(optimizer *o)
{
    comm_shared_spread(o->parameters, o->bytes_first);
    o->be->ops->parameters_changed(o->be);
    return sum_hashes(o);
}

uint64_t optimizer_hash_all(optimizer *o, threads *pool)
{
    clear_hashes(o, true);
    state_hash_add(o->table, o->parameters, o->first, o->end, o->tensor_hash, pool);
    state_hash_add(o->table, o->parameters, o->table->trainable, o->table->parameters, o->tensor_hash, pool);
    return sum_hashes(o);
}
