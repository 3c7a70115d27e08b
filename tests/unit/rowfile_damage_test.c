/* Damaged, cut and foreign files: always refused with a message, never a crash, and no flip inside a chunk goes unseen. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/files.h"
#include "store/h5.h"
#include "store/identity.h"
#include "store/rowfile.h"
#include "store/sets.h"
#include "support/rows.h"
#include "support/support.h"

static char path[512], other[512];

static void names_in(const char *folder)
{
    snprintf(path, sizeof path, "%s/rows.h5", folder);
    snprintf(other, sizeof other, "%s/damaged.h5", folder);
}

static void put(const char *to, const char *bytes, size_t n)
{
    FILE *f = fopen(to, "wb");
    ck_assert(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
}

/* Where the packed chunks of all sets lie in the file. */
typedef struct extent {
    uint64_t at, bytes;
    const char *set;
} extent;

static int chunks_of(const char *file, extent *to)
{
    int n = 0;
    h5_enter();
    hid_t f = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT);
    for (int i = 0; i < SETS; i++) {
        hsize_t count = 0, offset[2], size;
        unsigned mask;
        haddr_t address;
        hid_t set = H5Dopen2(f, set_table[i].name, H5P_DEFAULT), space = H5Dget_space(set);
        H5Dget_num_chunks(set, space, &count);
        for (hsize_t k = 0; k < count; k++) {
            H5Dget_chunk_info(set, space, k, offset, &mask, &address, &size);
            to[n++] = (extent){address, size, set_table[i].name};
        }
        H5Sclose(space);
        H5Dclose(set);
    }
    H5Fclose(f);
    h5_leave();
    return n;
}

START_TEST(every_flip_in_a_chunk_is_found)
{
    test_rows t;
    char *bytes;
    size_t size;
    extent chunk[64];
    names_in(support_scratch());
    rows_make(&t, 40, 2, 30);
    rows_write(&t, 0, t.rows, path, NULL);
    int chunks = chunks_of(path, chunk);
    ck_assert_int_ge(chunks, SETS);
    ck_ok(file_read_all(path, 0, &bytes, &size));
    for (int i = 0; i < chunks; i++)
        for (int k = 0; k < 60; k++) {
            uint64_t byte = chunk[i].at + (k < 24 ? (uint64_t)k % chunk[i].bytes : support_below(chunk[i].bytes));
            char flip = (char)(1 << support_below(8));
            bytes[byte] ^= flip;
            put(other, bytes, size);
            ck_fails(rowfile_verify(other, NULL), STATUS_CHECK, chunk[i].set);
            ck_assert_ptr_nonnull(strstr(status_message(), other));
            bytes[byte] ^= flip;
        }
    free(bytes);
    rows_free(&t);
}
END_TEST

/* Uses everything a reader would; any outcome but a crash or a wild value is fine. */
static void read_all(const char *file)
{
    rowfile *f;
    rowfile_row r;
    status st = rowfile_open(file, &f);
    ck_assert_msg(st == STATUS_OK || st == STATUS_INPUT || st == STATUS_IO, "%d: %s", (int)st, status_message());
    if (st != STATUS_OK) {
        ck_assert_ptr_nonnull(strstr(status_message(), file));
        return;
    }
    for (int64_t i = 0; i < rowfile_rows(f) && st == STATUS_OK; i++) {
        st = rowfile_read_row(f, i, &r);
        if (st == STATUS_OK)
            ck_assert(r.lang < rowfile_get_meta(f)->langs && r.source < rowfile_get_meta(f)->sources);
    }
    rowfile_free(f);
}

START_TEST(random_flips_never_crash)
{
    test_rows t;
    char *bytes;
    size_t size;
    names_in(support_scratch());
    rows_make(&t, 30, 1, 20);
    rows_write(&t, 0, t.rows, path, NULL);
    ck_ok(file_read_all(path, 0, &bytes, &size));
    int refused = 0;
    for (int i = 0; i < 800; i++) {
        char *copy = malloc(size);
        memcpy(copy, bytes, size);
        for (uint64_t k = 0; k <= support_below(3); k++)
            copy[support_below(size)] ^= (char)(1 + support_below(255));
        put(other, copy, size);
        read_all(other);
        refused += rowfile_verify(other, NULL) != STATUS_OK;
        free(copy);
    }
    ck_assert_int_gt(refused, 400);
    free(bytes);
    rows_free(&t);
}
END_TEST

START_TEST(cut_files_are_refused)
{
    test_rows t;
    char *bytes;
    size_t size;
    rowfile *f;
    names_in(support_scratch());
    rows_make(&t, 30, 1, 20);
    rows_write(&t, 0, t.rows, path, NULL);
    ck_ok(file_read_all(path, 0, &bytes, &size));
    for (int i = 0; i < 300; i++) {
        size_t n = i < 60 ? (size_t)i * 20 : i < 64 ? size - (size_t)(i - 59) : support_below(size);
        put(other, bytes, n);
        ck_fails(rowfile_open(other, &f), STATUS_INPUT, other);
        ck_assert_int_ne(rowfile_verify(other, NULL), STATUS_OK);
    }
    free(bytes);
    rows_free(&t);
}
END_TEST

START_TEST(foreign_files_are_refused)
{
    rowfile *f;
    names_in(support_scratch());
    ck_fails(rowfile_open(path, &f), STATUS_INPUT, "no such file");
    put(path, "version https://git-lfs.github.com/spec/v1\n", 43);
    ck_fails(rowfile_open(path, &f), STATUS_INPUT, "not an HDF5 file");
    h5_enter();
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(file);
    h5_leave();
    ck_fails(rowfile_open(path, &f), STATUS_INPUT, "not a row file");
    h5_enter();
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    status st = h5_write_number(file, path, "fretsaw_rows", 1);
    H5Fclose(file);
    h5_leave();
    ck_ok(st);
    ck_fails(rowfile_open(path, &f), STATUS_INPUT, "version 1;");
}
END_TEST

/* A forged file: right checksums, wrong contents. `set` of it is written again with these values. */
static void forge(const test_rows *t, int set, const void *values, int64_t count)
{
    column_writer w;
    chunk_codec codec = {0};
    rows_write(t, 0, t->rows, path, NULL);
    h5_enter();
    hid_t access = h5_access_list(), file = H5Fopen(path, H5F_ACC_RDWR, access);
    ck_assert(file >= 0 && H5Ldelete(file, set_table[set].name, H5P_DEFAULT) >= 0);
    h5_leave();
    ck_ok(column_create(file, path, set_table[set].name, set_table[set].type, 1, &w));
    ck_ok(column_append(&w, &codec, values, count));
    ck_ok(column_finish(&w, &codec));
    column_writer_clear(&w);
    chunk_codec_clear(&codec);
    h5_enter();
    H5Fclose(file);
    H5Pclose(access);
    h5_leave();
}

START_TEST(forged_contents_are_refused)
{
    test_rows t;
    rowfile *f;
    names_in(support_scratch());
    rows_make(&t, 3, 1, 10);
    for (int64_t i = 0; i < 3; i++)
        t.row[i].tokens = t.row[i].tokens > 4 ? 4 : t.row[i].tokens;
    for (int64_t i = 0; i < 3; i++)
        t.row[i].hash = rowfile_row_hash(&t.row[i], t.meta.lang[t.row[i].lang], 1);
    int64_t all = t.row[0].tokens + t.row[1].tokens + t.row[2].tokens;
    forge(&t, SET_OFFSETS, (int64_t[]){0, INT64_MAX, -5, all}, 4);
    ck_fails(rowfile_verify(path, NULL), STATUS_CHECK, "tokens/offsets");
    read_all(path);
    forge(&t, SET_OFFSETS, (int64_t[]){0, 0, 0, all + 1}, 4);
    ck_fails(rowfile_open(path, &f), STATUS_INPUT, "tokens/offsets");
    forge(&t, SET_ID_OFFSETS, (int64_t[]){1, 2, 3, 4}, 4);
    ck_fails(rowfile_open(path, &f), STATUS_INPUT, "rows/id_offsets");
    forge(&t, SET_LANG, (uint16_t[]){t.row[0].lang, 6, 0}, 3);
    ck_fails(rowfile_verify(path, NULL), STATUS_CHECK, "rows/lang");
    forge(&t, SET_SOURCE, (uint16_t[]){0, 2, 0}, 3);
    ck_fails(rowfile_verify(path, NULL), STATUS_CHECK, "rows/source");
    forge(&t, SET_NUMBER, (int64_t[]){0, 1}, 2);
    ck_fails(rowfile_open(path, &f), STATUS_INPUT, "rows/source");
    forge(&t, SET_NUMBER, (int64_t[]){0, 1, -1}, 3);
    ck_fails(rowfile_verify(path, NULL), STATUS_CHECK, "rows/number");
    /* What makes sense is another row: the identity over all rows knows. */
    char was[HASH_HEX], is[HASH_HEX], *const paths[] = {path};
    rows_write(&t, 0, t.rows, path, NULL);
    ck_ok(data_identity_of_files("k=v", 3, paths, 1, was));
    forge(&t, SET_LABEL, (float[]){t.row[0].label[0], 0.25f, t.row[2].label[0]}, 3);
    ck_ok(rowfile_verify(path, NULL));
    ck_ok(data_identity_of_files("k=v", 3, paths, 1, is));
    ck_assert_str_ne(was, is);
    rows_free(&t);
}
END_TEST

START_TEST(a_full_disk_leaves_nothing)
{
    /* A limit on the size of files stands for the full disk: both fail in write(). */
    const char *folder = support_scratch();
    test_rows t;
    rowfile_writer *w;
    char **names;
    size_t count;
    names_in(folder);
    rows_make(&t, 3000, 1, 200);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, small;
    getrlimit(RLIMIT_FSIZE, &before);
    for (int i = 0; i < 12; i++) {
        small = before;
        small.rlim_cur = (rlim_t)(100 + support_below(200000));
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
        status st = rowfile_create(path, &t.meta, &w);
        for (int64_t k = 0; st == STATUS_OK && k < t.rows; k++) {
            st = rowfile_append(w, &t.row[k]);
            if (st != STATUS_OK)
                rowfile_abandon(w);
        }
        if (st == STATUS_OK)
            st = rowfile_close(w, NULL);
        setrlimit(RLIMIT_FSIZE, &before);
        ck_assert_msg(st == STATUS_IO, "%d: %s", (int)st, status_message());
        ck_assert_ptr_nonnull(strstr(status_message(), path));
        ck_ok(file_list(folder, &names, &count));
        ck_assert_int_eq(count, 0);
        file_free_names(names, count);
    }
    rows_free(&t);
}
END_TEST

int main(void)
{
    return support_run("rowfile_damage", (const TTest *[]){every_flip_in_a_chunk_is_found, random_flips_never_crash, cut_files_are_refused,
                                                           foreign_files_are_refused, forged_contents_are_refused, a_full_disk_leaves_nothing, NULL});
}
