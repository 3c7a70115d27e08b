/* Several folders as one table, on any number of ranks: the same rows, labels, languages, tokens and identity, in memory or through the cache. */
#include "store/dataset.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/comm.h"
#include "common/files.h"
#include "common/hash.h"
#include "model/input.h"
#include "store/manifest.h"
#include "store/overlap.h"
#include "support/rows.h"
#include "support/support.h"

static char folder_a[512], folder_b[512];
static test_rows a, b;

/* Where it is set, hashes of texts are below it, 0 among them, so that many rows have them in common. */
static uint64_t few_texts;

static void share_texts(test_rows *t)
{
    for (int64_t i = 0; few_texts && i < t->rows; i++)
        t->row[i].text_hash = support_below(few_texts) << support_below(2) * 40;
}

/* The folders are rank 0's; every rank holds the same rows in memory. */
static void make_folders(int64_t rows_a, int64_t rows_b)
{
    char base[400] = "";
    if (comm_rank() == 0)
        snprintf(base, sizeof base, "%s", support_scratch());
    comm_broadcast(base, sizeof base, 0);
    snprintf(folder_a, sizeof folder_a, "%s/a", base);
    snprintf(folder_b, sizeof folder_b, "%s/b", base);
    rows_make(&a, rows_a, 2, 30);
    rows_make(&b, rows_b, 2, 60);
    share_texts(&a);
    share_texts(&b);
    if (comm_rank() == 0) {
        rows_write_folder(&a, 4, folder_a);
        rows_write_folder(&b, 3, folder_b);
    }
    comm_barrier();
}

static void free_rows(void)
{
    comm_barrier();
    rows_free(&a);
    rows_free(&b);
}

static void expected_identity(char hex[HASH_HEX])
{
    hash_sha256 *h;
    uint64_t n = (uint64_t)(a.rows + b.rows);
    ck_ok(hash_sha256_begin(&h));
    hash_sha256_add(h, a.meta.tokenizer, strlen(a.meta.tokenizer));
    hash_sha256_add(h, &n, sizeof n);
    for (int64_t i = 0; i < a.rows; i++)
        hash_sha256_add(h, &a.row[i].hash, 8);
    for (int64_t i = 0; i < b.rows; i++)
        hash_sha256_add(h, &b.row[i].hash, 8);
    hash_sha256_end(h, hex);
}

static void check_row(dataset *d, int64_t index)
{
    const test_rows *t = index < a.rows ? &a : &b;
    const rowfile_row *r = &t->row[index < a.rows ? index : index - a.rows];
    uint32_t ids[2000];
    int64_t count, from = (int64_t)support_below((uint64_t)r->tokens + 2), most = (int64_t)support_below(2000);
    char id[400];
    size_t bytes;
    ck_assert_int_eq(dataset_length(d, index), r->tokens);
    ck_assert_str_eq(dataset_lang(d, index), t->meta.lang[r->lang]);
    for (int k = 0; k < 2; k++) {
        float x = rowfile_canonical_label(r->label[k]);
        ck_assert(memcmp(&x, dataset_label(d, index) + k, 4) == 0);
    }
    ck_ok(dataset_tokens_part(d, index, from, most, ids, &count));
    int64_t left = from < r->tokens ? r->tokens - from : 0;
    ck_assert_int_eq(count, left < most ? left : most);
    ck_assert(count == 0 || memcmp(ids, r->token + from, (size_t)count * 4) == 0);
    if (support_below(8) == 0) {
        ck_ok(dataset_id(d, index, id, sizeof id, &bytes));
        ck_assert(bytes == r->id_bytes && (bytes == 0 || memcmp(id, r->id, bytes) == 0) && id[bytes] == 0);
        if (bytes > 0)
            ck_fails(dataset_id(d, index, id, bytes, &bytes), STATUS_INPUT, "its id has");
    }
}

static void check_all(int64_t memory)
{
    dataset *d;
    char hex[HASH_HEX];
    int64_t n = a.rows + b.rows;
    ck_ok(dataset_open((char *[]){folder_a, folder_b}, 2, &(dataset_limits){.memory = memory}, &d));
    expected_identity(hex);
    ck_assert_str_eq(dataset_identity(d), hex);
    ck_assert(dataset_rows(d) == n && dataset_labels(d) == 2 && dataset_folders(d) == 2);
    ck_assert_str_eq(dataset_label_name(d, 1), "label_1");
    ck_assert_str_eq(dataset_tokenizer(d), a.meta.tokenizer);
    for (int64_t i = 0; i < n; i++)
        check_row(d, support_below(2) ? i : (int64_t)support_below((uint64_t)n));
    dataset_free(d);
}

START_TEST(folders_are_one_table)
{
    make_folders(3000, 5000);
    check_all(1 << 30);
    check_all(0); /* the cache at its smallest */
    check_all(700000);
    free_rows();
}
END_TEST

static int64_t expected_overlap(const test_rows *of, const test_rows *in)
{
    int64_t rows = 0;
    for (int64_t i = 0; i < of->rows; i++) {
        bool found = false;
        for (int64_t k = 0; k < in->rows && !found; k++)
            found = of->row[i].text_hash == in->row[k].text_hash;
        rows += found;
    }
    return rows;
}

START_TEST(texts_in_common_are_counted)
{
    static const int64_t rounds[] = {OVERLAP_ROUND, 700, 97};
    dataset *d[2];
    dataset_limits limits = {.memory = 1 << 20};
    few_texts = 1200;
    make_folders(1900, 900);
    few_texts = 0;
    ck_ok(dataset_open((char *[]){folder_a}, 1, &limits, &d[0]));
    ck_ok(dataset_open((char *[]){folder_b}, 1, &limits, &d[1]));
    for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
        int64_t rows;
        ck_ok(overlap_count(d[0], d[1], rounds[i], &rows));
        ck_assert_int_eq(rows, expected_overlap(&a, &b));
        ck_ok(overlap_count(d[1], d[0], rounds[i], &rows));
        ck_assert_int_eq(rows, expected_overlap(&b, &a));
        ck_assert(rows > 100 && rows < b.rows);
    }
    dataset_free(d[0]);
    dataset_free(d[1]);
    free_rows();
}
END_TEST

START_TEST(faults_reach_every_rank)
{
    dataset *d;
    dataset_limits limits = {.memory = 1 << 20};
    char *name, missing[] = "/no/such/folder";
    make_folders(100, 100);
    char *folders[] = {folder_a, folder_b};
    ck_fails(dataset_open((char *[]){folder_a, missing}, 2, &limits, &d), STATUS_INPUT, "/no/such/folder");
    ck_fails(dataset_open(folders, 0, &limits, &d), STATUS_USAGE, "no folder");
    comm_barrier();
    if (comm_rank() == 0) {
        b.meta.tokenizer[strlen("algorithm=wordpiece\nlower=")] = 'n';
        rows_write_folder(&b, 3, folder_b);
    }
    comm_barrier();
    ck_fails(dataset_open(folders, 2, &limits, &d), STATUS_INPUT, "'lower=nes' where 'lower=yes'");
    comm_barrier();
    test_rows other;
    rows_make(&other, 100, 2, 60); /* at every rank, so that all draw the same random numbers */
    if (comm_rank() == 0) {        /* the manifest of other rows beside these */
        manifest m;
        rows_write_folder(&other, 3, folder_b);
        ck_ok(manifest_read(folder_b, &m));
        m.data_identity[0] = m.data_identity[0] == '0' ? '1' : '0';
        ck_ok(manifest_write(folder_b, &m));
        manifest_free(&m);
    }
    rows_free(&other);
    comm_barrier();
    ck_fails(dataset_open(folders, 2, &limits, &d), STATUS_INPUT, "manifest.json");
    ck_ok(file_join(folder_a, "part-00-00002.h5", &name));
    comm_barrier();
    if (comm_rank() == 0)
        ck_ok(file_remove(name));
    comm_barrier();
    ck_fails(dataset_open(folders, 2, &limits, &d), STATUS_INPUT, "part-00-00002.h5: is missing");
    free(name);
    free_rows();
}
END_TEST

/* One id at a time, as plainly as can be. */
static int64_t plain_input(const input_format *f, const rowfile_row *r, int32_t *out)
{
    int64_t room = f->max_length - 2, n = 0, front = f->truncate == TRUNCATE_HEAD ? room : f->truncate == TRUNCATE_TAIL ? 0 : room / 4;
    out[n++] = f->cls;
    for (int64_t i = 0; i < r->tokens; i++)
        if (r->tokens <= room || i < front || i >= r->tokens - (room - front))
            out[n++] = (int32_t)r->token[i];
    out[n++] = f->sep;
    return n;
}

START_TEST(inputs_are_cut_to_fit)
{
    dataset *d;
    int32_t wanted[1300], has[1300];
    int64_t n;
    make_folders(400, 300);
    ck_ok(dataset_open((char *[]){folder_a}, 1, &(dataset_limits){.memory = 1 << 28}, &d));
    for (int64_t i = 0; i < 3 * a.rows; i++) {
        input_format f = {.max_length = 3 + (int64_t)support_below(60), .truncate = (truncate_side)(i % 3), .cls = 101, .sep = 102};
        const rowfile_row *r = &a.row[i / 3];
        int64_t length = plain_input(&f, r, wanted);
        ck_assert_int_eq(input_length(&f, r->tokens), length);
        ck_ok(input_read(&f, d, i / 3, has, &n));
        ck_assert(n == length && memcmp(has, wanted, (size_t)n * 4) == 0);
        ck_assert_int_eq(input_make(&f, r->token, r->tokens, has), length);
        ck_assert(memcmp(has, wanted, (size_t)n * 4) == 0);
    }
    dataset_free(d);
    free_rows();
}
END_TEST

int main(int argc, char **argv)
{
    if (comm_open(&argc, &argv) != STATUS_OK)
        return 1;
    char seed[24];
    snprintf(seed, sizeof seed, "%llu", comm_rank() == 0 ? (unsigned long long)support_seed() : 0ull);
    comm_broadcast(seed, sizeof seed, 0);
    if (comm_rank() != 0)
        setenv("FRETSAW_SEED", seed, 1);
    int failed = support_run("dataset", (const TTest *[]){folders_are_one_table, texts_in_common_are_counted, faults_reach_every_rank, inputs_are_cut_to_fit, NULL});
    failed = comm_any(failed != 0);
    comm_close();
    return failed;
}
