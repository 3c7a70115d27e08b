/* The network: BERT, mean and max over a row's positions, dropout, one linear layer, binary cross-entropy with logits.
 *
 *     bert *net;
 *     TRY(bert_create(be, table, parameters, &(bert_limits){M, rows, longest}, BERT_TRAINING, &net));
 *     bert_set_dropout(net, &(bert_dropout){.hidden = 0.1, .attention = 0.1, .head = 0.3, .seed = 42});
 *     bert_forward(net, batch);
 *     bert_loss(net, batch, factor, row_loss);
 *     bert_backward(net, batch, gradient);             // gradients are added
 *     bert_wait_loss(net);                             // row_loss is there
 *
 * Which tokens a row is pooled over is the batch's choice: packed rows (`real` pooling) or rows with padding (`padded`), whose
 * padding is queried and pooled but never a key. Nothing is allocated after bert_create; operations run on the back end's threads.
 * Without dropout a row's logits do not depend on the rows beside it, by a bit; nor do a lane's gradients on its micro-batches.
 * Dropout counter (common/rng.h): site 0 has layer 0; sites 1 to 3 have the encoder layer 0 .. L-1; site 4 has layer 0.
 * All functions are local. A device's errors are kept for ops->check.
 *
 * Memory in floats, on a back end of float32 (each buffer rounded up to 16), T = limits.tokens, B = limits.rows, H, F, N, L, C as everywhere:
 *   training  L (8 T H + 2 T F + 2 T N + 4 T) + (2 T H + 2 T) + (6 T H + T F) + B (6 H + 3 C) + B H
 *             layers: q k v, attended, both sums and norms; up before and after gelu; softmax and norm statistics
 *             then the embedding; the way's scratch; head (pooled, dropped and their gradient, logits) and argmax
 *   scoring   8 T H + T F + 2 T N + 2 T + B (4 H + 2 C) + B H
 * Both products around gelu are kept: computing gelu again costs an erf an element on the way back, and M bounds the memory anyway.
 * The layer norms' outputs are kept as the inputs of the products that follow, because a norm's weight may be zero.
 */
#ifndef FRETSAW_MODEL_BERT_H
#define FRETSAW_MODEL_BERT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "model/backend.h"
#include "model/batch.h"
#include "model/gradient.h"
#include "model/phases.h"
#include "model/tensors.h"

typedef struct bert bert;

/* The largest micro-batch. */
typedef struct bert_limits {
    int64_t tokens;  /* T, the option M */
    int64_t rows;    /* B */
    int64_t longest; /* tokens of one row */
} bert_limits;

typedef struct bert_dropout {
    double hidden, attention, head; /* probabilities, [0, 1) */
    uint64_t seed;
} bert_dropout;

/* BERT_SCORING keeps nothing for the way back: bert_backward may not be called. */
typedef enum bert_mode { BERT_SCORING, BERT_TRAINING } bert_mode;

/* `parameters` are table->parameters floats in memory of the back end, 64-byte aligned; they and the table are the caller's and
 * outlive the network; ranks of a node may share them. Whoever changes them calls ops->parameters_changed. Dropout starts off.
 * Errors: STATUS_RESOURCE. */
status bert_create(backend *be, const tensor_table *table, const float *parameters, const bert_limits *limits, bert_mode mode, bert **out);
void bert_free(bert *net);
/* Bytes of activations that bert_create allocates on a back end of this type: the same walk as the allocation itself. */
size_t bert_memory_bytes(const tensor_table *table, const bert_limits *limits, bert_mode mode, backend_type type);
/* Of them, on the CPU, those in pages (of `page` bytes) that are written when no batch has more than `tokens` tokens. */
size_t bert_memory_touched(const tensor_table *table, const bert_limits *limits, bert_mode mode, int64_t tokens, size_t page);
/* What the back end must have room for. */
backend_limits bert_backend_limits(const tensor_table *table, const bert_limits *limits);

/* Holds for all batches until the next call; NULL turns dropout off (validation with a training network). */
void bert_set_dropout(bert *net, const bert_dropout *drop);

/* Logits of all rows, B x C, in memory of the back end, valid until the next call. The batch is within the limits. */
const float *bert_forward(bert *net, const batch *b);
/* After bert_forward on `b`, which has labels: each row's sum of element losses (B doubles, host) and, for the way back,
 * (sigmoid(logit) - label) * factor; factor = 1 / (lanes * batch * C). row_loss must be given, and is filled by bert_wait_loss at the latest: a
 * device computes on meanwhile. */
void bert_loss(bert *net, const batch *b, float factor, double *row_loss);
void bert_wait_loss(bert *net);
/* After bert_loss on `b`: adds the gradient of every trainable tensor. The gradient was begun with all of the lane's ids. */
void bert_backward(bert *net, const batch *b, gradient *g);
/* While `ready` is set, bert_backward calls it as it leaves the head, each layer and the embedding behind: all that there is to do for the dense
 * gradients from index `first` on has been asked of the back end. `first` falls to 0. NULL: nobody is told. */
void bert_tell(bert *net, void (*ready)(void *arg, int64_t first), void *arg);
/* After bert_forward on `b`: sigmoid(logit), B x C floats on the host. */
void bert_probabilities(bert *net, const batch *b, float *out);

/* True for BERT_TRAINING. */
bool bert_trains(const bert *net);

/* Views for tests and for tools that look inside; memory of the back end, valid until the next call. */
const float *bert_hidden(const bert *net); /* last hidden states, T x H */
const float *bert_pooled(const bert *net); /* B x 2H, before dropout: mean, then max */
/* Time spent by phase since creation; the caller may zero it. */
phase_timer *bert_timer(bert *net);

#endif
