/* The shard program from outside: the right rows in the right order, one set of bytes for any ranks, skipping, repairing, refusing. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/files.h"
#include "common/hash.h"
#include "common/permutation.h"
#include "common/rng.h"
#include "store/h5.h"
#include "store/manifest.h"
#include "store/sets.h"
#include "support/rows.h"
#include "support/support.h"

static char base[400];
static test_rows a, b;

static const char *in(const char *name)
{
    static char path[8][512];
    static int turn;
    turn = (turn + 1) % 8;
    snprintf(path[turn], sizeof path[turn], "%s/%s", base, name);
    return path[turn];
}

/* Runs `shard` with these words (paths under the scratch folder, which is the working folder); its words come back in said[]. */
static char said[20000];
static int run(int ranks, const char *format, ...)
{
    char words[1500], command[3000], launcher[64] = "";
    va_list list;
    va_start(list, format);
    vsnprintf(words, sizeof words, format, list);
    va_end(list);
    if (ranks > 1)
        snprintf(launcher, sizeof launcher, "mpirun -np %d ", ranks);
    snprintf(command, sizeof command, "cd '%s' && %s'%s' %s >said 2>&1", base, launcher, support_program("shard"), words);
    int code = WEXITSTATUS(system(command));
    char *text;
    size_t n;
    ck_ok(file_read_all(in("said"), 0, &text, &n));
    snprintf(said, sizeof said, "%s", text);
    free(text);
    return code;
}

#define ck_runs(wanted, ranks, ...) do { int ck_code_ = run(ranks, __VA_ARGS__); \
    ck_assert_msg(ck_code_ == (wanted), "exit code %d, not %d: %s", ck_code_, (wanted), said); } while (0)
#define ck_said(text) ck_assert_msg(strstr(said, (text)) != NULL, "'%s' was not said: %s", (text), said)

static void make_inputs(int64_t rows_a, int64_t rows_b)
{
    snprintf(base, sizeof base, "%s", support_scratch());
    rows_make(&a, rows_a, 2, 40);
    rows_make(&b, rows_b, 2, 40);
    free(b.meta.source[1].name); /* the second folder's second source is one of its own */
    b.meta.source[1].name = strdup("third.csv");
    b.meta.source[1].sha256[5] = b.meta.source[1].sha256[5] == '0' ? '1' : '0';
    rows_write_folder(&a, 4, in("a"));
    rows_write_folder(&b, 3, in("b"));
}

static void free_inputs(void)
{
    rows_free(&a);
    rows_free(&b);
}

/* ---- what must come out, by the plainest means ---- */

typedef struct wish {
    const char *lang;  /* one or NULL */
    int source;        /* in the merged order, -1: all */
    int labelled;      /* 1 yes, 0 no, -1 any */
    int64_t sample, shards, seed;
    bool shuffle;
} wish;

typedef struct picked {
    const rowfile_row *row;
    const rowfile_meta *meta;
} picked;

static bool fits(const wish *w, const rowfile_row *r, const rowfile_meta *m, bool second)
{
    int source = r->source == 0 ? 0 : second ? 2 : 1;
    bool labelled = r->label[0] == r->label[0] && r->label[1] == r->label[1];
    return (!w->lang || strcmp(w->lang, m->lang[r->lang]) == 0) && (w->source < 0 || w->source == source) &&
           (w->labelled < 0 || labelled == (w->labelled == 1));
}

static int64_t pick(const wish *w, picked *to)
{
    int64_t all = a.rows + b.rows, kept = 0;
    picked *fit = calloc((size_t)all, sizeof *fit);
    for (int64_t i = 0; i < all; i++) {
        const test_rows *t = i < a.rows ? &a : &b;
        const rowfile_row *r = &t->row[i < a.rows ? i : i - a.rows];
        if (fits(w, r, &t->meta, t == &b))
            fit[kept++] = (picked){r, &t->meta};
    }
    permutation p = permutation_make(kept, (uint64_t)w->seed, RNG_SHARD_ORDER, 0);
    int64_t n = w->sample > 0 && w->sample < kept ? w->sample : kept;
    for (int64_t i = 0; i < n; i++)
        to[i] = fit[w->shuffle ? permutation_at(&p, i) : i];
    free(fit);
    return n;
}

static void check_shards(const char *folder, const wish *w, const picked *wanted, int64_t n)
{
    manifest m;
    int64_t position = 0;
    ck_ok(manifest_read(in(folder), &m));
    ck_assert_int_eq(m.files, w->shards);
    ck_assert_int_eq(m.rows, n);
    ck_ok(manifest_check(in(folder), &m, true));
    for (int64_t s = 0; s < m.files; s++) {
        char *path;
        rowfile *f;
        ck_ok(file_join(in(folder), m.file[s].name, &path));
        ck_ok(rowfile_verify(path, NULL));
        ck_ok(rowfile_open(path, &f));
        ck_assert_int_eq(position, s * n / w->shards);
        ck_assert(rowfile_get_meta(f)->seed == (uint64_t)w->seed);
        for (int64_t i = 0; i < rowfile_rows(f); i++, position++) {
            rowfile_row r;
            ck_ok(rowfile_read_row(f, i, &r));
            rows_same(wanted[position].row, wanted[position].meta, &r, rowfile_get_meta(f), path);
        }
        rowfile_free(f);
        free(path);
    }
    ck_assert_int_eq(position, n);
    manifest_free(&m);
}

static void words_of(const wish *w, char *to, size_t bytes)
{
    size_t n = (size_t)snprintf(to, bytes, "--shards %lld --seed %lld --sample %lld", (long long)w->shards, (long long)w->seed, (long long)w->sample);
    if (w->lang)
        n += (size_t)snprintf(to + n, bytes - n, " --lang %s", w->lang);
    if (w->source >= 0)
        n += (size_t)snprintf(to + n, bytes - n, w->source == 2 ? " --source third.csv" : " --source %d", w->source);
    if (w->labelled >= 0)
        n += (size_t)snprintf(to + n, bytes - n, " --labelled %s", w->labelled ? "yes" : "no");
    if (!w->shuffle)
        snprintf(to + n, bytes - n, " --shuffle no");
}

START_TEST(rows_are_those_of_a_plain_reference)
{
    const wish wishes[] = {{NULL, -1, -1, 0, 7, 42, true},   {"en", -1, -1, 100, 3, 1, true},    {NULL, 2, -1, 0, 1, 2, true},
                           {"pt-br", 0, 1, 0, 4, 3, true},    {NULL, -1, 0, 200, 5, 4, false},   {NULL, -1, 1, 999999, 13, 5, true},
                           {NULL, 1, -1, 3, 6, 6, true},      {NULL, -1, -1, 0, 2, 7, false}};
    make_inputs(900, 700);
    picked *wanted = calloc((size_t)(a.rows + b.rows), sizeof *wanted);
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        char words[300], folder[32];
        int64_t n = pick(&wishes[i], wanted);
        words_of(&wishes[i], words, sizeof words);
        snprintf(folder, sizeof folder, "out%d", (int)i);
        ck_runs(0, 1 + (int)(i % SHARD_MOST_RANKS), "--out %s %s a b", folder, words);
        if (wishes[i].sample > n)
            ck_said("all of them are taken");
        check_shards(folder, &wishes[i], wanted, n);
    }
    free(wanted);
    free_inputs();
}
END_TEST

/* SHA-256 over every file of a folder with its name. */
static void digest(const char *folder, char hex[HASH_HEX])
{
    char **name, *path;
    size_t count;
    hash_sha256 *h;
    ck_ok(file_list(in(folder), &name, &count));
    ck_ok(hash_sha256_begin(&h));
    for (size_t i = 0; i < count; i++) {
        char one[HASH_HEX];
        ck_ok(file_join(in(folder), name[i], &path));
        ck_ok(hash_sha256_file(path, one));
        hash_sha256_add(h, name[i], strlen(name[i]) + 1);
        hash_sha256_add(h, one, sizeof one);
        free(path);
    }
    hash_sha256_end(h, hex);
    file_free_names(name, count);
}

START_TEST(any_ranks_make_the_same_bytes)
{
    char one[HASH_HEX], other[HASH_HEX];
    make_inputs(3000, 2500);
    ck_runs(0, 1, "--out np1 --shards 5 --sample 4000 a b");
    digest("np1", one);
    for (int ranks = 2; ranks <= SHARD_MOST_RANKS; ranks++) {
        char folder[32];
        snprintf(folder, sizeof folder, "np%d", ranks);
        ck_runs(0, ranks, "--out %s --shards 5 --sample 4000 --memory 64M a b", folder);
        digest(folder, other);
        ck_assert_str_eq(one, other);
    }
    free_inputs();
}
END_TEST

START_TEST(shard_count_moves_no_row)
{
    manifest one, seven;
    make_inputs(800, 600);
    ck_runs(0, 1, "--out one --shards 1 a b");
    ck_runs(0, 1, "--out seven --shards 7 a b");
    ck_runs(0, 1, "--out again --shards 3 --shuffle no seven"); /* shards are inputs too */
    ck_ok(manifest_read(in("one"), &one));
    ck_ok(manifest_read(in("seven"), &seven));
    ck_assert_str_eq(one.data_identity, seven.data_identity);
    manifest_free(&seven);
    ck_ok(manifest_read(in("again"), &seven));
    ck_assert_str_eq(one.data_identity, seven.data_identity);
    manifest_free(&seven);
    ck_runs(0, 1, "--out other --shards 7 --seed 43 a b");
    ck_ok(manifest_read(in("other"), &seven));
    ck_assert_str_ne(one.data_identity, seven.data_identity);
    manifest_free(&one);
    manifest_free(&seven);
    free_inputs();
}
END_TEST

static ino_t inode(const char *path)
{
    struct stat s;
    ck_assert_int_eq(stat(in(path), &s), 0);
    return s.st_ino;
}

static void flip(const char *path, uint64_t at)
{
    FILE *f = fopen(in(path), "r+b");
    ck_assert_ptr_nonnull(f);
    fseek(f, (long)at, SEEK_SET);
    int c = getc(f);
    fseek(f, (long)at, SEEK_SET);
    putc(c ^ 16, f);
    ck_assert_int_eq(fclose(f), 0);
}

START_TEST(work_done_is_kept)
{
    char before[HASH_HEX], after[HASH_HEX];
    make_inputs(500, 403); /* 903 rows in 4 shards: no border is where a plain quotient would have it */
    ck_runs(0, 1, "--out o --shards 4 a b");
    digest("o", before);
    ino_t kept[4];
    const char *name[4] = {"o/shard-00000-of-00004.h5", "o/shard-00001-of-00004.h5", "o/shard-00002-of-00004.h5", "o/shard-00003-of-00004.h5"};
    for (int i = 0; i < 4; i++)
        kept[i] = inode(name[i]);
    ck_runs(0, SHARD_MOST_RANKS > 1 ? 2 : 1, "--out o --shards 4 a b");
    ck_said("already done and whole");
    for (int i = 0; i < 4; i++)
        ck_assert(inode(name[i]) == kept[i]);
    /* one missing and one damaged: these two alone are made again */
    ck_ok(file_remove(in(name[2])));
    flip(name[0], 3000);
    ck_runs(0, SHARD_MOST_RANKS, "--out o --shards 4 a b");
    ck_said("2 of 4 shards are missing or damaged");
    digest("o", after);
    ck_assert_str_eq(before, after);
    ck_assert(inode(name[1]) == kept[1] && inode(name[3]) == kept[3]);
    /* an interrupted run leaves no manifest, some shards and half files */
    ck_ok(file_remove(in("o/manifest.json")));
    ck_ok(file_remove(in(name[1])));
    ck_ok(file_write_atomic(in("o/shard-00001-of-00004.h5.tmp-77"), "half", 4));
    ck_ok(file_write_atomic(in("o/.on-the-way/rank-00000"), "half", 4));
    ck_runs(0, SHARD_MOST_RANKS > 1 ? 3 : 1, "--out o --shards 4 a b");
    ck_said("3 shards left whole by an interrupted run");
    digest("o", after);
    ck_assert_str_eq(before, after);
    ck_assert(inode(name[3]) == kept[3]);
    /* other options or inputs: nothing is written over, and the message says what differs */
    ck_runs(2, SHARD_MOST_RANKS > 1 ? 2 : 1, "--out o --shards 3 --seed 7 a b");
    ck_said("o: holds shards made with other options (--seed, --shards); give another --out, or remove it");
    ck_runs(2, 1, "--out o --shards 4 a");
    ck_said("o: holds the shards of other inputs (b is left out now); give another --out, or remove it");
    digest("o", after);
    ck_assert_str_eq(before, after);
    ck_assert(inode(name[3]) == kept[3]);
    /* what another run has not finished holds no work to lose */
    ck_ok(file_remove(in("o/manifest.json")));
    ck_runs(0, 1, "--out o --shards 3 a b");
    ck_assert(!file_exists(in(name[0])) && file_exists(in("o/shard-00000-of-00003.h5")));
    free_inputs();
}
END_TEST

START_TEST(verify_finds_a_flip_in_any_chunk)
{
    make_inputs(200, 100);
    ck_runs(0, 1, "--out o --shards 2 a b");
    ck_runs(0, 1, "--verify o");
    ck_said("2 files are whole");
    for (int i = 0; i < SETS; i++) {
        hsize_t offset[2], size;
        unsigned mask;
        haddr_t at;
        h5_enter();
        hid_t file = H5Fopen(in("o/shard-00001-of-00002.h5"), H5F_ACC_RDONLY, H5P_DEFAULT), set = H5Dopen2(file, set_table[i].name, H5P_DEFAULT);
        hid_t space = H5Dget_space(set);
        H5Dget_chunk_info(set, space, 0, offset, &mask, &at, &size);
        H5Sclose(space), H5Dclose(set), H5Fclose(file);
        h5_leave();
        uint64_t byte = at + support_below(size);
        flip("o/shard-00001-of-00002.h5", byte);
        ck_runs(6, i % 2 && SHARD_MOST_RANKS > 1 ? 2 : 1, "--verify o");
        ck_said("shard-00001-of-00002.h5");
        ck_said(set_table[i].name);
        flip("o/shard-00001-of-00002.h5", byte);
    }
    ck_runs(0, 1, "--verify o");
    ck_ok(file_remove(in("o/shard-00000-of-00002.h5")));
    ck_runs(6, 1, "--verify o");
    ck_said("shard-00000-of-00002.h5");
    free_inputs();
}
END_TEST

START_TEST(bad_input_is_refused)
{
    make_inputs(100, 100);
    b.meta.tokenizer[strlen("algorithm=wordpiece\nlower=")] = 'n';
    rows_write_folder(&b, 2, in("c"));
    int most = SHARD_MOST_RANKS > 1 ? 2 : 1;
    ck_runs(3, most, "--out o a c");
    ck_said("'lower=nes' where 'lower=yes'");
    ck_runs(3, most, "--out o --lang en,xx a b");
    ck_said("xx: no input has it");
    ck_runs(3, 1, "--out o --source nine.csv a b");
    ck_said("'third.csv'");
    rows_free(&a);
    rows_make(&a, 30, 0, 10);
    rows_write_folder(&a, 1, in("d"));
    ck_runs(3, most, "--out o --labelled yes d");
    ck_said("no row is left of 30");
    ck_said("0 labels");
    ck_runs(3, 1, "--out o a d");
    ck_said("labels");
    ck_runs(3, most, "--out o nothing");
    ck_said("nothing: no such folder");
    ck_runs(2, 1, "a");
    ck_said("--out");
    ck_runs(2, 1, "--out o");
    ck_runs(2, most, "--out ./a b a");
    ck_said("is the input a itself");
    ck_runs(2, most, "--out b a");
    ck_said("another stage");
    ck_runs(0, 1, "--info b");
    ck_runs(2, 1, "--info --verify a");
    ck_runs(2, 1, "--out o --shards 0 a");
    ck_runs(4, most, "--out /proc/none/o a");
    ck_said("/proc/none");
    ck_assert(!file_exists(in("o")));
    ck_ok(file_write_atomic(in("file"), "x", 1));
    ck_runs(4, 1, "--out file a");
    ck_said("file");
    flip("a/part-00-00001.h5", 2500);
    int code = run(1, "--out o --shards 2 a");
    ck_assert_msg(code == 3, "%d: %s", code, said);
    ck_said("part-00-00001.h5");
    ck_assert(!file_exists(in("o/manifest.json")) && !file_exists(in("o/.on-the-way")));
    free_inputs();
}
END_TEST

START_TEST(a_full_disk_leaves_nothing_half_written)
{
    char command[1500], **name;
    size_t count;
    make_inputs(2000, 1000);
    for (int blocks = 1; blocks < 700; blocks = blocks * 3 + 1) { /* of 512 or 1024 bytes */
        snprintf(command, sizeof command, "cd '%s' && trap '' XFSZ && ulimit -f %d && '%s' --quiet --out new/o --shards 1 a b 2>/dev/null", base, blocks,
                 support_program("shard"));
        int code = WEXITSTATUS(system(command));
        ck_assert_msg(code == 4, "exit code %d with files of %d blocks", code, blocks);
        ck_assert_msg(!file_exists(in("new")), "a folder was left by files of %d blocks", blocks);
    }
    ck_ok(file_make_folder(in("new/o"))); /* what was there stays */
    ck_assert_int_eq(WEXITSTATUS(system(command)), 4);
    ck_ok(file_list(in("new/o"), &name, &count));
    ck_assert_msg(count == 0, "'%s' was left", count > 0 ? name[0] : "");
    file_free_names(name, count);
    ck_runs(0, 1, "--out o --shards 1 a b");
    free_inputs();
}
END_TEST

START_TEST(csv_is_plain_text)
{
    snprintf(base, sizeof base, "%s", support_scratch());
    rows_make(&a, 2, 2, 3);
    char *const meta_lang = a.meta.lang[1];
    a.row[0] = (rowfile_row){.id = "a,\"b", .id_bytes = 4, .lang = 1, .label = (float[]){0.1f, 1}, .token = (uint32_t[]){7, 4294967295u},
                             .tokens = 2};
    a.row[1] = (rowfile_row){.id = "", .id_bytes = 0, .lang = 0, .label = (float[]){strtof("nan", NULL), 0.333333343f}};
    ck_assert_str_eq(meta_lang, "en");
    rows_write_folder(&a, 1, in("a"));
    static const char wanted[] = "id,lang,label_0,label_1,ids\n\"a,\"\"b\",en,0.1,1,\"7 4294967295\"\n\"\",\"\",,0.33333334,\"\"\n";
    char *text;
    size_t n;
    ck_runs(0, 1, "--export csv a");
    ck_said(wanted);
    ck_runs(0, SHARD_MOST_RANKS > 1 ? 2 : 1, "--export csv --out rows.csv a/part-00-00000.h5");
    ck_ok(file_read_all(in("rows.csv"), 0, &text, &n));
    ck_assert_str_eq(text, wanted);
    free(text);
    ck_runs(0, 1, "--info a");
    ck_said("2 rows, 2 tokens in 1 file");
    ck_said("label_0: 1 labelled, 0 (0.00%)");
    a.rows = 0; /* its rows are not from the heap */
    free_inputs();
}
END_TEST

int main(void)
{
    return support_run("shard", (const TTest *[]){rows_are_those_of_a_plain_reference, any_ranks_make_the_same_bytes, shard_count_moves_no_row,
                                                  work_done_is_kept, verify_finds_a_flip_in_any_chunk, bad_input_is_refused,
                                                  a_full_disk_leaves_nothing_half_written, csv_is_plain_text, NULL});
}
