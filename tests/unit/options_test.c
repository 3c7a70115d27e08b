/* Options: conversions, strength of recipe and command line, errors, the resolved text. */
#include <stdio.h>

#include "common/files.h"
#include "common/options.h"
#include "support/support.h"

static int64_t rows, memory, limit;
static double rate;
static bool padded, rate_given;
static int mode;
static const char *name;
static option_list sets;
static const option table[] = {
    {.name = "rows", .type = OPTION_INT, .kind = OPTION_IDENTITY, .field = &rows, .fallback = "8", .min = 1, .max = 100},
    {.name = "memory", .type = OPTION_SIZE, .field = &memory, .fallback = "64M"},
    {.name = "limit", .type = OPTION_SECONDS, .field = &limit},
    {.name = "rate", .type = OPTION_REAL, .kind = OPTION_IDENTITY, .field = &rate, .fallback = "0.4e-5", .given = &rate_given},
    {.name = "padded", .type = OPTION_FLAG, .kind = OPTION_IDENTITY, .field = &padded, .fallback = "no"},
    {.name = "mode", .type = OPTION_CHOICE, .kind = OPTION_IDENTITY, .field = &mode, .choices = "head|tail|head-tail", .fallback = "tail"},
    {.name = "name", .type = OPTION_TEXT, .field = &name},
    {.name = "sets", .type = OPTION_LIST, .kind = OPTION_IDENTITY, .field = &sets},
    {0}};
static const option_program about = {.name = "train", .purpose = "test", .usage = "FILE..."};
static option_list rest;

static status parse(const char *const *words)
{
    static char program[] = "train", *argv[24]; /* lives on as main's does: `rest` points into it */
    int argc = 1;
    argv[0] = program;
    bool stop, quiet;
    for (; *words; words++)
        argv[argc++] = (char *)(uintptr_t)*words;
    argv[argc] = NULL;
    status st = options_parse(&about, table, argc, argv, &rest, &stop, &quiet);
    return st;
}
#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

START_TEST(values_and_fallbacks)
{
    ck_ok(PARSE("a.csv", "--rows", "12", "--memory=2G", "--padded", "--sets", "x,y", "b.csv", "--limit", "1-02:00:00"));
    ck_assert_int_eq(rows, 12);
    ck_assert_int_eq(memory, 2LL << 30);
    ck_assert_int_eq(limit, 26 * 3600);
    ck_assert(padded && !rate_given);
    ck_assert_double_eq(rate, 0.4e-5);
    ck_assert_int_eq(mode, 1);
    ck_assert_ptr_null(name);
    ck_assert_uint_eq(sets.count, 2);
    ck_assert_str_eq(sets.item[1], "y");
    ck_assert_uint_eq(rest.count, 2);
    ck_assert_str_eq(rest.item[1], "b.csv");
    char *text, hex[65], other[65];
    ck_ok(options_text(&about, table, true, &text));
    ck_assert_str_eq(text, "[train]\nmode = tail\npadded = yes\nrate = 4e-06\nrows = 12\nsets = x,y\n");
    free(text);
    ck_ok(options_hash(&about, table, hex));
    ck_ok(PARSE("--rows", "12", "--memory", "1K", "--padded", "--sets", "x,y")); /* execution options do not change the identity */
    ck_ok(options_hash(&about, table, other));
    ck_assert_str_eq(hex, other);
    ck_ok(PARSE("--rows", "13", "--padded", "--sets", "x,y"));
    ck_ok(options_hash(&about, table, other));
    ck_assert_str_ne(hex, other);
    options_free();
}
END_TEST

START_TEST(times)
{
    const struct {
        const char *text;
        int64_t seconds;
    } good[] = {{"90", 90}, {"90s", 90}, {"15m", 900}, {"2h", 7200}, {"1d", 86400}, {"02:03:04", 7384}, {"10:30", 630}, {"1-00", 86400}, {"2-3:30", 185400}};
    int64_t v;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ck_ok(option_read_seconds("limit", good[i].text, &v));
        ck_assert_msg(v == good[i].seconds, "%s: %lld", good[i].text, (long long)v);
    }
    const char *const bad[] = {"", "x", "-5", "1:", "1:2:3:4", "5x", "5mm", " 5", "1-", "1-2-3"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_fails(option_read_seconds("limit", bad[i], &v), STATUS_USAGE, "not a time");
}
END_TEST

START_TEST(errors)
{
    ck_fails(PARSE("--rows", "0"), STATUS_USAGE, "outside 1 to 100");
    ck_fails(PARSE("--rows", "12x"), STATUS_USAGE, "not a whole number");
    ck_fails(PARSE("--rows"), STATUS_USAGE, "needs a value");
    ck_fails(PARSE("--wrong", "1"), STATUS_USAGE, "--wrong");
    ck_fails(PARSE("--wrong", "1"), STATUS_USAGE, "no option '--wrong'; see --help");
    ck_fails(PARSE("--rwos", "1"), STATUS_USAGE, "no option '--rwos'; did you mean --rows?");
    ck_fails(PARSE("--memmory=1K"), STATUS_USAGE, "no option '--memmory=1K'; did you mean --memory?");
    ck_fails(PARSE("--no-paded"), STATUS_USAGE, "did you mean --no-padded?");
    ck_fails(PARSE("--rowwww", "1"), STATUS_USAGE, "no option '--rowwww'; see --help"); /* too far from any */
    ck_fails(PARSE("--lode", "1"), STATUS_USAGE, "did you mean --mode?");
    ck_fails(PARSE("--oe", "1"), STATUS_USAGE, "no option '--oe'; see --help");
    ck_fails(PARSE("-r", "1"), STATUS_USAGE, "long names");
    ck_fails(PARSE("--mode", "middle"), STATUS_USAGE, "head|tail|head-tail");
    ck_fails(PARSE("--memory", "2X"), STATUS_USAGE, "not a size");
    ck_fails(PARSE("--memory", "-1"), STATUS_USAGE, "not a size");
    ck_fails(PARSE("--rate", "nan"), STATUS_USAGE, "not a number");
    ck_fails(PARSE("--sets", "a,,b"), STATUS_USAGE, "empty entry");
    ck_fails(PARSE("--recipe", "/nonexistent/r.conf"), STATUS_INPUT, "no such file");
    options_free();
}
END_TEST

static const char *recipe_of(const char *text)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/r.conf", support_scratch());
    ck_ok(file_write_atomic(path, text, strlen(text)));
    return path;
}

START_TEST(recipes)
{
    const char *path = recipe_of("# ours\n[shard]\nunknown = 3\n[train]\nrows = 20   # more\n padded=yes\nrate = 1e-3\n");
    ck_ok(PARSE("--recipe", path, "--rows", "21", "--no-padded"));
    ck_assert_int_eq(rows, 21); /* the command line is stronger */
    ck_assert(!padded && rate_given);
    ck_assert_double_eq(rate, 1e-3);
    ck_fails(PARSE("--recipe", recipe_of("[train]\nrow = 3\n")), STATUS_USAGE, "line 2: train has no option 'row'; did you mean rows? see train --help");
    ck_fails(PARSE("--recipe", recipe_of("[train]\nbeans = 3\n")), STATUS_USAGE, "train has no option 'beans'; see train --help");
    char mistyped[400];
    const char *folder = support_scratch();
    snprintf(mistyped, sizeof mistyped, "%s/r.conf", folder);
    ck_ok(file_write_atomic(mistyped, "[train]\n", 8));
    snprintf(mistyped, sizeof mistyped, "%s/recipe.conf", folder);
    ck_fails(PARSE("--recipe", mistyped), STATUS_INPUT, "recipe.conf: no such file; the recipes in");
    ck_fails(PARSE("--recipe", mistyped), STATUS_INPUT, " are r.conf");
    snprintf(mistyped, sizeof mistyped, "%s/rrr.conf", folder);
    ck_fails(PARSE("--recipe", mistyped), STATUS_INPUT, "did you mean r.conf? the recipes in");
    ck_fails(PARSE("--recipe", "recipes/jigsaw-mbret.conf"), STATUS_INPUT, "did you mean jigsaw-mbert.conf? the recipes in");
    ck_fails(PARSE("--recipe", "jigsaw"), STATUS_INPUT, "are jigsaw-mbert.conf, notebook.conf, tiny.conf");
    ck_fails(PARSE("--recipe", recipe_of("rows = 3\n")), STATUS_USAGE, "before the first section");
    ck_fails(PARSE("--recipe", recipe_of("[trian]\n")), STATUS_USAGE, "no section [trian]");
    ck_fails(PARSE("--recipe", recipe_of("[train]\nrows 3\n")), STATUS_USAGE, "'name = value' expected");
    ck_fails(PARSE("--recipe", recipe_of("[train]\nrows = 3000\n")), STATUS_USAGE, "line 2: --rows: '3000' is outside");
    options_free();
}
END_TEST

/* A name may be cut short, as long as it is clear whose it is. */
START_TEST(names_cut_short)
{
    ck_ok(PARSE("--row", "9", "--mem=2K", "--no-pad"));
    ck_assert_int_eq(rows, 9);
    ck_assert_int_eq(memory, 2048);
    ck_fails(PARSE("--r", "9"), STATUS_USAGE, "'--r' could be --recipe, --rows, --rate: write more of the name");
    ck_fails(PARSE("--m=2K"), STATUS_USAGE, "'--m' could be --memory, --mode: ");
    ck_fails(PARSE("a.csv", "--ro2", "9"), STATUS_USAGE, "no option '--ro2'");
    ck_fails(PARSE("--padded=3"), STATUS_USAGE, "'--padded=3': --padded takes no value");
    ck_fails(PARSE("--pad=3"), STATUS_USAGE, "'--pad=3': --padded takes no value");
    ck_fails(PARSE("a.csv", "-rows", "9"), STATUS_USAGE, "no option '-rows'; options have long names");
    ck_fails(PARSE("a.csv", "-r"), STATUS_USAGE, "no option '-r'; options have long names");
    options_free();
}
END_TEST

int main(void)
{
    return support_run("options", (const TTest *[]){values_and_fallbacks, times, errors, recipes, names_cut_short, NULL});
}
