/* The reader and the check against what the reference readers say: strict.tsv, records.tsv, bad.tsv, na_cases. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "common/comm.h"
#include "common/files.h"
#include "common/hash.h"
#include "preprocess/check.h"
#include "preprocess/missing.h"
#include "preprocess/utf8.h"
#include "support/csv_trace.h"
#include "support/support.h"

enum { COLUMNS = 7 };
static const int64_t memory = INT64_C(1) << 30;

static bool next_record(csv_reader *r, csv_event *event)
{
    ck_ok(csv_reader_next(r, event));
    return *event == CSV_RECORD;
}

/* A tab-separated file: calls `each` with the columns of every line after the first `skip`. */
static void each_line(const char *path, int skip, void (*each)(char **column))
{
    char *text, *end;
    size_t n;
    ck_ok(file_read_all(path, 0, &text, &n));
    for (char *line = text; (end = strchr(line, '\n')); line = end + 1) {
        char *column[COLUMNS] = {line};
        *end = 0;
        for (int k = 1; k < COLUMNS && column[k - 1]; k++) {
            column[k] = strchr(column[k - 1], '\t');
            if (column[k])
                *column[k]++ = 0;
        }
        if (skip-- <= 0)
            each(column);
    }
    free(text);
}

/* The digest of all fields, invalid UTF-8 replaced, over the readers of all splits. */
static void digest(const char *path, int64_t split_bytes, char hex[HASH_HEX], int64_t *records)
{
    csv_splits s;
    csv_reader *r;
    hash_sha256 *h;
    csv_event event;
    ck_ok(splits_open(&(splits_request){.path = (char *[]){(char *)path}, .count = 1, .split_bytes = split_bytes}, &s));
    ck_ok(splits_count(&s));
    ck_ok(csv_reader_create(memory, &r));
    ck_ok(hash_sha256_begin(&h));
    int64_t width = 0;
    *records = -1;
    for (int64_t i = 0; i < s.count; i++) {
        csv_range range = splits_range(&s.split[i], width);
        ck_ok(csv_reader_begin(r, &s.input[0].file, &range));
        for (; next_record(r, &event); ++*records)
            for (int64_t k = 0; k < csv_reader_width(r); k++) {
                csv_field f;
                csv_reader_field(r, k, &f);
                width = csv_reader_width(r);
                uint64_t n = utf8_replaced_bytes(f.text, f.bytes, NULL);
                char *copy = malloc(n + 1);
                utf8_replace(f.text, f.bytes, copy);
                hash_sha256_add(h, &n, sizeof n);
                hash_sha256_add(h, copy, n);
                free(copy);
            }
        ck_assert_int_eq(event, CSV_END);
        ck_assert_int_eq(*records + 1, s.split[i].record + s.split[i].records);
    }
    hash_sha256_end(h, hex);
    hex[16] = 0;
    csv_reader_free(r);
    splits_close(&s);
}

static option_list list(const char *const *item, size_t n)
{
    return (option_list){.item = (char **)item, .count = n};
}

/* The verdict of the check with the columns of the reference: message in status_message(). */
static status check_file(const char *path, int64_t split_bytes)
{
    static const char *const id[] = {"id"}, *const text[] = {"comment_text", "content", "text"}, *const lang[] = {"lang"}, *const labels[] = {"toxic|target"};
    check_rules rules = {.columns = {.id = list(id, 1), .text = list(text, 3), .lang = list(lang, 1), .labels = list(labels, 1)}, .memory = memory};
    csv_splits s;
    check_result c;
    ck_ok(splits_open(&(splits_request){.path = (char *[]){(char *)path}, .count = 1, .split_bytes = split_bytes}, &s));
    status st = check_inputs(&s, &rules, NULL, &c);
    check_free(&c, s.inputs);
    splits_close(&s);
    return st;
}

static void expect_fault(const char *path, int64_t split_bytes, char **column)
{
    char where[100] = "", what[200];
    if (column[4][0] != '-')
        snprintf(where, sizeof where, "record %s%s, byte %s: ", column[3], strcmp(column[3], "0") == 0 ? " (the header)" : "", column[4]);
    snprintf(what, sizeof what, "%s: %s%s", file_base(path), where, column[2]);
    ck_fails(check_file(path, split_bytes), STATUS_INPUT, what);
}

static void expect_verdict(const char *path, int64_t split_bytes, char **column, bool check)
{
    char hex[HASH_HEX];
    int64_t records;
    if (strcmp(column[1], "ok") == 0) {
        digest(path, split_bytes, hex, &records);
        ck_assert_msg(strcmp(hex, column[6]) == 0, "%s, split %lld: digest %s, not %s", path, (long long)split_bytes, hex, column[6]);
        ck_assert_int_eq(records, strtoll(column[5], NULL, 10));
        if (check)
            ck_ok(check_file(path, split_bytes));
    } else if (check) {
        expect_fault(path, split_bytes, column);
    } else { /* a file without our columns: structure alone */
        csv_trace t = {0};
        trace_read(path, split_bytes, memory, &t);
        ck_assert_str_eq(csv_fault_name(t.kind), column[2]);
        ck_assert_int_eq(t.record, strtoll(column[3], NULL, 10));
        ck_assert_uint_eq(t.byte, strtoull(column[4], NULL, 10));
        trace_free(&t);
    }
}

/* A copy of the data may have lost the CRs of files whose name promises them: then they are put back in a copy of our own. */
static const char *with_crs(const char *path)
{
    static char copy[600];
    char *text;
    size_t n, used = 0;
    if (!path || !strstr(path, "_crlf.csv"))
        return path;
    ck_ok(file_read_all(path, 0, &text, &n));
    if (!memchr(text, '\r', n)) {
        char *out = malloc(2 * n + 1);
        for (size_t i = 0; i < n; i++) {
            if (text[i] == '\n')
                out[used++] = '\r';
            out[used++] = text[i];
        }
        snprintf(copy, sizeof copy, "%s/copy_crlf.csv", support_scratch());
        trace_write_file(copy, out, used);
        free(out);
        path = copy;
    }
    free(text);
    return path;
}

static int files_seen;

static void strict_line(char **column)
{
    char below[300];
    bool bad = strncmp(column[0], "bad/", 4) == 0;
    snprintf(below, sizeof below, "csv/%s", column[0]);
    const char *path = bad ? support_oracle(below) : with_crs(support_data(column[0]));
    uint64_t n;
    if (!path)
        return;
    ck_ok(file_size(path, &n));
    files_seen++;
    expect_verdict(path, INT64_C(64) << 20, column, bad);
    if (n < 300)
        for (int64_t split = 1; split <= (int64_t)n + 1; split++)
            expect_verdict(path, split, column, bad);
    else
        expect_verdict(path, (int64_t)(n / 7 + support_below(1000) + 1), column, bad);
}

START_TEST(verdicts_of_strict_tsv)
{
    const char *path = support_oracle("csv/strict.tsv");
    if (!path) {
        support_skip("csv/strict.tsv");
        return;
    }
    each_line(path, 1, strict_line);
    ck_assert_int_gt(files_seen, 60);
}
END_TEST

static void records_line(char **column)
{
    const char *path = with_crs(support_data(column[0]));
    char hex[HASH_HEX];
    int64_t records;
    if (!path || strstr(column[0], "location_coordinates")) /* a quote in an unquoted field: the one that strict refuses */
        return;
    digest(path, 100003, hex, &records);
    ck_assert_str_eq(hex, column[4]);
    ck_assert_int_eq(records, strtoll(column[1], NULL, 10));
}

START_TEST(digests_of_records_tsv)
{
    const char *path = support_oracle("csv/records.tsv");
    if (path)
        each_line(path, 0, records_line);
    else
        support_skip("csv/records.tsv");
}
END_TEST

static void replaced_line(char **column)
{
    char below[300], *text;
    size_t n;
    int64_t count = 0;
    if (!column[5] || strcmp(column[5], "-") == 0)
        return;
    snprintf(below, sizeof below, "csv/bad/%s", column[0]);
    ck_ok(file_read_all(support_oracle(below), 0, &text, &n));
    json_t *wanted = json_loads(column[5], JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    ck_assert_ptr_nonnull(wanted);
    size_t room = utf8_replaced_bytes(text, n, &count);
    char *copy = malloc(room + 1);
    ck_assert_uint_eq(utf8_replace(text, n, copy), room);
    ck_assert_int_gt(count, 0);
    ck_assert_uint_eq(room, json_string_length(wanted));
    ck_assert_int_eq(memcmp(copy, json_string_value(wanted), room), 0);
    json_decref(wanted);
    free(copy);
    free(text);
    files_seen++;
}

START_TEST(replaced_texts_of_bad_tsv)
{
    const char *path = support_oracle("csv/bad.tsv");
    files_seen = 0;
    if (!path) {
        support_skip("csv/bad.tsv");
        return;
    }
    each_line(path, 1, replaced_line);
    ck_assert_int_gt(files_seen, 20);
}
END_TEST

START_TEST(missing_texts_of_na_cases)
{
    const char *path = support_oracle("csv/na_cases.csv"), *wanted = support_oracle("csv/na_cases.json");
    if (!path || !wanted) {
        support_skip("csv/na_cases.csv");
        return;
    }
    csv_file file;
    csv_reader *r;
    csv_event event;
    json_t *texts = json_load_file(wanted, JSON_ALLOW_NUL, NULL);
    ck_ok(csv_file_open(path, NULL, &file));
    ck_ok(csv_reader_create(memory, &r));
    ck_ok(csv_reader_begin(r, &file, &(csv_range){.first = 0, .to = file.bytes}));
    ck_assert(next_record(r, &event)); /* the header */
    size_t rows = 0;
    for (; next_record(r, &event); rows++) {
        csv_field f;
        csv_reader_field(r, 1, &f);
        if (missing_is_word(f.text, f.bytes))
            f = (csv_field){.text = "none", .bytes = 4};
        json_t *text = json_array_get(texts, rows);
        ck_assert_msg(f.bytes == json_string_length(text) && memcmp(f.text, json_string_value(text), f.bytes) == 0, "row %zu: '%.*s', not '%s'", rows,
                      (int)f.bytes, f.text, json_string_value(text));
    }
    ck_assert_int_eq(event, CSV_FAULT); /* its last two rows, "NA"x and N"A", are for forgiving readers */
    ck_assert_int_eq(csv_reader_fault(r)->kind, CSV_TEXT_AFTER);
    ck_assert_uint_eq(rows + 2, json_array_size(texts));
    json_decref(texts);
    csv_reader_free(r);
    csv_file_close(&file);
}
END_TEST

int main(int argc, char **argv)
{
    if (comm_open(&argc, &argv) != STATUS_OK)
        return 1;
    int failed = support_run("csv_oracle", (const TTest *[]){verdicts_of_strict_tsv, digests_of_records_tsv, replaced_texts_of_bad_tsv,
                                                             missing_texts_of_na_cases, NULL});
    comm_close();
    return failed;
}
