#include "train/sampler.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/permutation.h"
#include "common/rng.h"

status sampler_make(int64_t rows, int64_t global_batch, uint64_t seed, sampler *out)
{
    memset(out, 0, sizeof *out);
    if (rows < global_batch)
        return fail(STATUS_USAGE,
                    "%" PRId64 " rows are fewer than one global batch of %" PRId64 " (lanes x batch); give more rows or a smaller --batch or --lanes",
                    rows, global_batch);
    *out = (sampler){.rows = rows, .global_batch = global_batch, .steps_per_epoch = rows / global_batch, .seed = seed};
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

status sampler_open(const dataset *d, bool drop, int64_t global_batch, uint64_t seed, sampler *out)
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
    TRY(sampler_make(rows - unlabelled, global_batch, seed, out));
    out->unlabelled = unlabelled;
    if (!unlabelled)
        return STATUS_OK;
    TRY(memory_new(&out->usable, (size_t)out->rows * sizeof *out->usable, "the list of labelled rows"));
    for (int64_t row = 0; row < rows; row++)
        if (is_labelled(d, row, outputs))
            out->usable[kept++] = row;
    return STATUS_OK;
}

void sampler_close(sampler *s)
{
    free(s->usable);
    s->usable = NULL;
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
    permutation p = permutation_make(s->rows, s->seed, RNG_EPOCH_ORDER, (uint32_t)epoch);
    int64_t index = permutation_at(&p, position);
    return s->usable ? s->usable[index] : index;
}
