/* Counting and checking in one reading finds what two readings find, on any number of ranks, for whole and for damaged inputs; and for ordinary
 * inputs one reading does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "preprocess/check.h"
#include "support/stage_case.h"
#include "support/support.h"

enum { PATH = 600, FILES = 3, DAMAGES = 60 };
static char path[FILES][PATH];
static char *paths[FILES];

static void make_paths(void)
{
    char folder[PATH] = "";
    if (comm_rank() == 0)
        snprintf(folder, sizeof folder, "%s", support_scratch());
    comm_broadcast(folder, sizeof folder, 0);
    for (int i = 0; i < FILES; i++) {
        snprintf(path[i], PATH, "%.500s/in%d.csv", folder, i);
        paths[i] = path[i];
    }
}

static void put_text(FILE *f)
{
    static const char *const piece[] = {"plain words ", "one, two", "\n", "\r\n", "\"\"", "\n\n", "\"\",\"\"\n1,\"\"", "x"};
    bool quoted = support_below(3) > 0;
    fputs(quoted ? "\"" : "a", f);
    for (uint64_t n = quoted ? support_below(12) : 0; n > 0; n--)
        fputs(piece[support_below(sizeof piece / sizeof *piece)], f);
    fputs(quoted ? "\"" : "", f);
}

static void write_file(int i, int rows)
{
    static const char *const langs[] = {"en", "fr", "de", "", "\xFF"};
    FILE *f = fopen(path[i], "wb");
    ck_assert(f != NULL);
    fputs(i == 1 ? "\xEF\xBB\xBF\n\r\n\"id\",comment_text,toxic\r\n" : "id,comment_text,lang,toxic\n", f);
    for (int row = 0; row < rows; row++) {
        fprintf(f, "%d,", row);
        put_text(f);
        if (i != 1)
            fprintf(f, ",%s", langs[support_below(row < rows / 2 ? 3 : 5)]);
        fprintf(f, ",%s%s", support_below(5) ? "1" : "", support_below(2) ? "\n" : support_below(4) ? "\r\n" : "\n\n\r\n");
    }
    fclose(f);
}

/* One byte of one file becomes another. */
static void damage(void)
{
    static const char bytes[] = "\"\n\r, x";
    const char *name = path[support_below(FILES)];
    FILE *f = fopen(name, "r+b");
    ck_assert(f != NULL);
    fseek(f, 0, SEEK_END);
    long at = (long)support_below((uint64_t)ftell(f));
    fseek(f, at, SEEK_SET);
    fputc(bytes[support_below(sizeof bytes - 1)], f);
    fclose(f);
}

typedef struct outcome {
    csv_splits splits;
    check_result found;
    status st;
    char message[1000];
} outcome;

static void look(int64_t split, bool count_first, outcome *o)
{
    stage_options options;
    stage_case(&options, paths, FILES, "");
    ck_ok(splits_open(&(splits_request){.path = paths, .count = FILES, .split_bytes = split}, &o->splits));
    if (count_first)
        ck_ok(splits_count(&o->splits));
    o->st = check_inputs(&o->splits, &options.rules, NULL, &o->found);
    snprintf(o->message, sizeof o->message, "%s", o->st == STATUS_OK ? "" : status_message());
}

static void forget(outcome *o)
{
    check_free(&o->found, FILES);
    splits_close(&o->splits);
}

static void same_split(const csv_split *a, const csv_split *b, const char *what, int64_t number, int64_t split)
{
    ck_assert_msg(a->first == b->first && a->record == b->record && a->records == b->records,
                  "%s %lld of --split %lld: %llx %lld %lld, %llx %lld %lld", what, (long long)number, (long long)split,
                  (unsigned long long)a->first, (long long)a->record, (long long)a->records, (unsigned long long)b->first,
                  (long long)b->record, (long long)b->records);
}

static void same_outcome(const outcome *a, const outcome *b, int64_t split)
{
    ck_assert_msg(a->st == b->st && strcmp(a->message, b->message) == 0, "--split %lld: %d %s, %d %s", (long long)split, a->st, a->message, b->st,
                  b->message);
    if (a->st != STATUS_OK)
        return;
    for (int i = 0; i < FILES; i++) {
        ck_assert_uint_eq(a->splits.input[i].header, b->splits.input[i].header);
        ck_assert_int_eq(a->splits.input[i].records, b->splits.input[i].records);
        ck_assert_int_eq(a->found.input[i].text, b->found.input[i].text);
    }
    for (int64_t k = 0; k < a->splits.count; k++)
        same_split(&a->splits.split[k], &b->splits.split[k], "split", k, split);
    for (int64_t k = 0; k < a->splits.pieces; k++)
        same_split(&a->splits.piece[k], &b->splits.piece[k], "piece", k, split);
    ck_assert_int_eq(a->found.rows, b->found.rows);
    ck_assert_int_eq(a->found.labels, b->found.labels);
    ck_assert_int_eq(a->found.langs.count, b->found.langs.count);
    for (int64_t i = 0; i < a->found.langs.count; i++)
        ck_assert_str_eq(a->found.langs.text[i], b->found.langs.text[i]);
}

static bool compare(int64_t split)
{
    outcome once, twice;
    look(split, false, &once);
    look(split, true, &twice);
    same_outcome(&once, &twice, split);
    bool at_once = once.found.at_once;
    ck_assert(!twice.found.at_once);
    forget(&once);
    forget(&twice);
    return at_once;
}

START_TEST(one_reading_is_enough)
{
    make_paths();
    for (int round = 0; round < 5; round++) {
        if (comm_rank() == 0)
            for (int i = 0; i < FILES; i++)
                write_file(i, i == 2 ? 3 : 1500);
        comm_barrier();
        ck_assert_msg(compare(4096), "one reading was not enough"); /* a piece has records enough to tell how it is entered */
        for (int64_t split = 5; split < 5000; split = split * 3 + round)
            compare(split);
        comm_barrier();
    }
}
END_TEST

enum { ROWS = 4000 };

static void write_cell_like_rows(int last)
{
    FILE *f = fopen(path[0], "wb");
    ck_assert(f != NULL);
    fputs("id,comment_text,lang,toxic\n", f);
    for (int row = 0; row < ROWS; row++) {
        fputs(row == ROWS / 10 ? "x,\"\n" : "", f);
        fprintf(f, "%d,text %d,en,1\n", row, row);
        fputs(row == last ? "\",en,0\n" : "", f);
    }
    fclose(f);
}

/* A cell that reads like rows, over the whole run of a rank in the middle: that one finds no fault with its wrong guess, and where the cell ends in
 * the first piece of the next rank, that one guesses right. */
START_TEST(a_cell_like_rows)
{
    make_paths();
    if (comm_rank() == 0)
        for (int i = 0; i < FILES; i++)
            write_file(i, 3);
    for (int last = ROWS * 45 / 100; last < ROWS * 72 / 100; last += 100) {
        if (comm_rank() == 0)
            write_cell_like_rows(last);
        comm_barrier();
        bool at_once = compare(1 << 12);
        ck_assert(at_once || comm_size() > 1);
        comm_barrier();
    }
}
END_TEST

START_TEST(faults_are_the_same)
{
    make_paths();
    for (int round = 0; round < DAMAGES; round++) {
        if (comm_rank() == 0) {
            for (int i = 0; i < FILES; i++)
                write_file(i, 60);
            for (uint64_t n = support_below(3); n > 0; n--)
                damage();
        }
        comm_barrier();
        compare(round % 2 ? 61 : 700);
        comm_barrier();
    }
}
END_TEST

int main(int argc, char **argv)
{
    return support_run_ranks(argc, argv, "preprocess_once", (const TTest *[]){one_reading_is_enough, a_cell_like_rows, faults_are_the_same, NULL});
}
