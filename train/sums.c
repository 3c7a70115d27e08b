#include "train/sums.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int sums_slot_lanes(int64_t first, int64_t end, int64_t most[TREE_DEPTH])
{
    tree t;
    int older, newer, slots = 0;
    memset(most, 0, TREE_DEPTH * sizeof *most);
    tree_begin(&t, first);
    for (int64_t lane = first; lane < end; lane++) {
        int slot = tree_push(&t, 1);
        most[slot] = most[slot] > 1 ? most[slot] : 1;
        slots = slot + 1 > slots ? slot + 1 : slots;
        while (tree_fold(&t, &older, &newer))
            most[older] = most[older] > t.size[older] ? most[older] : t.size[older];
    }
    return slots;
}

int sums_untouched(int64_t first, int64_t end)
{
    tree t;
    int older, newer, slots = 0, untouched = 0;
    bool kept[TREE_DEPTH] = {0};
    tree_begin(&t, first);
    for (int64_t lane = first; lane < end; lane++) {
        int slot = tree_push(&t, 1);
        slots = slot + 1 > slots ? slot + 1 : slots;
        while (tree_fold(&t, &older, &newer))
            continue;
        kept[slot] = kept[slot] || t.depth > slot;
    }
    for (int i = 0; i < slots; i++)
        untouched += !kept[i];
    return untouched;
}

status sums_create(backend *be, const tensor_table *table, int64_t first_lane, int64_t end_lane, int64_t lane_tokens, sums **out)
{
    int64_t most[TREE_DEPTH];
    sums *s;
    *out = NULL;
    TRY(memory_new(&s, sizeof *s, "the lanes' sums"));
    *out = s;
    s->be = be;
    s->first_lane = first_lane;
    s->room = sums_slot_lanes(first_lane, end_lane, most);
    for (int i = 0; i < s->room; i++)
        TRY(gradient_create(be, table, lane_tokens * most[i], &s->slot[i]));
    return STATUS_OK;
}

size_t sums_bytes(const tensor_table *table, int64_t first_lane, int64_t end_lane, int64_t lane_tokens)
{
    int64_t most[TREE_DEPTH];
    size_t bytes = sizeof(sums);
    int slots = sums_slot_lanes(first_lane, end_lane, most);
    for (int i = 0; i < slots; i++)
        bytes += gradient_bytes(table, lane_tokens * most[i]);
    return bytes;
}

void sums_free(sums *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->room; i++)
        gradient_free(s->slot[i]);
    free(s);
}

void sums_begin(sums *s)
{
    s->pieces = 0;
    s->dense_done = s->slot[0]->dense_count;
    tree_begin(&s->order, s->first_lane);
}

gradient *sums_next(sums *s)
{
    assert(s->order.depth < s->room);
    return s->slot[s->order.depth];
}

void sums_last(sums *s)
{
    gradient *g = s->slot[s->order.depth];
    tree order = s->order; /* a copy: the lane is not pushed yet */
    int older, newer;
    if (!s->be->ops->linear_fold_weight)
        return;
    g->folds = 0;
    tree_push(&order, 1);
    while (tree_fold(&order, &older, &newer))
        g->fold[g->folds++] = s->slot[older]->dense;
}

/* On a copy of the tree: the lane is not pushed yet. */
void sums_fold_dense(sums *s, int64_t first)
{
    tree order = s->order;
    int older, newer;
    assert(first <= s->dense_done && s->slot[s->order.depth]->folds == 0);
    tree_push(&order, 1);
    while (tree_fold(&order, &older, &newer))
        s->be->ops->add(s->be, s->slot[older]->dense + first, s->slot[newer]->dense + first, s->dense_done - first);
    s->dense_done = first;
}

void sums_fold(sums *s, double loss)
{
    int older, newer, slot = tree_push(&s->order, 1);
    const bool folded = s->slot[slot]->folds > 0;
    s->loss[slot] = loss;
    while (tree_fold(&s->order, &older, &newer)) {
        gradient *to = s->slot[older], *from = s->slot[newer];
        s->loss[older] += s->loss[newer];
        if (folded)
            gradient_add_rest(to, from);
        else if (s->dense_done > 0)
            s->be->ops->add(s->be, to->dense, from->dense, s->dense_done);
        sums_add_rows(to, from);
    }
    s->dense_done = s->slot[0]->dense_count;
    s->pieces = s->order.depth;
}

/* The ids of both, ascending, in place: from the back, so that none is overwritten before it has moved. */
static void merge_ids(gradient *older, const gradient *newer)
{
    int64_t i = 0, j = 0, n = 0;
    for (; i < older->count && j < newer->count; n++) {
        int32_t x = older->ids[i], y = newer->ids[j];
        i += x <= y;
        j += y <= x;
    }
    n += (older->count - i) + (newer->count - j);
    assert(n <= older->capacity);
    i = older->count - 1;
    j = newer->count - 1;
    older->count = n;
    while (j >= 0) {
        if (i >= 0 && older->ids[i] >= newer->ids[j]) {
            j -= older->ids[i] == newer->ids[j];
            older->ids[--n] = older->ids[i--];
        } else {
            older->ids[--n] = newer->ids[j--];
        }
    }
}

void sums_add_rows(gradient *older, const gradient *newer)
{
    older->be->ops->merge_rows(older->be, older->hidden, older->rows, older->ids, older->count, newer->rows, newer->ids, newer->count);
    merge_ids(older, newer);
}
