#include "train/feeder.h"

#include <stdlib.h>
#include <string.h>

struct feeder {
    feeder_setting set;
    deal *deal;
    batch_builder *builder;
    int outputs;
    int64_t epoch, first; /* of the step: epoch and first position */
    int64_t *row;         /* dataset row of each slot of the global batch */
    int32_t *length;      /* of each slot */
    const int32_t *slots; /* dealt: lanes x batch */
    int64_t lane;
    int32_t *ids;      /* the lane's tokens, end to end */
    int64_t *offset;   /* batch + 1 */
    int64_t from, end; /* rows of the lane in the current micro-batch */
    int64_t limit;     /* tokens of the lane's micro-batches: at most M, so that they are nearly equal */
};

int64_t feeder_micro_rows(int64_t micro_tokens, int64_t lane_rows)
{
    return micro_tokens / 2 < lane_rows ? micro_tokens / 2 : lane_rows;
}

status feeder_create(const feeder_setting *setting, feeder **out)
{
    feeder *f;
    size_t slots = (size_t)(setting->lanes * setting->batch);
    *out = NULL;
    TRY(memory_new(&f, sizeof *f, "the feeder"));
    *out = f;
    f->set = *setting;
    f->outputs = dataset_labels(setting->data);
    TRY(deal_create(setting->deal, setting->lanes, setting->batch, &f->deal));
    TRY(batch_builder_create(setting->micro_tokens, feeder_micro_rows(setting->micro_tokens, setting->batch), f->outputs, &f->builder));
    TRY(memory_new(&f->row, slots * sizeof *f->row, "the rows of a step"));
    TRY(memory_new(&f->length, slots * sizeof *f->length, "the rows of a step"));
    TRY(memory_new(&f->ids, (size_t)(setting->batch * setting->input.max_length) * sizeof *f->ids, "the tokens of a lane"));
    return memory_new(&f->offset, (size_t)(setting->batch + 1) * sizeof *f->offset, "the tokens of a lane");
}

void feeder_free(feeder *f)
{
    if (!f)
        return;
    deal_free(f->deal);
    batch_builder_free(f->builder);
    free(f->row);
    free(f->length);
    free(f->ids);
    free(f->offset);
    free(f);
}

size_t feeder_bytes(const feeder_setting *setting, int outputs)
{
    size_t slots = (size_t)(setting->lanes * setting->batch), rows = (size_t)setting->batch;
    size_t dealing = slots * 3 * sizeof(int32_t) + (1 << 18), packing = (size_t)setting->micro_tokens * 2 * sizeof(int32_t);
    return dealing + packing + slots * (sizeof(int64_t) + sizeof(int32_t)) + rows * (size_t)setting->input.max_length * sizeof(int32_t) +
           rows * (2 * sizeof(int64_t) + (size_t)outputs * sizeof(float));
}

status feeder_begin_step(feeder *f, int64_t step)
{
    int64_t slots = f->set.lanes * f->set.batch;
    f->epoch = sampler_epoch(f->set.order, step);
    f->first = sampler_first(f->set.order, step);
    for (int64_t i = 0; i < slots; i++) {
        f->row[i] = sampler_row(f->set.order, f->epoch, f->first + i);
        f->length[i] = (int32_t)input_length(&f->set.input, dataset_length(f->set.data, f->row[i]));
    }
    f->slots = deal_rows(f->deal, f->length);
    return STATUS_OK;
}

int64_t feeder_lane_tokens(const feeder *f, int64_t lane)
{
    int64_t tokens = 0;
    for (int64_t i = 0; i < f->set.batch; i++)
        tokens += f->length[f->slots[lane * f->set.batch + i]];
    return tokens;
}

int64_t feeder_step_tokens(const feeder *f)
{
    int64_t tokens = 0;
    for (int64_t i = 0; i < f->set.lanes * f->set.batch; i++)
        tokens += f->length[i];
    return tokens;
}

status feeder_begin_lane(feeder *f, int64_t lane, const int32_t **ids, int64_t *n)
{
    const int32_t *slots = f->slots + lane * f->set.batch;
    f->lane = lane;
    f->from = f->end = 0;
    f->offset[0] = 0;
    for (int64_t i = 0; i < f->set.batch; i++) {
        int64_t row = f->row[slots[i]], count;
        int32_t *to = f->ids + f->offset[i];
        TRY(input_read(&f->set.input, f->set.data, row, to, &count));
        TRY(input_check_ids(to, count, f->set.vocabulary, "training row", row));
        f->offset[i + 1] = f->offset[i] + count;
    }
    f->limit = f->set.micro_tokens;
    if (f->set.even)
        f->limit = deal_micro_even(f->length, slots, f->set.batch, f->limit, f->set.padded ? f->set.input.max_length : 0);
    *ids = f->ids;
    *n = f->offset[f->set.batch];
    return STATUS_OK;
}

const batch *feeder_next(feeder *f)
{
    const int32_t *slots = f->slots + f->lane * f->set.batch;
    int64_t padded = f->set.padded ? f->set.input.max_length : 0;
    f->from = f->end;
    if (f->from == f->set.batch)
        return NULL;
    f->end = deal_micro_end(f->length, slots, f->set.batch, f->from, f->limit, padded);
    batch_builder_begin(f->builder, (uint32_t)f->epoch);
    for (int64_t i = f->from; i < f->end; i++)
        batch_builder_add(f->builder, f->ids + f->offset[i], f->offset[i + 1] - f->offset[i], padded, f->set.input.pad,
                          (uint64_t)(f->first + slots[i]), dataset_label(f->set.data, f->row[slots[i]]));
    return batch_builder_view(f->builder);
}

bool feeder_lane_ends(const feeder *f)
{
    return f->end == f->set.batch;
}

int64_t feeder_row(const feeder *f, int64_t i)
{
    return f->row[f->slots[f->lane * f->set.batch + f->from + i]];
}
