#include "train/sampler.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/count.h"
#include "common/files.h"
#include "common/hash.h"
#include "common/permutation.h"
#include "common/rng.h"

/* `whose` stands before the count: "" or a file and the like. */
static status refuse_few(const char *whose, int64_t rows, int64_t lanes, int64_t global_batch)
{
    if (rows < lanes)
        return fail(STATUS_USAGE, "%s%s: fewer than one global batch of %" PRId64 ", and than the %s; give more rows, or a smaller --lanes and --batch",
                    whose, count_of(rows, "row"), global_batch, count_of(lanes, "lane"));
    return fail(STATUS_USAGE, "%s%s: fewer than one global batch of %" PRId64 " (%s x %" PRId64 "); the largest --batch that works is %" PRId64
                ", and a smaller one, or more rows, give an epoch more than one step",
                whose, count_of(rows, "row"), global_batch, count_of(lanes, "lane"), global_batch / lanes, rows / lanes);
}

status sampler_make(int64_t rows, int64_t lanes, int64_t batch, uint64_t seed, sampler *out)
{
    int64_t global_batch = lanes * batch;
    memset(out, 0, sizeof *out);
    if (rows < global_batch)
        return refuse_few("", rows, lanes, global_batch);
    *out = (sampler){.rows = rows, .lanes = lanes, .global_batch = global_batch, .steps_per_epoch = rows / global_batch, .seed = seed};
    return STATUS_OK;
}

static bool is_labelled(const dataset *d, int64_t row, int outputs)
{
    const float *label = dataset_label(d, row);
    for (int c = 0; c < outputs; c++)
        if (isnan(label[c]))
            return false;
    return true;
}

status sampler_open(const dataset *d, bool drop, int64_t lanes, int64_t batch, uint64_t seed, sampler *out)
{
    int64_t rows = dataset_rows(d), unlabelled = 0, kept = 0;
    int outputs = dataset_labels(d);
    memset(out, 0, sizeof *out);
    for (int64_t row = 0; row < rows; row++)
        unlabelled += !is_labelled(d, row, outputs);
    if (unlabelled && !drop)
        return fail(STATUS_INPUT,
                    "%" PRId64 " of %" PRId64 " training rows have no label; leave them out with --drop-unlabelled, or shard with --labelled",
                    unlabelled, rows);
    TRY(sampler_make(rows - unlabelled, lanes, batch, seed, out));
    out->unlabelled = unlabelled;
    if (!unlabelled)
        return STATUS_OK;
    TRY(memory_new(&out->usable, (size_t)out->rows * sizeof *out->usable, "the list of labelled rows"));
    for (int64_t row = 0; row < rows; row++)
        if (is_labelled(d, row, outputs))
            out->usable[kept++] = row;
    return STATUS_OK;
}

static status read_row(const dataset *d, const char *path, int64_t line, const char *text, int64_t *row)
{
    size_t n = strcspn(text, "\n"), digits = strspn(text, "0123456789");
    *row = strtoll(text, NULL, 10);
    if (digits == 0 || digits > 18 || (digits != n && !(digits + 1 == n && text[digits] == '\r')) || *row >= dataset_rows(d))
        return fail(STATUS_INPUT, "%s: line %" PRId64 ": '%.*s' is not a row number from 0 to %" PRId64, path, line, (int)(n < 40 ? n : 40), text,
                    dataset_rows(d) - 1);
    if (!is_labelled(d, *row, dataset_labels(d)))
        return fail(STATUS_INPUT, "%s: line %" PRId64 ": row %" PRId64 " has no label; leave it out of the order", path, line, *row);
    return STATUS_OK;
}

status sampler_take_order(sampler *s, const dataset *d, const char *path, char sha256[65])
{
    char *text;
    size_t bytes;
    int64_t lines = 0, count = 0;
    TRY(file_read_all(path, 0, &text, &bytes));
    status st = hash_sha256_buffer(text, bytes, sha256);
    for (size_t i = 0; i < bytes; i++)
        lines += text[i] == '\n';
    if (st == STATUS_OK)
        st = memory_new(&s->given, (size_t)(lines + 1) * sizeof *s->given, "the order of rows");
    for (const char *at = text; st == STATUS_OK && *at; at += strcspn(at, "\n"), at += *at == '\n', count++)
        st = read_row(d, path, count + 1, at, &s->given[count]);
    free(text);
    TRY(st);
    if (count < s->global_batch) {
        char whose[300];
        snprintf(whose, sizeof whose, "%.280s has ", path);
        return refuse_few(whose, count, s->lanes, s->global_batch);
    }
    s->rows = count;
    s->steps_per_epoch = count / s->global_batch;
    return STATUS_OK;
}

void sampler_describe_few(const sampler *s, char text[SAMPLER_TEXT])
{
    enum { FEW = 20, ENOUGH = 40 }; /* steps an epoch */
    int64_t lanes = s->lanes, batch = s->global_batch / lanes, smaller = 1, out = s->rows % s->global_batch;
    while (s->rows / (2 * smaller * lanes) >= ENOUGH)
        smaller *= 2;
    text[0] = 0;
    if (s->steps_per_epoch >= FEW || smaller >= batch)
        return;
    snprintf(text, SAMPLER_TEXT,
             "an epoch has only %s, too few to learn much, and %" PRId64 " of its %s sit out (a step takes %s x %s): with --batch %" PRId64
             " it has %" PRId64 " steps",
             count_of(s->steps_per_epoch, "step"), out, count_of(s->rows, "row"), count_of(lanes, "lane"), count_of(batch, "row"), smaller,
             s->rows / (smaller * lanes));
}

void sampler_close(sampler *s)
{
    free(s->usable);
    free(s->given);
    s->usable = s->given = NULL;
}

int64_t sampler_epoch(const sampler *s, int64_t step)
{
    return step / s->steps_per_epoch;
}

int64_t sampler_first(const sampler *s, int64_t step)
{
    return step % s->steps_per_epoch * s->global_batch;
}

int64_t sampler_row(const sampler *s, int64_t epoch, int64_t position)
{
    if (s->given)
        return s->given[position];
    permutation p = permutation_make(s->rows, s->seed, RNG_EPOCH_ORDER, s->same_each_epoch ? 0 : (uint32_t)epoch);
    int64_t index = permutation_at(&p, position);
    return s->usable ? s->usable[index] : index;
}
