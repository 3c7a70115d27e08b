/* What bench/gpu.sh asks of a device besides whole runs; every part prints lines "name value".
 *
 *     gpu_check agree TYPE                  loss, logits and every gradient of a small network against the CPU back end, dropout on
 *     gpu_check repeat TYPE TIMES           the same step TIMES times: are all gradients the same bits?
 *     gpu_check noise SECONDS               keeps the device busy with other work meanwhile
 *     gpu_check train TYPE base|large|tiny LANES BATCH SECONDS [exact|fast]     whole optimizer steps: tokens and operations a second
 *     gpu_check score TYPE base|large|tiny BATCH SECONDS            scoring: rows a second
 *     gpu_check cudnn ...                   any of these with cuDNN's attention in place of the own kernel, and without attention dropout
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/threads.h"
#include "model/bert.h"
#include "model/placement.h"
#include "train/optimizer.h"
#include "train/sums.h"

enum { LONGEST = 192, SEED = 7 };

static bool by_cudnn;

/* Everything for one network on one back end. */
typedef struct rig {
    backend *be;
    tensor_table *table;
    float *host, *weights;
    bert *net;
    batch_builder *builder;
    int64_t tokens, rows;
} rig;

static uint64_t state = SEED;
static uint32_t draw(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

static model_config shape_of(const char *name)
{
    model_config c = {.vocab_size = 105879,
                      .hidden = 768,
                      .layers = 12,
                      .heads = 12,
                      .feed_forward = 3072,
                      .positions = 512,
                      .type_vocab = 2,
                      .layer_norm_epsilon = 1e-12,
                      .initializer_range = 0.02};
    if (strcmp(name, "large") == 0)
        c.hidden = 1024, c.layers = 24, c.heads = 16, c.feed_forward = 4096;
    if (strcmp(name, "tiny") == 0)
        c.vocab_size = 500, c.hidden = 128, c.layers = 2, c.heads = 2, c.feed_forward = 256;
    return c;
}

static backend_type type_of(const char *name)
{
    return strcmp(name, "bfloat16") == 0 ? TYPE_BFLOAT16 : strcmp(name, "float16") == 0 ? TYPE_FLOAT16 : TYPE_FLOAT32;
}

static void must(status st)
{
    if (st == STATUS_OK)
        return;
    fprintf(stderr, "gpu_check: %s\n", status_message());
    exit(st);
}

static void rig_open(rig *r, bool on_device, backend_type type, const char *shape, int64_t tokens, int64_t rows, bert_mode mode)
{
    model_config c = shape_of(shape);
    placement where = {.type = type};
    void *p;
    *r = (rig){.tokens = tokens, .rows = rows};
    must(tensor_table_create(&c, 1, false, &r->table));
    const bert_limits limits = {tokens, rows, LONGEST};
    backend_limits room = bert_backend_limits(r->table, &limits);
    if (on_device) {
        int devices;
        must(device_library_open(&where.library));
        must(where.library->count(&devices));
        if (by_cudnn)
            must(where.library->can_fuse(0, type));
        where.fused = by_cudnn;
    }
    must(place_open(&where, &room, &r->be));
    size_t bytes = (size_t)r->table->parameters * sizeof(float);
    must(memory_new(&r->host, bytes, "parameters"));
    state = SEED;
    for (int i = 0; i < r->table->count; i++) {
        const tensor *t = &r->table->tensors[i];
        for (int64_t k = 0; k < t->count; k++)
            r->host[t->first + k] = t->start == START_ONE ? 1 : t->start == START_ZERO ? 0 : ((float)draw() * 0x1p-32f - 0.5f) * 0.07f;
    }
    must(r->be->ops->allocate(r->be, bytes, "parameters", &p));
    r->weights = p;
    r->be->ops->upload(r->be, r->weights, r->host, bytes);
    must(r->be->ops->keep_parameters(r->be, r->weights, r->table->parameters));
    must(bert_create(r->be, r->table, r->weights, &limits, mode, &r->net));
    must(batch_builder_create(tokens, rows, 1, &r->builder));
}

static void rig_close(rig *r)
{
    batch_builder_free(r->builder);
    bert_free(r->net);
    r->be->ops->release(r->be, r->weights);
    r->be->ops->close(r->be);
    tensor_table_free(r->table);
    free(r->host);
}

/* As comments have it. */
static int64_t some_length(void)
{
    static const int64_t lengths[] = {
#include "bench/lengths.inc"
    };
    return lengths[draw() % (sizeof lengths / sizeof *lengths)];
}

static void add_row(rig *r, uint64_t sample, int64_t length)
{
    int32_t ids[LONGEST];
    for (int64_t i = 0; i < length; i++)
        ids[i] = (int32_t)(1 + draw() % (uint32_t)(r->table->config.vocab_size - 1));
    float label = (float)(draw() & 1);
    batch_builder_add(r->builder, ids, length, 0, 0, sample, &label);
}

/* ---- agreement and repetition ---- */

static void one_step(rig *r, gradient *g, double *loss, float *probability)
{
    const batch *b;
    state = SEED + 1;
    batch_builder_begin(r->builder, 1);
    for (uint64_t i = 0; batch_builder_fits(r->builder, LONGEST) && i < (uint64_t)r->rows; i++)
        add_row(r, i, some_length());
    b = batch_builder_view(r->builder);
    bert_set_dropout(r->net, &(bert_dropout){.hidden = 0.1, .attention = by_cudnn ? 0 : 0.1, .head = 0.3, .seed = SEED});
    gradient_begin(g, b->id, b->tokens);
    bert_forward(r->net, b);
    bert_loss(r->net, b, 1.0f / (float)b->rows, loss);
    bert_backward(r->net, b, g);
    bert_wait_loss(r->net);
    bert_probabilities(r->net, b, probability);
    must(r->be->ops->check(r->be));
}

static float *fetch(rig *r, const float *x, int64_t n, float scale)
{
    float *to;
    must(memory_new(&to, (size_t)n * sizeof *to, "numbers"));
    r->be->ops->download(r->be, to, x, (size_t)n * sizeof *to);
    for (int64_t i = 0; i < n; i++)
        to[i] /= scale;
    return to;
}

/* Length of the difference beside that of b. A gradient of many tensors is one vector: some tensors' own are little more than rounding. */
typedef struct distance {
    double apart, size;
} distance;

static void measure(distance *d, const float *a, const float *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        d->apart += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        d->size += (double)b[i] * (double)b[i];
    }
}

static void agree(backend_type type)
{
    rig on[2];
    gradient *g[2];
    double loss[2][64], sum[2] = {0};
    float score[2][64], *dense[2], *rows[2];
    for (int i = 0; i < 2; i++) {
        rig_open(&on[i], i == 0, i == 0 ? type : TYPE_FLOAT32, "tiny", 1024, 16, BERT_TRAINING);
        must(gradient_create(on[i].be, on[i].table, 1024, &g[i]));
        float scale = i == 0 && type == TYPE_FLOAT16 ? 4096 : 1; /* as training does, so that small gradients are there at all */
        if (on[i].be->device)
            on[i].be->device->set_scale(on[i].be, scale);
        one_step(&on[i], g[i], loss[i], score[i]);
        dense[i] = fetch(&on[i], g[i]->dense, on[i].table->dense, scale);
        rows[i] = fetch(&on[i], g[i]->rows, g[i]->count * g[i]->hidden, scale);
        for (int64_t k = 0; k < batch_builder_view(on[i].builder)->rows; k++)
            sum[i] += loss[i][k];
    }
    distance gradients = {0}, scores = {0};
    measure(&gradients, rows[0], rows[1], g[1]->count * g[1]->hidden);
    measure(&gradients, dense[0], dense[1], on[0].table->dense);
    measure(&scores, score[0], score[1], batch_builder_view(on[0].builder)->rows);
    printf("loss_error %.3g\nscore_error %.3g\ngradient_error %.3g\n", fabs(sum[0] - sum[1]) / sum[1], sqrt(scores.apart / scores.size),
           sqrt(gradients.apart / gradients.size));
    for (int i = 0; i < 2; i++) {
        free(dense[i]);
        free(rows[i]);
        gradient_free(g[i]);
        rig_close(&on[i]);
    }
}

static uint64_t hash_step(rig *r, gradient *g)
{
    double loss[64];
    float score[64];
    one_step(r, g, loss, score);
    float *dense = fetch(r, g->dense, r->table->dense, 1), *rows = fetch(r, g->rows, g->count * g->hidden, 1);
    uint64_t all[3] = {hash_xxh3(dense, (size_t)r->table->dense * sizeof *dense), hash_xxh3(rows, (size_t)(g->count * g->hidden) * sizeof *rows),
                       hash_xxh3(score, sizeof *score)};
    free(dense);
    free(rows);
    return hash_xxh3(all, sizeof all);
}

static void repeat(backend_type type, int64_t times)
{
    rig r;
    gradient *g;
    int64_t other = 0;
    rig_open(&r, true, type, "tiny", 1024, 16, BERT_TRAINING);
    must(gradient_create(r.be, r.table, 1024, &g));
    uint64_t first = hash_step(&r, g);
    for (int64_t i = 1; i < times; i++)
        other += hash_step(&r, g) != first;
    printf("repeats %" PRId64 "\nrepeats_with_other_bits %" PRId64 "\n", times, other);
    gradient_free(g);
    rig_close(&r);
}

static void noise(double seconds)
{
    rig r;
    gradient *g;
    double loss[64], begin = clock_seconds();
    float score[64];
    rig_open(&r, true, TYPE_FLOAT32, "tiny", 2048, 24, BERT_TRAINING);
    must(gradient_create(r.be, r.table, 2048, &g));
    while (clock_seconds() - begin < seconds)
        one_step(&r, g, loss, score);
    gradient_free(g);
    rig_close(&r);
}

/* ---- speed ---- */

static double row_work(const model_config *m, double T)
{
    double H = (double)m->hidden, F = (double)m->feed_forward;
    return (double)m->layers * (2 * T * (4 * H * H + 2 * H * F) + 4 * T * T * H) + 4 * H;
}

typedef struct count {
    double tokens, rows, work; /* forward */
} count;

/* The rows of a lane as micro-batches; with `g` forward and back, else scoring. */
static void run_lane(rig *r, int64_t batch_rows, uint64_t seed, gradient *g, count *c)
{
    static double loss[1 << 16];
    static float score[1 << 16];
    static int64_t length[1 << 16];
    static int32_t ids[1 << 23];
    int64_t all = 0;
    state = seed;
    for (int64_t i = 0; i < batch_rows; i++) {
        length[i] = some_length();
        for (int64_t k = 0; k < length[i]; k++)
            ids[all + k] = (int32_t)(1 + (uint64_t)draw() * draw() % (uint64_t)(r->table->config.vocab_size - 1));
        all += length[i];
    }
    if (g)
        gradient_begin(g, ids, all);
    const int32_t *at = ids;
    for (int64_t row = 0; row < batch_rows;) {
        batch_builder_begin(r->builder, 1);
        for (; row < batch_rows && batch_builder_fits(r->builder, length[row]); row++) {
            batch_builder_add(r->builder, at, length[row], 0, 0, (uint64_t)row, &(float){(float)(row & 1)});
            at += length[row];
            c->tokens += (double)length[row];
            c->rows += 1;
            c->work += row_work(&r->table->config, (double)length[row]);
        }
        const batch *b = batch_builder_view(r->builder);
        bert_forward(r->net, b);
        if (g) {
            bert_loss(r->net, b, 1e-3f, loss);
            bert_backward(r->net, b, g);
            bert_wait_loss(r->net);
        } else {
            bert_probabilities(r->net, b, score);
        }
    }
}

static void train_speed(backend_type type, const char *shape, int64_t lanes, int64_t batch_rows, double seconds, reduce_kind kind)
{
    rig r;
    sums *s;
    reduce *d;
    optimizer *o;
    int64_t steps = 0, lane_tokens = batch_rows * LONGEST, micro = strcmp(shape, "tiny") == 0 ? 2048 : 16384;
    count c = {0};
    double begin = 0;
    rig_open(&r, true, type, shape, micro, batch_rows < micro / 2 ? batch_rows : micro / 2, BERT_TRAINING);
    bert_set_dropout(r.net, &(bert_dropout){.hidden = 0.1, .attention = by_cudnn ? 0 : 0.1, .head = 0.3, .seed = SEED});
    must(sums_create(r.be, r.table, 0, lanes, lane_tokens, &s));
    must(reduce_create(r.be, r.table, lanes, lane_tokens, REDUCE_STRIPE, kind, &d));
    must(optimizer_create(r.be, r.table, r.host, r.weights, REDUCE_STRIPE, &o));
    for (;;) {
        if (steps == 2) { /* the first two warm the clocks and load the kernels */
            c = (count){0};
            begin = clock_seconds();
        }
        sums_begin(s);
        for (int64_t lane = 0; lane < lanes; lane++) {
            run_lane(&r, batch_rows, (uint64_t)(steps * lanes + lane), sums_next(s), &c);
            sums_fold(s, 0);
        }
        optimizer_begin(o, &(adamw_step){0.9f, 0.1f, 0.999f, 0.001f, 1e-6f, 1e-7f, 1e-9f});
        reduce_begin(d, s);
        for (reduce_slice slice; reduce_next(d, &slice);)
            optimizer_update(o, &slice);
        must(optimizer_end(o));
        steps++;
        if (steps > 2 && clock_seconds() - begin > seconds)
            break;
    }
    double passed = clock_seconds() - begin;
    printf("steps %" PRId64 "\nseconds_a_step %.6g\ntokens_a_second %.6g\nrows_a_second %.6g\nteraflops %.5g\ndevice_megabytes %.1f\n", steps - 2,
           passed / (double)(steps - 2), c.tokens / passed, c.rows / passed, 3 * c.work / passed * 1e-12, (double)r.be->device->used(r.be) * 1e-6);
    optimizer_free(o);
    reduce_free(d);
    sums_free(s);
    rig_close(&r);
}

static void score_speed(backend_type type, const char *shape, int64_t batch_rows, double seconds)
{
    rig r;
    count c = {0};
    double begin = 0;
    int64_t micro = strcmp(shape, "tiny") == 0 ? 2048 : 32768;
    rig_open(&r, true, type, shape, micro, batch_rows < micro / 2 ? batch_rows : micro / 2, BERT_SCORING);
    for (uint64_t i = 0; i < 2 || clock_seconds() - begin < seconds; i++) {
        if (i == 1) {
            c = (count){0};
            begin = clock_seconds();
        }
        run_lane(&r, batch_rows, i, NULL, &c);
        must(r.be->ops->check(r.be));
    }
    double passed = clock_seconds() - begin;
    printf("tokens_a_second %.6g\nrows_a_second %.6g\nteraflops %.5g\n", c.tokens / passed, c.rows / passed, c.work / passed * 1e-12);
    rig_close(&r);
}

int main(int argc, char **argv)
{
    must(comm_open(&argc, &argv));
    threads_set_rounding();
    if (argc > 1 && strcmp(argv[1], "cudnn") == 0) {
        by_cudnn = true;
        argv++;
        argc--;
    }
    if (argc == 3 && strcmp(argv[1], "agree") == 0)
        agree(type_of(argv[2]));
    else if (argc == 4 && strcmp(argv[1], "repeat") == 0)
        repeat(type_of(argv[2]), strtoll(argv[3], NULL, 10));
    else if (argc == 3 && strcmp(argv[1], "noise") == 0)
        noise(strtod(argv[2], NULL));
    else if ((argc == 7 || argc == 8) && strcmp(argv[1], "train") == 0)
        train_speed(type_of(argv[2]), argv[3], strtoll(argv[4], NULL, 10), strtoll(argv[5], NULL, 10), strtod(argv[6], NULL),
                    argc == 8 && strcmp(argv[7], "fast") == 0 ? REDUCE_FAST : REDUCE_EXACT);
    else if (argc == 6 && strcmp(argv[1], "score") == 0)
        score_speed(type_of(argv[2]), argv[3], strtoll(argv[4], NULL, 10), strtod(argv[5], NULL));
    else
        return fprintf(stderr, "gpu_check: see the head of bench/gpu_check.c\n"), 2;
    comm_close();
    return 0;
}
