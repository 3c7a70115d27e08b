/* Gradients of lanes and ranks on the device, the optimizer, and what was promised to the host. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/search.h"
#include "common/tree.h"
#include "model/cuda/cuda_internal.h"

static size_t promise_bytes(const backend_limits *l)
{
    return cuda_round((size_t)l->rows * sizeof(double)) + cuda_round(CUDA_HASHES * sizeof(uint64_t)) + 256;
}

/* One block of each side for all promises: losses, hashes, the sign of an overflow. */
status cuda_gradient_open(cuda_backend *c)
{
    size_t bytes = promise_bytes(&c->limits), losses = cuda_round((size_t)c->limits.rows * sizeof(double)),
           hashes = cuda_round(CUDA_HASHES * sizeof(uint64_t));
    void *host, *there, *spare;
    TRY(gpu_pin(c->gpu, bytes, "what the device tells the host", &host));
    c->loss = host;
    TRY(cuda_take(c, bytes, "what the device tells the host", &there));
    c->loss_there = there;
    c->hash = (uint64_t *)((char *)host + losses);
    c->hash_there = (uint64_t *)((char *)there + losses);
    c->overflow = (int32_t *)((char *)host + losses + hashes);
    c->overflow_there = (int32_t *)((char *)there + losses + hashes);
    TRY(gpu_mark_create(c->gpu, &c->loss_mark));
    c->spare_floats = (size_t)CUDA_MERGE_ROWS * (size_t)c->limits.hidden;
    /* one row more, which stays zero: what is absent is read from there */
    TRY(cuda_take(c, (c->spare_floats + (size_t)c->limits.hidden) * sizeof(float), "word rows on their way", &spare));
    c->spare = spare;
    c->scale = 1;
    return STATUS_OK;
}

void cuda_gradient_close(cuda_backend *c)
{
    if (c->loss)
        gpu_unpin(c->gpu, c->loss);
    if (c->loss_there)
        gpu_release(c->gpu, c->loss_there);
    if (c->spare)
        gpu_release(c->gpu, c->spare);
    gpu_mark_free(c->gpu, c->loss_mark);
}

void cuda_add_op(backend *be, float *to, const float *from, int64_t n)
{
    if (n > 0)
        cuda_add(gpu_stream(cuda_of(be)->gpu), n, from, to);
}

/* ---- rows ---- */

static int64_t union_count(const int32_t *a, int64_t a_count, const int32_t *b, int64_t b_count)
{
    int64_t i = 0, j = 0, n = 0;
    for (; i < a_count && j < b_count; n++) {
        int32_t x = a[i], y = b[j];
        i += x <= y;
        j += y <= x;
    }
    return n + (a_count - i) + (b_count - j);
}

/* In place from the back, a piece at a time through the spare rows: a merged row lies no lower than the older row it has, so that a piece's place
 * holds only rows that have been read. */
void cuda_merge(backend *be, int64_t width, float *older, const int32_t *older_ids, int64_t older_count, const float *newer, const int32_t *newer_ids,
                int64_t newer_count)
{
    cuda_backend *c = cuda_of(be);
    int64_t i = older_count - 1, j = newer_count - 1, end = union_count(older_ids, older_count, newer_ids, newer_count);
    while (j >= 0) { /* once the newer rows are gone, what is left lies where it belongs */
        int64_t n = end < CUDA_MERGE_ROWS ? end : CUDA_MERGE_ROWS;
        void *there_older, *there_newer;
        size_t bytes = (size_t)n * sizeof(int32_t);
        int32_t *from_older = cuda_list_take(c, 2 * cuda_round(bytes), &there_older);
        int32_t *from_newer = (int32_t *)((char *)from_older + cuda_round(bytes));
        there_newer = (char *)there_older + cuda_round(bytes);
        for (int64_t k = n - 1; k >= 0; k--) {
            bool has_older = i >= 0 && (j < 0 || older_ids[i] >= newer_ids[j]), has_newer = j >= 0 && (i < 0 || newer_ids[j] >= older_ids[i]);
            from_older[k] = has_older ? (int32_t)i-- : -1;
            from_newer[k] = has_newer ? (int32_t)j-- : -1;
        }
        cuda_list_send(c, from_older, 2 * cuda_round(bytes));
        cuda_merge_rows(gpu_stream(c->gpu), n, width, older, there_older, newer, there_newer, c->spare);
        end -= n;
        gpu_copy(c->gpu, older + end * width, c->spare, (size_t)(n * width) * sizeof(float));
    }
}

/* A sum on its way up the tree: rows of ascending ids, `width` floats each. */
typedef struct partial {
    const int32_t *ids; /* host */
    int64_t count;
    const float *rows;
} partial;

/* Where the next sums of a fold go: rows into the spare memory, their ids into a list of the host. */
typedef struct room {
    float *rows;
    size_t left; /* floats */
    int32_t *ids;
    size_t ids_left;
} room;

static partial join(cuda_backend *c, int64_t width, const partial *older, const partial *newer, room *r)
{
    if (older->count == 0)
        return *newer;
    if (newer->count == 0)
        return *older;
    int64_t n = union_count(older->ids, older->count, newer->ids, newer->count), i = 0, j = 0;
    size_t bytes = cuda_round((size_t)n * sizeof(int32_t));
    void *there;
    int32_t *from_older = cuda_list_take(c, 2 * bytes, &there), *from_newer = (int32_t *)((char *)from_older + bytes);
    partial sum = {.ids = r->ids, .count = n, .rows = r->rows};
    if ((size_t)(n * width) > r->left || (size_t)n > r->ids_left) {
        gpu_fail(c->gpu, "more word rows in a window than there is room for");
        return *older;
    }
    for (int64_t k = 0; k < n; k++) {
        bool has_older = i < older->count && (j == newer->count || older->ids[i] <= newer->ids[j]),
             has_newer = j < newer->count && (i == older->count || newer->ids[j] <= older->ids[i]);
        r->ids[k] = has_older ? older->ids[i] : newer->ids[j];
        from_older[k] = has_older ? (int32_t)i++ : -1;
        from_newer[k] = has_newer ? (int32_t)j++ : -1;
    }
    cuda_list_send(c, from_older, 2 * bytes);
    cuda_merge_rows(gpu_stream(c->gpu), n, width, older->rows, there, newer->rows, (int32_t *)((char *)there + bytes), r->rows);
    r->rows += n * width;
    r->left -= (size_t)(n * width);
    r->ids += n;
    r->ids_left -= (size_t)n;
    return sum;
}

/* Rows first_id .. end_id - 1, of which columns column .. column + width - 1 count (all, where several rows are taken): the tree's sum into `to`,
 * absent rows as zeros. */
static void fold_part(cuda_backend *c, int64_t row_width, int64_t first_id, int64_t end_id, int64_t column, int64_t width, const row_piece *pieces,
                      int count, float *to, int32_t *ids, size_t ids_room)
{
    partial stack[TREE_DEPTH];
    room r = {c->spare, c->spare_floats, ids, ids_room};
    tree order;
    int older, newer;
    tree_begin(&order, 0);
    for (int i = 0; i < count; i++) {
        const row_piece *p = &pieces[i];
        int64_t from = search_first(p->ids, p->count, first_id), end = search_first(p->ids, p->count, end_id);
        stack[tree_push(&order, p->lanes)] = (partial){p->ids + from, end - from, p->rows + (from * row_width + column - p->skip)};
        while (tree_fold(&order, &older, &newer))
            stack[older] = join(c, width, &stack[older], &stack[newer], &r);
    }
    while (tree_finish(&order, &older, &newer))
        stack[older] = join(c, width, &stack[older], &stack[newer], &r);
    for (int64_t at = first_id, k = 0; at < end_id && k < stack[0].count;) { /* spread out, a list at a time */
        int64_t n = end_id - at < CUDA_MERGE_ROWS ? end_id - at : CUDA_MERGE_ROWS;
        size_t bytes = cuda_round((size_t)n * sizeof(int32_t));
        void *there;
        int32_t *from = cuda_list_take(c, 2 * bytes, &there), *none = (int32_t *)((char *)from + bytes);
        for (int64_t x = 0; x < n; x++) {
            bool has = k < stack[0].count && stack[0].ids[k] == at + x;
            from[x] = has ? (int32_t)k++ : -1;
            none[x] = has ? -1 : 0;
        }
        cuda_list_send(c, from, 2 * bytes);
        cuda_merge_rows(gpu_stream(c->gpu), n, width, stack[0].rows, there, c->spare + c->spare_floats, (int32_t *)((char *)there + bytes),
                        to + (at - first_id) * width);
        at += n;
    }
}

void cuda_fold_rows(backend *be, int64_t width, int64_t first, int64_t end, const row_piece *pieces, int count, float *to)
{
    cuda_backend *c = cuda_of(be);
    static int32_t ids[CUDA_MERGE_ROWS]; /* of one thread: the rank's own */
    gpu_zero(c->gpu, to, (size_t)(end - first) * sizeof(float));
    for (int64_t at = first; at < end;) {
        int64_t id = at / width, column = at % width, stop;
        if (column != 0 || end - at < width) { /* a row that the window cuts */
            stop = end - at < width - column ? end : at + width - column;
            fold_part(c, width, id, id + 1, column, stop - at, pieces, count, to + (at - first), ids, CUDA_MERGE_ROWS);
        } else { /* as many whole rows as all their sums find room for */
            int64_t most = CUDA_MERGE_ROWS / (count > 1 ? count : 1), rows = (end - at) / width;
            rows = rows < most || count == 1 ? rows : most;
            stop = at + rows * width;
            fold_part(c, width, id, id + rows, 0, width, pieces, count, to + (at - first), ids, CUDA_MERGE_ROWS);
        }
        at = stop;
    }
}

/* ---- the optimizer ---- */

/* The place that adds up for *host; calls for one host word come one after another. */
static uint64_t *hash_place(cuda_backend *c, uint64_t *host)
{
    if (c->hashes > 0 && c->hash_host[c->hashes - 1] == host)
        return c->hash_there + (c->hashes - 1);
    if (c->hashes == CUDA_HASHES)
        cuda_wait(&c->base);
    c->hash_host[c->hashes] = host;
    return c->hash_there + c->hashes++;
}

void cuda_adamw_op(backend *be, int64_t n, int64_t first_index, const adamw_step *s, int decayed, const float *grad, float *m, float *v, float *p,
                   uint64_t *hash)
{
    cuda_backend *c = cuda_of(be);
    int64_t at = p - c->parameters;
    bool own = c->copy && at >= 0 && at + n <= c->parameters_count;
    if (n == 0)
        return;
    cuda_adamw(gpu_stream(c->gpu), &(cuda_adamw_args){.n = n,
                                                      .first_index = first_index,
                                                      .step = *s,
                                                      .decayed = decayed,
                                                      .unscale = 1 / c->scale,
                                                      .grad = grad,
                                                      .m = m,
                                                      .v = v,
                                                      .p = p,
                                                      .type = c->type,
                                                      .copy = own ? (char *)c->copy + (size_t)at * cuda_type_bytes(c->type) : NULL,
                                                      .hash = hash_place(c, hash),
                                                      .scratch = c->scratch});
    if (own && c->fresh_end == at && c->fresh_end > c->fresh_first) {
        c->fresh_end = at + n;
    } else if (own) {
        c->fresh_first = at;
        c->fresh_end = at + n;
    }
}

void cuda_look_for_overflow(backend *be, const float *p, int64_t n, int64_t *found)
{
    cuda_backend *c = cuda_of(be);
    assert(!c->overflow_host || c->overflow_host == found);
    c->overflow_host = found;
    if (n > 0)
        cuda_find_overflow(gpu_stream(c->gpu), n, p, c->overflow_there, c->scratch);
}

void cuda_wait(backend *be)
{
    cuda_backend *c = cuda_of(be);
    gpu_download(c->gpu, c->hash, c->hash_there, (size_t)c->hashes * sizeof *c->hash);
    gpu_download(c->gpu, c->overflow, c->overflow_there, sizeof *c->overflow);
    gpu_zero(c->gpu, c->hash_there, (size_t)c->hashes * sizeof *c->hash);
    gpu_zero(c->gpu, c->overflow_there, sizeof *c->overflow);
    gpu_wait(c->gpu);
    for (int i = 0; i < c->hashes; i++)
        *c->hash_host[i] += c->hash[i];
    c->hashes = 0;
    if (c->overflow_host)
        *c->overflow_host += *c->overflow;
    c->overflow_host = NULL;
    cuda_wait_loss(be);
}
