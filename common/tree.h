/* The one fixed binary tree over lanes by which every sum of the project is taken: a stack that folds as a binary counter.
 *
 *     tree t; tree_begin(&t);
 *     for lane: int slot = tree_push(&t, lane, 1);  // put the leaf into slot
 *               while (tree_fold(&t, &older, &newer)) value[older] += value[newer];   // older + newer, in this order
 *     while (tree_finish(&t, &older, &newer)) value[older] += value[newer];           // the rest; slot 0 has the sum
 *
 * Slots are stack places 0, 1, ...; at most tree_slots(lanes) are live. A leaf may be a whole aligned subtree (2^j lanes from a multiple of 2^j)
 * that was folded elsewhere. Local, cannot fail.
 */
#ifndef FRETSAW_COMMON_TREE_H
#define FRETSAW_COMMON_TREE_H

#include <stdbool.h>
#include <stdint.h>

enum { TREE_DEPTH = 40 };

typedef struct tree {
    int64_t size[TREE_DEPTH]; /* lanes in each stacked piece */
    int depth;
    int64_t next;             /* lanes pushed so far */
} tree;

void tree_begin(tree *t, int64_t first_lane); /* first lane of this sequence of pushes: fold only pairs that are aligned in the whole */
/* A piece of `lanes` = 2^j lanes that begins at the next lane; returns its slot. */
int tree_push(tree *t, int64_t lanes);
/* After a push: true with the two slots to add while a pair is complete (the sum lies in `older`). */
bool tree_fold(tree *t, int *older, int *newer);
/* After the last push of ALL lanes: folds what is left from the top. */
bool tree_finish(tree *t, int *older, int *newer);

/* The largest aligned subtrees that make up lanes [first, end), in order: piece i begins at start[i] and has count[i] lanes. Returns how many
 * (at most TREE_DEPTH * 2). */
int tree_pieces(int64_t first, int64_t end, int64_t *start, int64_t *count);
/* How many slots a sequence of pushes of lanes [first, end) one by one needs. */
int tree_slots(int64_t first, int64_t end);

#endif
