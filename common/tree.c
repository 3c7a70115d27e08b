#include "common/tree.h"

#include <assert.h>

void tree_begin(tree *t, int64_t first_lane)
{
    *t = (tree){.next = first_lane};
}

int tree_push(tree *t, int64_t lanes)
{
    assert(t->depth < TREE_DEPTH && lanes > 0 && (lanes & (lanes - 1)) == 0 && t->next % lanes == 0);
    t->size[t->depth] = lanes;
    t->next += lanes;
    return t->depth++;
}

static void fold_top(tree *t, int *older, int *newer)
{
    *newer = --t->depth;
    *older = t->depth - 1;
    t->size[*older] += t->size[*newer];
}

bool tree_fold(tree *t, int *older, int *newer)
{
    if (t->depth < 2)
        return false;
    int64_t top = t->size[t->depth - 1];
    /* Equal neighbours alone are not enough: lanes 1 and 2 of a sequence that begins at lane 1 belong to different pairs. */
    if (t->size[t->depth - 2] != top || t->next % (2 * top) != 0)
        return false;
    fold_top(t, older, newer);
    return true;
}

bool tree_finish(tree *t, int *older, int *newer)
{
    if (t->depth < 2)
        return false;
    fold_top(t, older, newer);
    return true;
}

int tree_pieces(int64_t first, int64_t end, int64_t *start, int64_t *count)
{
    int pieces = 0;
    while (first < end) {
        int64_t size = 1;
        while (first % (2 * size) == 0 && first + 2 * size <= end)
            size *= 2;
        start[pieces] = first;
        count[pieces++] = size;
        first += size;
    }
    return pieces;
}

int tree_slots(int64_t first, int64_t end)
{
    tree t;
    int older, newer, most = 0;
    tree_begin(&t, first);
    for (int64_t lane = first; lane < end; lane++) {
        int slot = tree_push(&t, 1);
        most = slot + 1 > most ? slot + 1 : most;
        while (tree_fold(&t, &older, &newer))
            continue;
    }
    return most;
}
