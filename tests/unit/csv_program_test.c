/* The program preprocess from outside: exit codes, what it says, what it leaves, its recipe, its view. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/comm.h"
#include "common/files.h"
#include "store/manifest.h"
#include "support/csv_trace.h"
#include "support/packed_case.h"
#include "support/support.h"

enum { TEXT = 3000 };
static char folder[500], said[20000];

static void read_said(void)
{
    char path[600], *text;
    size_t n;
    snprintf(path, sizeof path, "%s/said", folder);
    ck_ok(file_read_all(path, 0, &text, &n));
    snprintf(said, sizeof said, "%s", text);
    free(text);
}

/* Runs "preprocess ARGUMENTS" in the scratch folder; what it printed is in `said`. */
static int run(const char *arguments)
{
    char command[TEXT];
    snprintf(command, sizeof command, "cd %s && %s %s >said 2>&1", folder, support_program("preprocess"), arguments);
    int code = system(command);
    read_said();
    return WIFEXITED(code) ? WEXITSTATUS(code) : 256;
}

static void expect(const char *arguments, int code, const char *text)
{
    int got = run(arguments);
    ck_assert_msg(got == code && strstr(said, text) != NULL, "preprocess %s: code %d, not %d, or no '%s' in: %s", arguments, got, code, text, said);
}

static void put(const char *name, const char *text)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    trace_write_file(path, text, strlen(text));
}

static void start(void)
{
    char path[600];
    snprintf(folder, sizeof folder, "%s", support_scratch());
    snprintf(path, sizeof path, "%s/v", folder);
    char *model = realpath(support_source("sample/model"), NULL);
    ck_assert_ptr_nonnull(model);
    ck_assert_int_eq(symlink(model, path), 0);
    free(model);
    put("good.csv", "id,comment_text,lang,toxic\na1,\"You are, kind.\",en,0\na2,NA,en,1\na3,\xFFx,fr,-1\n");
}

static bool there(const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return file_exists(path);
}

START_TEST(usage)
{
    start();
    expect("", 2, "--vocab is missing");
    expect("--vocab v good.csv", 2, "--out is missing");
    expect("--vocab v --out o", 2, "no CSV is named");
    expect("--vocab v --out o --na keep --fill x good.csv", 2, "--fill has no use with --na keep");
    expect("--vocab v --out o --fill a,b,c good.csv good.csv", 2, "--fill has 3 texts for 2 inputs");
    expect("--vocab v --out o --unlabelled no good.csv", 2, "unlabelled");
    expect("--vocab v --out o --split 0 good.csv", 2, "split");
    expect("--vocab v --out o --memory 1 good.csv", 2, "memory");
    expect("--vocab v --out o --csv excel good.csv", 2, "csv");
    expect("--help", 0, "--text-column");
    ck_assert(!there("o"));
}
END_TEST

START_TEST(bad_inputs)
{
    start();
    expect("--vocab v --out o missing.csv", 3, "missing.csv: the CSV can't be opened");
    expect("--vocab v --out o .", 3, "not a plain file");
    expect("--vocab nowhere --out o good.csv", 3, "nowhere");
    expect("--vocab v --out o good.csv", 3, "good.csv: record 3, byte 72: label (-1) in column toxic; a label is a number"); /* without --unlabelled */
    put("ragged.csv", "id,comment_text\n1,a\n2\n");
    expect("--vocab v --out o --unlabelled -1 good.csv ragged.csv", 3, "ragged.csv: record 2, byte 20: ragged record (1 field where the header has 2); it is the file's last record");
    put("inside.csv", "id,comment_text\n1,a\n2\n3,c\n");
    expect("--vocab v --out o inside.csv", 3, "ragged record (1 field where the header has 2); give every record");
    put("more.csv", "id,comment_text\n1,a\n2,b,c");
    expect("--vocab v --out o more.csv", 3, "ragged record (3 fields where the header has 2); give every record");
    put("torn.csv", "id,comment_text\n1,a\n2,\"b");
    expect("--vocab v --out o torn.csv", 3, "unclosed quote; the file ends inside this field: it was cut short (a download that broke off), or");
    put("other.csv", "id,comment_text\n1,You are kind.\n2,\xE4\xBD\xA0\xE5\xA5\xBD\n");
    expect("--vocab v --out other other.csv", 0, "% of the tokens are [UNK], words that this vocabulary cannot write");
    put("words.csv", "id,rude,comment_text,threat\n1,0,a,1\n2,1,b,Yes\n3,True,c,0\n");
    expect("--vocab v --out o --labels \"rude,bad|threat\" words.csv", 3, "words.csv: record 2, byte 42: label (Yes) in column threat; write 1 for yes (true) and 0");
    char *big = malloc(70000);
    ck_assert_ptr_nonnull(big);
    memset(big, 'x', 69999);
    memcpy(big, "id,comment_text\n1,a\n2,", 22);
    big[69998] = '\n';
    big[69999] = 0;
    put("long.csv", big);
    free(big);
    expect("--vocab v --out o --memory 64K long.csv", 3, "long.csv: record 2, byte 22: field too long (more than 32768 bytes); give more --memory");
    ck_assert(!there("o"));
    expect("--vocab v --out o --memory 256K --quiet long.csv", 0, "2 rows");
}
END_TEST

START_TEST(good_run)
{
    char path[600];
    manifest m;
    start();
    put("r.conf", "[preprocess]\nunlabelled = -1\nsplit = 64K\n[train]\nlanes = 8\n");
    expect("--vocab v --out o --recipe r.conf good.csv", 0, "o: 3 rows of 1 input in 1 part");
    ck_assert_ptr_null(strstr(said, "[UNK], words that"));
    ck_assert_ptr_nonnull(strstr(said, "missing text  1 row, filled"));
    ck_assert_ptr_nonnull(strstr(said, "invalid UTF-8 1 place in 1 row,"));
    ck_assert_ptr_nonnull(strstr(said, "toxic: 2 rows labelled, 50.00%"));
    expect("--vocab v --out o --recipe r.conf good.csv", 0, "done already: 3 rows in 1 part");
    expect("--vocab v --out o --recipe r.conf --na keep good.csv", 2, "give another --out");
    snprintf(path, sizeof path, "%s/o", folder);
    ck_ok(manifest_read(path, &m));
    ck_assert_ptr_nonnull(strstr(m.identity, "unlabelled = -1\n"));
    ck_assert_ptr_nonnull(strstr(m.identity, "split = 65536\n"));
    ck_assert(strstr(m.identity, "memory") == NULL && strstr(m.identity, "out") == NULL);
    ck_assert_ptr_nonnull(strstr(m.tokenizer, "na=pandas\n"));
    manifest_free(&m);
}
END_TEST

/* What the tokenizer's identity says of --fill. */
static void expect_fill(const char *fill, const char *line)
{
    char path[600], arguments[300];
    manifest m;
    snprintf(path, sizeof path, "%s/o", folder);
    ck_ok(file_remove_tree(path));
    snprintf(arguments, sizeof arguments, "--vocab v --out o --unlabelled -1 --fill %s good.csv good.csv", fill);
    expect(arguments, 0, "o: 6 rows of 2 inputs in 2 parts");
    ck_ok(manifest_read(path, &m));
    ck_assert_msg(strstr(m.tokenizer, line) != NULL, "--fill %s: no '%s' in: %s", fill, line, m.tokenizer);
    manifest_free(&m);
}

/* Tokens filled with one text are those of one text, given once or for each input: infer --csv takes them for the same. */
/* A cell of 1 GB is refused by its length alone: a few megabytes of it are ever held, whatever --memory would allow. */
START_TEST(a_cell_of_a_gigabyte)
{
    enum { MOST_KB = 120 << 10 };
    char path[600];
    struct rusage used;
    int code;
    start();
    put("giant.csv", "id,comment_text,toxic\n0,fine,1\n1,\"");
    snprintf(path, sizeof path, "%s/giant.csv", folder);
    ck_assert_int_eq(truncate(path, 1 << 30), 0); /* a hole: NULs are data */
    pid_t child = fork();
    if (child == 0)
        _exit(run("--vocab v --out o giant.csv"));
    ck_assert_int_eq(wait4(child, &code, 0, &used), child);
    ck_assert(WIFEXITED(code) && WEXITSTATUS(code) == 3);
    read_said();
    ck_assert_msg(strstr(said, "giant.csv: record 2, byte 33: field too long (more than 536870912 bytes); give more --memory") != NULL, "%s", said);
#ifndef __SANITIZE_ADDRESS__
    ck_assert_int_lt(used.ru_maxrss, MOST_KB);
#endif
    ck_assert(!there("o"));
}
END_TEST

/* What only pandas takes is refused without the option and read with it, from a packed file too; the choice is part of the parts. */
START_TEST(forgiven)
{
    char path[600];
    manifest m;
    uint8_t packed[400];
    static const char text[] = "id,comment_text,toxic\r1,\"a\"b,1\r\r2,say \"no\"\r";
    start();
    put("f.csv", text);
    expect("--vocab v --out f f.csv", 3, "f.csv: record 0 (the header), byte 21: lone CR");
    expect("--vocab v --out f --csv pandas f.csv", 0, "f: 2 rows");
    snprintf(path, sizeof path, "%s/f", folder);
    ck_ok(manifest_read(path, &m));
    ck_assert_ptr_nonnull(strstr(m.identity, "csv = pandas\n"));
    manifest_free(&m);
    put("more.csv", "id,comment_text\n7,a1,fine\n8,a2,too\n");
    expect("--vocab v --out m --csv pandas more.csv", 0, "more.csv: its first record has 3 fields, the header 2");
    snprintf(path, sizeof path, "%s/f.csv.gz", folder);
    trace_write_file(path, packed, packed_case(PACKED_GZIP, (const uint8_t *)text, sizeof text - 1, 2, packed, NULL));
    expect("--vocab v --out g --csv pandas f.csv.gz", 0, "f.csv.gz: gzip: one rank unpacks it");
    ck_assert(strstr(said, "g: 2 rows") && !there("g/.unpacked"));
}
END_TEST

START_TEST(fill_in_identity)
{
    start();
    expect_fill("none", "\nfill=none\n");
    expect_fill("none,none", "\nfill=none\n");
    expect_fill("none,other", "\nfill=none,other\n");
}
END_TEST

START_TEST(words_of_older_pandas)
{
    char path[600];
    manifest m;
    start();
    put("n.csv", "id,comment_text\n1,None\n2,NA\n3,\n");
    expect("--vocab v --out n2 n.csv", 0, "missing text  3 rows");
    expect("--vocab v --out n1 --na pandas1 n.csv", 0, "missing text  2 rows");
    snprintf(path, sizeof path, "%s/n1", folder);
    ck_ok(manifest_read(path, &m));
    ck_assert_ptr_nonnull(strstr(m.tokenizer, "\nna=pandas1\n"));
    manifest_free(&m);
}
END_TEST

/* The same rows between tabs: the same data set. */
START_TEST(tabs)
{
    char path[600];
    manifest a, b;
    start();
    put("t.tsv", "id\tcomment_text\tlang\ttoxic\na1\tYou are, kind.\ten\t0\n\"a2\"\tNA\ten\t1\na3\t\"\xFF\tx\"\tfr\t-1\n");
    put("c.csv", "id,comment_text,lang,toxic\na1,\"You are, kind.\",en,0\na2,NA,en,1\na3,\xFF\tx,fr,-1\n");
    expect("--vocab v --out t --unlabelled -1 t.tsv", 3, "--delimiter says what it is");
    expect("--vocab v --out t --unlabelled -1 --delimiter tab t.tsv", 0, "t: 3 rows");
    expect("--vocab v --out c --unlabelled -1 c.csv", 0, "c: 3 rows");
    expect("--vocab v --out t --unlabelled -1 --delimiter pipe t.tsv", 2, "delimiter");
    snprintf(path, sizeof path, "%s/t", folder);
    ck_ok(manifest_read(path, &a));
    snprintf(path, sizeof path, "%s/c", folder);
    ck_ok(manifest_read(path, &b));
    ck_assert_str_eq(a.data_identity, b.data_identity);
    ck_assert_ptr_nonnull(strstr(a.identity, "delimiter = tab\n"));
    manifest_free(&a);
    manifest_free(&b);
}
END_TEST

START_TEST(no_place_to_write)
{
    char path[600];
    start();
    put("file", "x");
    expect("--vocab v --out file/o --unlabelled -1 good.csv", 4, "file");
    if (access("/dev/full", W_OK) == 0) {
        snprintf(path, sizeof path, "--vocab v --out o --unlabelled -1 good.csv > /dev/full 2>said; test $? = 4 #");
        expect(path, 0, "standard output could not be written");
    }
    snprintf(path, sizeof path, "--version >none && ulimit -f 1 && %s --quiet --vocab v --out new/o --unlabelled -1 good.csv", support_program("preprocess"));
    expect(path, 4, ""); /* a limit on the size of files stands for the full disk */
    ck_assert_msg(!there("new"), "a folder of nothing was left");
}
END_TEST

START_TEST(view)
{
    start();
    expect("view --vocab v \"You are kind.\"", 0, "input_ids:");
    expect("view --vocab v a b c", 2, "3 texts");
    expect("view \"a\"", 2, "--vocab is missing");
    expect("view --help", 0, "--max-length");
    expect("view --vocab v --max-length 8 --pad a b", 0, "[PAD]");
}
END_TEST

int main(int argc, char **argv)
{
    if (comm_open(&argc, &argv) != STATUS_OK) /* for the libraries' sake; the program runs by itself */
        return 1;
    unsetenv("OMPI_COMM_WORLD_SIZE");
    int failed = support_run("csv_program", (const TTest *[]){usage, bad_inputs, good_run, a_cell_of_a_gigabyte, forgiven, fill_in_identity,
                                                              words_of_older_pandas, tabs, no_place_to_write, view, NULL});
    comm_close();
    return failed;
}
