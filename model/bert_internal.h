/* The network's insides, shared by bert.c (memory), bert_forward.c and bert_backward.c. Every field is a buffer in memory of the
 * back end, carved from one block by bert.c; shapes in floats beside each. */
#ifndef FRETSAW_MODEL_BERT_INTERNAL_H
#define FRETSAW_MODEL_BERT_INTERNAL_H

#include "model/bert.h"

/* What one encoder layer leaves behind. While scoring all layers share one set of buffers, and `pre` is NULL. */
typedef struct bert_layer {
    const float *x;           /* T x H  the layer's input: z of the layer before, or of the embedding */
    float *q, *k, *v;         /* T x H */
    float *attended;          /* T x H  attention's output, before its projection */
    float *row_max, *row_sum; /* T x N  of the softmax */
    float *sum1;              /* T x H  x + dropout(projection) */
    float *mean1, *rstd1;     /* T */
    float *z1;                /* T x H  layer norm of sum1 */
    float *pre, *act;         /* T x F  before and after gelu */
    float *sum2;              /* T x H  z1 + dropout(down projection) */
    float *mean2, *rstd2;     /* T */
    float *z2;                /* T x H  layer norm of sum2: the layer's output */
} bert_layer;

struct bert {
    backend *be;
    const tensor_table *table;
    const float *parameters;
    bert_limits limits;
    bert_mode mode;
    backend_type type; /* of what is T x H, T x F: activations */
    bert_dropout drop;
    phase_timer timer;
    void (*ready)(void *arg, int64_t first); /* bert_tell */
    void *ready_arg;
    void *block; /* what all buffers lie in */

    float *sum0, *mean0, *rstd0, *z0; /* T x H, T, T, T x H: the embedding */
    bert_layer *layers;               /* L */
    float *branch;                    /* T x H  a projection on its way into the residual, forward and back */
    float *pooled, *dropped;          /* B x 2H */
    float *logits;                    /* B x C */
    float *probability;               /* B x C */
    int32_t *argmax;                  /* B x H  token of each maximum */

    /* Training only: */
    float *dlogits;      /* B x C */
    float *dpooled;      /* B x 2H */
    float *dx;           /* T x H  gradient of the residual stream */
    float *dattended;    /* T x H */
    float *dq, *dk, *dv; /* T x H */
    float *dact;         /* T x F */
    int32_t *slot;       /* T  rows of the lane's sparse table; host memory */
};

static inline const float *bert_value(const bert *net, const tensor *t)
{
    return net->parameters + t->first;
}

static inline const float *bert_layer_value(const bert *net, int64_t layer, int which)
{
    return bert_value(net, tensor_layer(net->table, layer, which));
}

/* What a phase costs, for the profile (model/phases.h). A linear layer's product, forward or either one back: */
static inline void bert_count_linear(bert *net, phase which, int64_t T, int64_t I, int64_t O)
{
    phase_count(&net->timer, which, 2.0 * (double)T * (double)I * (double)O, 0);
}

/* `products` products of each query with each key of its row, over all heads. */
static inline void bert_count_attention(bert *net, phase which, const batch *b, int products)
{
    double pairs = 0;
    for (int64_t r = 0; r < b->rows; r++)
        pairs += (double)(b->offset[r + 1] - b->offset[r]) * (double)b->keys[r];
    phase_count(&net->timer, which, 2.0 * products * pairs * (double)net->table->config.hidden, 0);
}

/* `arrays` arrays of T x width floats, read or written. */
static inline void bert_count_memory(bert *net, phase which, int64_t T, int64_t width, int arrays)
{
    phase_count(&net->timer, which, 0, (double)arrays * (double)T * (double)width * sizeof(float));
}

/* One site's dropout; a threshold of 0 turns it off. */
static inline dropout bert_site(const bert *net, double probability, int64_t layer, enum dropout_site site)
{
    return (dropout){.threshold = (uint32_t)(probability * 0x1p32),
                     .scale = (float)(1.0 / (1.0 - probability)),
                     .seed = net->drop.seed,
                     .layer = (uint32_t)layer,
                     .site = (uint32_t)site};
}

#endif
