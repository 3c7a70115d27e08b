#include "model/bert.h"

#include <assert.h>
#include <stdlib.h>

#include "model/bert_internal.h"

/* Hands out pieces of one block. With a NULL block it only counts, so the size and the pointers can't disagree. */
typedef struct carver {
    char *block;
    size_t used;
    backend_type type;
    /* For bert_memory_touched: */
    double part;               /* of each piece that is written */
    size_t page, touched, end; /* bytes of a page; of pages written so far; where the last of them ends */
} carver;

static void touch(carver *c, size_t bytes)
{
    size_t first = c->used / c->page * c->page, end = c->used + (size_t)((double)bytes * c->part);
    end = (end + c->page - 1) / c->page * c->page;
    first = first > c->end ? first : c->end;
    if (end > first) {
        c->touched += end - first;
        c->end = end;
    }
}

static void *carve_bytes(carver *c, size_t bytes)
{
    void *p = c->block ? c->block + c->used : NULL;
    if (c->page)
        touch(c, bytes);
    c->used += (bytes + 63) / 64 * 64;
    return p;
}

static void *carve(carver *c, int64_t floats)
{
    return carve_bytes(c, (size_t)floats * sizeof(float));
}

/* Elements of the back end's type. */
static void *carve_activations(carver *c, int64_t elements)
{
    return carve_bytes(c, (size_t)elements * backend_type_bytes(c->type));
}

static void carve_layer(carver *c, bert_layer *y, int64_t T, const model_config *m, bert_mode mode)
{
    const int64_t H = m->hidden, F = m->feed_forward, N = m->heads;
    y->q = carve_activations(c, T * H);
    y->k = carve_activations(c, T * H);
    y->v = carve_activations(c, T * H);
    y->attended = carve_activations(c, T * H);
    y->row_max = carve(c, T * N);
    y->row_sum = carve(c, T * N);
    y->z1 = carve_activations(c, T * H);
    y->act = carve_activations(c, T * F);
    if (mode == BERT_TRAINING) {
        y->sum1 = carve_activations(c, T * H);
        y->mean1 = carve(c, T);
        y->rstd1 = carve(c, T);
        y->pre = carve_activations(c, T * F);
        y->sum2 = carve_activations(c, T * H);
        y->mean2 = carve(c, T);
        y->rstd2 = carve(c, T);
        y->z2 = carve_activations(c, T * H);
    }
}

/* While scoring, one set of buffers serves every layer: sums and statistics are the embedding's own, which are free by then, and
 * the output replaces the input, which nothing needs once the first sum is made. */
static void share_layer(const bert *net, bert_layer *y)
{
    y->sum1 = y->sum2 = net->sum0;
    y->mean1 = y->mean2 = net->mean0;
    y->rstd1 = y->rstd2 = net->rstd0;
    y->z2 = net->z0;
}

static size_t carve_pieces(bert *net, carver *c)
{
    const model_config *m = &net->table->config;
    const int64_t T = net->limits.tokens, B = net->limits.rows, H = m->hidden, C = net->table->outputs;
    net->sum0 = carve_activations(c, T * H);
    net->mean0 = carve(c, T);
    net->rstd0 = carve(c, T);
    net->z0 = carve_activations(c, T * H);
    net->branch = carve_activations(c, T * H);
    net->pooled = carve(c, B * 2 * H);
    net->dropped = carve(c, B * 2 * H);
    net->logits = carve(c, B * C);
    net->probability = carve(c, B * C);
    net->argmax = carve(c, B * H);
    if (net->mode == BERT_TRAINING) {
        net->dlogits = carve(c, B * C);
        net->dpooled = carve(c, B * 2 * H);
        net->dx = carve_activations(c, T * H);
        net->dattended = carve_activations(c, T * H);
        net->dq = carve_activations(c, T * H);
        net->dk = carve_activations(c, T * H);
        net->dv = carve_activations(c, T * H);
        net->dact = carve_activations(c, T * m->feed_forward);
    }
    for (int64_t i = 0; i < m->layers; i++) {
        bert_layer one = {0}; /* only counting: there are no layers to fill in */
        bert_layer *y = net->layers ? &net->layers[i] : &one;
        if (i == 0 || net->mode == BERT_TRAINING)
            carve_layer(c, y, T, m, net->mode);
        else if (net->layers)
            *y = net->layers[0];
        if (net->mode == BERT_SCORING)
            share_layer(net, y);
        y->x = i == 0 || !net->layers ? net->z0 : net->layers[i - 1].z2;
    }
    return c->used;
}

static size_t carve_network(bert *net, char *block)
{
    return carve_pieces(net, &(carver){.block = block, .type = net->type});
}

size_t bert_memory_bytes(const tensor_table *table, const bert_limits *limits, bert_mode mode, backend_type type)
{
    bert net = {.table = table, .limits = *limits, .mode = mode, .type = type};
    return carve_network(&net, NULL);
}

size_t bert_memory_touched(const tensor_table *table, const bert_limits *limits, bert_mode mode, int64_t tokens, size_t page)
{
    bert net = {.table = table, .limits = *limits, .mode = mode, .type = TYPE_FLOAT32};
    carver c = {.type = TYPE_FLOAT32, .part = tokens < limits->tokens ? (double)tokens / (double)limits->tokens : 1, .page = page};
    carve_pieces(&net, &c);
    return c.touched;
}

backend_limits bert_backend_limits(const tensor_table *table, const bert_limits *limits)
{
    const model_config *m = &table->config;
    return (backend_limits){.tokens = limits->tokens,
                            .rows = limits->rows,
                            .longest = limits->longest,
                            .hidden = m->hidden,
                            .heads = m->heads,
                            .feed_forward = m->feed_forward,
                            .vocabulary = m->vocab_size,
                            .outputs = table->outputs};
}

status bert_create(backend *be, const tensor_table *table, const float *parameters, const bert_limits *limits, bert_mode mode, bert **out)
{
    assert(limits->longest <= limits->tokens && limits->longest <= model_config_longest(&table->config));
    status st;
    bert *net = NULL;
    TRY(memory_new(&net, sizeof *net, "the network"));
    net->be = be;
    net->table = table;
    net->parameters = parameters;
    net->limits = *limits;
    net->mode = mode;
    net->type = be->type;
    TRY_DONE(memory_new(&net->layers, (size_t)table->config.layers * sizeof *net->layers, "the network"));
    TRY_DONE(memory_new(&net->slot, (size_t)limits->tokens * sizeof *net->slot, "the network"));
    TRY_DONE(be->ops->allocate(be, carve_network(net, NULL), "activations; a smaller --micro-tokens needs less", &net->block));
    carve_network(net, net->block);
    *out = net;
    return STATUS_OK;
done:
    bert_free(net);
    return st;
}

void bert_free(bert *net)
{
    if (!net)
        return;
    if (net->block)
        net->be->ops->release(net->be, net->block);
    free(net->layers);
    free(net->slot);
    free(net);
}

void bert_set_dropout(bert *net, const bert_dropout *drop)
{
    net->drop = drop ? *drop : (bert_dropout){0};
}

const float *bert_hidden(const bert *net)
{
    return net->layers[net->table->config.layers - 1].z2;
}

const float *bert_pooled(const bert *net)
{
    return net->pooled;
}

phase_timer *bert_timer(bert *net)
{
    return &net->timer;
}

bool bert_trains(const bert *net)
{
    return net->mode == BERT_TRAINING;
}
