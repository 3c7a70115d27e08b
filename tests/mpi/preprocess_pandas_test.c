/* The stage with --csv pandas on any number of ranks: a file that only pandas takes gives the rows of its well-formed twin, at any split. */
#include <stdio.h>
#include <stdlib.h>

#include "common/comm.h"
#include "common/files.h"
#include "common/hash.h"
#include "store/manifest.h"
#include "support/csv_trace.h"
#include "support/stage_case.h"
#include "support/support.h"

enum { PATH = 600, ROWS = 1500 };
static char folder[PATH], csv[2][PATH], out[PATH];

static void make_paths(void)
{
    if (comm_rank() == 0)
        snprintf(folder, sizeof folder, "%s", support_scratch());
    comm_broadcast(folder, sizeof folder, 0);
    for (int i = 0; i < 2; i++)
        snprintf(csv[i], PATH, "%.500s/%s.csv", folder, i ? "twin" : "forgiven");
    snprintf(out, sizeof out, "%.500s/out", folder);
}

/* The same row both ways. The forgiven file has a column more than its header: names of rows, which are left out. */
static void put_row(FILE *forgiven, FILE *twin, int row)
{
    static const char *const ends[] = {"\n", "\r\n", "\r", "\n\n", "\n \t\n", "\r\r"};
    static const struct { const char *forgiven, *twin; } texts[] = {
        {"\"you\"are kind", "youare kind"}, {"say \"no\" to it", "\"say \"\"no\"\" to it\""}, {"\"a\nb\"\"c\" d", "\"a\nb\"\"c d\""}, {"\"\"", ""},
        {"plain words", "plain words"}, {"\"one, two\"", "\"one, two\""}, {"\"x\r\ny\"", "\"x\r\ny\""},
    };
    size_t t = support_below(sizeof texts / sizeof *texts);
    bool label = support_below(4) || row == 0;
    fprintf(forgiven, "%s%d,%d,%s%s%s", support_below(9) || row == 0 ? "" : "  ", row, row, texts[t].forgiven, label ? ",1" : "",
            ends[support_below(6)]);
    fprintf(twin, "%d,%s,%s\n", row, texts[t].twin, label ? "1" : "");
}

static void write_inputs(const char *tail)
{
    if (comm_rank() == 0) {
        FILE *f[2] = {fopen(csv[0], "wb"), fopen(csv[1], "wb")};
        ck_assert(f[0] && f[1]);
        for (int i = 0; i < 2; i++)
            fputs(i ? "id,comment_text,toxic\n" : "\xEF\xBB\xBF\n \t\nid,comment_text,toxic\r", f[i]);
        for (int row = 0; row < ROWS; row++)
            put_row(f[0], f[1], row);
        fputs(tail, f[0]);
        fclose(f[0]);
        fclose(f[1]);
    }
    comm_barrier();
}

static status run_stage(int input, int64_t split)
{
    stage_options o;
    char *path = csv[input];
    stage_case(&o, &path, 1, out);
    o.split_bytes = split;
    o.dialect = input ? CSV_STRICT : CSV_PANDAS;
    o.rules.columns.first_counts = !input;
    o.rules.memory = 1 << 20;
    status st = stage_run(&o, NULL);
    comm_barrier();
    return st;
}

START_TEST(rows_are_those_of_the_twin)
{
    static const int64_t splits[] = {1 << 20, 900, 4001};
    char wanted[HASH_HEX] = "";
    make_paths();
    write_inputs("");
    for (int k = -1; k < 3; k++) {
        ck_ok(run_stage(k < 0, k < 0 ? 1 << 20 : splits[k]));
        if (comm_rank() == 0) {
            manifest m;
            ck_ok(manifest_read(out, &m));
            ck_assert_int_eq(m.rows, ROWS);
            if (k < 0)
                memcpy(wanted, m.data_identity, sizeof wanted);
            ck_assert_msg(strcmp(wanted, m.data_identity) == 0, "split %lld", (long long)splits[k < 0 ? 0 : k]);
            manifest_free(&m);
            ck_ok(file_remove_tree(out));
        }
        comm_barrier();
    }
}
END_TEST

START_TEST(faults_are_told)
{
    make_paths();
    write_inputs("1,2,x,0,surplus\n9,\"unclosed");
    ck_fails(run_stage(0, 700), STATUS_INPUT, "forgiven.csv: record 1501, byte ");
    ck_assert(strstr(status_message(), "ragged record (5 fields where the header has 4)") != NULL);
    ck_assert(!file_exists(out));
    write_inputs("9,\"unclosed");
    ck_fails(run_stage(0, 700), STATUS_INPUT, "unclosed quote");
    write_inputs("9,9,text,two\n");
    ck_fails(run_stage(0, 700), STATUS_INPUT, "label (two)");
}
END_TEST

int main(int argc, char **argv)
{
    return support_run_ranks(argc, argv, "preprocess_pandas", (const TTest *[]){rows_are_those_of_the_twin, faults_are_told, NULL});
}
