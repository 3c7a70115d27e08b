/* Which rows drop out because of their text, in one round and in many, against the plainest way; the same at any number of ranks. */
#include "shard/repeats.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/comm.h"
#include "common/files.h"
#include "shard/inspect.h"
#include "support/rows.h"
#include "support/support.h"

enum { ROWS = 4000 };

static struct {
    uint64_t text[ROWS], labels[ROWS];
    int64_t first, end;
} rows;

static status give(void *with, repeats_sink *s)
{
    (void)with;
    for (int64_t i = rows.first; i < rows.end; i++)
        repeats_give(s, rows.text[i], i, rows.labels[i]);
    return STATUS_OK;
}

/* Whether row i drops out; *conflict: its text has different labels. */
static bool drops(int mode, int64_t i, bool *conflict)
{
    bool earlier = false;
    uint64_t labels = 0;
    *conflict = false;
    for (int64_t k = 0; k < ROWS; k++) {
        if (rows.text[k] != rows.text[i])
            continue;
        earlier = earlier || k < i;
        *conflict = *conflict || (labels && rows.labels[k] && rows.labels[k] != labels);
        labels = labels ? labels : rows.labels[k];
    }
    return earlier || (mode == REPEATS_DROP_CONFLICTS && *conflict);
}

static void check(int mode, int64_t memory)
{
    int64_t first[65] = {0}, repeated = 0;
    option_list none = {0};
    repeats_counts found;
    uint8_t dropped[ROWS / 8 + 1] = {0};
    for (int r = 0; r < comm_size(); r++)
        first[r + 1] = ROWS * (int64_t)(r + 1) / comm_size();
    rows.first = first[comm_rank()];
    rows.end = first[comm_rank() + 1];
    repeats_job job = {.mode = mode, .rows = ROWS, .first = first, .each = give, .exclude = &none, .memory = memory};
    ck_ok(repeats_find(&job, dropped, &found));
    for (int64_t i = 0; i < ROWS; i++) {
        bool conflict, wanted = drops(mode, i, &conflict);
        repeated += wanted;
        if (i >= rows.first && i < rows.end)
            ck_assert_msg((dropped[(i - rows.first) / 8] >> (i - rows.first) % 8 & 1) == wanted, "mode %d, memory %lld: row %lld", mode,
                          (long long)memory, (long long)i);
    }
    ck_assert_int_eq(found.repeated, repeated);
    ck_assert_int_eq(found.common, 0);
}

START_TEST(first_of_each_text_stays)
{
    uint64_t seed = support_seed();
    comm_broadcast(&seed, sizeof seed, 0); /* every rank has all rows in mind */
    for (int64_t i = 0; i < ROWS; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        rows.text[i] = (seed >> 40) % 1500 * UINT64_C(0x9E3779B97F4A7C15);
        rows.labels[i] = seed >> 33 & 3 ? 1 + (seed >> 35 & 1) * (seed >> 36 & 1) * (seed >> 37 & 1) : 0;
    }
    for (int mode = REPEATS_DROP; mode <= REPEATS_DROP_CONFLICTS; mode++) {
        check(mode, INT64_C(1) << 30);
        check(mode, 9000);
    }
}
END_TEST

START_TEST(labels_as_numbers)
{
    float a[] = {0, 1}, b[] = {0, 0.5f}, none[] = {rowfile_canonical_label(0.0f / 0.0f), rowfile_canonical_label(0.0f / 0.0f)};
    ck_assert_uint_ne(repeats_labels(a, 2), repeats_labels(b, 2));
    ck_assert_uint_ne(repeats_labels(a, 2), 0);
    ck_assert_uint_eq(repeats_labels(none, 2), 0);
    ck_assert_uint_eq(repeats_labels(NULL, 0), 0);
}
END_TEST

/* What inspect_common says on stdout at rank 0; the caller frees. */
static char *common_of(char *const *folders, int64_t memory, const char *file)
{
    char *said = NULL;
    size_t bytes = 0;
    int out = dup(STDOUT_FILENO);
    ck_assert(out >= 0 && fflush(stdout) == 0 && freopen(file, "w", stdout) != NULL);
    status st = inspect_common(folders, 2, memory);
    ck_assert(fflush(stdout) == 0 && dup2(out, STDOUT_FILENO) >= 0 && close(out) == 0);
    ck_ok(st);
    ck_ok(file_read_all(file, 0, &said, &bytes));
    ck_assert(comm_rank() != 0 || bytes > 0);
    return said;
}

START_TEST(rounds_change_nothing)
{
    char a[500], b[500], file[500];
    static char base[400];
    snprintf(base, sizeof base, "%s", support_scratch());
    snprintf(file, sizeof file, "%s/said", base);
    comm_broadcast(base, sizeof base, 0);
    snprintf(a, sizeof a, "%s/a", base);
    snprintf(b, sizeof b, "%s/b", base);
    for (int k = 0; k < 2 && comm_rank() == 0; k++) {
        test_rows t;
        rows_make(&t, 900, 1, 4);
        for (int64_t i = 0; i < t.rows; i++)
            t.row[i].text_hash = support_below(500) * UINT64_C(0x9E3779B97F4A7C15);
        rows_write_folder(&t, 2, k ? b : a);
        rows_free(&t);
    }
    comm_barrier();
    char *const folders[] = {a, b};
    char *once = common_of(folders, INT64_C(1) << 30, file), *often = common_of(folders, 3000, file);
    ck_assert(comm_rank() != 0 || strcmp(once, often) == 0);
    free(once);
    free(often);
    comm_barrier();
}
END_TEST

int main(int argc, char **argv)
{
    if (comm_open(&argc, &argv) != STATUS_OK)
        return 1;
    if (support_run("repeats", (const TTest *[]){first_of_each_text_stays, labels_as_numbers, rounds_change_nothing, NULL}) != 0)
        comm_abort(1);
    comm_close();
    return 0;
}
