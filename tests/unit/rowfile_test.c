/* Row files: what is written comes back, byte-identical files from equal rows, canonical hashes, and other readers see the same. */
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/files.h"
#include "common/hash.h"
#include "store/rowfile.h"
#include "support/rows.h"
#include "support/support.h"

static const char *at(const char *folder, const char *name)
{
    static char path[8][512];
    static int turn;
    turn = (turn + 1) % 8;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

/* Every range reader against the rows in memory, over a random range. */
static void check_ranges(rowfile *f, const test_rows *t)
{
    int64_t first = (int64_t)support_below((uint64_t)t->rows + 1), n = (int64_t)support_below((uint64_t)(t->rows - first) + 1);
    int64_t *offset = calloc((size_t)n + 1, 8), *number = calloc((size_t)n + 1, 8), *id_offset = calloc((size_t)n + 1, 8);
    uint64_t *hash = calloc((size_t)n + 1, 8), *text_hash = calloc((size_t)n + 1, 8);
    uint16_t *source = calloc((size_t)n + 1, 2), *lang = calloc((size_t)n + 1, 2);
    float *label = calloc((size_t)(n * t->meta.labels) + 1, 4);
    char *id;
    ck_ok(rowfile_read_offsets(f, first, n + 1, offset));
    ck_ok(rowfile_read_numbers(f, first, n, number));
    ck_ok(rowfile_read_hashes(f, first, n, hash));
    ck_ok(rowfile_read_text_hashes(f, first, n, text_hash));
    ck_ok(rowfile_read_sources(f, first, n, source));
    ck_ok(rowfile_read_langs(f, first, n, lang));
    ck_ok(rowfile_read_labels(f, first, n, label));
    ck_ok(rowfile_read_ids(f, first, n, &id, id_offset));
    uint32_t *token = calloc((size_t)(offset[n] - offset[0]) + 1, 4);
    ck_ok(rowfile_read_tokens(f, offset[0], offset[n] - offset[0], token));
    for (int64_t i = 0; i < n; i++) {
        rowfile_row r = {.id = id + id_offset[i], .id_bytes = (size_t)(id_offset[i + 1] - id_offset[i]), .number = number[i], .source = source[i],
                         .lang = lang[i], .label = label + i * t->meta.labels, .token = token + (offset[i] - offset[0]),
                         .tokens = offset[i + 1] - offset[i], .text_hash = text_hash[i], .hash = hash[i]};
        rows_same(&t->row[first + i], &t->meta, &r, rowfile_get_meta(f), "range");
    }
    free(offset), free(number), free(id_offset), free(hash), free(text_hash), free(source), free(lang), free(label), free(id), free(token);
}

static void check_round_trip(int64_t rows, int64_t labels, int64_t most_tokens)
{
    test_rows t;
    rowfile_summary s, v;
    rowfile *f;
    const char *path = at(support_scratch(), "rows.h5");
    rows_make(&t, rows, labels, most_tokens);
    t.meta.seed = support_random();
    rows_write(&t, 0, rows, path, &s);
    ck_ok(rowfile_open(path, &f));
    const rowfile_meta *m = rowfile_get_meta(f);
    ck_assert_int_eq(rowfile_rows(f), rows);
    ck_assert_int_eq(rowfile_tokens(f), s.tokens);
    ck_assert_str_eq(m->tokenizer, t.meta.tokenizer);
    ck_assert_str_eq(m->identity_text, t.meta.identity_text);
    ck_assert(m->seed == t.meta.seed && m->sources == 2 && m->langs == 6 && m->labels == labels);
    for (int64_t i = 0; i < labels; i++)
        ck_assert_str_eq(m->label[i], t.meta.label[i]);
    ck_assert_str_eq(m->source[1].name, t.meta.source[1].name);
    for (int64_t i = 0; i < rows; i += rows > 10000 ? 1 + (int64_t)support_below(60) : 1) {
        rowfile_row r;
        int64_t index = support_below(3) || rows > 10000 ? i : (int64_t)support_below((uint64_t)rows);
        ck_ok(rowfile_read_row(f, index, &r));
        rows_same(&t.row[index], &t.meta, &r, m, "row");
    }
    for (int i = 0; i < (rows > 10000 ? 2 : 20); i++)
        check_ranges(f, &t);
    rowfile_row r;
    ck_fails(rowfile_read_row(f, rows, &r), STATUS_INPUT, "was asked for");
    ck_fails(rowfile_read_tokens(f, s.tokens, 1, &(uint32_t){0}), STATUS_INPUT, "tokens/ids");
    rowfile_free(f);
    ck_ok(rowfile_verify(path, &v));
    ck_assert(v.rows == s.rows && v.tokens == s.tokens && v.bytes == s.bytes && strcmp(v.sha256, s.sha256) == 0);
    rows_free(&t);
}

START_TEST(rows_come_back)
{
    check_round_trip(0, 1, 10);
    check_round_trip(1, 0, 10);
    check_round_trip(3, 6, 0);
    check_round_trip(2000, 1, 60);
    check_round_trip(300, 3, 900);
}
END_TEST

START_TEST(rows_over_chunk_borders)
{
    /* 65,535, 65,536 and 65,537 rows: offsets have one more, so each border is met by some set */
    for (int64_t rows = ROWFILE_CHUNK - 1; rows <= ROWFILE_CHUNK + 1; rows++)
        check_round_trip(rows, 2, 4);
}
END_TEST

START_TEST(equal_rows_make_equal_bytes)
{
    test_rows t;
    rowfile_summary a, b;
    const char *folder = support_scratch();
    rows_make(&t, 1500, 2, 80);
    rows_write(&t, 0, t.rows, at(folder, "a.h5"), &a);
    sleep(1); /* a time in the file would show */
    uint32_t odd_nan = 0xffc12345; /* any NaN is no label, and written as one and the same */
    for (int64_t i = 0; i < t.rows; i++)
        for (int k = 0; k < 2; k++)
            if (isnan(t.row[i].label[k]))
                memcpy((float *)(uintptr_t)t.row[i].label + k, &odd_nan, sizeof odd_nan);
    rows_write(&t, 0, t.rows, at(folder, "another name.h5"), &b);
    ck_assert_str_eq(a.sha256, b.sha256);
    rows_free(&t);
}
END_TEST

START_TEST(hash_is_over_canonical_bytes)
{
    const uint8_t wanted[] = {3, 0, 0, 0, 'a', 0, 'c', 2, 0, 0, 0, 'e', 'n', 2, 0, 0, 0, 0, 0, 0xc0, 0x7f, 0, 0, 0x80, 0x3f,
                              2, 0, 0, 0, 7, 0, 0, 0, 0x01, 0x02, 0x03, 0x04};
    uint32_t token[] = {7, 0x04030201}, odd_nan = 0xffc12345;
    float label[2] = {0, 1};
    memcpy(label, &odd_nan, 4);
    rowfile_row r = {.id = "a\0c", .id_bytes = 3, .label = label, .token = token, .tokens = 2, .number = 5, .source = 9, .text_hash = 3};
    ck_assert(rowfile_row_hash(&r, "en", 2) == XXH3_64bits(wanted, sizeof wanted));
    r = (rowfile_row){0};
    ck_assert(rowfile_row_hash(&r, "", 0) == XXH3_64bits((const uint8_t[16]){0}, 16));
}
END_TEST

START_TEST(long_texts_fit)
{
    test_rows t;
    rowfile *f;
    const char *path = at(support_scratch(), "long.h5");
    rows_make(&t, 5, 1, 5);
    free(t.meta.identity_text);
    t.meta.identity_text = malloc(200001);
    memset(t.meta.identity_text, 'x', 200000);
    t.meta.identity_text[200000] = 0;
    rows_write(&t, 0, 5, path, NULL);
    ck_ok(rowfile_open(path, &f));
    ck_assert_str_eq(rowfile_get_meta(f)->identity_text, t.meta.identity_text);
    rowfile_free(f);
    rows_free(&t);
}
END_TEST

START_TEST(plain_hdf5_reads_it)
{
    test_rows t;
    rowfile_summary s;
    rowfile *f;
    const char *path = at(support_scratch(), "plain.h5");
    rows_make(&t, 3000, 2, 60);
    rows_write(&t, 0, t.rows, path, &s);
    ck_ok(rowfile_open(path, &f));
    uint32_t *ours = malloc((size_t)s.tokens * 4), *theirs = malloc((size_t)s.tokens * 4);
    ck_ok(rowfile_read_tokens(f, 0, s.tokens, ours));
    rowfile_free(f);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), set = H5Dopen2(file, "tokens/ids", H5P_DEFAULT);
    ck_assert(H5Dread(set, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, theirs) >= 0);
    ck_assert(memcmp(ours, theirs, (size_t)s.tokens * 4) == 0);
    H5Dclose(set);
    H5Fclose(file);
    free(ours), free(theirs);
    rows_free(&t);
}
END_TEST

/* Values as text lines, which the Python reader must repeat exactly. */
static void write_expected(const test_rows *t, const char *path)
{
    FILE *out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    for (int64_t i = 0; i < t->rows; i++) {
        const rowfile_row *r = &t->row[i];
        for (size_t k = 0; k < r->id_bytes; k++)
            fprintf(out, "%02x", (unsigned char)r->id[k]);
        fprintf(out, "|%lld|%s|%s|%016llx|", (long long)r->number, t->meta.source[r->source].name, t->meta.lang[r->lang],
                (unsigned long long)r->text_hash);
        for (int64_t k = 0; k < t->meta.labels; k++) {
            float v = rowfile_canonical_label(r->label[k]);
            uint32_t bits;
            memcpy(&bits, &v, 4);
            fprintf(out, "%08x ", bits);
        }
        fputc('|', out);
        for (int64_t k = 0; k < r->tokens; k++)
            fprintf(out, "%u ", r->token[k]);
        fputc('\n', out);
    }
    fclose(out);
}

START_TEST(h5py_reads_it)
{
    const char *python = getenv("FRETSAW_PEERS"), *folder = support_scratch();
    if (!python) {
        support_skip("FRETSAW_PEERS, a python with h5py and hdf5plugin");
        return;
    }
    test_rows t;
    char command[2048];
    rows_make(&t, 2500, 3, 120);
    rows_write(&t, 0, t.rows, at(folder, "rows.h5"), NULL);
    write_expected(&t, at(folder, "expected.txt"));
    snprintf(command, sizeof command, "'%s' '%s' '%s' '%s'", python, support_source("tests/oracle/read_with_h5py.py"), at(folder, "rows.h5"),
             at(folder, "expected.txt"));
    ck_assert_int_eq(system(command), 0);
    rows_free(&t);
}
END_TEST

START_TEST(failed_writes_leave_nothing)
{
    test_rows t;
    rowfile_writer *w;
    const char *folder = support_scratch();
    char **names;
    size_t count;
    rows_make(&t, 10, 1, 5);
    ck_ok(rowfile_create(at(folder, "a.h5"), &t.meta, &w));
    rowfile_row bad = t.row[0];
    bad.lang = 6;
    ck_fails(rowfile_append(w, &bad), STATUS_INPUT, "language 6 of 6");
    rowfile_abandon(w);
    rowfile_abandon(NULL);
    ck_ok(file_list(folder, &names, &count));
    ck_assert_int_eq(count, 0);
    file_free_names(names, count);
    ck_fails(rowfile_create("/proc/no/such/a.h5", &t.meta, &w), STATUS_IO, "/proc/no");
    rows_free(&t);
}
END_TEST

int main(void)
{
    return support_run("rowfile", (const TTest *[]){rows_come_back, rows_over_chunk_borders, equal_rows_make_equal_bytes,
                                                    hash_is_over_canonical_bytes, long_texts_fit, plain_hdf5_reads_it, h5py_reads_it,
                                                    failed_writes_leave_nothing, NULL});
}
