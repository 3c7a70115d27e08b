/* From a real CSV to row files and back: the reference's ids of every row, and labels, languages and numbers as the CSV has them. */
#include <stdio.h>
#include <stdlib.h>

#include "common/comm.h"
#include "common/files.h"
#include "common/hash.h"
#include "store/manifest.h"
#include "support/stage_case.h"
#include "support/support.h"

enum { BLOCK = 1000 };

/* Lines of rows_*.tsv: first row, rows, ids in all, digest of (count, ids) of each row. */
typedef struct expected_block {
    long long first, rows, ids;
    char digest[17];
} expected_block;

static void check_block(rowfile *f, int64_t first, const expected_block *b)
{
    hash_sha256 *h;
    char hex[HASH_HEX];
    long long ids = 0;
    ck_ok(hash_sha256_begin(&h));
    for (int64_t i = 0; i < b->rows; i++) {
        rowfile_row r;
        ck_ok(rowfile_read_row(f, first + i, &r));
        uint32_t count = (uint32_t)r.tokens;
        ck_assert_int_eq(r.number, b->first + i);
        hash_sha256_add(h, &count, sizeof count);
        hash_sha256_add(h, r.token, count * sizeof *r.token);
        ids += r.tokens;
    }
    hash_sha256_end(h, hex);
    hex[16] = 0;
    ck_assert_int_eq(ids, b->ids);
    ck_assert_msg(strcmp(hex, b->digest) == 0, "rows from %lld: digest %s, not %s", b->first, hex, b->digest);
}

START_TEST(ids_of_test_csv)
{
    const char *csv = support_data("comments/test.csv"), *vocab = support_data("vocab/bert-base-multilingual-uncased"),
               *tsv = support_oracle("tokens/rows_test_mbert_uncased.tsv");
    if (!csv || !vocab || !tsv) {
        support_skip("comments/test.csv");
        return;
    }
    char out[600], *text, *end;
    size_t n;
    stage_options o;
    manifest m;
    rowfile *f;
    snprintf(out, sizeof out, "%s/out", support_scratch());
    stage_case(&o, (char *[]){(char *)csv}, 1, out);
    o.vocab = vocab;
    o.rules.na_keep = true; /* as the reference read it */
    ck_ok(stage_run(&o, NULL));
    ck_ok(manifest_read(out, &m));
    ck_assert_int_eq(m.files, 1);
    ck_assert_int_eq(m.rows, 6800);
    char part[700];
    snprintf(part, sizeof part, "%s/%s", out, m.file[0].name);
    ck_ok(rowfile_verify(part, &(rowfile_summary){0}));
    ck_ok(rowfile_open(part, &f));
    ck_ok(file_read_all(tsv, 0, &text, &n));
    int64_t seen = 0;
    for (char *line = text; (end = strchr(line, '\n')); line = end + 1) {
        expected_block b;
        *end = 0;
        ck_assert_int_eq(sscanf(line, "%lld\t%lld\t%lld\t%16s", &b.first, &b.rows, &b.ids, b.digest), 4);
        check_block(f, b.first, &b);
        seen += b.rows;
    }
    ck_assert_int_eq(seen, m.rows);
    rowfile_free(f);
    manifest_free(&m);
    free(text);
}
END_TEST

int main(int argc, char **argv)
{
    if (comm_open(&argc, &argv) != STATUS_OK)
        return 1;
    int failed = support_run("csv_tokens", (const TTest *[]){ids_of_test_csv, NULL});
    comm_close();
    return failed;
}
