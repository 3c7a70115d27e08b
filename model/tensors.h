/* The one ordered table of a model's tensors: it drives allocation, initial values, loading, checkpoints and the optimizer.
 *
 *     tensor_table *table;
 *     tensor_table_create(&config, outputs, weights_have_pooler(file), &table);
 *     be->ops->allocate(be, table->parameters * sizeof(float), "parameters", &arena);
 *     const float *weight = arena + tensor_out_weight(table)->first;
 *     for (tensor_range r; tensor_table_range(table, at, end, &r); at += r.count) adamw(r.tensor->decay, at, r.count);
 *
 * Two index spaces, both in floats:
 *   parameter index: all tensors in table order, each on a multiple of 16 (64 bytes, so that kernels load aligned); what lies
 *     between two tensors is zero and stays zero (its gradient is zero), so that a stripe of parameters needs no exceptions;
 *   dense gradient index: parameter index - `word`. The word table comes first and has sparse gradients; frozen tensors come
 *     last and have none. So [word, trainable) is [0, dense) of the gradient arena, and slices of the one are slices of the other.
 * Order: word, position and type embeddings, their layer norm; each layer's sixteen; the head; the pooler (frozen) where there is one.
 * Names are those of the notebook's module. Local; read only after creation.
 */
#ifndef FRETSAW_MODEL_TENSORS_H
#define FRETSAW_MODEL_TENSORS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "model/config.h"

enum { TENSOR_ALIGNMENT = 16, TENSOR_NAME_BYTES = 80 };

/* What a tensor holds before training, when it isn't loaded. */
typedef enum tensor_start { START_NORMAL, START_ONE, START_ZERO, START_HEAD } tensor_start;

typedef struct tensor {
    char name[TENSOR_NAME_BYTES];
    int dims;         /* 1 or 2 */
    int64_t shape[2]; /* shape[1] is 1 for a vector */
    int64_t first;    /* parameter index of the first element */
    int64_t count;    /* elements */
    int64_t span;     /* elements and the zeros behind them: the next tensor starts at first + span */
    int64_t gradient; /* dense gradient index; -1 for the word table and for frozen tensors */
    bool decay;       /* weight decay applies: everywhere but in biases and layer norms */
    bool frozen;      /* neither updated nor decayed, no gradient */
    tensor_start start;
} tensor;

typedef struct tensor_table {
    tensor *tensors;
    int count;
    int64_t parameters; /* floats of the whole arena */
    int64_t trainable;  /* parameters before the frozen ones: what the optimizer's stripes cover */
    int64_t word;       /* floats of the word table with the zeros behind it */
    int64_t dense;      /* trainable - word: floats of a dense gradient */
    model_config config;
    int64_t outputs; /* C */
    bool pooler;
} tensor_table;

/* Positions in the table. */
enum { EMBED_WORD, EMBED_POSITION, EMBED_TYPE, EMBED_NORM_WEIGHT, EMBED_NORM_BIAS, EMBED_TENSORS };
enum {
    LAYER_QUERY_WEIGHT,
    LAYER_QUERY_BIAS,
    LAYER_KEY_WEIGHT,
    LAYER_KEY_BIAS,
    LAYER_VALUE_WEIGHT,
    LAYER_VALUE_BIAS,
    LAYER_PROJECT_WEIGHT,
    LAYER_PROJECT_BIAS,
    LAYER_NORM1_WEIGHT,
    LAYER_NORM1_BIAS,
    LAYER_UP_WEIGHT,
    LAYER_UP_BIAS,
    LAYER_DOWN_WEIGHT,
    LAYER_DOWN_BIAS,
    LAYER_NORM2_WEIGHT,
    LAYER_NORM2_BIAS,
    LAYER_TENSORS
};

/* `outputs` is C >= 1. Errors: STATUS_RESOURCE. */
status tensor_table_create(const model_config *config, int64_t outputs, bool pooler, tensor_table **out);
void tensor_table_free(tensor_table *table);
/* By name; NULL when the table has none. */
const tensor *tensor_table_find(const tensor_table *table, const char *name);

/* The part of [first, end) that begins at `first` and lies in one tensor (its trailing zeros count as its own). */
typedef struct tensor_range {
    const tensor *tensor;
    int64_t first; /* parameter index */
    int64_t count;
} tensor_range;
/* False when first >= end or past the arena. */
bool tensor_table_range(const tensor_table *table, int64_t first, int64_t end, tensor_range *out);

static inline const tensor *tensor_embedding(const tensor_table *table, int which)
{
    return &table->tensors[which];
}

static inline const tensor *tensor_layer(const tensor_table *table, int64_t layer, int which)
{
    return &table->tensors[EMBED_TENSORS + layer * LAYER_TENSORS + which];
}

static inline const tensor *tensor_out_weight(const tensor_table *table)
{
    return &table->tensors[EMBED_TENSORS + table->config.layers * LAYER_TENSORS];
}

static inline const tensor *tensor_out_bias(const tensor_table *table)
{
    return tensor_out_weight(table) + 1;
}

#endif
