#include "model/tensors.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A tensor as the lists below give it; columns 0 is a vector. */
typedef struct entry {
    const char *name;
    int64_t rows, columns;
    tensor_start start;
} entry;

static void append(tensor_table *table, const char *prefix, const entry *e, bool frozen)
{
    tensor *t = &table->tensors[table->count++];
    snprintf(t->name, sizeof t->name, "%s%s", prefix, e->name);
    t->dims = e->columns ? 2 : 1;
    t->shape[0] = e->rows;
    t->shape[1] = e->columns ? e->columns : 1;
    t->first = table->parameters;
    t->count = t->shape[0] * t->shape[1];
    t->span = (t->count + TENSOR_ALIGNMENT - 1) / TENSOR_ALIGNMENT * TENSOR_ALIGNMENT;
    t->frozen = frozen;
    t->decay = !frozen && !strstr(t->name, "bias") && !strstr(t->name, "LayerNorm.weight");
    t->start = e->start;
    t->gradient = frozen || table->count == 1 ? -1 : t->first - table->word;
    table->parameters += t->span;
    if (table->count == 1)
        table->word = t->span;
    if (!frozen)
        table->trainable = table->parameters;
}

static void append_all(tensor_table *table, const char *prefix, const entry *list, int n, bool frozen)
{
    for (int i = 0; i < n; i++)
        append(table, prefix, &list[i], frozen);
}

static void append_embeddings(tensor_table *table, const model_config *c)
{
    const entry list[EMBED_TENSORS] = {
        [EMBED_WORD] = {"word_embeddings.weight", c->vocab_size, c->hidden, START_NORMAL},
        [EMBED_POSITION] = {"position_embeddings.weight", c->positions, c->hidden, START_NORMAL},
        [EMBED_TYPE] = {"token_type_embeddings.weight", c->type_vocab, c->hidden, START_NORMAL},
        [EMBED_NORM_WEIGHT] = {"LayerNorm.weight", c->hidden, 0, START_ONE},
        [EMBED_NORM_BIAS] = {"LayerNorm.bias", c->hidden, 0, START_ZERO},
    };
    append_all(table, "bert.embeddings.", list, EMBED_TENSORS, false);
}

static void append_layer(tensor_table *table, const model_config *c, int64_t layer)
{
    const int64_t H = c->hidden, F = c->feed_forward;
    const entry list[LAYER_TENSORS] = {
        [LAYER_QUERY_WEIGHT] = {"attention.self.query.weight", H, H, START_NORMAL},
        [LAYER_QUERY_BIAS] = {"attention.self.query.bias", H, 0, START_ZERO},
        [LAYER_KEY_WEIGHT] = {"attention.self.key.weight", H, H, START_NORMAL},
        [LAYER_KEY_BIAS] = {"attention.self.key.bias", H, 0, START_ZERO},
        [LAYER_VALUE_WEIGHT] = {"attention.self.value.weight", H, H, START_NORMAL},
        [LAYER_VALUE_BIAS] = {"attention.self.value.bias", H, 0, START_ZERO},
        [LAYER_PROJECT_WEIGHT] = {"attention.output.dense.weight", H, H, START_NORMAL},
        [LAYER_PROJECT_BIAS] = {"attention.output.dense.bias", H, 0, START_ZERO},
        [LAYER_NORM1_WEIGHT] = {"attention.output.LayerNorm.weight", H, 0, START_ONE},
        [LAYER_NORM1_BIAS] = {"attention.output.LayerNorm.bias", H, 0, START_ZERO},
        [LAYER_UP_WEIGHT] = {"intermediate.dense.weight", F, H, START_NORMAL},
        [LAYER_UP_BIAS] = {"intermediate.dense.bias", F, 0, START_ZERO},
        [LAYER_DOWN_WEIGHT] = {"output.dense.weight", H, F, START_NORMAL},
        [LAYER_DOWN_BIAS] = {"output.dense.bias", H, 0, START_ZERO},
        [LAYER_NORM2_WEIGHT] = {"output.LayerNorm.weight", H, 0, START_ONE},
        [LAYER_NORM2_BIAS] = {"output.LayerNorm.bias", H, 0, START_ZERO},
    };
    char prefix[TENSOR_NAME_BYTES];
    snprintf(prefix, sizeof prefix, "bert.encoder.layer.%lld.", (long long)layer);
    append_all(table, prefix, list, LAYER_TENSORS, false);
}

status tensor_table_create(const model_config *config, int64_t outputs, bool pooler, tensor_table **out)
{
    assert(outputs >= 1);
    tensor_table *table;
    TRY(memory_new(&table, sizeof *table, "the table of tensors"));
    size_t most = (size_t)(EMBED_TENSORS + config->layers * LAYER_TENSORS + 4);
    status st = memory_new(&table->tensors, most * sizeof *table->tensors, "the table of tensors");
    if (st != STATUS_OK) {
        free(table);
        return st;
    }
    table->config = *config;
    table->outputs = outputs;
    table->pooler = pooler;
    append_embeddings(table, config);
    for (int64_t i = 0; i < config->layers; i++)
        append_layer(table, config, i);
    append_all(table, "out.", (entry[]){{"weight", outputs, 2 * config->hidden, START_HEAD}, {"bias", outputs, 0, START_HEAD}}, 2, false);
    if (pooler)
        append_all(table, "bert.pooler.dense.",
                   (entry[]){{"weight", config->hidden, config->hidden, START_NORMAL}, {"bias", config->hidden, 0, START_ZERO}}, 2, true);
    table->dense = table->trainable - table->word;
    *out = table;
    return STATUS_OK;
}

void tensor_table_free(tensor_table *table)
{
    if (!table)
        return;
    free(table->tensors);
    free(table);
}

const tensor *tensor_table_find(const tensor_table *table, const char *name)
{
    for (int i = 0; i < table->count; i++)
        if (strcmp(table->tensors[i].name, name) == 0)
            return &table->tensors[i];
    return NULL;
}

bool tensor_table_range(const tensor_table *table, int64_t first, int64_t end, tensor_range *out)
{
    if (first < 0 || first >= end || first >= table->parameters)
        return false;
    int low = 0, high = table->count - 1; /* the last tensor that starts at or before `first` */
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (table->tensors[middle].first <= first)
            low = middle;
        else
            high = middle - 1;
    }
    const tensor *t = &table->tensors[low];
    int64_t stop = t->first + t->span;
    *out = (tensor_range){t, first, (stop < end ? stop : end) - first};
    return true;
}
