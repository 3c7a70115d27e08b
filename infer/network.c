#include "infer/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/binding.h"
#include "common/comm.h"
#include "common/files.h"
#include "common/log.h"
#include "model/bert.h"
#include "model/cpu/cpu.h"
#include "model/state_hash.h"
#include "model/weights.h"

struct network {
    tensor_table *table;
    float *parameters; /* the host's, shared by the ranks of a node */
    float *weights;    /* the back end's; on the CPU the same */
    threads *pool;
    backend *be;
    bert *net;
    batch_builder *builder;
    int64_t rows;
    int64_t padded; /* fill rows up to this length; 0: no */
    int32_t pad;
    int64_t scored; /* micro-batches */
    char what[200];
};

enum { MICRO_TOKENS_CPU = 2048, MICRO_TOKENS_DEVICE = 32768 };

status network_place(const settings *s, network_settings *out)
{
    *out = (network_settings){.threads = s->threads, .isa = (cpu_isa)s->cpu};
    TRY(place_choose((place_wish)s->device, (backend_type)s->type, s->share_device, &out->where));
    TRY(place_attention((attention_wish)s->attention, &out->where));
    out->micro_tokens = s->micro_tokens ? s->micro_tokens : out->where.library ? MICRO_TOKENS_DEVICE : MICRO_TOKENS_CPU;
    out->micro_rows = s->block_rows < out->micro_tokens / 2 ? s->block_rows : out->micro_tokens / 2;
    return comm_agree(place_identity(&out->where, &(backend_limits){.tokens = out->micro_tokens}, out->device_identity));
}

/* The table is the same at every rank; each looks into the file for itself, which reads its head alone. */
static status open_table(const run *r, weights_file **file, tensor_table **table)
{
    model_config config;
    char *path;
    TRY(file_join(r->weights_folder, "config.json", &path));
    status st = model_config_read(path, &config);
    free(path);
    TRY(st);
    if (model_config_longest(&config) < r->input.max_length)
        return fail(STATUS_INPUT, "%s: the model takes rows of %lld tokens and the run says %lld: config.json is not the run's", r->weights_folder,
                    (long long)model_config_longest(&config), (long long)r->input.max_length);
    TRY(weights_open(r->weights_folder, file));
    return tensor_table_create(&config, r->labels, weights_have_pooler(*file), table);
}

status network_state_hash(const tensor_table *table, const float *parameters, threads *pool, uint64_t *hash)
{
    uint64_t *sum;
    TRY(memory_new(&sum, (size_t)table->count * sizeof *sum, "hashes of tensors"));
    state_hash_add(table, parameters, 0, table->parameters, sum, pool);
    *hash = state_hash_all(table, sum);
    free(sum);
    return STATUS_OK;
}

/* A file of weights has no checksum of its own: a flipped bit in it would only give other scores. */
static status check_state(const run *r, const tensor_table *table, const float *parameters, threads *pool)
{
    uint64_t hash;
    char text[sizeof r->weights_hash];
    TRY(network_state_hash(table, parameters, pool, &hash));
    snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
    if (strcmp(text, r->weights_hash) != 0)
        return fail(STATUS_INPUT,
                    "%s/model.safetensors: the weights are not those of the run: state hash %s, and state.json says %s; restore the folder, or train again",
                    r->weights_folder, text, r->weights_hash);
    return STATUS_OK;
}

static status load(const run *r, const weights_file *file, network *net)
{
    weights_report report;
    TRY(weights_load_threads(file, net->table, 0, net->parameters, &report, net->pool));
    if (!report.head_loaded)
        return fail(STATUS_INPUT, "%s: no out.weight and out.bias for %lld labels: these are not the weights of a trained run", r->weights_folder,
                    (long long)r->labels);
    return check_state(r, net->table, net->parameters, net->pool);
}

/* Collective. Each node's first rank reads the file; all do where memory is not shared. */
static status load_parameters(const run *r, network *net)
{
    weights_file *file = NULL;
    void *memory = NULL;
    bool shared = false;
    status st = comm_agree(open_table(r, &file, &net->table));
    if (st == STATUS_OK)
        st = comm_shared_create((size_t)net->table->parameters * sizeof(float), "parameters", &memory, &shared);
    if (st == STATUS_OK) {
        net->parameters = memory;
        st = !shared || comm_node_rank() == 0 ? load(r, file, net) : STATUS_OK;
        st = comm_agree(st);
        comm_node_barrier();
    }
    weights_file_close(file);
    return st;
}

static status open_threads(const network_settings *s, network *net)
{
    int64_t count;
    TRY(binding_threads(s->threads, &count));
    return comm_agree(threads_create((int)count, &net->pool));
}

/* The weights where the back end computes. */
static status place_weights(network *net)
{
    size_t bytes = (size_t)net->table->parameters * sizeof(float);
    net->weights = net->parameters;
    if (net->be->device) {
        void *p;
        TRY(net->be->ops->allocate(net->be, bytes, "parameters", &p));
        net->weights = p;
        net->be->ops->upload(net->be, net->weights, net->parameters, bytes);
    }
    return net->be->ops->keep_parameters(net->be, net->weights, net->table->parameters);
}

static status open_backend(const run *r, const network_settings *s, network *net)
{
    placement where = s->where;
    bert_limits limits = {.tokens = s->micro_tokens, .rows = s->micro_rows, .longest = r->input.max_length};
    if (s->micro_tokens < r->input.max_length)
        return fail(STATUS_USAGE, "--micro-tokens %lld is less than the run's maximum length of %lld tokens; give at least that",
                    (long long)s->micro_tokens, (long long)r->input.max_length);
    backend_limits room = bert_backend_limits(net->table, &limits);
    where.pool = net->pool;
    where.isa = s->isa;
    TRY(place_open(&where, &room, &net->be));
    TRY(place_weights(net));
    TRY(bert_create(net->be, net->table, net->weights, &limits, BERT_SCORING, &net->net));
    TRY(batch_builder_create(s->micro_tokens, s->micro_rows, (int)r->labels, &net->builder));
    batch_builder_begin(net->builder, 0);
    if (net->be->device)
        snprintf(net->what, sizeof net->what, "%s, %s", s->where.card.name, place_type_name(s->where.type));
    else
        snprintf(net->what, sizeof net->what, "%s, %d thread%s a rank", isa_name(backend_cpu_isa(net->be)), threads_count(net->pool),
                 threads_count(net->pool) > 1 ? "s" : "");
    return STATUS_OK;
}

status network_open(const run *r, const network_settings *s, network **out)
{
    network *net;
    status st = comm_agree(memory_new(&net, sizeof *net, "the network"));
    if (st != STATUS_OK)
        return st;
    net->padded = r->padded ? r->input.max_length : 0;
    net->pad = r->input.pad;
    st = open_threads(s, net);
    if (st == STATUS_OK)
        st = load_parameters(r, net);
    if (st == STATUS_OK)
        st = comm_agree(open_backend(r, s, net));
    if (st != STATUS_OK) {
        network_close(net);
        return st;
    }
    *out = net;
    return STATUS_OK;
}

void network_close(network *net)
{
    if (!net)
        return;
    batch_builder_free(net->builder);
    bert_free(net->net);
    if (net->be && net->weights && net->weights != net->parameters)
        net->be->ops->release(net->be, net->weights);
    if (net->be)
        net->be->ops->close(net->be);
    threads_free(net->pool);
    if (net->parameters)
        comm_shared_free(net->parameters);
    tensor_table_free(net->table);
    free(net);
}

bool network_fits(const network *net, int64_t n)
{
    return batch_builder_fits(net->builder, net->padded ? net->padded : n);
}

void network_add(network *net, const int32_t *ids, int64_t n)
{
    batch_builder_add(net->builder, ids, n, net->padded, net->pad, (uint64_t)net->rows, NULL);
    net->rows++;
}

int64_t network_rows(const network *net)
{
    return net->rows;
}

int64_t network_vocabulary(const network *net)
{
    return net->table->config.vocab_size;
}

status network_score(network *net, float *score)
{
    if (net->rows == 0)
        return STATUS_OK;
    const batch *b = batch_builder_view(net->builder);
    bert_forward(net->net, b);
    bert_probabilities(net->net, b, score);
    batch_builder_begin(net->builder, 0);
    net->rows = 0;
    net->scored++;
    return net->be->ops->check(net->be);
}

void network_watch(network *net)
{
    if (!net->be->device)
        backend_cpu_profile(net->be);
}

void network_profile(const network *net, profile *p)
{
    p->steps = net->scored;
    p->phases = *bert_timer(net->net);
    if (!net->be->device)
        backend_cpu_inside(net->be, &p->gelu, &p->words);
}

const char *network_what(const network *net)
{
    return net->what;
}
