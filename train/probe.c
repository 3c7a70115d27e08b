#include "train/probe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/hash.h"
#include "model/bert.h"
#include "model/model_init.h"
#include "train/adamw.h"

enum { ROWS = 5, LONGEST = 37, SEED = 20240229 };

static const bert_dropout dropping = {.hidden = 0.1, .attention = 0.1, .head = 0.3, .seed = SEED};

typedef struct probe {
    backend *be;
    tensor_table *table;
    float *parameters, *m, *v, *host; /* the last: as large, on the host */
    bert *net;
    gradient *sum;
    batch_builder *builder;
    bool fused; /* attention without dropout goes another way than with it */
    uint64_t hash;
} probe;

static void mix(probe *p, const void *bytes, size_t n)
{
    uint64_t pair[2] = {p->hash, hash_xxh3(bytes, n)};
    p->hash = hash_xxh3(pair, sizeof pair);
}

/* Floats of the back end's memory, at most as many as there are parameters. */
static void mix_floats(probe *p, const float *x, int64_t n)
{
    p->be->ops->download(p->be, p->host, x, (size_t)n * sizeof *x);
    mix(p, p->host, (size_t)n * sizeof *x);
}

static status open_probe(probe *p, const placement *where)
{
    /* Sizes that are no multiple of a vector, so that the kernels' edges take part. A device's kernels take multiples of 8. */
    const model_config config = {.vocab_size = 97,
                                 .hidden = 72,
                                 .layers = 2,
                                 .heads = 3,
                                 .feed_forward = where->library ? 104 : 100,
                                 .positions = LONGEST,
                                 .type_vocab = 2,
                                 .hidden_dropout = 0.1,
                                 .attention_dropout = 0.1,
                                 .layer_norm_epsilon = 1e-12,
                                 .initializer_range = 0.2};
    const bert_limits limits = {.tokens = ROWS * LONGEST, .rows = ROWS, .longest = LONGEST};
    void *room;
    TRY(tensor_table_create(&config, 2, false, &p->table));
    backend_limits need = bert_backend_limits(p->table, &limits);
    TRY(place_open(where, &need, &p->be));
    size_t bytes = (size_t)p->table->parameters * sizeof(float);
    TRY(p->be->ops->allocate(p->be, bytes, "the probe", &room));
    p->parameters = room;
    TRY(p->be->ops->allocate(p->be, bytes, "the probe", &room));
    p->m = room;
    TRY(p->be->ops->allocate(p->be, bytes, "the probe", &room));
    p->v = room;
    TRY(memory_new(&p->host, bytes, "the probe"));
    model_init_range(p->table, SEED, 0, p->table->parameters, p->host);
    p->be->ops->upload(p->be, p->parameters, p->host, bytes);
    TRY(p->be->ops->keep_parameters(p->be, p->parameters, p->table->parameters));
    TRY(bert_create(p->be, p->table, p->parameters, &limits, BERT_TRAINING, &p->net));
    bert_set_dropout(p->net, &dropping);
    p->fused = where->fused;
    TRY(gradient_create(p->be, p->table, limits.tokens, &p->sum));
    return batch_builder_create(limits.tokens, ROWS, 2, &p->builder);
}

static const batch *make_batch(probe *p)
{
    static const int32_t lengths[ROWS] = {2, 37, 16, 9, 33};
    batch_builder_begin(p->builder, 1);
    for (int r = 0; r < ROWS; r++) {
        int32_t ids[LONGEST];
        for (int i = 0; i < lengths[r]; i++)
            ids[i] = 1 + (r * 31 + i * 17) % 96;
        batch_builder_add(p->builder, ids, lengths[r], 0, 0, (uint64_t)r, (float[]){(float)(r & 1), 0.25f});
    }
    return batch_builder_view(p->builder);
}

static void one_step(probe *p, int64_t t)
{
    const batch *b = make_batch(p);
    double loss[ROWS];
    float score[ROWS * 2];
    gradient_begin(p->sum, b->id, b->tokens);
    bert_forward(p->net, b);
    bert_loss(p->net, b, 0.1f, loss);
    bert_probabilities(p->net, b, score);
    bert_backward(p->net, b, p->sum);
    bert_wait_loss(p->net);
    mix(p, loss, sizeof loss);
    if (p->fused) {
        mix(p, score, sizeof score);
        bert_set_dropout(p->net, &(bert_dropout){.seed = SEED});
        bert_forward(p->net, b);
        bert_probabilities(p->net, b, score);
        bert_set_dropout(p->net, &dropping);
    }
    mix(p, score, sizeof score);
    mix_floats(p, p->sum->dense, p->table->dense);
    mix_floats(p, p->sum->rows, p->sum->count * p->sum->hidden);
    adamw_step s = adamw_scalars(&(adamw_options){.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-6, .decay = 0.01}, 1e-3, t);
    uint64_t state = 0;
    p->be->ops->adamw(p->be, p->table->dense, p->table->word, &s, 1, p->sum->dense, p->m, p->v, p->parameters + p->table->word, &state);
    p->be->ops->wait(p->be);
    p->be->ops->parameters_changed(p->be);
    mix(p, &state, sizeof state);
    mix_floats(p, p->parameters, p->table->parameters);
}

static void close_probe(probe *p)
{
    batch_builder_free(p->builder);
    gradient_free(p->sum);
    bert_free(p->net);
    if (p->be) {
        float *const rooms[] = {p->parameters, p->m, p->v};
        for (int i = 0; i < 3; i++)
            if (rooms[i])
                p->be->ops->release(p->be, rooms[i]);
        p->be->ops->close(p->be);
    }
    tensor_table_free(p->table);
    free(p->host);
}

status probe_run(const placement *where, uint64_t *hash)
{
    probe p = {0};
    status st = open_probe(&p, where);
    if (st == STATUS_OK)
        for (int64_t t = 1; t <= 2; t++)
            one_step(&p, t);
    if (st == STATUS_OK)
        st = p.be->ops->check(p.be);
    *hash = p.hash;
    close_probe(&p);
    return st;
}

typedef struct report {
    uint64_t hash;
    char host[256];
} report;

status probe_compare(uint64_t mine)
{
    report own = {.hash = mine}, *all;
    status st = STATUS_OK;
    snprintf(own.host, sizeof own.host, "%s", comm_host());
    TRY(memory_new(&all, (size_t)comm_size() * sizeof *all, "the probes of all ranks"));
    comm_all_gather(&own, sizeof own, all);
    for (int r = 1; r < comm_size() && st == STATUS_OK; r++)
        if (all[r].hash != all[0].hash)
            st = fail(
                STATUS_CHECK,
                "rank %d on %s computes otherwise than rank 0 on %s (probe %016" PRIx64 ", not %016" PRIx64
                "): the machines or the builds of the program differ in arithmetic; use the same build everywhere and leave out the machine at fault",
                r, all[r].host, all[0].host, all[r].hash, all[0].hash);
    free(all);
    return comm_agree(st);
}
