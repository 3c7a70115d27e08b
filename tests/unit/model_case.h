/* A case of the oracle's model folder, or a random network, on a back end: what the network's tests share.
 *
 *     model_case *c = model_case_load("tiny");                              // NULL where the oracle is absent
 *     model_rig *r = model_rig_open(c, CPU_ISA_AUTO, 1, BERT_TRAINING, 0);
 *     model_rig_run(r, true, 0, NULL);                                      // padded; one micro-batch; no dropout
 *     r->logits, r->loss, r->gradient ...
 *     model_rig_close(r); model_case_free(c);
 *
 * Failures fail the running test. */
#ifndef FRETSAW_TESTS_MODEL_CASE_H
#define FRETSAW_TESTS_MODEL_CASE_H

#include <jansson.h>

#include "model/bert.h"
#include "model/cpu/cpu.h"
#include "model/weights.h"

typedef struct model_case {
    const char *name;
    model_config config;
    tensor_table *table;
    float *arena;           /* table->parameters */
    weights_file *expected; /* NULL for a random case */
    json_t *batch, *noise;  /* batch.json, and the case's part of noise.json; NULL for a random case */
    int64_t rows, max_length, outputs;
    int32_t **ids; /* rows; [CLS] and [SEP] included */
    int64_t *length;
    float *label; /* rows x outputs */
} model_case;

model_case *model_case_load(const char *name);
/* A small network of random shape, weights and rows, from the printed seed. `longest` bounds the rows. */
model_case *model_case_random(int64_t longest);
void model_case_free(model_case *c);
/* 5 times the float32 noise of `kind` ("logits", or "grad" with a tensor's name), at least 2e-6. */
double model_case_bound(const model_case *c, const char *pooling, const char *kind, const char *name);
/* A tensor of expected.safetensors in double; the test frees. Checks the number of elements. */
double *model_case_expected(const model_case *c, const char *pooling, const char *name, int64_t count);

typedef struct model_rig {
    const model_case *c;
    threads *pool;
    backend *be;
    float *parameters;
    bert *net;
    gradient *gradient;
    batch_builder *builder;
    float *logits; /* rows x outputs, host */
    float *hidden; /* tokens x H of the whole run, host: rows in order */
    float *pooled; /* rows x 2H */
    double *row_loss;
    double loss; /* mean over rows and outputs */
    int32_t *all_ids;
} model_rig;

model_rig *model_rig_open(const model_case *c, cpu_isa isa, int threads_wanted, bert_mode mode);
void model_rig_close(model_rig *r);
/* All rows of the case as one lane, in micro-batches of at most `most` tokens (0: one), forward and, in training, backward.
 * Row i has sample number 100 + i, epoch 3. */
void model_rig_run(model_rig *r, bool padded, int64_t most, const bert_dropout *drop);
/* Only rows[0 .. n), forward; results at their place in the list. */
void model_rig_score(model_rig *r, bool padded, const int64_t *rows, int64_t n);
/* The gradient of tensor t as a dense host array of t->count floats; the test frees. */
float *model_rig_gradient(const model_rig *r, const tensor *t);

/* max |a - b| / max(max |b|, floor). */
double model_relative(const float *a, const double *b, int64_t n, double floor);

#endif
