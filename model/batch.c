#include "model/batch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct batch_builder {
    batch view;
    int64_t max_tokens, max_rows;
    int outputs;
    bool labelled; /* every row so far came with labels */
    int32_t *id, *place, *keys;
    int64_t *offset;
    uint64_t *sample;
    float *label;
};

status batch_builder_create(int64_t max_tokens, int64_t max_rows, int outputs, batch_builder **out)
{
    assert(max_tokens > 0 && max_rows > 0 && outputs > 0);
    status st;
    batch_builder *b = NULL;
    size_t tokens = (size_t)max_tokens, rows = (size_t)max_rows;
    TRY(memory_new(&b, sizeof *b, "a micro-batch"));
    b->max_tokens = max_tokens;
    b->max_rows = max_rows;
    b->outputs = outputs;
    TRY_DONE(memory_new(&b->id, tokens * sizeof *b->id, "a micro-batch"));
    TRY_DONE(memory_new(&b->place, tokens * sizeof *b->place, "a micro-batch"));
    TRY_DONE(memory_new(&b->keys, rows * sizeof *b->keys, "a micro-batch"));
    TRY_DONE(memory_new(&b->offset, (rows + 1) * sizeof *b->offset, "a micro-batch"));
    TRY_DONE(memory_new(&b->sample, rows * sizeof *b->sample, "a micro-batch"));
    TRY_DONE(memory_new(&b->label, rows * (size_t)outputs * sizeof *b->label, "a micro-batch"));
    batch_builder_begin(b, 0);
    *out = b;
    return STATUS_OK;
done:
    batch_builder_free(b);
    return st;
}

void batch_builder_free(batch_builder *b)
{
    if (!b)
        return;
    free(b->id);
    free(b->place);
    free(b->keys);
    free(b->offset);
    free(b->sample);
    free(b->label);
    free(b);
}

void batch_builder_begin(batch_builder *b, uint32_t epoch)
{
    b->labelled = true;
    b->offset[0] = 0;
    b->view = (batch){.epoch = epoch, .id = b->id, .place = b->place, .offset = b->offset, .keys = b->keys, .sample = b->sample};
}

bool batch_builder_fits(const batch_builder *b, int64_t tokens)
{
    return b->view.rows < b->max_rows && tokens <= b->max_tokens - b->view.tokens;
}

void batch_builder_add(batch_builder *b, const int32_t *ids, int64_t n, int64_t padded, int32_t pad, uint64_t sample, const float *labels)
{
    int64_t length = padded ? padded : n, row = b->view.rows, first = b->view.tokens;
    assert(n > 0 && length >= n && batch_builder_fits(b, length));
    memcpy(b->id + first, ids, (size_t)n * sizeof *ids);
    for (int64_t i = n; i < length; i++)
        b->id[first + i] = pad;
    for (int64_t i = 0; i < length; i++)
        b->place[first + i] = (int32_t)i;
    b->keys[row] = (int32_t)n;
    b->sample[row] = sample;
    b->labelled = b->labelled && labels;
    if (labels)
        memcpy(b->label + row * b->outputs, labels, (size_t)b->outputs * sizeof *labels);
    b->view.rows++;
    b->view.tokens += length;
    b->offset[b->view.rows] = b->view.tokens;
    if (length > b->view.longest)
        b->view.longest = length;
}

const batch *batch_builder_view(batch_builder *b)
{
    b->view.label = b->labelled ? b->label : NULL;
    return &b->view;
}
