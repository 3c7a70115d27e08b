#include "infer/validate.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/files.h"
#include "support/support.h"

static const char *folder;
static char told[4000];

static status validate_texts(const char *given, const char *sample, validate_result *result)
{
    char a[400], b[400], *text = NULL;
    size_t n = 0;
    if (!folder)
        folder = support_scratch();
    snprintf(a, sizeof a, "%s/given.csv", folder);
    snprintf(b, sizeof b, "%s/sample.csv", folder);
    ck_ok(file_write_atomic(a, given, strlen(given)));
    ck_ok(file_write_atomic(b, sample, strlen(sample)));
    FILE *to = open_memstream(&text, &n);
    ck_assert_ptr_nonnull(to);
    status st = validate_submission(a, b, to, result);
    fclose(to);
    snprintf(told, sizeof told, "%s", text);
    free(text);
    return st;
}

#define SAMPLE "id,toxic\n0,0.5\n1,0.5\n\"2,x\",0.5\n3,0.5\n"

START_TEST(validate_accepts)
{
    static const char *const fine[] = {
        SAMPLE,
        "id,toxic\r\n0,1e-5\r\n1,0\r\n\"2,x\",1\r\n3,.5\r\n",
        "id,toxic\n\"0\",0.1\n1,0.2\n\"2,x\",0.3\n3,0.4",
    };
    validate_result r;
    for (int i = 0; i < 3; i++) {
        ck_ok(validate_texts(fine[i], SAMPLE, &r));
        ck_assert_str_eq(told, "");
        ck_assert(r.rows == 4 && r.outside == 0);
    }
    ck_ok(validate_texts("id,toxic\n0,2\n1,-0.5\n\"2,x\",1\n3,0\n", SAMPLE, &r)); /* told, not refused */
    ck_assert_int_eq(r.outside, 2);
    ck_assert_ptr_nonnull(strstr(told, "line 2: a number outside [0, 1] (2 in all)"));
}
END_TEST

START_TEST(validate_finds_each_fault)
{
    static const struct {
        const char *given, *told;
    } cases[] = {
        {"id,Toxic\n0,0.5\n1,0.5\n\"2,x\",0.5\n3,0.5\n", "line 1: the header"},
        {"toxic,id\n0.5,0\n0.5,1\n0.5,\"2,x\"\n0.5,3\n", "line 1: the header"},
        {"id,toxic,more\n0,0.5,1\n1,0.5,1\n\"2,x\",0.5,1\n3,0.5,1\n", "line 1: the header"},
        {"id,toxic\n0,0.5\n1,0.5\n1,0.5\n\"2,x\",0.5\n3,0.5\n", "line 4: this id stands in an earlier line too: \"1\""},
        {"id,toxic\n0,0.5\n1,0.5\n3,0.5\n", "1 ids of "},
        {"id,toxic\n0,0.5\n1,0.5\n\"2,x\",0.5\n", "3 records, and the sample has 4"},
        {"id,toxic\n0,0.5\n1,0.5\n\"2,x\",0.5\n3,0.5\n4,0.5\n", "line 6: the sample has no such id: \"4\""},
        {"id,toxic\n1,0.5\n0,0.5\n\"2,x\",0.5\n3,0.5\n", "line 2: not in the sample's order: here belongs \"0\" (2 in all)"},
        {"id,toxic\n0,0.5\n1,nan\n\"2,x\",0.5\n3,inf\n", "line 3: not a finite number: nan (2 in all)"},
        {"id,toxic\n0,0.5\n1,\n\"2,x\",0.5\n3,0.5\n", "line 3: an empty cell"},
        {"id,toxic\n0,0.5\n1,0.5\n\"2,x\",yes\n3,0.5\n", "line 4: not a number: yes"},
        {"id,toxic\n0,0.5\n1,0.5,9\n\"2,x\",0.5\n3,0.5\n", "record 2"},
        {"id,toxic\n0,0.5\n1,\"0.5\n", "unclosed"},
    };
    validate_result r;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_fails(validate_texts(cases[i].given, SAMPLE, &r), STATUS_CHECK, "not a valid submission");
        ck_assert_msg(strstr(told, cases[i].told) != NULL, "case %zu: '%s' is not in: %s", i, cases[i].told, told);
    }
    ck_fails(validate_texts(SAMPLE, "id,toxic\n1,0\n1,0\n", &r), STATUS_INPUT, "no sample submission");
    ck_fails(validate_submission("/no/such.csv", "/no/sample.csv", stderr, &r), STATUS_INPUT, "/no/sample.csv");
}
END_TEST

int main(void)
{
    return support_run("validate", (const TTest *[]){validate_accepts, validate_finds_each_fault, NULL});
}
