/* The micro-batch on the device. It is packed into one page-locked block and copied while the device still works on the one before: two
 * blocks in turn. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "model/cuda/cuda_internal.h"

/* Where each array lies in a slot. */
typedef struct layout {
    size_t id, place, row, offset, keys, sample, label;                     /* copied by stage */
    size_t element, statistic, fused_queries, fused_keys, batch_end;        /* and these, for cuDNN alone */
    size_t word_first, word_token, word_target, place_first, place_token, place_target, end; /* copied by group */
} layout;

static size_t put(size_t *at, int64_t n, size_t size)
{
    size_t place = *at;
    *at = cuda_round(place + (size_t)n * size);
    return place;
}

static layout layout_of(const backend_limits *l)
{
    layout y;
    size_t at = 0;
    y.id = put(&at, l->tokens, sizeof(int32_t));
    y.place = put(&at, l->tokens, sizeof(int32_t));
    y.row = put(&at, l->tokens, sizeof(int32_t));
    y.offset = put(&at, l->rows + 1, sizeof(int64_t));
    y.keys = put(&at, l->rows, sizeof(int32_t));
    y.sample = put(&at, l->rows, sizeof(uint64_t));
    y.label = put(&at, l->rows * l->outputs, sizeof(float));
    const int64_t rows = l->fused ? fused_round(l->rows) : 0;
    y.element = put(&at, l->fused ? rows + 1 : 0, sizeof(int64_t));
    y.statistic = put(&at, l->fused ? rows + 1 : 0, sizeof(int64_t));
    y.fused_queries = put(&at, rows, sizeof(int32_t));
    y.fused_keys = put(&at, rows, sizeof(int32_t));
    y.batch_end = at;
    y.word_first = put(&at, l->tokens + 1, sizeof(int32_t));
    y.word_token = put(&at, l->tokens, sizeof(int32_t));
    y.word_target = put(&at, l->tokens, sizeof(int32_t));
    y.place_first = put(&at, l->longest + 1, sizeof(int32_t));
    y.place_token = put(&at, l->tokens, sizeof(int32_t));
    y.place_target = put(&at, l->longest, sizeof(int32_t));
    y.end = at;
    return y;
}

size_t cuda_slot_bytes(const backend_limits *l)
{
    return layout_of(l).end;
}

status cuda_batch_open(cuda_backend *c)
{
    for (int i = 0; i < CUDA_SLOTS; i++)
        TRY(cuda_mirror_create(c, cuda_slot_bytes(&c->limits), "a micro-batch", &c->slot[i]));
    int64_t rows = c->limits.vocabulary > c->limits.longest ? c->limits.vocabulary : c->limits.longest;
    TRY(memory_new(&c->group_of, (size_t)rows * sizeof *c->group_of, "sorting tokens"));
    memset(c->group_of, 0xff, (size_t)rows * sizeof *c->group_of);
    return STATUS_OK;
}

void cuda_batch_close(cuda_backend *c)
{
    for (int i = 0; i < CUDA_SLOTS; i++)
        cuda_mirror_free(c, &c->slot[i]);
    free(c->group_of);
}

static void fill(const cuda_backend *c, const batch *b, char *host, const layout *y)
{
    int32_t *row = (int32_t *)(host + y->row);
    size_t tokens = (size_t)b->tokens, rows = (size_t)b->rows;
    memcpy(host + y->id, b->id, tokens * sizeof *b->id);
    memcpy(host + y->place, b->place, tokens * sizeof *b->place);
    memcpy(host + y->offset, b->offset, (rows + 1) * sizeof *b->offset);
    memcpy(host + y->keys, b->keys, rows * sizeof *b->keys);
    memcpy(host + y->sample, b->sample, rows * sizeof *b->sample);
    if (b->label)
        memcpy(host + y->label, b->label, rows * (size_t)c->limits.outputs * sizeof *b->label);
    for (int64_t r = 0; r < b->rows; r++)
        for (int64_t t = b->offset[r]; t < b->offset[r + 1]; t++)
            row[t] = (int32_t)r;
}

/* The rows as cuDNN takes them, rows of no tokens behind the last. */
static void fill_fused(cuda_backend *c, const batch *b, const cuda_mirror *m, const layout *y)
{
    int64_t *element = (int64_t *)(m->host + y->element), *statistic = (int64_t *)(m->host + y->statistic);
    int32_t *queries = (int32_t *)(m->host + y->fused_queries), *keys = (int32_t *)(m->host + y->fused_keys);
    const int64_t rows = fused_round(b->rows);
    for (int64_t r = 0; r <= rows; r++) {
        const int64_t first = b->offset[r < b->rows ? r : b->rows];
        element[r] = first * c->limits.hidden;
        statistic[r] = first * c->limits.heads;
    }
    for (int64_t r = 0; r < rows; r++) {
        queries[r] = r < b->rows ? (int32_t)(b->offset[r + 1] - b->offset[r]) : 0;
        keys[r] = r < b->rows ? b->keys[r] : 0;
    }
    c->fused_rows = (fused_rows){.rows = rows,
                                 .element = (const int64_t *)(m->there + y->element),
                                 .statistic = (const int64_t *)(m->there + y->statistic),
                                 .queries = (const int32_t *)(m->there + y->fused_queries),
                                 .keys = (const int32_t *)(m->there + y->fused_keys)};
}

void cuda_batch_stage(cuda_backend *c, const batch *b)
{
    const layout y = layout_of(&c->limits);
    assert(b->tokens <= c->limits.tokens && b->rows <= c->limits.rows && b->longest <= c->limits.longest);
    gpu_mark_set(c->gpu, c->slot[c->slot_at].mark);
    c->slot_at = (c->slot_at + 1) % CUDA_SLOTS;
    cuda_mirror *m = &c->slot[c->slot_at];
    gpu_mark_wait(c->gpu, m->mark);
    fill(c, b, m->host, &y);
    if (c->fused)
        fill_fused(c, b, m, &y);
    gpu_upload(c->gpu, m->there, m->host, y.batch_end);
    c->rows = (cuda_rows){.rows = b->rows,
                          .tokens = b->tokens,
                          .longest = b->longest,
                          .epoch = b->epoch,
                          .id = (const int32_t *)(m->there + y.id),
                          .place = (const int32_t *)(m->there + y.place),
                          .row = (const int32_t *)(m->there + y.row),
                          .offset = (const int64_t *)(m->there + y.offset),
                          .keys = (const int32_t *)(m->there + y.keys),
                          .sample = (const uint64_t *)(m->there + y.sample),
                          .label = b->label ? (const float *)(m->there + y.label) : NULL};
}

/* Tokens by key, each group's ascending, groups in the order of their first token; a key of -1 is left out. Returns the number of groups. */
static int64_t group(int32_t *group_of, const int32_t *key, int64_t n, int32_t *first, int32_t *token, int32_t *target)
{
    int64_t groups = 0;
    int32_t at = 0;
    for (int64_t t = 0; t < n; t++) { /* counts, in first[1 ..] */
        if (key[t] < 0)
            continue;
        if (group_of[key[t]] < 0) {
            target[groups] = key[t];
            first[groups + 1] = 0;
            group_of[key[t]] = (int32_t)groups++;
        }
        first[group_of[key[t]] + 1]++;
    }
    first[0] = 0;
    for (int64_t g = 0; g < groups; g++) { /* begin of each group, in first[g + 1] until its tokens have moved it on */
        int32_t count = first[g + 1];
        first[g + 1] = at;
        at += count;
    }
    for (int64_t t = 0; t < n; t++)
        if (key[t] >= 0)
            token[first[group_of[key[t]] + 1]++] = (int32_t)t;
    for (int64_t g = 0; g < groups; g++)
        group_of[target[g]] = -1;
    return groups;
}

void cuda_batch_group(cuda_backend *c, const batch *b, const int32_t *slot, cuda_groups *words, cuda_groups *places)
{
    const layout y = layout_of(&c->limits);
    cuda_mirror *m = &c->slot[c->slot_at];
    words->count = group(c->group_of, slot, b->tokens, (int32_t *)(m->host + y.word_first), (int32_t *)(m->host + y.word_token),
                         (int32_t *)(m->host + y.word_target));
    places->count = group(c->group_of, b->place, b->tokens, (int32_t *)(m->host + y.place_first), (int32_t *)(m->host + y.place_token),
                          (int32_t *)(m->host + y.place_target));
    gpu_upload(c->gpu, m->there + y.batch_end, m->host + y.batch_end, y.end - y.batch_end);
    words->first = (const int32_t *)(m->there + y.word_first);
    words->token = (const int32_t *)(m->there + y.word_token);
    words->target = (const int32_t *)(m->there + y.word_target);
    places->first = (const int32_t *)(m->there + y.place_first);
    places->token = (const int32_t *)(m->there + y.place_token);
    places->target = (const int32_t *)(m->there + y.place_target);
}
