#include "common/tree.h"

#include <stdio.h>

#include "support/support.h"

enum { MOST = 33 };

/* The sum as a text: "(a+b)" in the order of the additions, so that any other tree or order shows. */
typedef struct expression {
    char text[600];
} expression;

static void add(expression *older, const expression *newer)
{
    char both[1400];
    snprintf(both, sizeof both, "(%s+%s)", older->text, newer->text);
    ck_assert_uint_lt(strlen(both), sizeof older->text);
    memcpy(older->text, both, strlen(both) + 1);
}

/* RULES to the letter, on a plain array: after lane i, while i+1 has trailing zero bits, pop two, add, push; at the end fold from the top. */
static expression defined(int lanes)
{
    static expression stack[MOST + 1];
    int depth = 0;
    for (int i = 0; i < lanes; i++) {
        snprintf(stack[depth++].text, sizeof stack->text, "%d", i);
        for (int rest = i + 1; rest % 2 == 0; rest /= 2) {
            add(&stack[depth - 2], &stack[depth - 1]);
            depth--;
        }
    }
    for (; depth > 1; depth--)
        add(&stack[depth - 2], &stack[depth - 1]);
    return stack[0];
}

/* Pushes one by one; *most is how many slots were in use at once. */
static void fold_range(tree *t, expression *slot, int first, int end, int *most)
{
    int older, newer;
    for (int lane = first; lane < end; lane++) {
        int at = tree_push(t, 1);
        *most = at + 1 > *most ? at + 1 : *most;
        snprintf(slot[at].text, sizeof slot[at].text, "%d", lane);
        while (tree_fold(t, &older, &newer))
            add(&slot[older], &slot[newer]);
    }
}

START_TEST(tree_every_lane_count)
{
    static expression slot[TREE_DEPTH];
    for (int lanes = 1; lanes <= MOST; lanes++) {
        tree t;
        int most = 0, older, newer, log = 0;
        tree_begin(&t, 0);
        fold_range(&t, slot, 0, lanes, &most);
        while (tree_finish(&t, &older, &newer))
            add(&slot[older], &slot[newer]);
        ck_assert_str_eq(slot[0].text, defined(lanes).text);
        ck_assert_int_eq(most, tree_slots(0, lanes));
        while (1 << (log + 1) <= lanes)
            log++;
        ck_assert_int_le(most, log + 1);
    }
    ck_assert_str_eq(defined(5).text, "(((0+1)+(2+3))+4)");
    ck_assert_str_eq(defined(7).text, "(((0+1)+(2+3))+((4+5)+6))");
}
END_TEST

/* Each rank folds its lanes [r*lanes/np, (r+1)*lanes/np) alone; what is left on its stack are the pieces that tree_pieces names; all pieces
 * pushed in order at the owner of a slice give the one tree. */
static void check_split(int lanes, const int *cut, int ranks)
{
    static expression slot[TREE_DEPTH], sent[MOST * 2], top[TREE_DEPTH];
    int64_t start[TREE_DEPTH * 2], count[TREE_DEPTH * 2];
    int older, newer;
    tree whole;
    tree_begin(&whole, 0);
    for (int r = 0; r < ranks; r++) {
        tree t;
        int most = 0, pieces = tree_pieces(cut[r], cut[r + 1], start, count);
        tree_begin(&t, cut[r]);
        fold_range(&t, slot, cut[r], cut[r + 1], &most);
        ck_assert_int_eq(most, tree_slots(cut[r], cut[r + 1]));
        ck_assert_int_eq(t.depth, pieces);
        for (int p = 0, lane = cut[r]; p < pieces; lane += (int)count[p++]) {
            ck_assert_int_eq(start[p], lane);
            ck_assert_int_eq(count[p], t.size[p]);
            sent[p] = slot[p];
        }
        for (int p = 0; p < pieces; p++) {
            top[tree_push(&whole, count[p])] = sent[p];
            while (tree_fold(&whole, &older, &newer))
                add(&top[older], &top[newer]);
        }
    }
    while (tree_finish(&whole, &older, &newer))
        add(&top[older], &top[newer]);
    ck_assert_str_eq(top[0].text, defined(lanes).text);
}

START_TEST(tree_every_rank_split)
{
    int cut[MOST + 1];
    for (int lanes = 1; lanes <= MOST; lanes++)
        for (int ranks = 1; ranks <= lanes; ranks++) {
            for (int r = 0; r <= ranks; r++)
                cut[r] = r * lanes / ranks;
            check_split(lanes, cut, ranks);
        }
    for (int i = 0; i < 300; i++) { /* any contiguous deal at all, empty shares among them */
        int lanes = 1 + (int)support_below(MOST), ranks = 1 + (int)support_below(8);
        cut[0] = 0;
        for (int r = 1; r < ranks; r++)
            cut[r] = cut[r - 1] + (int)support_below((uint64_t)(lanes - cut[r - 1]) + 1);
        cut[ranks] = lanes;
        check_split(lanes, cut, ranks);
    }
}
END_TEST

int main(void)
{
    return support_run("tree", (const TTest *[]){tree_every_lane_count, tree_every_rank_split, NULL});
}
