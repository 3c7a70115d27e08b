/* The strict CSV reader against the slow one: every kind of fault, at every cut, random bytes, long fields over the window's chunks. */
#include <stdio.h>
#include <stdlib.h>

#include "common/comm.h"
#include "support/csv_trace.h"
#include "support/support.h"

enum { LEAST = 64 * 1024 }; /* the smallest memory: a window of several chunks for little data */

static char path[512];
static csv_trace fast, slow;

static void make_path(void)
{
    snprintf(path, sizeof path, "%s/a.csv", support_scratch());
}

static void compare_at(const uint8_t *p, size_t n, int64_t split, size_t limit)
{
    char what[40];
    snprintf(what, sizeof what, "split %lld", (long long)split);
    trace_clear(&fast);
    trace_read(path, split, limit ? 2 * (int64_t)limit : INT64_C(1) << 30, &fast);
    trace_compare(&fast, &slow, p, n, what);
}

/* All the given split sizes from `first` to `last`. */
static void compare(const void *p, size_t n, int64_t first, int64_t last, size_t limit)
{
    trace_write_file(path, p, n);
    trace_clear(&slow);
    trace_slow(p, n, limit, &slow);
    for (int64_t split = first; split <= last; split++)
        compare_at(p, n, split, limit);
}

typedef struct csv_case {
    const char *text;
    size_t n;
    csv_fault_kind kind;
    int64_t record;
    int64_t byte; /* -1: the whole file */
} csv_case;
#define CASE(text, ...) {text, sizeof text - 1, __VA_ARGS__}

static const csv_case cases[] = {
    CASE("", CSV_NO_RECORDS, -1, -1),
    CASE("\n\r\n\n", CSV_NO_RECORDS, -1, -1),
    CASE("id,text\n", CSV_NO_RECORDS, -1, -1),
    CASE("\xEF\xBB\xBF", CSV_NO_RECORDS, -1, -1),
    CASE("\xEF\xBB\xBFid,text\n1,a\n", CSV_FINE, 0, 0),
    CASE("\xEF\xBB\xBF\"id\",text\n1,a\n", CSV_FINE, 0, 0),
    CASE("\xEF\xBB\xBF\xEF\xBB\xBFid,text\n1,a\n", CSV_FINE, 0, 0),
    CASE("\xFF\xFEi\0d\0", CSV_UTF16, -1, -1),
    CASE("\xFE\xFF", CSV_UTF16, -1, -1),
    CASE("a\n1", CSV_FINE, 0, 0),
    CASE("a,b\n1,", CSV_FINE, 0, 0),
    CASE("a,b\r\n\r\n1,\"x\r\ny\"\r\n\n\n2,\"\"\r\n", CSV_FINE, 0, 0),
    CASE("a,b\n1,\"say \"\"no\"\"\"\n2,\"\"\"\"\n", CSV_FINE, 0, 0),
    CASE("a,b\n\"\",\"\"\n\"\n\",\",\"\n", CSV_FINE, 0, 0),
    CASE("a\n\"\"\n\" \"\n", CSV_FINE, 0, 0),
    CASE("a,b\n1,x\0y\n\0,\0\n", CSV_FINE, 0, 0),
    CASE("a,b\n1,\xC3\xA9\n2,\xC3\n", CSV_FINE, 0, 0),
    CASE("a,b\n1,x\"y\n", CSV_QUOTE_INSIDE, 1, 7),
    CASE("a,b\n1, \"y\"\n", CSV_QUOTE_INSIDE, 1, 7),
    CASE("a\"\n1\n", CSV_QUOTE_INSIDE, 0, 1),
    CASE("a,b\n1,\"x\"y\n", CSV_TEXT_AFTER, 1, 9),
    CASE("a,b\n1,\"x\" \n", CSV_TEXT_AFTER, 1, 9),
    CASE("a,b\n1,\"x\n2,y\n", CSV_UNCLOSED, 1, 6),
    CASE("a,b\n1,\"", CSV_UNCLOSED, 1, 6),
    CASE("a,b\n1,x\n2,\"y\"\"\n", CSV_UNCLOSED, 2, 10),
    CASE("a,b\n1,x\r2,y\n", CSV_LONE_CR, 1, 7),
    CASE("a,b\n1,x\r", CSV_LONE_CR, 1, 7),
    CASE("a,b\n1,\"x\"\r2,y\n", CSV_LONE_CR, 1, 9),
    CASE("a,b\n\r1,x\n", CSV_LONE_CR, 1, 4),
    CASE("a,b\n1,x\n\r\"y\",z\n", CSV_LONE_CR, 2, 8),
    CASE("a,b\n1,x\n\r\r\n", CSV_LONE_CR, 2, 8),
    CASE("\r", CSV_LONE_CR, 0, 0),
    CASE("a,b\n1,x\n \t\n2,y\n", CSV_SPACES, 2, 8),
    CASE("a,b\n1,x\n ", CSV_SPACES, 2, 8),
    CASE(" \n1\n", CSV_SPACES, 0, 0),
    CASE("a,b\n1,x\n2\n3,z\n", CSV_RAGGED, 2, 8),
    CASE("a,b\n1,x,\n", CSV_RAGGED, 1, 4),
    CASE("a,b\n1,x,,,,,,,,\"unclosed", CSV_UNCLOSED, 1, 15),
    CASE("a,b\n1,x,\"y\"z\n", CSV_TEXT_AFTER, 1, 11),
    CASE("a,b\n1\n2,x\"\n", CSV_RAGGED, 1, 4),
    CASE("a,b\n1,x\"\n2\n", CSV_QUOTE_INSIDE, 1, 7),
};

START_TEST(cases_at_every_cut)
{
    make_path();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const csv_case *c = &cases[i];
        compare(c->text, c->n, 1, (int64_t)c->n + 1, 0);
        ck_assert_msg(slow.kind == c->kind, "case %zu: %s", i, csv_fault_name(slow.kind));
        if (c->kind != CSV_FINE && c->byte >= 0)
            ck_assert_msg(slow.record == c->record && slow.byte == (uint64_t)c->byte, "case %zu: record %lld byte %llu", i, (long long)slow.record,
                          (unsigned long long)slow.byte);
    }
}
END_TEST

/* Bytes that matter, in runs; mostly a well-formed table, sometimes with one byte put wrong. */
static size_t random_bytes(uint8_t *p, size_t most)
{
    static const char alphabet[] = "aa,,\"\"\n\n\r \t\xC3\xA9";
    size_t n = support_below(most + 1);
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)alphabet[support_below(sizeof alphabet)]; /* its NUL too */
    return n;
}

static size_t random_field(uint8_t *p, size_t longest)
{
    static const char text[] = "abc  \xE2\x82\xAC\xFF.\0";
    static const char any[] = "ab, \n\r\xF0\x9F";
    size_t used = 0, length = support_below(longest + 1);
    bool quotes = support_below(3) == 0;
    if (quotes)
        p[used++] = '"';
    for (size_t i = 0; i < length; i++) {
        p[used] = (uint8_t)(quotes ? any[support_below(sizeof any)] : text[support_below(sizeof text)]);
        used++;
        if (quotes && support_below(8) == 0) {
            p[used++] = '"';
            p[used++] = '"';
        }
    }
    if (quotes)
        p[used++] = '"';
    return used;
}

/* A table; room for rows * width * (3 * longest + 4) bytes. */
static size_t random_table(uint8_t *p, int64_t rows, int64_t width, size_t longest)
{
    size_t used = 0;
    bool crlf = support_below(2);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t k = 0; k < width; k++) {
            used += random_field(p + used, k && support_below(50) == 0 ? longest : longest < 12 ? longest : 12);
            if (k + 1 < width)
                p[used++] = ',';
        }
        if (crlf)
            p[used++] = '\r';
        p[used++] = '\n';
        if (support_below(20) == 0)
            p[used++] = '\n';
    }
    return used;
}

START_TEST(random_bytes_at_every_cut)
{
    uint8_t p[400];
    make_path();
    for (int i = 0; i < 400; i++) {
        size_t n = random_bytes(p, 60);
        compare(p, n, 1, (int64_t)n + 1, 0);
    }
    for (int i = 0; i < 1500; i++) { /* longer than a block of the scan */
        size_t n = random_bytes(p, sizeof p);
        compare(p, n, 1 + (int64_t)support_below(80), 0, 0);
        compare_at(p, n, 1 + (int64_t)support_below(n + 1), 0);
    }
}
END_TEST

START_TEST(random_tables_at_every_cut)
{
    static uint8_t p[12 * 4 * (3 * 12 + 4) + 64];
    make_path();
    for (int i = 0; i < 150; i++) {
        size_t n = random_table(p, 1 + (int64_t)support_below(6), 1 + (int64_t)support_below(4), 6);
        if (i % 3 == 0 && n)
            p[support_below(n)] = (uint8_t)"\",\n\r a"[support_below(6)];
        compare(p, n, 1, (int64_t)n + 1, 0);
    }
}
END_TEST

/* Fields and records that cross chunks of the window, and such that the memory does not allow. */
START_TEST(long_fields_over_chunks)
{
    enum { ROWS = 400, WIDTH = 3, LONGEST = 20000 };
    uint8_t *p = malloc((size_t)ROWS * WIDTH * (3 * LONGEST + 4));
    ck_assert_ptr_nonnull(p);
    make_path();
    for (int i = 0; i < 12; i++) {
        size_t longest = 1 + support_below(i % 2 ? LONGEST : 40000 / 3), n = random_table(p, ROWS, WIDTH, longest);
        if (i % 4 == 3)
            p[n / 2 + support_below(n / 2)] = '"';
        trace_write_file(path, p, n);
        for (int limited = 0; limited < 2; limited++) {
            size_t limit = limited ? LEAST / 2 : 0;
            trace_clear(&slow);
            trace_slow(p, n, limit, &slow);
            compare_at(p, n, 1 + (int64_t)support_below(3000), limit);
            compare_at(p, n, (int64_t)n / 3 + 1, limit);
            compare_at(p, n, (int64_t)n + 1, limit);
        }
    }
    free(p);
}
END_TEST

/* A field of exactly half the memory passes, one byte more does not; the same for a record and all of it, and for a header of many columns. */
START_TEST(limits_to_the_byte)
{
    enum { HALF = LEAST / 2 };
    uint8_t *p = malloc(4 * LEAST);
    ck_assert_ptr_nonnull(p);
    make_path();
    for (int64_t over = -2; over <= 2; over++)
        for (int quotes = 0; quotes < 2; quotes++) {
            size_t n = (size_t)snprintf((char *)p, 100, "a,b\n1,x\n2,"), from = n;
            memset(p + n, 'x', HALF + 2);
            n += (size_t)(HALF + over);
            if (quotes)
                p[from] = p[n - 1] = '"';
            p[n++] = '\n';
            compare(p, n, 5, 5, HALF);
            ck_assert_int_eq(slow.kind, over > 0 ? CSV_FIELD_TOO_LONG : CSV_FINE);
            compare_at(p, n, (int64_t)n, HALF);
        }
    for (int64_t over = -2; over <= 2; over++) {
        size_t n = (size_t)snprintf((char *)p, 100, "a,b,c,d\n"), from = n, end = n + (size_t)(LEAST + over);
        while (n < end)
            p[n] = (n - from) % (LEAST / 4) == LEAST / 4 - 1 && n + 10 < end ? ',' : 'y', n++;
        p[n++] = '\n';
        compare(p, n, (int64_t)n, (int64_t)n, HALF);
        ck_assert_int_eq(slow.kind, over > 0 ? CSV_RECORD_TOO_LONG : CSV_FINE);
    }
    memset(p, ',', 3 * LEAST);
    memcpy(p, "a,b\n", 4);
    p[3 * LEAST] = '\n';
    compare(p, 3 * LEAST + 1, 999, 999, HALF); /* one record of commas: too long, then ragged */
    ck_assert_int_eq(slow.kind, CSV_RECORD_TOO_LONG);
    compare(p, 3 * LEAST + 1, 999, 999, 0);
    ck_assert_int_eq(slow.kind, CSV_RAGGED);
    ck_assert_int_eq(fast.found, 3 * LEAST - 3);
    compare(p, 3 * LEAST + 1, 999, 999, 2 * LEAST); /* over several chunks */
    ck_assert_int_eq(slow.kind, CSV_RAGGED);
    ck_assert_int_eq(fast.found, 3 * LEAST - 3);
    free(p);
}
END_TEST

/* The same for fields so long that their length is found before they are held: they end in any way, or not at all. */
START_TEST(giant_fields_are_measured)
{
    enum { HALF = 10 << 20 };
    static const char *const ends[] = {"\",y\n", "\"\n", "\r\n", ",", "\"x\n", "", "a\"b\"\n"};
    uint8_t *p = malloc(2 * HALF);
    ck_assert_ptr_nonnull(p);
    make_path();
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        for (int64_t over = -1; over <= 1; over++) {
            size_t n = (size_t)snprintf((char *)p, 100, "a,b\n1,x\n2,%s", ends[i][0] == '"' || !ends[i][0] ? "\"" : "");
            size_t length = HALF - 2 + (size_t)(over + (int64_t)support_below(3));
            memset(p + n, 'z', length);
            n += length;
            n += (size_t)snprintf((char *)p + n, 100, "%s%s", ends[i], ends[i][0] ? "3,x\n" : "");
            compare(p, n, (int64_t)n, (int64_t)n, HALF);
        }
    free(p);
}
END_TEST

int main(int argc, char **argv)
{
    if (comm_open(&argc, &argv) != STATUS_OK)
        return 1;
    int failed = support_run("csv_cuts", (const TTest *[]){cases_at_every_cut, random_bytes_at_every_cut, random_tables_at_every_cut,
                                                           long_fields_over_chunks, limits_to_the_byte, giant_fields_are_measured, NULL});
    trace_free(&fast);
    trace_free(&slow);
    comm_close();
    return failed;
}
