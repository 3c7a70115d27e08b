#include "train/optimizer.h"

#include <stdlib.h>

#include "common/comm.h"
#include "model/device.h"
#include "model/state_hash.h"
#include "train/exchange.h"

/* What a device needs besides: the host's side of moments, a gradient kept back. */
static status create_device_part(optimizer *o)
{
    void *room;
    if (!o->be->device)
        return STATUS_OK;
    for (int i = 0; i < 2; i++)
        TRY(memory_new(&o->stage[i], (size_t)o->stripe * sizeof(float), "moments on the host"));
    if (o->be->type != TYPE_FLOAT16)
        return STATUS_OK;
    TRY(o->be->ops->allocate(o->be, (size_t)(o->end - o->first) * sizeof(float), "a gradient kept back", &room));
    o->kept = room;
    return STATUS_OK;
}

status optimizer_create(backend *be, const tensor_table *table, float *parameters, float *weights, int64_t stripe, optimizer **out)
{
    optimizer *o;
    void *room;
    *out = NULL;
    TRY(memory_new(&o, sizeof *o, "the optimizer"));
    *out = o;
    *o = (optimizer){.be = be,
                     .table = table,
                     .parameters = parameters,
                     .weights = weights,
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
    return create_device_part(o);
}

void optimizer_free(optimizer *o)
{
    if (!o)
        return;
    if (o->m)
        o->be->ops->release(o->be, o->m);
    if (o->v)
        o->be->ops->release(o->be, o->v);
    if (o->kept)
        o->be->ops->release(o->be, o->kept);
    free(o->stage[0]);
    free(o->stage[1]);
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
                          o->weights + at, &o->tensor_hash[range.tensor - o->table->tensors]);
    }
}

void optimizer_keep(optimizer *o, const reduce_slice *slice)
{
    float *to = o->kept + (slice->first - o->first);
    size_t bytes = (size_t)slice->count * sizeof *to;
    if (slice->gradient)
        o->be->device->copy(o->be, to, slice->gradient, bytes);
    else
        o->be->ops->zero(o->be, to, bytes);
}

status optimizer_overflowed(optimizer *o, bool *overflowed)
{
    int64_t found = 0;
    o->be->device->look_for_overflow(o->be, o->kept, o->end - o->first, &found);
    o->be->ops->wait(o->be);
    TRY(o->be->ops->check(o->be));
    *overflowed = comm_any(found > 0);
    return STATUS_OK;
}

void optimizer_update_kept(optimizer *o)
{
    if (o->end > o->first)
        optimizer_update(o, &(reduce_slice){.first = o->first, .count = o->end - o->first, .gradient = o->kept});
}

/* ---- the host's parameters and the back end's ---- */

static void own_to_host(optimizer *o)
{
    if (o->end > o->first)
        o->be->ops->download(o->be, o->parameters + o->first, o->weights + o->first, (size_t)(o->end - o->first) * sizeof(float));
    comm_shared_spread(o->parameters, o->bytes_first);
}

void optimizer_to_host(optimizer *o)
{
    if (o->behind)
        own_to_host(o);
    o->behind = false;
}

void optimizer_from_host(optimizer *o)
{
    if (!o->be->device)
        return;
    o->be->ops->upload(o->be, o->weights, o->parameters, (size_t)o->table->parameters * sizeof(float));
    o->be->ops->parameters_changed(o->be);
    o->behind = false;
}

/* Every rank's device gets what the others have updated. */
static void spread(optimizer *o)
{
    o->behind = o->be->device != NULL;
    if (!o->be->device) {
        comm_shared_spread(o->parameters, o->bytes_first);
    } else if (comm_size() > 1 && !exchange_spread(o->be, o->weights, o->bytes_first)) {
        optimizer_to_host(o);
        o->be->ops->upload(o->be, o->weights, o->parameters, (size_t)o->first * sizeof(float));
        o->be->ops->upload(o->be, o->weights + o->end, o->parameters + o->end, (size_t)(o->table->trainable - o->end) * sizeof(float));
    }
}

void optimizer_show_moments(optimizer *o, int64_t first, int64_t count, float **m, float **v)
{
    *m = o->m + (first - o->first);
    *v = o->v + (first - o->first);
    if (!o->be->device)
        return;
    o->be->ops->download(o->be, o->stage[0], *m, (size_t)count * sizeof(float));
    o->be->ops->download(o->be, o->stage[1], *v, (size_t)count * sizeof(float));
    *m = o->stage[0];
    *v = o->stage[1];
}

void optimizer_take_moments(optimizer *o, int64_t first, int64_t count)
{
    if (!o->be->device)
        return;
    o->be->ops->upload(o->be, o->m + (first - o->first), o->stage[0], (size_t)count * sizeof(float));
    o->be->ops->upload(o->be, o->v + (first - o->first), o->stage[1], (size_t)count * sizeof(float));
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

/* The error of a device is told before the ranks meet again: the others may wait for its messages, on their devices, and never come. */
status optimizer_end(optimizer *o)
{
    spread(o);
    o->be->ops->parameters_changed(o->be);
    o->be->ops->wait(o->be);
    TRY(o->be->ops->check(o->be));
    sum_hashes(o);
    return STATUS_OK;
}

uint64_t optimizer_hash_all(optimizer *o, threads *pool)
{
    clear_hashes(o, true);
    state_hash_add(o->table, o->parameters, o->first, o->end, o->tensor_hash, pool);
    state_hash_add(o->table, o->parameters, o->table->trainable, o->table->parameters, o->tensor_hash, pool);
    return sum_hashes(o);
}
