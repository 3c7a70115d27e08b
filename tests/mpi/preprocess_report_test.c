/* The report of preprocess on any number of ranks, with memory for all texts' hashes and for a few: rows, languages, missing, damaged and repeated
 * texts are as many as were written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/files.h"
#include "support/csv_trace.h"
#include "support/stage_case.h"
#include "support/support.h"

enum { PATH = 600, ROWS = 6000, TEXTS = 2500, MISSING = TEXTS, FILES = 2 };
static char folder[PATH], csv[FILES][PATH], out[PATH];

/* What of a text has been written. */
typedef struct written {
    int rows;
    bool label[2];
} written;

typedef struct wanted {
    int missing, damaged, english, repeated, texts, conflicts;
} wanted;

static void make_paths(void)
{
    if (comm_rank() == 0)
        snprintf(folder, sizeof folder, "%s", support_scratch());
    comm_broadcast(folder, sizeof folder, 0);
    for (int i = 0; i < FILES; i++)
        snprintf(csv[i], PATH, "%.500s/in%d.csv", folder, i);
    snprintf(out, sizeof out, "%.500s/out", folder);
}

static void write_row(FILE *f, int row, written *of, wanted *w)
{
    static const char *const spaces[] = {" ", "  ", " \t", "\xC2\xA0"}; /* white space is joined before texts are compared */
    int text = support_below(10) ? (int)support_below(TEXTS) : MISSING, label = (int)support_below(3);
    bool english = support_below(2), damaged = text % 50 == 7;
    fprintf(f, "%d,", row);
    if (text == MISSING)
        fputs("NA", f);
    else
        fprintf(f, "comment%s%d%s", spaces[support_below(4)], text, damaged ? " \xFF" : "");
    fprintf(f, ",%s,%s\n", english ? "en" : "fr", label == 2 ? "" : label ? "1" : "0");
    w->missing += text == MISSING;
    w->damaged += damaged;
    w->english += english;
    of[text].rows++;
    if (label < 2)
        of[text].label[label] = true;
}

static wanted write_inputs(void)
{
    written *of = calloc(TEXTS + 1, sizeof *of);
    wanted w = {0};
    ck_assert_ptr_nonnull(of);
    for (int i = 0; i < FILES; i++) {
        FILE *f = fopen(csv[i], "wb");
        ck_assert_ptr_nonnull(f);
        fputs("id,comment_text,lang,toxic\n", f);
        for (int row = 0; row < ROWS; row++)
            write_row(f, row, of, &w);
        fclose(f);
    }
    for (int i = 0; i <= TEXTS; i++) {
        w.repeated += of[i].rows > 1 ? of[i].rows - 1 : 0;
        w.texts += of[i].rows > 1;
        w.conflicts += of[i].label[0] && of[i].label[1];
    }
    free(of);
    return w;
}

/* A number as the report has it. */
static const char *grouped(int n, char to[16])
{
    if (n < 1000)
        snprintf(to, 16, "%d", n);
    else
        snprintf(to, 16, "%d,%03d", n / 1000, n % 1000);
    return to;
}

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

static void has_line(const char *report, const char *line)
{
    ck_assert_msg(strstr(report, line) != NULL, "no '%s' in:\n%s", line, report);
}

static void check_report(const char *report, const wanted *w)
{
    char line[300], a[16], b[16], c[16];
    snprintf(line, sizeof line, "%s rows of 2 inputs", grouped(FILES * ROWS, a));
    has_line(report, line);
    snprintf(line, sizeof line, "%-12s %12s", "en", grouped(w->english, a));
    has_line(report, line);
    snprintf(line, sizeof line, "missing text  %s row%s, filled", grouped(w->missing, a), plural(w->missing));
    has_line(report, line);
    snprintf(line, sizeof line, "invalid UTF-8 %s place%s in %s row%s,", grouped(w->damaged, a), plural(w->damaged), grouped(w->damaged, b), plural(w->damaged));
    has_line(report, line);
    snprintf(line, sizeof line, "duplicates    %s row%s with a text that an earlier one has; %s text%s occurring more than once, %s of them with different labels\n",
             grouped(w->repeated, a), plural(w->repeated), grouped(w->texts, b), plural(w->texts), grouped(w->conflicts, c));
    has_line(report, line);
}

START_TEST(numbers_are_those_written)
{
    wanted w = {0};
    make_paths();
    if (comm_rank() == 0)
        w = write_inputs();
    comm_barrier();
    for (int k = 0; k < 2; k++) {
        stage_options o;
        char *paths[FILES] = {csv[0], csv[1]}, *text = NULL;
        size_t bytes;
        FILE *report = comm_rank() == 0 ? open_memstream(&text, &bytes) : NULL;
        stage_case(&o, paths, FILES, out);
        o.split_bytes = 20000;
        o.rules.memory = k ? 64 << 10 : 64 << 20;
        ck_ok(stage_run(&o, report));
        if (comm_rank() == 0) {
            fclose(report);
            check_report(text, &w);
            free(text);
            ck_ok(file_remove_tree(out));
        }
        comm_barrier();
    }
}
END_TEST

int main(int argc, char **argv)
{
    return support_run_ranks(argc, argv, "preprocess_report", (const TTest *[]){numbers_are_those_written, NULL});
}
