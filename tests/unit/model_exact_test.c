/* What must not change a bit: the rows beside a row, micro-batches, threads, the instruction set; and finite differences. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/support.h"
#include "unit/model_case.h"

static const bert_dropout drop = {.hidden = 0.1, .attention = 0.1, .head = 0.3, .seed = 7};

/* Everything a run makes, as bytes: logits, losses, all gradients. */
typedef struct outcome {
    float *floats;
    size_t count;
    double loss;
} outcome;

static outcome collect(const model_rig *r)
{
    const model_case *c = r->c;
    outcome o = {.loss = r->loss};
    size_t logits = (size_t)(c->rows * c->outputs), all = logits;
    for (int i = 0; i < c->table->count; i++)
        all += (size_t)c->table->tensors[i].count;
    o.floats = malloc(all * sizeof *o.floats);
    ck_assert_ptr_nonnull(o.floats);
    memcpy(o.floats, r->logits, logits * sizeof *o.floats);
    o.count = logits;
    for (int i = 0; i < c->table->count; i++) {
        const tensor *t = &c->table->tensors[i];
        float *g = model_rig_gradient(r, t);
        memcpy(o.floats + o.count, g, (size_t)t->count * sizeof *g);
        o.count += (size_t)t->count;
        free(g);
    }
    return o;
}

static outcome run_once(const model_case *c, cpu_isa isa, int threads_wanted, bool padded, int64_t most, const bert_dropout *d)
{
    model_rig *r = model_rig_open(c, isa, threads_wanted, BERT_TRAINING);
    model_rig_run(r, padded, most, d);
    outcome o = collect(r);
    model_rig_close(r);
    return o;
}

static void demand_equal(const outcome *a, const outcome *b, const char *what)
{
    ck_assert_uint_eq(a->count, b->count);
    for (size_t i = 0; i < a->count; i++)
        ck_assert_msg(memcmp(&a->floats[i], &b->floats[i], sizeof(float)) == 0, "%s: element %zu: %a and %a", what, i, (double)a->floats[i],
                      (double)b->floats[i]);
    ck_assert_msg(a->loss == b->loss, "%s: loss %a and %a", what, a->loss, b->loss);
}

/* Every number of the run must be the same in `tries` other ways to compute it. */
static void check_invariance(const model_case *c, bool padded, const bert_dropout *d)
{
    outcome want = run_once(c, CPU_ISA_AUTO, 1, padded, 0, d);
    for (int threads_wanted = 2; threads_wanted <= 3; threads_wanted++) {
        outcome got = run_once(c, CPU_ISA_AUTO, threads_wanted, padded, 0, d);
        demand_equal(&want, &got, "threads");
        free(got.floats);
    }
    const int64_t cuts[] = {c->max_length, c->max_length + 1 + (int64_t)support_below((uint64_t)c->max_length)};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        outcome got = run_once(c, CPU_ISA_AUTO, 1 + (int)(i % 2), padded, cuts[i], d);
        demand_equal(&want, &got, "micro-batches");
        free(got.floats);
    }
    for (cpu_isa isa = CPU_ISA_PLAIN; isa <= CPU_ISA_AVX512; isa++) {
        if (!isa_supported(isa))
            continue;
        outcome got = run_once(c, isa, 2, padded, cuts[0], d);
        demand_equal(&want, &got, isa_name(isa));
        free(got.floats);
    }
    free(want.floats);
}

START_TEST(oracle_cases_do_not_move)
{
    static const char *const names[] = {"tiny", "odd", "deep", "cut"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        model_case *c = model_case_load(names[i]);
        if (!c) {
            support_skip("oracle/model");
            return;
        }
        check_invariance(c, i % 2, i == 1 ? NULL : &drop);
        model_case_free(c);
    }
}
END_TEST

START_TEST(random_networks_do_not_move)
{
    support_seed();
    for (int i = 0; i < 4; i++) {
        model_case *c = model_case_random(2 + (int64_t)support_below(50));
        check_invariance(c, i % 2, i % 3 ? &drop : NULL);
        model_case_free(c);
    }
}
END_TEST

/* With pooling over its own tokens, a row's logits are its own: alone, in any company, at any place. */
START_TEST(rows_do_not_see_each_other)
{
    support_seed();
    for (int i = 0; i < 8; i++) {
        model_case *c = model_case_random(2 + (int64_t)support_below(80));
        model_rig *r = model_rig_open(c, CPU_ISA_AUTO, 2, BERT_SCORING);
        const size_t row_bytes = (size_t)c->outputs * sizeof(float);
        int64_t order[16];
        float *want = malloc((size_t)c->rows * row_bytes);
        for (int64_t row = 0; row < c->rows; row++) {
            model_rig_score(r, false, &row, 1);
            memcpy(want + row * c->outputs, r->logits, row_bytes);
            order[row] = row;
        }
        for (int64_t row = c->rows - 1; row > 0; row--) {
            int64_t other = (int64_t)support_below((uint64_t)row + 1), kept = order[row];
            order[row] = order[other];
            order[other] = kept;
        }
        model_rig_score(r, false, order, c->rows);
        for (int64_t k = 0; k < c->rows; k++)
            ck_assert_msg(memcmp(want + order[k] * c->outputs, r->logits + k * c->outputs, row_bytes) == 0, "row %lld changes in company",
                          (long long)order[k]);
        model_rig_close(r);
        free(want);
        model_case_free(c);
    }
}
END_TEST

/* A network that keeps nothing gives the logits of one that trains. */
START_TEST(scoring_equals_training)
{
    support_seed();
    for (int i = 0; i < 4; i++) {
        model_case *c = model_case_random(30);
        model_rig *a = model_rig_open(c, CPU_ISA_AUTO, 1, BERT_TRAINING), *b = model_rig_open(c, CPU_ISA_AUTO, 1, BERT_SCORING);
        model_rig_run(a, i % 2, 0, NULL);
        model_rig_run(b, i % 2, 0, NULL);
        ck_assert_mem_eq(a->logits, b->logits, (size_t)(c->rows * c->outputs) * sizeof(float));
        ck_assert(a->loss == b->loss);
        float probability[64];
        bert_probabilities(b->net, batch_builder_view(b->builder), probability);
        for (int64_t k = 0; k < c->rows * c->outputs; k++)
            ck_assert(fabs((double)probability[k] - 1 / (1 + exp(-(double)b->logits[k]))) < 1e-6);
        model_rig_close(a);
        model_rig_close(b);
        model_case_free(c);
    }
}
END_TEST

/* ---- finite differences ---- */

/* The loss with the parameters moved by `step` along `direction`. */
static double loss_along(model_rig *r, const float *direction, double step, bool padded, const bert_dropout *d)
{
    const model_case *c = r->c;
    float *moved = malloc((size_t)c->table->parameters * sizeof *moved);
    ck_assert_ptr_nonnull(moved);
    for (int64_t i = 0; i < c->table->parameters; i++)
        moved[i] = (float)((double)c->arena[i] + step * (double)direction[i]);
    r->be->ops->upload(r->be, r->parameters, moved, (size_t)c->table->parameters * sizeof *moved);
    r->be->ops->parameters_changed(r->be);
    model_rig_run(r, padded, 0, d);
    free(moved);
    return r->loss;
}

/* Gradient times direction, against the loss's own slope there; one tensor at a time, so that a fault names its place. In float32 the
 * difference of two losses is good to about 1e-7 / (2 step), and its curvature adds step squared. */
static void check_slope(model_rig *r, const tensor *t, bool padded, const bert_dropout *d)
{
    const model_case *c = r->c;
    float *direction = calloc((size_t)c->table->parameters, sizeof *direction);
    ck_assert_ptr_nonnull(direction);
    double length = 0;
    for (int64_t i = 0; i < t->count; i++) {
        bool pad = t == tensor_embedding(c->table, EMBED_WORD) && i / c->config.hidden == c->config.pad_id;
        direction[t->first + i] = pad ? 0 : support_normal();
        length += (double)direction[t->first + i] * (double)direction[t->first + i];
    }
    for (int64_t i = 0; i < t->count; i++)
        direction[t->first + i] = (float)((double)direction[t->first + i] / sqrt(length + 1e-30));
    loss_along(r, direction, 0, padded, d);
    float *g = model_rig_gradient(r, t);
    double slope = 0;
    for (int64_t i = 0; i < t->count; i++)
        slope += (double)g[i] * (double)direction[t->first + i];
    const double h = 4e-3;
    double measured = (8 * (loss_along(r, direction, h, padded, d) - loss_along(r, direction, -h, padded, d)) -
                       (loss_along(r, direction, 2 * h, padded, d) - loss_along(r, direction, -2 * h, padded, d))) /
                      (12 * h);
    ck_assert_msg(fabs(measured - slope) < 3e-4 + 0.02 * fabs(slope), "%s: gradient says %.6g, loss says %.6g", t->name, slope, measured);
    free(g);
    free(direction);
}

/* A maximum that changes its place within the step would be a kink: a smooth case has its maxima well apart. Layer norms over one
 * or two columns are as sharp, so hidden is wider here. */
static model_case *smooth_case(void)
{
    model_case *c;
    for (;;) {
        c = model_case_random(12);
        if (c->config.hidden >= 12)
            return c;
        model_case_free(c);
    }
}

START_TEST(gradients_follow_the_loss)
{
    support_seed();
    for (int i = 0; i < 2; i++) {
        model_case *c = smooth_case();
        for (int64_t k = 0; k < 2 * c->config.hidden * c->outputs; k++) /* the mean half alone: no kinks from the maximum */
            if (k % (2 * c->config.hidden) >= c->config.hidden)
                c->arena[tensor_out_weight(c->table)->first + k] = 0;
        model_rig *r = model_rig_open(c, CPU_ISA_AUTO, 1, BERT_TRAINING);
        for (int t = 0; t < c->table->count; t++)
            if (&c->table->tensors[t] != tensor_out_weight(c->table))
                check_slope(r, &c->table->tensors[t], i % 2, i ? &drop : NULL);
        model_rig_close(r);
        model_case_free(c);
    }
}
END_TEST

/* Dropout with another seed, epoch's sample or none gives other numbers; with the same, the same. */
START_TEST(dropout_is_keyed)
{
    support_seed();
    model_case *c = smooth_case();
    model_rig *r = model_rig_open(c, CPU_ISA_AUTO, 1, BERT_TRAINING);
    bert_dropout other = drop;
    other.seed++;
    model_rig_run(r, false, 0, &drop);
    double a = r->loss;
    model_rig_run(r, false, 0, &other);
    double b = r->loss;
    model_rig_run(r, false, 0, NULL);
    double none = r->loss;
    model_rig_run(r, false, 0, &drop);
    ck_assert(a != b && a != none && b != none);
    ck_assert(a == r->loss);
    const bert_dropout one_site[] = {{.hidden = 0.5, .seed = 7}, {.attention = 0.5, .seed = 7}, {.head = 0.5, .seed = 7}};
    for (int i = 0; i < 3; i++) {
        model_rig_run(r, false, 0, &one_site[i]);
        ck_assert_msg(r->loss != none, "dropout %d does nothing", i);
    }
    model_rig_close(r);
    model_case_free(c);
}
END_TEST

/* ---- which counter each dropout has: a table of operations that writes down what it is asked for and passes it on ---- */

static struct {
    const backend_ops *real;
    dropout seen[64];
    int count;
} trace;

static void note_dropout(const dropout *d)
{
    ck_assert_int_lt(trace.count, 64);
    trace.seen[trace.count++] = *d;
}

static void trace_embed(backend *be, const batch *b, int64_t H, const float *word, const float *position, const float *type, const float *gamma,
                        const float *beta, float epsilon, const dropout *d, float *sum, float *mean, float *rstd, float *y)
{
    note_dropout(d);
    trace.real->embed_forward(be, b, H, word, position, type, gamma, beta, epsilon, d, sum, mean, rstd, y);
}

static void trace_embed_back(backend *be, const batch *b, int64_t H, const float *dy, const float *sum, const float *mean, const float *rstd,
                             const float *gamma, const dropout *d, const int32_t *slot, float *dsum, float *dgamma, float *dbeta, float *dword,
                             float *dposition, float *dtype_row)
{
    note_dropout(d);
    trace.real->embed_backward(be, b, H, dy, sum, mean, rstd, gamma, d, slot, dsum, dgamma, dbeta, dword, dposition, dtype_row);
}

static void trace_residual(backend *be, const batch *b, int64_t H, const float *x, const float *y, const dropout *d, const float *gamma,
                           const float *beta, float epsilon, float *sum, float *mean, float *rstd, float *z)
{
    note_dropout(d);
    trace.real->residual_norm_forward(be, b, H, x, y, d, gamma, beta, epsilon, sum, mean, rstd, z);
}

static void trace_residual_back(backend *be, const batch *b, int64_t H, const float *dz, const float *sum, const float *mean, const float *rstd,
                                const float *gamma, const dropout *d, float *dx, float *dy, float *dgamma, float *dbeta)
{
    note_dropout(d);
    trace.real->residual_norm_backward(be, b, H, dz, sum, mean, rstd, gamma, d, dx, dy, dgamma, dbeta);
}

static void trace_attention(backend *be, const batch *b, int64_t H, int64_t N, const float *q, const float *k, const float *v, const dropout *d,
                            float *out, float *row_max, float *row_sum)
{
    note_dropout(d);
    trace.real->attention_forward(be, b, H, N, q, k, v, d, out, row_max, row_sum);
}

static void trace_attention_back(backend *be, const batch *b, int64_t H, int64_t N, const float *q, const float *k, const float *v, const dropout *d,
                                 const float *out, const float *row_max, const float *row_sum, const float *dout, float *dq, float *dk, float *dv)
{
    note_dropout(d);
    trace.real->attention_backward(be, b, H, N, q, k, v, d, out, row_max, row_sum, dout, dq, dk, dv);
}

static void trace_head(backend *be, const batch *b, int64_t H, int64_t C, const float *pooled, const dropout *d, const float *weight,
                       const float *bias, float *dropped, float *logits)
{
    note_dropout(d);
    trace.real->head_forward(be, b, H, C, pooled, d, weight, bias, dropped, logits);
}

static void trace_head_back(backend *be, const batch *b, int64_t H, int64_t C, const float *dlogits, const float *dropped, const dropout *d,
                            const float *weight, float *dpooled, float *dweight, float *dbias)
{
    note_dropout(d);
    trace.real->head_backward(be, b, H, C, dlogits, dropped, d, weight, dpooled, dweight, dbias);
}

static void expect_dropout(int *at, int64_t layer, enum dropout_site site, double p)
{
    const dropout *d = &trace.seen[(*at)++];
    ck_assert_int_eq(d->layer, layer);
    ck_assert_int_eq(d->site, site);
    ck_assert_uint_eq(d->threshold, (uint32_t)floor(p * 4294967296.0));
    ck_assert(d->scale == (float)(1 / (1 - p)) && d->seed == drop.seed);
}

START_TEST(dropout_counters)
{
    support_seed();
    model_case *c = model_case_random(9);
    model_rig *r = model_rig_open(c, CPU_ISA_AUTO, 1, BERT_TRAINING);
    backend_ops traced = *r->be->ops;
    traced.embed_forward = trace_embed;
    traced.embed_backward = trace_embed_back;
    traced.residual_norm_forward = trace_residual;
    traced.residual_norm_backward = trace_residual_back;
    traced.attention_forward = trace_attention;
    traced.attention_backward = trace_attention_back;
    traced.head_forward = trace_head;
    traced.head_backward = trace_head_back;
    trace.real = r->be->ops;
    trace.count = 0;
    r->be->ops = &traced;
    model_rig_run(r, false, 0, &drop);
    r->be->ops = trace.real;
    int at = 0;
    expect_dropout(&at, 0, SITE_EMBEDDING, 0.1);
    for (int64_t i = 0; i < c->config.layers; i++) {
        expect_dropout(&at, i, SITE_ATTENTION, 0.1);
        expect_dropout(&at, i, SITE_ATTENTION_OUT, 0.1);
        expect_dropout(&at, i, SITE_FEED_FORWARD_OUT, 0.1);
    }
    expect_dropout(&at, 0, SITE_HEAD, 0.3);
    expect_dropout(&at, 0, SITE_HEAD, 0.3);
    for (int64_t i = c->config.layers - 1; i >= 0; i--) {
        expect_dropout(&at, i, SITE_FEED_FORWARD_OUT, 0.1);
        expect_dropout(&at, i, SITE_ATTENTION_OUT, 0.1);
        expect_dropout(&at, i, SITE_ATTENTION, 0.1);
    }
    expect_dropout(&at, 0, SITE_EMBEDDING, 0.1);
    ck_assert_int_eq(at, trace.count);
    model_rig_close(r);
    model_case_free(c);
}
END_TEST

/* The counted bytes are those of the formula in bert.h. */
START_TEST(memory_is_as_documented)
{
    support_seed();
    model_case *c = model_case_random(64);
    const bert_limits limits = {512, 32, 64}; /* multiples of 16: no rounding but of small buffers */
    const int64_t T = 512, B = 32, H = c->config.hidden, F = c->config.feed_forward, N = c->config.heads, L = c->config.layers, C = c->outputs;
    int64_t training = L * (8 * T * H + 2 * T * F + 2 * T * N + 4 * T) + (2 * T * H + 2 * T) + (6 * T * H + T * F) + B * (6 * H + 3 * C) + B * H;
    int64_t scoring = 8 * T * H + T * F + 2 * T * N + 2 * T + B * (4 * H + 2 * C) + B * H;
    ck_assert_uint_eq(bert_memory_bytes(c->table, &limits, BERT_TRAINING, TYPE_FLOAT32), (size_t)training * 4);
    ck_assert_uint_eq(bert_memory_bytes(c->table, &limits, BERT_SCORING, TYPE_FLOAT32), (size_t)scoring * 4);
    model_case_free(c);
}
END_TEST

START_TEST(gradient_rows_are_sorted)
{
    support_seed();
    model_case *c = model_case_random(20);
    model_rig *r = model_rig_open(c, CPU_ISA_AUTO, 1, BERT_TRAINING);
    int32_t ids[40];
    for (int again = 0; again < 5; again++) {
        const int64_t n = 1 + (int64_t)support_below(c->rows * c->max_length < 40 ? (uint64_t)(c->rows * c->max_length) : 40);
        for (int64_t i = 0; i < n; i++)
            ids[i] = (int32_t)support_below((uint64_t)c->config.vocab_size);
        gradient_begin(r->gradient, ids, n);
        for (int64_t i = 1; i < r->gradient->count; i++)
            ck_assert_int_lt(r->gradient->ids[i - 1], r->gradient->ids[i]);
        int64_t found = 0;
        for (int32_t id = 0; id < c->config.vocab_size; id++) {
            bool wanted = false;
            for (int64_t i = 0; i < n; i++)
                wanted |= ids[i] == id && id != c->config.pad_id;
            int32_t slot = gradient_slot(r->gradient, id);
            ck_assert(wanted ? slot >= 0 && r->gradient->ids[slot] == id : slot == -1);
            found += wanted;
        }
        ck_assert_int_eq(found, r->gradient->count);
    }
    model_rig_close(r);
    model_case_free(c);
}
END_TEST

int main(void)
{
    threads_set_rounding();
    return support_run("model, bit by bit", (const TTest *[]){oracle_cases_do_not_move, random_networks_do_not_move, rows_do_not_see_each_other,
                                                              scoring_equals_training, gradients_follow_the_loss, dropout_is_keyed, dropout_counters,
                                                              memory_is_as_documented, gradient_rows_are_sorted, NULL});
}
