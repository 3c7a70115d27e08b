#include "unit/model_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/support.h"

static void *take(size_t n, size_t bytes)
{
    void *p = calloc(n ? n : 1, bytes);
    ck_assert_ptr_nonnull(p);
    return p;
}

/* ---- cases ---- */

static json_t *read_json(const char *name)
{
    const char *path = support_oracle(name);
    json_error_t error;
    json_t *object = path ? json_load_file(path, 0, &error) : NULL;
    ck_assert_msg(object, "%s is not readable", name);
    return object;
}

static void read_rows(model_case *c)
{
    const json_t *rows = json_object_get(c->batch, "rows");
    c->rows = (int64_t)json_array_size(rows);
    c->max_length = json_integer_value(json_object_get(c->batch, "max_length"));
    c->outputs = json_integer_value(json_object_get(c->batch, "outputs"));
    c->ids = take((size_t)c->rows, sizeof *c->ids);
    c->length = take((size_t)c->rows, sizeof *c->length);
    c->label = take((size_t)(c->rows * c->outputs), sizeof *c->label);
    for (int64_t r = 0; r < c->rows; r++) {
        const json_t *row = json_array_get(rows, (size_t)r), *ids = json_object_get(row, "ids"), *labels = json_object_get(row, "labels");
        c->length[r] = (int64_t)json_array_size(ids);
        c->ids[r] = take((size_t)c->length[r], sizeof **c->ids);
        for (int64_t i = 0; i < c->length[r]; i++)
            c->ids[r][i] = (int32_t)json_integer_value(json_array_get(ids, (size_t)i));
        for (int64_t i = 0; i < c->outputs; i++)
            c->label[r * c->outputs + i] = (float)json_number_value(json_array_get(labels, (size_t)i));
    }
}

model_case *model_case_load(const char *name)
{
    char path[300];
    snprintf(path, sizeof path, "model/%s/config.json", name);
    const char *config = support_oracle(path);
    if (!config)
        return NULL;
    model_case *c = take(1, sizeof *c);
    c->name = name;
    ck_ok(model_config_read(config, &c->config));
    snprintf(path, sizeof path, "model/%s/batch.json", name);
    c->batch = read_json(path);
    read_rows(c);
    json_t *noise = read_json("model/noise.json");
    c->noise = json_incref(json_object_get(noise, name));
    json_decref(noise);
    weights_file *file;
    weights_report report;
    snprintf(path, sizeof path, "model/%s", name);
    ck_ok(weights_open(support_oracle(path), &file));
    ck_ok(tensor_table_create(&c->config, c->outputs, weights_have_pooler(file), &c->table));
    c->arena = take((size_t)c->table->parameters, sizeof *c->arena);
    ck_ok(weights_load(file, c->table, 1, c->arena, &report));
    ck_assert(report.head_loaded);
    ck_assert_int_eq(report.loaded, c->table->count);
    weights_file_close(file);
    snprintf(path, sizeof path, "model/%s/expected.safetensors", name);
    ck_ok(weights_file_open(support_oracle(path), &c->expected));
    return c;
}

model_case *model_case_random(int64_t longest)
{
    model_case *c = take(1, sizeof *c);
    int64_t head = 1 + (int64_t)support_below(20), heads = 1 + (int64_t)support_below(4);
    c->name = "random";
    c->config = (model_config){.vocab_size = 20 + (int64_t)support_below(60),
                               .hidden = head * heads,
                               .layers = 1 + (int64_t)support_below(3),
                               .heads = heads,
                               .feed_forward = 1 + (int64_t)support_below(50),
                               .positions = longest + (int64_t)support_below(9),
                               .type_vocab = 1 + (int64_t)support_below(2),
                               .layer_norm_epsilon = 1e-12,
                               .initializer_range = 0.02};
    c->outputs = 1 + (int64_t)support_below(3);
    c->rows = 2 + (int64_t)support_below(6);
    c->max_length = longest;
    ck_ok(tensor_table_create(&c->config, c->outputs, false, &c->table));
    c->arena = take((size_t)c->table->parameters, sizeof *c->arena);
    for (int t = 0; t < c->table->count; t++) {
        const tensor *one = &c->table->tensors[t];
        for (int64_t i = 0; i < one->count; i++)
            c->arena[one->first + i] = (one->start == START_ONE ? 1.0f : 0.0f) + (one->dims == 2 ? 0.3f : 0.1f) * support_normal();
    }
    c->ids = take((size_t)c->rows, sizeof *c->ids);
    c->length = take((size_t)c->rows, sizeof *c->length);
    c->label = take((size_t)(c->rows * c->outputs), sizeof *c->label);
    for (int64_t r = 0; r < c->rows; r++) {
        c->length[r] = 1 + (int64_t)support_below((uint64_t)longest);
        c->ids[r] = take((size_t)c->length[r], sizeof **c->ids);
        for (int64_t i = 0; i < c->length[r]; i++)
            c->ids[r][i] = (int32_t)support_below((uint64_t)c->config.vocab_size);
        for (int64_t i = 0; i < c->outputs; i++)
            c->label[r * c->outputs + i] = (float)support_uniform();
    }
    return c;
}

void model_case_free(model_case *c)
{
    for (int64_t r = 0; r < c->rows; r++)
        free(c->ids[r]);
    free(c->ids);
    free(c->length);
    free(c->label);
    free(c->arena);
    tensor_table_free(c->table);
    weights_file_close(c->expected);
    json_decref(c->batch);
    json_decref(c->noise);
    free(c);
}

double model_case_bound(const model_case *c, const char *pooling, const char *kind, const char *name)
{
    const json_t *v = json_object_get(json_object_get(c->noise, pooling), kind);
    if (name)
        v = json_object_get(v, name);
    ck_assert_msg(json_is_number(v), "noise.json: no %s %s %s", pooling, kind, name ? name : "");
    return fmax(5 * json_number_value(v), 2e-6);
}

double *model_case_expected(const model_case *c, const char *pooling, const char *name, int64_t count)
{
    char full[200];
    snprintf(full, sizeof full, "%s.%s", pooling, name);
    const weights_entry *e = weights_file_find(c->expected, full);
    ck_assert_msg(e && e->type == WEIGHTS_F64, "expected.safetensors: no %s in float64", full);
    ck_assert_msg(e->count == count, "%s has %lld elements, not %lld", full, (long long)e->count, (long long)count);
    double *x = take((size_t)count, sizeof *x);
    memcpy(x, e->data, (size_t)count * sizeof *x);
    return x;
}

/* ---- rigs ---- */

static int64_t row_tokens(const model_case *c, int64_t row, bool padded)
{
    return padded ? c->max_length : c->length[row];
}

model_rig *model_rig_open(const model_case *c, cpu_isa isa, int threads_wanted, bert_mode mode)
{
    model_rig *r = take(1, sizeof *r);
    const int64_t tokens = c->rows * c->max_length, H = c->config.hidden;
    const bert_limits limits = {tokens, c->rows, c->max_length};
    const backend_limits room = bert_backend_limits(c->table, &limits);
    void *p = NULL;
    r->c = c;
    ck_ok(threads_create(threads_wanted, &r->pool));
    ck_ok(backend_open_cpu(&room, r->pool, isa, &r->be));
    ck_ok(r->be->ops->allocate(r->be, (size_t)c->table->parameters * sizeof(float), "parameters", &p));
    r->parameters = p;
    r->be->ops->upload(r->be, r->parameters, c->arena, (size_t)c->table->parameters * sizeof(float));
    ck_ok(bert_create(r->be, c->table, r->parameters, &limits, mode, &r->net));
    ck_ok(gradient_create(r->be, c->table, tokens, &r->gradient));
    ck_ok(batch_builder_create(tokens, c->rows, (int)c->outputs, &r->builder));
    r->logits = take((size_t)(c->rows * c->outputs), sizeof *r->logits);
    r->hidden = take((size_t)(tokens * H), sizeof *r->hidden);
    r->pooled = take((size_t)(c->rows * 2 * H), sizeof *r->pooled);
    r->row_loss = take((size_t)c->rows, sizeof *r->row_loss);
    r->all_ids = take((size_t)tokens, sizeof *r->all_ids);
    return r;
}

void model_rig_close(model_rig *r)
{
    bert_free(r->net);
    gradient_free(r->gradient);
    batch_builder_free(r->builder);
    r->be->ops->release(r->be, r->parameters);
    r->be->ops->close(r->be);
    threads_free(r->pool);
    free(r->logits);
    free(r->hidden);
    free(r->pooled);
    free(r->row_loss);
    free(r->all_ids);
    free(r);
}

static void add_row(model_rig *r, int64_t row, bool padded)
{
    const model_case *c = r->c;
    batch_builder_add(r->builder, c->ids[row], c->length[row], padded ? c->max_length : 0, 0, 100 + (uint64_t)row, c->label + row * c->outputs);
}

/* Forward on what the builder holds; results go behind those of `rows` rows and `tokens` tokens. */
static const batch *forward(model_rig *r, int64_t rows, int64_t tokens)
{
    const int64_t H = r->c->config.hidden, C = r->c->outputs;
    const batch *b = batch_builder_view(r->builder);
    const float *logits = bert_forward(r->net, b);
    r->be->ops->download(r->be, r->logits + rows * C, logits, (size_t)(b->rows * C) * sizeof(float));
    r->be->ops->download(r->be, r->hidden + tokens * H, bert_hidden(r->net), (size_t)(b->tokens * H) * sizeof(float));
    r->be->ops->download(r->be, r->pooled + rows * 2 * H, bert_pooled(r->net), (size_t)(b->rows * 2 * H) * sizeof(float));
    return b;
}

void model_rig_score(model_rig *r, bool padded, const int64_t *rows, int64_t n)
{
    batch_builder_begin(r->builder, 3);
    for (int64_t i = 0; i < n; i++)
        add_row(r, rows[i], padded);
    forward(r, 0, 0);
}

void model_rig_run(model_rig *r, bool padded, int64_t most, const bert_dropout *drop)
{
    const model_case *c = r->c;
    int64_t total = 0, tokens = 0;
    memset(r->all_ids, 0, (size_t)(c->rows * c->max_length) * sizeof *r->all_ids); /* padding has id 0 */
    for (int64_t row = 0; row < c->rows; row++) {
        memcpy(r->all_ids + total, c->ids[row], (size_t)c->length[row] * sizeof *r->all_ids);
        total += row_tokens(c, row, padded);
    }
    gradient_begin(r->gradient, r->all_ids, total);
    bert_set_dropout(r->net, drop);
    r->loss = 0;
    for (int64_t row = 0; row < c->rows;) {
        int64_t first = row;
        batch_builder_begin(r->builder, 3);
        do
            add_row(r, row++, padded);
        while (row < c->rows && batch_builder_fits(r->builder, row_tokens(c, row, padded)) &&
               (most == 0 || batch_builder_view(r->builder)->tokens + row_tokens(c, row, padded) <= most));
        const batch *b = forward(r, first, tokens);
        tokens += b->tokens;
        bert_loss(r->net, b, (float)(1.0 / (double)(c->rows * c->outputs)), r->row_loss + first);
        if (bert_trains(r->net))
            bert_backward(r->net, b, r->gradient);
    }
    for (int64_t row = 0; row < c->rows; row++)
        r->loss += r->row_loss[row];
    r->loss /= (double)(c->rows * c->outputs);
    ck_ok(r->be->ops->check(r->be));
}

float *model_rig_gradient(const model_rig *r, const tensor *t)
{
    const gradient *g = r->gradient;
    float *x = take((size_t)t->count, sizeof *x);
    if (t->gradient >= 0) {
        r->be->ops->download(r->be, x, g->dense + t->gradient, (size_t)t->count * sizeof *x);
        return x;
    }
    for (int64_t i = 0; i < g->count; i++)
        r->be->ops->download(r->be, x + g->ids[i] * g->hidden, g->rows + i * g->hidden, (size_t)g->hidden * sizeof *x);
    return x;
}

double model_relative(const float *a, const double *b, int64_t n, double floor)
{
    double worst = 0, size = floor;
    for (int64_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - b[i]);
        worst = d > worst || isnan(d) ? d : worst;
        size = fmax(size, fabs(b[i]));
    }
    return worst / size;
}
