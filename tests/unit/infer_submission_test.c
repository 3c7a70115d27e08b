#include "infer/submission.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files.h"
#include "support/support.h"

enum { ROWS = 300, COLUMNS = 3 };

static const char *write_text(const char *name, const char *text, size_t bytes)
{
    static char path[4][400];
    static int next;
    char *p = path[next++ % 4];
    static const char *folder;
    if (!folder)
        folder = support_scratch();
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    ck_ok(file_write_atomic(p, text, bytes));
    return p;
}

/* An id with all that CSV has to quote, never equal for two numbers. */
static size_t make_id(int64_t number, char id[80])
{
    static const char *const odd[] = {"", ",", "\"", "\n", "\r\n", " ", "\"\"", "é", "a,\"b\"\n", "#"};
    return (size_t)snprintf(id, 80, "%s%lld%s", odd[support_below(10)], (long long)number, odd[support_below(10)]);
}

static void fill(table *t, const char *const *columns, int64_t count, int64_t rows)
{
    ck_ok(table_begin("id", columns, count, t));
    for (int64_t i = 0; i < rows; i++) {
        char id[80];
        double value[COLUMNS];
        for (int64_t c = 0; c < count; c++)
            value[c] = (float)support_uniform();
        size_t n = make_id(i, id);
        ck_ok(table_append(t, id, n, value));
    }
}

/* The same ids in another order, with other columns. */
static void shuffled(const table *from, const char *const *columns, int64_t count, table *t)
{
    int64_t order[ROWS];
    ck_ok(table_begin("key", columns, count, t));
    for (int64_t i = 0; i < from->rows; i++)
        order[i] = i;
    for (int64_t i = from->rows - 1; i > 0; i--) {
        int64_t j = (int64_t)support_below((uint64_t)i + 1), k = order[i];
        order[i] = order[j];
        order[j] = k;
    }
    for (int64_t i = 0; i < from->rows; i++) {
        size_t n;
        const char *id = table_id(from, order[i], &n);
        double value[COLUMNS];
        for (int c = 0; c < COLUMNS; c++)
            value[c] = (float)support_uniform();
        ck_ok(table_append(t, id, n, value));
    }
}

START_TEST(submission_in_sample_order)
{
    static const char *const names[] = {"a", "b,c", "toxic"}, *const wanted[] = {"toxic", "a"};
    table scores, sample, back;
    table_repeats repeats;
    char *text;
    size_t bytes, n, m;
    fill(&scores, names, 3, ROWS);
    shuffled(&scores, wanted, 2, &sample);
    ck_ok(submission_text(&sample, &scores, NUMBER_SHORTEST, &text, &bytes));
    ck_ok(table_read(write_text("s.csv", text, bytes), &(table_request){.numbers = TABLE_VALUES}, &back));
    ck_assert_str_eq(back.id_name, "key");
    ck_assert_int_eq(back.columns, 2);
    ck_assert_str_eq(back.column[0], "toxic");
    ck_assert_str_eq(back.column[1], "a");
    ck_assert_int_eq(back.rows, ROWS);
    ck_ok(table_index(&scores, &repeats));
    ck_assert_int_eq(repeats.count, 0);
    for (int64_t i = 0; i < ROWS; i++) {
        const char *x = table_id(&back, i, &n), *y = table_id(&sample, i, &m);
        ck_assert(n == m && memcmp(x, y, n) == 0);
        int64_t row = table_find(&scores, y, m);
        ck_assert((float)back.value[2 * i] == (float)scores.value[3 * row + 2] && (float)back.value[2 * i + 1] == (float)scores.value[3 * row]);
    }
    free(text);
    table_free(&back);
    table_free(&sample);
    table_free(&scores);
}
END_TEST

START_TEST(submission_bytes)
{
    table scores, sample;
    char *text;
    size_t bytes;
    ck_ok(table_begin("id", (const char *const[]){"p"}, 1, &scores));
    ck_ok(table_append(&scores, "x,1", 3, (double[]){0.25}));
    ck_ok(table_append(&scores, "y", 1, (double[]){1e-9f}));
    ck_ok(submission_text(NULL, &scores, NUMBER_SHORTEST, &text, &bytes));
    ck_assert_str_eq(text, "id,p\n\"x,1\",0.25\ny,1e-09\n");
    free(text);
    ck_ok(table_begin("ID", (const char *const[]){"toxic"}, 1, &sample)); /* one column on both sides needs no equal name */
    ck_ok(table_append(&sample, "y", 1, NULL));
    ck_ok(table_append(&sample, "x,1", 3, NULL));
    ck_ok(submission_text(&sample, &scores, 3, &text, &bytes));
    ck_assert_str_eq(text, "ID,toxic\ny,0.000\n\"x,1\",0.250\n");
    free(text);
    ck_ok(table_append(&sample, "z", 1, NULL));
    ck_fails(submission_text(&sample, &scores, 3, &text, &bytes), STATUS_INPUT, "1 of the 3 ids of the sample have no score in the input: \"z\"");
    ck_ok(table_append(&scores, "z", 1, (double[]){NAN}));
    ck_fails(submission_text(&sample, &scores, 3, &text, &bytes), STATUS_CHECK, "\"z\"");
    ck_ok(table_append(&scores, "w", 1, (double[]){0}));
    ck_ok(table_append(&scores, "v", 1, (double[]){0}));
    ck_fails(submission_match(&sample, &scores), STATUS_INPUT, "2 of the 5 ids of the input are not in the sample: \"w\", \"v\"");
    ck_ok(table_append(&sample, "u", 1, NULL));
    ck_fails(submission_match(&sample, &scores), STATUS_INPUT, "have no score");
    ck_ok(table_append(&scores, "w", 1, (double[]){0}));
    ck_fails(submission_match(&sample, &scores), STATUS_INPUT, "\"w\" in record 4 and again in record 6");
    table_free(&sample);
    table_free(&scores);
    ck_ok(table_begin("id", (const char *const[]){"a", "b"}, 2, &scores));
    ck_ok(table_begin("id", (const char *const[]){"c"}, 1, &sample));
    ck_fails(submission_match(&sample, &scores), STATUS_INPUT, "\"c\"");
    table_free(&sample);
    table_free(&scores);
}
END_TEST

START_TEST(submission_blends)
{
    static const char *const names[] = {"a", "b", "toxic"}, *const turned[] = {"toxic", "a", "b"};
    for (int weighted = 0; weighted < 2; weighted++) {
        table part[3], out, *list[3] = {&part[0], &part[1], &part[2]};
        double weights[3] = {0.2, 1.5, 0.7};
        fill(&part[0], names, 3, ROWS);
        shuffled(&part[0], turned, 3, &part[1]);
        shuffled(&part[0], names, 3, &part[2]);
        ck_ok(submission_blend(list, 3, weighted ? weights : NULL, &out));
        ck_assert_int_eq(out.rows, ROWS);
        table turned_out, *other_list[3] = {&part[1], &part[2], &part[0]}; /* in another order: the same numbers */
        table_repeats none;
        ck_ok(submission_blend(other_list, 3, weighted ? (double[3]){1.5, 0.7, 0.2} : NULL, &turned_out));
        ck_ok(table_index(&turned_out, &none));
        for (int64_t i = 0; i < ROWS; i++) {
            size_t n;
            const char *id = table_id(&out, i, &n);
            for (int c = 0; c < 3; c++) {
                int64_t row1 = table_find(&part[1], id, n), row2 = table_find(&part[2], id, n);
                double x = part[0].value[3 * i + c], y = part[1].value[3 * row1 + (c + 1) % 3], z = part[2].value[3 * row2 + c];
                __float128 sum = weighted ? (__float128)0.2 * x + (__float128)1.5 * y + (__float128)0.7 * z : (__float128)x + y + z;
                __float128 total = weighted ? (__float128)0.2 + 1.5 + 0.7 : 3;
                ck_assert((float)out.value[3 * i + c] == (float)((double)sum / (double)total));
                ck_assert(turned_out.value[3 * table_find(&turned_out, id, n) + (c + 1) % 3] == out.value[3 * i + c]);
            }
        }
        for (int i = 0; i < 3; i++)
            table_free(&part[i]);
        table_free(&out);
        table_free(&turned_out);
    }
}
END_TEST

static status blend_texts(const char *a, const char *b)
{
    table part[2], out, *list[2] = {&part[0], &part[1]};
    ck_ok(table_read(write_text("a.csv", a, strlen(a)), &(table_request){.numbers = TABLE_VALUES}, &part[0]));
    ck_ok(table_read(write_text("b.csv", b, strlen(b)), &(table_request){.numbers = TABLE_VALUES}, &part[1]));
    status st = submission_blend(list, 2, NULL, &out);
    if (st == STATUS_OK)
        table_free(&out);
    table_free(&part[0]);
    table_free(&part[1]);
    return st;
}

START_TEST(submission_blend_refuses)
{
    ck_ok(blend_texts("id,p\n1,0.5\n2,1\n", "id,q\r\n2,0.25\r\n1,0\r\n"));
    ck_fails(blend_texts("id,p\n1,0.5\n2,1\n", "id,p\n2,0.25\n"), STATUS_INPUT, "\"1\"");
    ck_fails(blend_texts("id,p\n1,0.5\n", "id,p\n2,0.25\n1,0\n"), STATUS_INPUT, "\"2\"");
    ck_fails(blend_texts("id,p\n1,0.5\n", "id,p\n1,x\n"), STATUS_INPUT, "line 2, column \"p\": 'x'");
    ck_fails(blend_texts("id,p\n1,0.5\n", "id,p\n1,nan\n"), STATUS_INPUT, "not finite");
    ck_fails(blend_texts("id,p\n1,0.5\n", "id,p,q\n1,1,1\n"), STATUS_INPUT, "columns");
    ck_fails(blend_texts("id,p\n1,0.5\n1,0.6\n", "id,p\n1,1\n"), STATUS_INPUT, "again in record 2");
}
END_TEST

START_TEST(table_reads)
{
    static const char text[] = "\xef\xbb\xbftext,id,x\n\"a\nb\",7,1\n\nc,\"q\"\"r\",\n";
    table t;
    table_repeats repeats;
    ck_ok(table_read(write_text("t.csv", text, sizeof text - 1),
                     &(table_request){.numbers = TABLE_VALUES, .wanted = (const char *const[]){"x"}, .wanted_count = 1}, &t));
    ck_assert_int_eq(t.rows, 2);
    ck_assert_int_eq(t.id_place, 1);
    ck_assert_int_eq(t.line[0], 2);
    ck_assert_int_eq(t.line[1], 5);
    ck_assert(t.value[0] == 1 && isnan(t.value[1]));
    ck_assert_int_eq(t.fault[NUMBER_EMPTY].count, 1);
    ck_ok(table_index(&t, &repeats));
    ck_assert_int_eq(table_find(&t, "q\"r", 3), 1);
    ck_assert_int_eq(table_find(&t, "8", 1), -1);
    table_free(&t);
    ck_fails(table_read(write_text("t.csv", text, sizeof text - 1), &(table_request){.wanted = (const char *const[]){"y"}, .wanted_count = 1}, &t),
             STATUS_INPUT, "no column \"y\"; its columns are \"text\", \"id\", \"x\"");
    ck_fails(table_read(write_text("t.csv", "id,x\n1\n", 7), &(table_request){0}, &t), STATUS_INPUT, "record 1");
    ck_fails(table_read(write_text("t.csv", "id,x\n", 5), &(table_request){0}, &t), STATUS_INPUT, "no records");
    ck_fails(table_read(write_text("t.csv", "", 0), &(table_request){0}, &t), STATUS_INPUT, "empty");
    ck_fails(table_read(write_text("t.csv", "id,x,x\n1,2,3\n", 13), &(table_request){0}, &t), STATUS_INPUT, "two columns");
    ck_ok(table_read(write_text("t.csv", "id,x,y,y\n1,2,3,4\n", 17), &(table_request){.wanted = (const char *const[]){"x"}, .wanted_count = 1}, &t));
    table_free(&t);
    ck_fails(table_read("/no/such.csv", &(table_request){0}, &t), STATUS_INPUT, "/no/such.csv");
}
END_TEST

int main(void)
{
    return support_run("submission", (const TTest *[]){submission_in_sample_order, submission_bytes, submission_blends, submission_blend_refuses,
                                                       table_reads, NULL});
}
