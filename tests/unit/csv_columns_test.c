/* Columns by header over several inputs: names, labels, languages, and what is said when they are not there. */
#include <stdio.h>
#include <stdlib.h>

#include "common/comm.h"
#include "support/csv_trace.h"
#include "support/stage_case.h"
#include "support/support.h"

enum { FILES = 3 };
static char path[FILES][600];
static int64_t files;

/* Writes the texts as files; returns the check's outcome over them. */
static status check(const char *const *text, int64_t count, const stage_options *o, check_result *c)
{
    char *paths[FILES];
    const char *folder = support_scratch();
    csv_splits s;
    files = count;
    for (int64_t i = 0; i < count; i++) {
        snprintf(path[i], sizeof path[i], "%s/in%lld.csv", folder, (long long)i);
        trace_write_file(path[i], text[i], strlen(text[i]));
        paths[i] = path[i];
    }
    ck_ok(splits_open(&(splits_request){.path = paths, .count = count, .split_bytes = 7}, &s));
    status st = check_inputs(&s, &o->rules, NULL, c);
    splits_close(&s);
    return st;
}
#define CHECK(o, c, ...) check((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), o, c)

START_TEST(default_names)
{
    stage_options o;
    check_result c;
    stage_case(&o, NULL, 0, NULL);
    ck_ok(CHECK(&o, &c, "id,comment_text,lang,toxic\n1,a,en,1\n2,NA,fr,\n", "target,content,id\n0.5,b,3\n", "text,id\n,4\n\xFFz,\xFF\n"));
    ck_assert_int_eq(c.labels, 1);
    ck_assert_int_eq(c.input[0].label[0], 3);
    ck_assert_int_eq(c.input[1].label[0], 0);
    ck_assert_int_eq(c.input[2].label[0], -1);
    ck_assert_int_eq(c.input[1].text, 1);
    ck_assert_int_eq(c.input[2].id, 1);
    ck_assert_int_eq(c.input[1].lang, -1);
    ck_assert_int_eq(c.langs.count, 3);
    ck_assert_str_eq(c.langs.text[0], "");
    ck_assert_str_eq(c.langs.text[1], "en");
    ck_assert_str_eq(c.langs.text[2], "fr");
    ck_assert_int_eq(c.rows, 5);
    check_free(&c, files);

    /* comment_text goes before text, toxic before target, wherever they stand; other columns may share a name */
    ck_ok(CHECK(&o, &c, "x,text,target,comment_text,toxic,x,id\n,,2,a,1,,1\n"));
    ck_assert_int_eq(c.input[0].text, 3);
    ck_assert_int_eq(c.input[0].label[0], 4);
    check_free(&c, files);
    ck_ok(CHECK(&o, &c, "id,text\n1,a\n")); /* no label anywhere */
    ck_assert_int_eq(c.labels, 0);
    check_free(&c, files);
}
END_TEST

START_TEST(names_of_the_user)
{
    static const char *const labels[] = {"toxic|target", "severe_toxic|severe_toxicity"}, *const id[] = {"key", "id"}, *const text[] = {"Post"},
                             *const lang[] = {"language"};
    stage_options o;
    check_result c;
    stage_case(&o, NULL, 0, NULL);
    o.rules.columns.id = stage_list(id, 2);
    o.rules.columns.text = stage_list(text, 1);
    o.rules.columns.lang = stage_list(lang, 1);
    o.rules.columns.labels = stage_list(labels, 2);
    o.rules.columns.lang_given = o.rules.columns.labels_given = true;
    ck_ok(CHECK(&o, &c, "key,Post,language,severe_toxic,toxic\n1,a,en,0,1\n", "id,target,severe_toxicity,Post,language\n1,0,0,a,fr\n", "key,Post,language\n1,a,en\n"));
    ck_assert_int_eq(c.labels, 2);
    ck_assert_int_eq(c.input[0].label[0], 4);
    ck_assert_int_eq(c.input[0].label[1], 3);
    ck_assert_int_eq(c.input[1].label[0], 1);
    ck_assert_int_eq(c.input[1].label[1], 2);
    ck_assert_int_eq(c.input[2].label[1], -1);
    check_free(&c, files);
    ck_fails(CHECK(&o, &c, "id,Post,language,toxic\n1,a,en,1\n"), STATUS_INPUT, "in0.csv: no label column (looked for 'severe_toxic|severe_toxicity'");
    check_free(&c, files);
    ck_fails(CHECK(&o, &c, "id,Post,language\n1,a,en\n"), STATUS_INPUT, "no label column (none of toxic|target, severe_toxic|severe_toxicity; the header has 'id' 'Post' 'language')");
    check_free(&c, files);
    ck_fails(CHECK(&o, &c, "id,Post,lang,toxic,severe_toxic\n1,a,en,1,1\n"), STATUS_INPUT, "no lang column");
    check_free(&c, files);
}
END_TEST

START_TEST(first_fault_of_all)
{
    stage_options o;
    check_result c;
    stage_case(&o, NULL, 0, NULL);
    static const char good[] = "id,text,toxic\n1,a,0\n";
    ck_fails(CHECK(&o, &c, good, "id,text,toxic\n1,a,2\n", "id,text\n1\n"), STATUS_INPUT, "in1.csv: record 1, byte 18: label (2)");
    check_free(&c, files);
    /* In one input: structure, then columns, then values, each in file order. */
    ck_fails(CHECK(&o, &c, "id,words,toxic\n1,a,2\n2,b\n"), STATUS_INPUT, "record 2, byte 21: ragged");
    check_free(&c, files);
    ck_fails(CHECK(&o, &c, "id,words,toxic\n1,a,2\n"), STATUS_INPUT, "in0.csv: no text column");
    check_free(&c, files);
    ck_fails(CHECK(&o, &c, "id,text,toxic,id\n1,a,2,\n"), STATUS_INPUT, "record 0 (the header), byte 14: two equal names (id)");
    check_free(&c, files);
    ck_fails(CHECK(&o, &c, "id,text,toxic\n1,a,0\n2,b,x\n3,b,y\n4,c\n"), STATUS_INPUT, "record 4, byte 32: ragged record (2 fields where the header has 3)");
    check_free(&c, files);
    ck_fails(CHECK(&o, &c, "id,text,toxic\n1,a,0\n2,b,x\n3,b,y\n"), STATUS_INPUT, "record 2, byte 24: label (x)");
    check_free(&c, files);
    ck_fails(CHECK(&o, &c, "toxic,id,lang,text,target\n0,1,e\tn,a,\n1,1,\"en\"\"x\",a,y\nz,1,,a,\n"), STATUS_INPUT, "record 3, byte 53: label (z)");
    check_free(&c, files);
    ck_fails(CHECK(&o, &c, "id,text\n", "\xFF\xFE"), STATUS_INPUT, "in0.csv: no records");
    check_free(&c, files);
    ck_fails(CHECK(&o, &c, good, "\xFF\xFE"), STATUS_INPUT, "in1.csv: utf-16");
    check_free(&c, files);
}
END_TEST

START_TEST(languages)
{
    static char text[LANGS_LONGEST + 60];
    stage_options o;
    check_result c;
    stage_case(&o, NULL, 0, NULL);
    int n = snprintf(text, sizeof text, "id,text,lang\n1,a,en\n2,b,");
    memset(text + n, 'x', LANGS_LONGEST);
    text[n + LANGS_LONGEST] = '\n';
    ck_ok(CHECK(&o, &c, text));
    ck_assert_int_eq(c.langs.count, 2);
    check_free(&c, files);
    memset(text + n, 'x', LANGS_LONGEST + 1);
    ck_fails(CHECK(&o, &c, text), STATUS_INPUT, "record 2, byte 24: lang");
    check_free(&c, files);
    ck_ok(CHECK(&o, &c, "id,text,lang\n1,a,\"a\"\"b\"\n2,b,\xC3\n")); /* repaired and unquoted */
    ck_assert_str_eq(c.langs.text[0], "a\"b");
    ck_assert_str_eq(c.langs.text[1], "\xEF\xBF\xBD");
    check_free(&c, files);
}
END_TEST

START_TEST(one_column_for_two_purposes)
{
    static const char *const text[] = {"id"};
    stage_options o;
    check_result c;
    stage_case(&o, NULL, 0, NULL);
    o.rules.columns.text = stage_list(text, 1);
    ck_fails(CHECK(&o, &c, "id,text\n1,a\n"), STATUS_USAGE, "'id' is named for two purposes");
    check_free(&c, files);
}
END_TEST

/* A set against a plain list. */
START_TEST(sets_of_languages)
{
    lang_set l = {0};
    char text[8];
    for (int i = 0; i < 5000; i++) {
        int n = snprintf(text, sizeof text, "%llx", (unsigned long long)support_below(300));
        ck_ok(langs_add(&l, text, (size_t)n));
        int64_t at = langs_find(&l, text, (size_t)n);
        ck_assert_int_ge(at, 0);
        ck_assert_str_eq(l.text[at], text);
    }
    ck_ok(langs_unite(&l));
    for (int64_t i = 1; i < l.count; i++)
        ck_assert_int_lt(strcmp(l.text[i - 1], l.text[i]), 0);
    ck_assert_int_eq(langs_find(&l, "zz", 2), -1);
    ck_assert_int_eq(langs_find(&l, "", 0), -1);
    langs_free(&l);
}
END_TEST

int main(int argc, char **argv)
{
    if (comm_open(&argc, &argv) != STATUS_OK)
        return 1;
    int failed = support_run("csv_columns", (const TTest *[]){default_names, names_of_the_user, first_fault_of_all, languages, one_column_for_two_purposes,
                                                              sets_of_languages, NULL});
    comm_close();
    return failed;
}
