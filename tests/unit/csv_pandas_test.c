/* The pandas dialect in pieces against the slow reader of the whole: hand-made corners and random bytes at every cut, records over chunks. */
#include <stdio.h>
#include <stdlib.h>

#include "common/comm.h"
#include "support/csv_trace.h"
#include "support/slow_pandas.h"
#include "support/support.h"

enum { LEAST = 64 * 1024 };
static char path[512];

static void make_path(void)
{
    snprintf(path, sizeof path, "%s/a.csv", support_scratch());
}

/* The widths as the check finds them. */
static int64_t width_of(const csv_splits *s, csv_reader *r, int64_t *header)
{
    csv_event event;
    csv_range range = splits_header(&s->input[0]);
    ck_ok(csv_reader_begin(r, &s->input[0].file, &range));
    ck_ok(csv_reader_next(r, &event));
    *header = event == CSV_RECORD ? csv_reader_width(r) : 0;
    if (event == CSV_RECORD)
        ck_ok(csv_reader_next(r, &event));
    int64_t first = event == CSV_RECORD ? csv_reader_width(r) : 0;
    return first > *header ? first : *header;
}

static void same_record(csv_reader *r, const slow_pandas *slow, const char *what)
{
    int64_t record = csv_reader_record(r), width = csv_reader_width(r);
    ck_assert_msg(record < slow->records, "%s: record %lld of %lld", what, (long long)record, (long long)slow->records);
    size_t first = slow->first[record], count = slow->first[record + 1] - first;
    ck_assert_msg(width == (record ? slow->width : slow->header), "%s: record %lld has %lld fields", what, (long long)record, (long long)width);
    for (int64_t k = 0; k < width; k++) {
        csv_field f;
        csv_reader_field(r, k, &f);
        slow_cell c = (size_t)k < count ? slow->cell[first + (size_t)k] : (slow_cell){0};
        ck_assert_msg(f.bytes == c.bytes && memcmp(f.text, slow->text + c.from, c.bytes) == 0, "%s: record %lld, field %lld is '%.*s'", what,
                      (long long)record, (long long)k, (int)f.bytes, f.text);
    }
}

static void compare_at(const uint8_t *p, size_t n, const slow_pandas *slow, int64_t split, int64_t memory, char delimiter)
{
    csv_splits s;
    csv_reader *r = trace_reader(memory);
    char shown[900], what[1000];
    csv_quote_text((const char *)p, n, shown, sizeof shown);
    snprintf(what, sizeof what, "split %lld of %zu bytes: %s", (long long)split, n, shown);
    const splits_request request = {.path = (char *[]){path}, .count = 1, .split_bytes = split, .dialect = CSV_PANDAS, .delimiter = delimiter};
    ck_ok(splits_open(&request, &s));
    ck_ok(splits_count(&s));
    int64_t header, width = width_of(&s, r, &header), seen = 0;
    csv_event event = CSV_END;
    for (int64_t i = 0; i < s.count && event != CSV_FAULT; i++) {
        csv_range range = splits_range(&s.split[i], width);
        ck_ok(csv_reader_begin(r, &s.input[0].file, &range));
        int64_t here = 0;
        for (;; here++) {
            ck_ok(csv_reader_next(r, &event));
            if (event != CSV_RECORD)
                break;
            ck_assert_msg(csv_reader_record(r) == seen, "%s: record %lld comes as number %lld", what, (long long)seen,
                          (long long)csv_reader_record(r));
            seen++;
            same_record(r, slow, what);
        }
        ck_assert_msg(event == CSV_FAULT || here == s.split[i].records, "%s: split %lld has %lld records, %lld were counted", what, (long long)i,
                      (long long)here, (long long)s.split[i].records);
    }
    ck_assert_msg((event == CSV_FAULT ? csv_reader_fault(r)->kind : CSV_FINE) == slow->kind, "%s: %s", what, csv_fault_name(slow->kind));
    ck_assert_msg(seen == slow->records, "%s: %lld records of %lld", what, (long long)seen, (long long)slow->records);
    splits_close(&s);
}

static void compare(const void *p, size_t n, int64_t first, int64_t last, char delimiter)
{
    slow_pandas slow;
    trace_write_file(path, p, n);
    slow_pandas_read(p, n, delimiter, &slow);
    for (int64_t split = first; split <= last; split++)
        compare_at(p, n, &slow, split, INT64_C(1) << 20, delimiter);
    slow_pandas_free(&slow);
}

START_TEST(corners_at_every_cut)
{
    static const char *const texts[] = {
        "",
        "\n",
        "\r",
        " ",
        "\xEF\xBB\xBF",
        "\xEF\xBB\xBFi,j\n1,2\n",
        "a,b\n1,2",
        "a,b\r1,2\r3,4",
        "a,b\r\n1,2\r\n",
        "a,b\n1\n2,3\n",
        "a,b\n1,2,3\n4\n",
        "a,b\n1,2\n3,4,5\n",
        "a,b\n\"x\"y\"z\",w\n",
        "a,b\n1,\"x",
        "a,b\n1,\"x\"\"\n",
        "a,b\n1,x\"y\n",
        "a,b\n \"x\",y\n",
        " a,b\n1,2\n",
        "\n \n\ta,b\n  \n1,2\n",
        "a,b\r\r x,y\r",
        "a,b\n\r\r x,y\n",
        "a,b\n  \r\r x,y\n",
        "a,b\n\r  \r x,y\n",
        "a,b\n\r  \r\rx,y\n",
        "a,b\n\r\n x,y\n",
        "a,b\r,x\n",
        "a,b\r \r x\n",
        "a,b\n1,2\r \r\r\t,\n",
        "\r\r a,b\n1,2\n",
        "a\r\"x\r\ny\"\r\"z\"\r",
        "a,b\n\"1\"\r\n\"2\",\n,\n",
        "a,b\n\r \n\r  x,1\n",
        "a,b\n\r,x\n",
        "a,b\n\r, x\n",
        "a,b\n\r,,x\n",
        "a,b\n\r,\r,,x\n",
        "a,b\n \r,\"x\",\n",
        "a,b\n\r, \r,  ,\"\n",
        "a,b\n1,2\r,x\r\r,",
        "a,b\n\r, \n\r,",
    };
    make_path();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        compare(texts[i], strlen(texts[i]), 1, (int64_t)strlen(texts[i]) + 1, ',');
}
END_TEST

static size_t random_bytes(uint8_t *p, size_t most, const char *alphabet, size_t letters)
{
    size_t n = support_below(most + 1);
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)alphabet[support_below(letters)];
    return n;
}

START_TEST(random_bytes_at_every_cut)
{
    static const char any[] = "aa,,\"\"\n\n\r \t\xC3", odd[] = "a,\r\r\r  \n\"";
    uint8_t p[2000];
    make_path();
    for (int i = 0; i < 600; i++) {
        size_t n = i % 2 ? random_bytes(p, 40, any, sizeof any - 1) : random_bytes(p, 30, odd, sizeof odd - 1);
        compare(p, n, 1, (int64_t)n + 1, i % 5 ? ',' : '\t');
    }
    for (int i = 0; i < 400; i++) { /* longer than what all states are followed through */
        size_t n = i % 2 ? random_bytes(p, sizeof p, any, sizeof any - 1) : random_bytes(p, sizeof p, " \r\ra,", 5);
        int64_t split = 250 + (int64_t)support_below(700);
        compare(p, n, split, split, ',');
    }
    for (int i = 0; i < 200; i++) { /* blanks over whole pieces */
        size_t n = support_below(sizeof p);
        for (size_t k = 0; k < n; k++)
            p[k] = support_below(300) ? ' ' : (uint8_t) "a,\r\n\""[support_below(5)];
        int64_t split = 250 + (int64_t)support_below(700);
        compare(p, n, split, split, ',');
    }
}
END_TEST

/* One field a record, so that nothing is ragged, over windows of several chunks. */
START_TEST(long_records_over_chunks)
{
    enum { MOST = 600000 };
    uint8_t *p = malloc(MOST + 40000);
    slow_pandas slow;
    make_path();
    for (int i = 0; i < 12; i++) {
        size_t n = 0;
        while (n < MOST / 2) {
            size_t length = support_below(support_below(10) ? 200 : 30000);
            bool quotes = support_below(2);
            if (quotes)
                p[n++] = '"';
            for (size_t k = 0; k < length; k++)
                p[n++] = (uint8_t)(quotes ? "ab \n\r,"[support_below(6)] : "ab \"c"[support_below(5)]);
            if (quotes)
                p[n++] = '"';
            p[n] = (uint8_t) "\n\r\r\n\r"[support_below(5)];
            n++;
        }
        trace_write_file(path, p, n);
        slow_pandas_read(p, n, ';', &slow);
        compare_at(p, n, &slow, 1 + (int64_t)support_below(n), LEAST, ';');
        compare_at(p, n, &slow, (int64_t)n, INT64_C(1) << 30, ';');
        slow_pandas_free(&slow);
    }
    free(p);
}
END_TEST

START_TEST(limits_are_kept)
{
    size_t n = 0;
    char *p = malloc(4 * LEAST);
    csv_splits s;
    csv_reader *r;
    csv_event event;
    make_path();
    for (int over = 0; over < 2; over++) {
        n = (size_t)snprintf(p, 20, "a,b\n1,2\n3,\"");
        memset(p + n, 'x', 2 * LEAST);
        n += LEAST / 2 - 2 + (size_t)over;
        n += (size_t)snprintf(p + n, 20, "\"\n4,5\n");
        trace_write_file(path, p, n);
        ck_ok(csv_reader_create(LEAST, &r));
        ck_ok(splits_open(&(splits_request){.path = (char *[]){path}, .count = 1, .split_bytes = 1 << 20, .dialect = CSV_PANDAS}, &s));
        ck_ok(splits_count(&s));
        csv_range range = splits_range(&s.split[0], 2);
        ck_ok(csv_reader_begin(r, &s.input[0].file, &range));
        do
            ck_ok(csv_reader_next(r, &event));
        while (event == CSV_RECORD);
        ck_assert_int_eq(event, over ? CSV_FAULT : CSV_END);
        if (over) {
            ck_assert_int_eq(csv_reader_fault(r)->kind, CSV_FIELD_TOO_LONG);
            ck_assert_int_eq(csv_reader_fault(r)->record, 2);
            ck_assert_uint_eq(csv_reader_fault(r)->byte, 10);
        }
        splits_close(&s);
        csv_reader_free(r);
    }
    free(p);
}
END_TEST

int main(int argc, char **argv)
{
    if (comm_open(&argc, &argv) != STATUS_OK)
        return 1;
    int failed = support_run("csv_pandas",
                             (const TTest *[]){corners_at_every_cut, random_bytes_at_every_cut, long_records_over_chunks, limits_are_kept, NULL});
    trace_reader(0);
    comm_close();
    return failed;
}
