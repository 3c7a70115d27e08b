#include "model/model_init.h"

#include <math.h>
#include <string.h>

#include "common/rng.h"
#include "model/cpu/normal.h"

enum { SLICE = 1 << 16 };

/* Four words for the pair of elements 2 * pair and 2 * pair + 1. */
static void draw(uint64_t seed, int64_t pair, uint32_t w[4])
{
    rng_philox(seed, (const uint32_t[4]){(uint32_t)pair, (uint32_t)RNG_INITIAL_WEIGHT << 24, (uint32_t)((uint64_t)pair >> 32), 0}, w);
}

/* 53 bits of two words, in [0, 1). */
static double unit(uint32_t high, uint32_t low)
{
    return (double)(((uint64_t)high << 32 | low) >> 11) * 0x1p-53;
}

static void fill_uniform(uint64_t seed, double bound, int64_t first, int64_t count, float *out)
{
    for (int64_t i = first; i < first + count; i++) {
        uint32_t w[4];
        draw(seed, i / 2, w);
        double u = i % 2 ? unit(w[2], w[3]) : unit(w[0], w[1]);
        out[i - first] = (float)(bound * (2.0 * u - 1.0));
    }
}

/* Zeroes the part of [from, from + n) that `out`, which starts at `first` and has `count` elements, holds. */
static void clear_part(int64_t from, int64_t n, int64_t first, int64_t count, float *out)
{
    int64_t a = from > first ? from : first, b = from + n < first + count ? from + n : first + count;
    if (a < b)
        memset(out + (a - first), 0, (size_t)(b - a) * sizeof *out);
}

/* A range within one tensor. */
static void fill_range(const tensor_table *table, uint64_t seed, const tensor_range *r, float *out)
{
    const model_config *c = &table->config;
    const tensor *t = r->tensor;
    switch (t->start) {
    case START_NORMAL: normal_fill(CPU_ISA_AUTO, seed, RNG_INITIAL_WEIGHT, c->initializer_range, r->first, r->count, out); break;
    case START_HEAD: fill_uniform(seed, 1.0 / sqrt(2.0 * (double)c->hidden), r->first, r->count, out); break;
    case START_ONE:
        for (int64_t i = 0; i < r->count; i++)
            out[i] = 1.0f;
        break;
    case START_ZERO: memset(out, 0, (size_t)r->count * sizeof *out); break;
    }
    if (t == tensor_embedding(table, EMBED_WORD))
        clear_part(t->first + c->pad_id * c->hidden, c->hidden, r->first, r->count, out);
    clear_part(t->first + t->count, t->span - t->count, r->first, r->count, out);
}

void model_init_range(const tensor_table *table, uint64_t seed, int64_t first, int64_t count, float *out)
{
    tensor_range r;
    for (int64_t at = first; tensor_table_range(table, at, first + count, &r); at += r.count)
        fill_range(table, seed, &r, out + (at - first));
}

typedef struct init_job {
    const tensor_table *table;
    uint64_t seed;
    int64_t first, count;
    float *out;
} init_job;

static void run_slice(void *job, int64_t task, int worker)
{
    const init_job *j = job;
    int64_t from = task * SLICE, n = j->count - from < SLICE ? j->count - from : SLICE;
    (void)worker;
    model_init_range(j->table, j->seed, j->first + from, n, j->out + from);
}

void model_init_threads(const tensor_table *table, uint64_t seed, int64_t first, int64_t count, float *out, threads *pool)
{
    init_job job = {table, seed, first, count, out};
    threads_run(pool, (count + SLICE - 1) / SLICE, run_slice, &job);
}
