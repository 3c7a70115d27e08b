/* Which rows stand where: the sampler, the deal to lanes, micro-batches. */
#include <stdio.h>
#include <stdlib.h>

#include "store/dataset.h"
#include "support/support.h"
#include "train/deal.h"
#include "train/sampler.h"

START_TEST(sampler_uses_each_row_once)
{
    for (int round = 0; round < 20; round++) {
        int64_t batch = 1 + (int64_t)support_below(40), rows = batch + (int64_t)support_below(900);
        sampler s;
        ck_ok(sampler_make(rows, 1, batch, support_random(), &s));
        ck_assert_int_eq(s.steps_per_epoch, rows / batch);
        char *seen = calloc((size_t)rows, 1);
        int64_t moved = 0;
        for (int64_t epoch = 0; epoch < 2; epoch++) {
            for (int64_t step = epoch * s.steps_per_epoch; step < (epoch + 1) * s.steps_per_epoch; step++) {
                ck_assert_int_eq(sampler_epoch(&s, step), epoch);
                for (int64_t i = 0; i < batch; i++) {
                    int64_t row = sampler_row(&s, epoch, sampler_first(&s, step) + i);
                    ck_assert(row >= 0 && row < rows && seen[row] == (char)epoch);
                    seen[row]++;
                    moved += row != sampler_row(&s, 1 - epoch, sampler_first(&s, step) + i);
                }
            }
            for (int64_t row = 0; row < rows; row++)
                if (seen[row] != (char)(epoch + 1)) { /* sat this epoch out: only the last positions do */
                    ck_assert(s.steps_per_epoch * batch < rows);
                    seen[row] = (char)(epoch + 1);
                }
        }
        ck_assert(rows < 50 || moved > rows / 2); /* another order each epoch */
        free(seen);
    }
    sampler s;
    ck_fails(sampler_make(63, 4, 16, 1, &s), STATUS_USAGE, "63 rows: fewer than one global batch of 64 (4 lanes x 16); the largest --batch that works is 15,");
    ck_ok(sampler_make(63, 4, 15, 1, &s));
    ck_fails(sampler_make(1, 2, 1, 1, &s), STATUS_USAGE, "1 row: fewer than one global batch of 2, and than the 2 lanes; give more rows");
}
END_TEST

/* As the rule says it, without cleverness: the longest row that is left goes to the lane with the fewest tokens that has room. */
static void deal_slowly(const int32_t *length, int64_t lanes, int64_t rows_each, int32_t *lane_of)
{
    int64_t *tokens = calloc((size_t)lanes, 8), *count = calloc((size_t)lanes, 8), n = lanes * rows_each;
    for (int64_t i = 0; i < n; i++)
        lane_of[i] = -1;
    for (int64_t k = 0; k < n; k++) {
        int64_t row = -1, to = -1;
        for (int64_t i = 0; i < n; i++)
            if (lane_of[i] < 0 && (row < 0 || length[i] > length[row]))
                row = i;
        for (int64_t lane = lanes - 1; lane >= 0; lane--)
            if (count[lane] < rows_each && (to < 0 || tokens[lane] <= tokens[to]))
                to = lane;
        lane_of[row] = (int32_t)to;
        tokens[to] += length[row];
        count[to]++;
    }
    free(tokens);
    free(count);
}

START_TEST(deal_follows_the_rule)
{
    for (int round = 0; round < 200; round++) {
        int64_t lanes = 1 + (int64_t)support_below(9), rows = 1 + (int64_t)support_below(12), n = lanes * rows;
        int32_t *length = malloc((size_t)n * 4), *want = malloc((size_t)n * 4);
        for (int64_t i = 0; i < n; i++)
            length[i] = 2 + (int32_t)support_below(round % 2 ? 6 : 190);
        deal *d;
        ck_ok(deal_create(DEAL_BALANCED, lanes, rows, &d));
        deal_slowly(length, lanes, rows, want);
        const int32_t *slot = deal_rows(d, length);
        for (int64_t lane = 0; lane < lanes; lane++)
            for (int64_t i = 0; i < rows; i++) {
                ck_assert_int_eq(want[slot[lane * rows + i]], lane);
                ck_assert(i == 0 || slot[lane * rows + i] > slot[lane * rows + i - 1]);
            }
        deal_free(d);
        ck_ok(deal_create(DEAL_STRIDED, lanes, rows, &d));
        slot = deal_rows(d, length);
        for (int64_t i = 0; i < n; i++)
            ck_assert_int_eq(slot[i % lanes * rows + i / lanes], i);
        deal_free(d);
        free(length);
        free(want);
    }
}
END_TEST

START_TEST(micro_batches_are_the_longest_runs)
{
    for (int round = 0; round < 200; round++) {
        int64_t rows = 1 + (int64_t)support_below(40), most = 20 + (int64_t)support_below(100), padded = support_below(3) ? 0 : 20;
        int32_t length[40], slot[40];
        for (int64_t i = 0; i < rows; i++) {
            length[i] = 2 + (int32_t)support_below(19);
            slot[i] = (int32_t)(rows - 1 - i);
        }
        for (int64_t from = 0, end; from < rows; from = end) {
            end = deal_micro_end(length, slot, rows, from, most, padded);
            int64_t tokens = 0;
            for (int64_t i = from; i < end; i++)
                tokens += padded ? padded : length[slot[i]];
            ck_assert(end > from && end <= rows && tokens <= most);
            ck_assert(end == rows || tokens + (padded ? padded : length[slot[end]]) > most);
        }
        /* The even limit: as many micro-batches, and one token less would need more. */
        int64_t even = deal_micro_even(length, slot, rows, most, padded), pieces[3] = {0};
        const int64_t limit[3] = {most, even, even - 1};
        ck_assert(even <= most);
        for (int k = 0; k < 3; k++)
            for (int64_t from = 0, end; from < rows; from = end, pieces[k]++) {
                end = deal_micro_end(length, slot, rows, from, limit[k], padded);
                if (end == from) { /* a row alone is longer */
                    pieces[k] = INT64_MAX;
                    break;
                }
            }
        ck_assert(pieces[1] == pieces[0] && pieces[2] > pieces[0]);
    }
}
END_TEST

START_TEST(ranks_share_all_lanes)
{
    for (int64_t lanes = 1; lanes <= 20; lanes++)
        for (int64_t ranks = 1; ranks <= lanes; ranks++)
            for (int64_t r = 0; r < ranks; r++) {
                int64_t own = deal_first_lane(r + 1, ranks, lanes) - deal_first_lane(r, ranks, lanes);
                ck_assert(own >= 1 && own <= (lanes + ranks - 1) / ranks);
            }
    ck_assert(deal_first_lane(0, 3, 8) == 0 && deal_first_lane(1, 3, 8) == 2 && deal_first_lane(2, 3, 8) == 5 && deal_first_lane(3, 3, 8) == 8);
}
END_TEST

int main(void)
{
    return support_run("train_order", (const TTest *[]){sampler_uses_each_row_once, deal_follows_the_rule,
                                                        micro_batches_are_the_longest_runs, ranks_share_all_lanes, NULL});
}
