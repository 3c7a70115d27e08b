/* shard --duplicates and --exclude from outside: the rows that stay, in their order, at any number of ranks. */
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

int main(void)
{
    return support_run("shard_repeats", (const TTest *[]){first_rows_stay, NULL});
}
