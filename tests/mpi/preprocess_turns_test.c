/* Pieces dealt while ranks read: each to one rank, in ascending order, and none left to a rank that comes late. */
#include "common/comm.h"
#include "preprocess/turns.h"
#include "support/support.h"

enum { PIECES = 5000 };

static csv_split piece[PIECES];

static csv_splits random_pieces(void)
{
    csv_splits s = {.piece = piece};
    int64_t count[] = {0, 1, (int64_t)support_below(20), (int64_t)support_below(PIECES), PIECES};
    s.pieces = count[support_below(sizeof count / sizeof *count)];
    comm_broadcast(&s.pieces, sizeof s.pieces, 0);
    for (int64_t k = 0, at = 0; k < s.pieces; k++) {
        piece[k].from = (uint64_t)at;
        piece[k].to = (uint64_t)(at += 1 + (int64_t)support_below(100000));
    }
    comm_broadcast(piece, sizeof piece, 0);
    return s;
}

/* How often each piece was taken by this rank; turns from `t` until there are none. */
static void take_all(turns *t, int64_t pieces, int64_t *taken)
{
    int64_t first, end, last = 0;
    while (turns_next(t, &first, &end)) {
        ck_assert_int_ge(first, last);
        ck_assert_int_gt(end, first);
        ck_assert_int_le(end, pieces);
        for (last = first; last < end; last++)
            taken[last]++;
    }
    ck_assert(!turns_next(t, &first, &end));
}

START_TEST(each_piece_once)
{
    for (int round = 0; round < 20; round++) {
        csv_splits s = random_pieces();
        int64_t taken[PIECES] = {0};
        turns t;
        ck_ok(turns_open(&s, &t));
        ck_assert_int_le(t.node_first, t.first);
        take_all(&t, s.pieces, taken);
        turns_close(&t);
        comm_sum_int64(taken, PIECES);
        for (int64_t k = 0; k < PIECES; k++)
            ck_assert_msg(taken[k] == (k < s.pieces), "piece %lld of %lld was taken %lld times", (long long)k, (long long)s.pieces, (long long)taken[k]);
    }
}
END_TEST

/* All ranks of the test are on one node. */
START_TEST(late_rank_finds_nothing)
{
    csv_splits s = {.piece = piece, .pieces = PIECES};
    int64_t taken[PIECES] = {0}, sum = 0;
    turns t;
    for (int64_t k = 0; k < PIECES; k++)
        piece[k] = (csv_split){.from = (uint64_t)k * 1000, .to = (uint64_t)k * 1000 + 1000};
    ck_ok(turns_open(&s, &t));
    bool late = comm_size() > 1 && comm_rank() == 0;
    if (late)
        comm_barrier(); /* the others are through */
    take_all(&t, PIECES, taken);
    if (!late)
        comm_barrier();
    for (int64_t k = 0; k < PIECES; k++)
        sum += taken[k];
    ck_assert(!late || sum == 0);
    comm_sum_int64(&sum, 1);
    ck_assert_int_eq(sum, PIECES);
    turns_close(&t);
}
END_TEST

int main(int argc, char **argv)
{
    return support_run_ranks(argc, argv, "preprocess_turns", (const TTest *[]){each_piece_once, late_rank_finds_nothing, NULL});
}
