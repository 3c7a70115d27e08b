/* Rows of the word table's gradient: merged by id between two lanes' sums, folded by the tree between ranks. */
#include <stdbool.h>
#include <string.h>

#include "common/tree.h"
#include "model/cpu/cpu_internal.h"

enum { BLOCK = 64 };

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

void cpu_merge_rows(backend *be, int64_t width, float *older, const int32_t *older_ids, int64_t older_count, const float *newer,
                    const int32_t *newer_ids, int64_t newer_count)
{
    int64_t i = older_count - 1, j = newer_count - 1, to = union_count(older_ids, older_count, newer_ids, newer_count) - 1;
    size_t bytes = (size_t)width * sizeof(float);
    (void)be;
    for (; j >= 0; to--) { /* from the back, so that no row is overwritten before it has moved: to >= i throughout */
        float *place = older + to * width;
        if (i >= 0 && older_ids[i] >= newer_ids[j]) {
            bool both = older_ids[i] == newer_ids[j];
            if (to != i)
                memmove(place, older + i * width, bytes);
            i--;
            if (both) {
                const float *from = newer + j-- * width;
                for (int64_t k = 0; k < width; k++)
                    place[k] += from[k];
            }
        } else {
            memcpy(place, newer + j-- * width, bytes);
        }
    }
}

typedef struct row_fold {
    float sum[TREE_DEPTH][BLOCK];
    bool there[TREE_DEPTH];
} row_fold;

/* older + newer; an absent part is not added. */
static void join(row_fold *f, int older, int newer, int64_t n)
{
    if (f->there[older] && f->there[newer])
        for (int64_t k = 0; k < n; k++)
            f->sum[older][k] += f->sum[newer][k];
    else if (f->there[newer])
        memcpy(f->sum[older], f->sum[newer], (size_t)n * sizeof(float));
    f->there[older] = f->there[older] || f->there[newer];
}

/* Folds what each piece has of one word row (found[i], or NULL), in blocks, so that partial sums stay on the stack. */
static void fold_row(const row_piece *pieces, int count, const float *const *found, int64_t width, float *to)
{
    row_fold f;
    for (int64_t at = 0; at < width; at += BLOCK) {
        int64_t n = width - at < BLOCK ? width - at : BLOCK;
        tree order;
        int older, newer;
        tree_begin(&order, 0);
        for (int i = 0; i < count; i++) {
            int slot = tree_push(&order, pieces[i].lanes);
            f.there[slot] = found[i] != NULL;
            if (found[i])
                memcpy(f.sum[slot], found[i] + at, (size_t)n * sizeof(float));
            while (tree_fold(&order, &older, &newer))
                join(&f, older, newer, n);
        }
        while (tree_finish(&order, &older, &newer))
            join(&f, older, newer, n);
        memcpy(to + at, f.sum[0], (size_t)n * sizeof(float));
    }
}

void cpu_fold_rows(backend *be, int64_t width, int64_t first, int64_t end, const row_piece *pieces, int count, float *to)
{
    int64_t next[ROW_PIECES] = {0};
    const float *found[ROW_PIECES];
    (void)be;
    memset(to, 0, (size_t)(end - first) * sizeof *to);
    for (;;) {
        int64_t id = INT64_MAX;
        for (int i = 0; i < count; i++)
            if (next[i] < pieces[i].count && pieces[i].ids[next[i]] < id)
                id = pieces[i].ids[next[i]];
        if (id == INT64_MAX)
            return;
        int64_t from = id * width > first ? id * width : first, stop = (id + 1) * width < end ? (id + 1) * width : end;
        for (int i = 0; i < count; i++) {
            const row_piece *p = &pieces[i];
            bool has = next[i] < p->count && p->ids[next[i]] == id;
            found[i] = has ? p->rows + (next[i] * width + (from - id * width) - p->skip) : NULL;
            next[i] += has;
        }
        fold_row(pieces, count, found, stop - from, to + (from - first));
    }
}
