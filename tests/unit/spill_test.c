/* Sorting by runs: with memory for a few rows at a time, every row comes back whole, in order, in its shard. */
#include "shard/spill.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/comm.h"
#include "common/files.h"
#include "support/rows.h"
#include "support/support.h"

enum { SHARDS = 5 };

typedef struct check {
    const test_rows *rows;
    const int64_t *row_at; /* row for each position */
    int64_t next;
} check;

static status take(void *job, const rowfile_row *r)
{
    check *c = job;
    rowfile_row full = *r;
    full.hash = rowfile_row_hash(r, c->rows->meta.lang[r->lang], c->rows->meta.labels);
    rows_same(&c->rows->row[c->row_at[c->next]], &c->rows->meta, &full, &c->rows->meta, "merged row");
    c->next++;
    return STATUS_OK;
}

static void shuffle(int64_t *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        a[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t k = (int64_t)support_below((uint64_t)i + 1), x = a[i];
        a[i] = a[k];
        a[k] = x;
    }
}

static void check_sort(int64_t rows, int64_t memory, int64_t merge_memory)
{
    test_rows t;
    spill_writer *w;
    spill_runs *runs;
    int64_t first[SHARDS + 1] = {0, rows / 9, rows / 9, rows / 2, rows - rows / 7, rows}, *row_at;
    const char *folder = support_scratch();
    rows_make(&t, rows, 2, 40);
    ck_ok(memory_new(&row_at, (size_t)rows * sizeof *row_at, "test"));
    shuffle(row_at, rows);
    ck_ok(spill_create(folder, 2, memory, memory, first, SHARDS, &w));
    for (int64_t i = 0; i < rows; i++) {
        int64_t position = (i * 7919 + 13) % rows; /* rows is no multiple of 7919: each position once, out of order */
        ck_ok(spill_add(w, position, &t.row[row_at[position]]));
    }
    ck_ok(spill_share(w, &runs));
    check c = {&t, row_at, 0};
    for (int64_t s = 0; s < SHARDS; s++) {
        ck_ok(spill_merge(runs, s, merge_memory, take, &c));
        ck_assert_int_eq(c.next, first[s + 1]);
    }
    spill_free(runs);
    free(row_at);
    rows_free(&t);
}

START_TEST(rows_come_sorted)
{
    check_sort(2000, 1 << 20, 1 << 20);
    check_sort(2000, 40 << 10, 1 << 12); /* many runs, buffers smaller than the longest rows */
    check_sort(3, 1 << 20, 1 << 20);
}
END_TEST

/* A row longer than a run's memory has as much as it needs, as long as that is not more than the most. */
START_TEST(long_rows_have_room)
{
    test_rows t;
    spill_writer *w;
    spill_runs *runs;
    int64_t first[2] = {0, 4};
    rows_make(&t, 4, 0, 10);
    for (int i = 1; i < 4; i += 2) {
        free((void *)(uintptr_t)t.row[i].token);
        t.row[i].token = calloc(10000, sizeof(uint32_t));
        t.row[i].tokens = i == 1 ? 7000 : 9000;
        t.row[i].hash = rowfile_row_hash(&t.row[i], t.meta.lang[t.row[i].lang], 0);
    }
    ck_ok(spill_create(support_scratch(), 0, 20000, 40000, first, 1, &w));
    for (int64_t i = 0; i < 4; i++)
        ck_ok(spill_add(w, i, &t.row[i]));
    ck_ok(spill_share(w, &runs));
    check c = {&t, (int64_t[]){0, 1, 2, 3}, 0};
    ck_ok(spill_merge(runs, 0, 1 << 16, take, &c));
    ck_assert_int_eq(c.next, 4);
    spill_free(runs);
    rows_free(&t);
}
END_TEST

START_TEST(faults_are_said)
{
    test_rows t;
    spill_writer *w;
    spill_runs *runs;
    int64_t first[2] = {0, 3};
    char *path;
    rows_make(&t, 3, 0, 10);
    uint32_t *many = calloc(10000, sizeof *many);
    rowfile_row big = t.row[0];
    big.token = many;
    big.tokens = 10000;
    const char *folder = support_scratch();
    ck_ok(spill_create(folder, 0, 20000, 30000, first, 1, &w));
    ck_fails(spill_add(w, 0, &big), STATUS_RESOURCE, "--memory");
    ck_ok(spill_add(w, 0, &t.row[0]));
    ck_ok(spill_add(w, 2, &t.row[2])); /* position 1 never comes */
    ck_ok(spill_share(w, &runs));
    check c = {&t, (int64_t[]){0, 1, 2}, 0};
    ck_fails(spill_merge(runs, 0, 1 << 16, take, &c), STATUS_IO, "position 1");
    ck_ok(file_join(folder, "rank-00000", &path));
    ck_ok(file_write_atomic(path, "short", 5));
    ck_fails(spill_merge(runs, 0, 1 << 16, take, &c), STATUS_INPUT, "rank-00000");
    spill_free(runs);
    ck_fails(spill_create("/proc/none", 0, 20000, 20000, first, 1, &w), STATUS_IO, "/proc/none");
    free(path);
    free(many);
    rows_free(&t);
}
END_TEST

int main(int argc, char **argv)
{
    if (comm_open(&argc, &argv) != STATUS_OK)
        return 1;
    int failed = support_run("spill", (const TTest *[]){rows_come_sorted, long_rows_have_room, faults_are_said, NULL});
    comm_close();
    return failed;
}
