#include "train/exchange.h"

#include <assert.h>
#include <stdlib.h>

#include "common/comm.h"
#include "common/log.h"
#include "model/device.h"

typedef enum way { WAY_HOST, WAY_LINK, WAY_STAGED } way;

typedef struct message {
    float *p; /* memory of the back end */
    int64_t floats;
    int other, tag;
    bool in;
} message;

struct exchange {
    backend *be;
    way way;
    message *list; /* of the round at hand */
    int count, room;
    float *out, *in; /* WAY_STAGED: page-locked */
    int64_t out_room, in_room;
    comm_request *flight; /* WAY_HOST, WAY_STAGED */
};

static bool linked; /* the ranks' devices have links of their own */

bool exchange_is_linked(void)
{
    return linked;
}

status exchange_link(backend *be)
{
    unsigned char id[DEVICE_LINK_ID] = {0};
    if (!be->device || comm_size() == 1)
        return STATUS_OK;
    if (comm_any(!be->device->can_link(be))) {
        log_info("NCCL is not there for every rank: gradients travel through the host's memory");
        return STATUS_OK;
    }
    TRY(comm_agree(comm_rank() == 0 ? be->device->make_link_id(be, id) : STATUS_OK));
    comm_broadcast(id, sizeof id, 0);
    TRY(comm_agree(be->device->open_link(be, id, comm_rank(), comm_size())));
    linked = true;
    return STATUS_OK;
}

status exchange_create(backend *be, int messages, int64_t floats_out, int64_t floats_in, exchange **out)
{
    exchange *x;
    void *p;
    *out = NULL;
    TRY(memory_new(&x, sizeof *x, "messages of gradients"));
    *out = x;
    *x = (exchange){.be = be, .way = !be->device ? WAY_HOST : linked ? WAY_LINK : WAY_STAGED, .room = messages, .out_room = floats_out, .in_room = floats_in};
    TRY(memory_new(&x->list, (size_t)messages * sizeof *x->list, "messages of gradients"));
    if (x->way == WAY_LINK)
        return STATUS_OK;
    TRY(comm_requests_create(messages, &x->flight));
    if (x->way == WAY_HOST)
        return STATUS_OK;
    TRY(be->device->pin(be, (size_t)floats_out * sizeof(float), "gradients on their way out", &p));
    x->out = p;
    TRY(be->device->pin(be, (size_t)floats_in * sizeof(float), "gradients on their way in", &p));
    x->in = p;
    return STATUS_OK;
}

void exchange_free(exchange *x)
{
    if (!x)
        return;
    if (x->out)
        x->be->device->unpin(x->be, x->out);
    if (x->in)
        x->be->device->unpin(x->be, x->in);
    comm_requests_free(x->flight);
    free(x->list);
    free(x);
}

static void name_message(exchange *x, message m)
{
    assert(x->count < x->room);
    x->list[x->count++] = m;
}

void exchange_send(exchange *x, const float *p, int64_t floats, int to, int tag)
{
    name_message(x, (message){.p = (float *)p, .floats = floats, .other = to, .tag = tag});
}

void exchange_receive(exchange *x, float *p, int64_t floats, int from, int tag)
{
    name_message(x, (message){.p = p, .floats = floats, .other = from, .tag = tag, .in = true});
}

static void start_link(exchange *x)
{
    const device *d = x->be->device;
    d->link_begin(x->be);
    for (int i = 0; i < x->count; i++) {
        const message *m = &x->list[i];
        if (m->floats > 0 && m->in)
            d->link_receive(x->be, m->p, m->floats, m->other);
        else if (m->floats > 0)
            d->link_send(x->be, m->p, m->floats, m->other);
    }
    d->link_end(x->be);
    x->count = 0; /* the library has it all */
}

/* Page-locked memory of the last round may still be read by its upload: waiting for all copies covers that as well. */
static void stage(exchange *x)
{
    int64_t at = 0;
    for (int i = 0; i < x->count; i++) {
        const message *m = &x->list[i];
        if (m->in)
            continue;
        assert(at + m->floats <= x->out_room);
        x->be->device->start_download(x->be, x->out + at, m->p, (size_t)m->floats * sizeof(float));
        at += m->floats;
    }
    x->be->device->wait_copies(x->be);
}

static void start_messages(exchange *x)
{
    int64_t out = 0, in = 0;
    for (int i = 0; i < x->count; i++) {
        const message *m = &x->list[i];
        float *p = x->way == WAY_HOST ? m->p : m->in ? x->in + in : x->out + out;
        size_t bytes = (size_t)m->floats * sizeof(float);
        if (m->in)
            comm_start_receive(x->flight, p, bytes, m->other, m->tag);
        else
            comm_start_send(x->flight, p, bytes, m->other, m->tag);
        *(m->in ? &in : &out) += m->floats;
    }
    assert(x->way == WAY_HOST || in <= x->in_room);
}

void exchange_start(exchange *x)
{
    if (x->way == WAY_LINK) {
        start_link(x);
        return;
    }
    if (x->way == WAY_STAGED)
        stage(x);
    start_messages(x);
}

void exchange_wait(exchange *x)
{
    int64_t in = 0;
    if (x->way == WAY_LINK)
        x->be->device->link_wait(x->be);
    else
        comm_wait_all(x->flight);
    for (int i = 0; i < x->count && x->way == WAY_STAGED; i++) {
        const message *m = &x->list[i];
        if (!m->in)
            continue;
        x->be->device->start_upload(x->be, m->p, x->in + in, (size_t)m->floats * sizeof(float));
        in += m->floats;
    }
    x->count = 0;
}

void exchange_sum_any_order(backend *be, float *p, int64_t floats)
{
    enum { STAGE = 1 << 20 };
    if (!be->device) {
        comm_sum_float_any_order(p, (size_t)floats);
        return;
    }
    if (linked) {
        be->device->link_sum(be, p, floats);
        be->device->link_wait(be);
        return;
    }
    static float stage_room[STAGE]; /* of the process: the host's own, so that the copies wait */
    for (int64_t at = 0; at < floats; at += STAGE) {
        int64_t n = floats - at < STAGE ? floats - at : STAGE;
        be->ops->download(be, stage_room, p + at, (size_t)n * sizeof(float));
        comm_sum_float_any_order(stage_room, (size_t)n);
        be->ops->upload(be, p + at, stage_room, (size_t)n * sizeof(float));
    }
}

bool exchange_spread(backend *be, float *p, const size_t *first)
{
    int rank = comm_rank();
    if (!linked)
        return false;
    be->device->link_begin(be);
    for (int r = 0; r < comm_size(); r++) {
        int64_t at = (int64_t)(first[r] / sizeof(float)), n = (int64_t)(first[r + 1] / sizeof(float)) - at,
                mine = (int64_t)(first[rank] / sizeof(float)), own = (int64_t)(first[rank + 1] / sizeof(float)) - mine;
        if (r == rank)
            continue;
        if (own > 0)
            be->device->link_send(be, p + mine, own, r);
        if (n > 0)
            be->device->link_receive(be, p + at, n, r);
    }
    be->device->link_end(be);
    be->device->link_wait(be);
    return true;
}
