/* shard --duplicates, --exclude and --info of several from outside: the rows that stay, in their order, and the texts in common, at any number of
 * ranks. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "common/files.h"
#include "common/hash.h"
#include "store/manifest.h"
#include "support/rows.h"
#include "support/support.h"

enum { FOLDERS = 3, TEXTS = 700 };
static char base[400];
static test_rows t[FOLDERS]; /* a, b, and c, which is excluded */

static void make_inputs(void)
{
    static const int64_t count[FOLDERS] = {1500, 600, 200};
    snprintf(base, sizeof base, "%s", support_scratch());
    for (int k = 0; k < FOLDERS; k++) {
        char path[500];
        rows_make(&t[k], count[k], 1, 20);
        for (int64_t i = 0; i < t[k].rows; i++)
            t[k].row[i].text_hash = (1 + support_below(TEXTS)) * UINT64_C(0x9E3779B97F4A7C15);
        snprintf(path, sizeof path, "%s/%c", base, 'a' + k);
        rows_write_folder(&t[k], 3, path);
    }
}

static bool has_text(const test_rows *in, int64_t end, uint64_t text)
{
    for (int64_t i = 0; i < end; i++)
        if (in->row[i].text_hash == text)
            return true;
    return false;
}

/* Row hashes that must come out, in order. */
static int64_t pick(bool drop, bool exclude, uint64_t *to)
{
    int64_t n = 0;
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < t[k].rows; i++) {
            uint64_t text = t[k].row[i].text_hash;
            bool repeats = has_text(&t[k], i, text) || (k == 1 && has_text(&t[0], t[0].rows, text));
            if (!(drop && repeats) && !(exclude && has_text(&t[2], t[2].rows, text)))
                to[n++] = t[k].row[i].hash;
        }
    return n;
}

static void check(int ranks, bool drop, bool exclude)
{
    static uint64_t wanted[5000], got[5000];
    char command[2000], folder[500], launcher[64] = "";
    int64_t n = pick(drop, exclude, wanted), have = 0;
    manifest m;
    if (ranks > 1)
        snprintf(launcher, sizeof launcher, "mpirun -np %d ", ranks);
    snprintf(folder, sizeof folder, "%s/out", base);
    ck_ok(file_remove_tree(folder));
    snprintf(command, sizeof command, "cd '%s' && %s'%s' --quiet --shuffle no --shards 3 --out out %s %s a b", base, launcher,
             support_program("shard"), drop ? "--duplicates drop" : "", exclude ? "--exclude c" : "");
    ck_assert_int_eq(WEXITSTATUS(system(command)), 0);
    ck_ok(manifest_read(folder, &m));
    ck_assert_int_eq(m.rows, n);
    ck_assert((strstr(m.inputs, "without c rows=200") != NULL) == exclude);
    for (int64_t i = 0; i < m.files; i++) {
        char *path;
        rowfile *f;
        ck_ok(file_join(folder, m.file[i].name, &path));
        ck_ok(rowfile_open(path, &f));
        ck_ok(rowfile_read_hashes(f, 0, rowfile_rows(f), got + have));
        have += rowfile_rows(f);
        rowfile_free(f);
        free(path);
    }
    manifest_free(&m);
    ck_assert_int_eq(have, n);
    ck_assert_mem_eq(got, wanted, (size_t)n * sizeof *got);
}

START_TEST(first_rows_stay)
{
    make_inputs();
    for (int ranks = 1; ranks <= SHARD_MOST_RANKS; ranks += 2) {
        check(ranks, true, false);
        check(ranks, false, true);
        check(ranks, true, true);
    }
    for (int k = 0; k < FOLDERS; k++)
        rows_free(&t[k]);
}
END_TEST

/* ---- --info of several ---- */

static bool labels_differ(const rowfile_row *a, const rowfile_row *b)
{
    return a->label[0] == a->label[0] && b->label[0] == b->label[0] && memcmp(a->label, b->label, sizeof *a->label) != 0;
}

/* The line of folders x and y, counted the slow way. */
static void common_line(int x, int y, char *line, size_t room)
{
    int64_t texts = 0, rows[2] = {0, 0}, conflicts = 0;
    for (uint64_t k = 1; k <= TEXTS; k++) {
        static const rowfile_row *of[5000];
        int64_t n = 0, here[2] = {0, 0};
        bool conflict = false;
        for (int side = 0; side < 2; side++) {
            const test_rows *in = &t[side ? y : x];
            for (int64_t i = 0; i < in->rows; i++)
                if (in->row[i].text_hash == k * UINT64_C(0x9E3779B97F4A7C15)) {
                    of[n++] = &in->row[i];
                    here[side]++;
                }
        }
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < i; j++)
                conflict = conflict || labels_differ(of[i], of[j]);
        if (!here[0] || !here[1])
            continue;
        texts++;
        rows[0] += here[0];
        rows[1] += here[1];
        conflicts += conflict;
    }
    snprintf(line, room, "in common  %c and %c: %lld texts, which %lld of %lld rows and %lld of %lld rows have; %lld of the texts have different labels\n",
             'a' + x, 'a' + y, (long long)texts, (long long)rows[0], (long long)t[x].rows, (long long)rows[1], (long long)t[y].rows, (long long)conflicts);
}

static void check_common(const char *file)
{
    char *said, line[300];
    size_t bytes;
    ck_ok(file_read_all(file, 0, &said, &bytes));
    said[bytes - 1] = 0;
    for (int x = 0; x < FOLDERS; x++)
        for (int y = x + 1; y < FOLDERS; y++) {
            common_line(x, y, line, sizeof line);
            line[strlen(line) - 1] = 0;
            ck_assert_msg(strstr(said, line) != NULL, "%s\nlacks: %s", said, line);
        }
    free(said);
}

START_TEST(common_texts_are_counted)
{
    char command[2000], file[500];
    make_inputs();
    snprintf(file, sizeof file, "%s/said", base);
    for (int ranks = 1; ranks <= SHARD_MOST_RANKS; ranks += 2) {
        char launcher[64] = "";
        if (ranks > 1)
            snprintf(launcher, sizeof launcher, "mpirun -np %d ", ranks);
        snprintf(command, sizeof command, "cd '%s' && %s'%s' --info a b c >'%s'", base, launcher, support_program("shard"), file);
        ck_assert_int_eq(WEXITSTATUS(system(command)), 0);
        check_common(file);
    }
    for (int k = 0; k < FOLDERS; k++)
        rows_free(&t[k]);
}
END_TEST

int main(void)
{
    return support_run("shard_repeats", (const TTest *[]){first_rows_stay, common_texts_are_counted, NULL});
}
