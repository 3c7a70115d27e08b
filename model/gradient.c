#include "model/gradient.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A lane can't touch more rows than it has tokens or the table has rows. */
static int64_t row_capacity(const tensor_table *table, int64_t lane_tokens)
{
    return lane_tokens < table->config.vocab_size ? lane_tokens : table->config.vocab_size;
}

static size_t marked_bytes(const tensor_table *table)
{
    return (size_t)(table->config.vocab_size / 64 + 1) * sizeof(uint64_t);
}

size_t gradient_bytes(const tensor_table *table, int64_t lane_tokens)
{
    size_t rows = (size_t)row_capacity(table, lane_tokens);
    return sizeof(gradient) + (size_t)table->dense * sizeof(float) + rows * (size_t)table->config.hidden * sizeof(float) + rows * sizeof(int32_t) +
           (size_t)table->config.vocab_size * sizeof(int32_t) + marked_bytes(table);
}

status gradient_create(backend *be, const tensor_table *table, int64_t lane_tokens, gradient **out)
{
    static const char what[] = "a lane's gradient";
    status st;
    gradient *g = NULL;
    void *p;
    TRY(memory_new(&g, sizeof *g, what));
    g->be = be;
    g->table = table;
    g->capacity = row_capacity(table, lane_tokens);
    g->hidden = table->config.hidden;
    g->dense_count = table->dense;
    g->vocabulary = table->config.vocab_size;
    g->pad_id = table->config.pad_id;
    TRY_DONE(memory_new(&g->ids, (size_t)g->capacity * sizeof *g->ids, what));
    TRY_DONE(memory_new(&g->slot, (size_t)g->vocabulary * sizeof *g->slot, what));
    TRY_DONE(memory_new(&g->marked, marked_bytes(table), what));
    TRY_DONE(be->ops->allocate(be, (size_t)g->dense_count * sizeof(float), what, &p));
    g->dense = p;
    TRY_DONE(be->ops->allocate(be, (size_t)(g->capacity * g->hidden) * sizeof(float), what, &p));
    g->rows = p;
    memset(g->slot, 0xff, (size_t)g->vocabulary * sizeof *g->slot);
    *out = g;
    return STATUS_OK;
done:
    gradient_free(g);
    return st;
}

void gradient_free(gradient *g)
{
    if (!g)
        return;
    if (g->dense)
        g->be->ops->release(g->be, g->dense);
    if (g->rows)
        g->be->ops->release(g->be, g->rows);
    free(g->ids);
    free(g->slot);
    free(g->marked);
    free(g);
}

/* The runs of the dense part that are not weights of a layer, one after the other: false when there are no more. */
typedef struct rest {
    int64_t next; /* of the layers' weights */
    int64_t first, end;
} rest;

static bool next_rest(const tensor_table *table, rest *r)
{
    static const int weights[] = {LAYER_QUERY_WEIGHT, LAYER_KEY_WEIGHT, LAYER_VALUE_WEIGHT, LAYER_PROJECT_WEIGHT, LAYER_UP_WEIGHT, LAYER_DOWN_WEIGHT};
    const int64_t count = sizeof weights / sizeof *weights, all = table->config.layers * count;
    const tensor *before = r->next > 0 ? tensor_layer(table, (r->next - 1) / count, weights[(r->next - 1) % count]) : NULL;
    r->first = before ? before->gradient + before->count : 0;
    r->end = r->next < all ? tensor_layer(table, r->next / count, weights[r->next % count])->gradient : table->dense;
    return r->next++ <= all;
}

/* Returns the floats. */
static int64_t zero_dense(gradient *g)
{
    int64_t zeroed = 0;
    if (!g->be->ops->linear_fold_weight) {
        g->be->ops->zero(g->be, g->dense, (size_t)g->dense_count * sizeof(float));
        return g->dense_count;
    }
    for (rest r = {0}; next_rest(g->table, &r); zeroed += r.end - r.first)
        g->be->ops->zero(g->be, g->dense + r.first, (size_t)(r.end - r.first) * sizeof(float));
    return zeroed;
}

void gradient_add_rest(gradient *to, const gradient *from)
{
    for (rest r = {0}; next_rest(to->table, &r);)
        to->be->ops->add(to->be, to->dense + r.first, from->dense + r.first, r.end - r.first);
}

int64_t gradient_folded_bytes(const tensor_table *table, int64_t page)
{
    int64_t bytes = 0, end = 0;
    for (rest r = {0}; next_rest(table, &r); end = r.end) {
        int64_t first_page = (end * (int64_t)sizeof(float) + page - 1) / page, end_page = r.first * (int64_t)sizeof(float) / page;
        bytes += end_page > first_page ? (end_page - first_page) * page : 0;
    }
    return bytes;
}

int64_t gradient_begin(gradient *g, const int32_t *ids, int64_t n)
{
    for (int64_t i = 0; i < g->count; i++)
        g->slot[g->ids[i]] = -1;
    g->count = 0;
    for (int64_t i = 0; i < n; i++) {
        assert(ids[i] >= 0 && ids[i] < g->vocabulary);
        g->marked[ids[i] >> 6] |= (uint64_t)1 << (ids[i] & 63);
    }
    g->marked[g->pad_id >> 6] &= ~((uint64_t)1 << (g->pad_id & 63));
    for (int64_t word = 0; word <= g->vocabulary / 64; word++) { /* ascending bits are ascending ids */
        for (uint64_t bits = g->marked[word]; bits; bits &= bits - 1) {
            int32_t id = (int32_t)(word * 64 + __builtin_ctzll(bits));
            assert(g->count < g->capacity);
            g->slot[id] = (int32_t)g->count;
            g->ids[g->count++] = id;
        }
        g->marked[word] = 0;
    }
    g->begun = false;
    g->folds = 0;
    g->be->ops->zero(g->be, g->rows, (size_t)(g->count * g->hidden) * sizeof(float));
    return g->count * g->hidden + zero_dense(g);
}

int32_t gradient_slot(const gradient *g, int32_t id)
{
    return g->slot[id];
}
