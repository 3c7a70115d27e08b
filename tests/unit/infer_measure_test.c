#include "infer/measure.h"

#include <math.h>
#include <stdlib.h>

#include "support/support.h"

enum { ROWS = 400, LABELS = 2 };

/* Every pair looked at, in long double. */
static double naive(const float *score, const float *label, const char *const *lang, const char *want, int64_t c, int64_t *pairs)
{
    double wins = 0;
    *pairs = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++) {
            if (want && (strcmp(lang[i], want) != 0 || strcmp(lang[j], want) != 0))
                continue;
            if (!(label[i * LABELS + c] >= 0.5f) || !(label[j * LABELS + c] < 0.5f))
                continue;
            ++*pairs;
            float x = score[i * LABELS + c], y = score[j * LABELS + c];
            wins += x > y ? 1 : x == y ? 0.5 : 0;
        }
    return *pairs ? wins / (double)*pairs : NAN;
}

START_TEST(measure_per_language)
{
    static const char *const langs[] = {"tr", "es", "", "fr", "it"}, *const sorted[] = {"", "es", "fr", "it", "tr"};
    static float score[ROWS * LABELS], label[ROWS * LABELS];
    static const char *lang[ROWS];
    for (int i = 0; i < ROWS; i++) {
        lang[i] = langs[i == 0 ? 4 : support_below(4)]; /* "it" has one row: one class */
        for (int c = 0; c < LABELS; c++) {
            score[i * LABELS + c] = (float)support_below(40) / 40.0f;
            label[i * LABELS + c] = support_below(9) == 0 ? NAN : (float)support_uniform();
        }
    }
    measure m;
    int64_t pairs;
    ck_ok(measure_create(
        &(measure_rows){.rows = ROWS, .labels = LABELS, .name = (const char *const[]){"a", "b"}, .score = score, .label = label, .lang = lang}, &m));
    ck_assert_int_eq(m.langs, 5);
    for (int c = 0; c < LABELS; c++)
        for (int l = -1; l < 5; l++) {
            const auc_count *count = &m.count[(l + 1) * LABELS + c];
            if (l >= 0)
                ck_assert_str_eq(m.lang[l], sorted[l]);
            double expected = naive(score, label, lang, l < 0 ? NULL : sorted[l], c, &pairs);
            ck_assert(count->pairs == (unsigned __int128)pairs);
            if (pairs)
                ck_assert_double_eq_tol(auc_value(count), expected, 1e-12);
        }
    json_t *j = measure_json(&m), *a = json_object_get(j, "a");
    ck_assert(json_is_null(json_object_get(json_object_get(json_object_get(a, "lang"), "it"), "auc")));
    ck_assert_double_eq(json_real_value(json_object_get(json_object_get(a, "all"), "auc")), auc_value(&m.count[0]));
    json_decref(j);
    measure_free(&m);
}
END_TEST

START_TEST(measure_says_undefined)
{
    measure m;
    char *text = NULL;
    size_t n;
    ck_ok(measure_create(
        &(measure_rows){.rows = 2, .labels = 1, .name = (const char *const[]){"toxic"}, .score = (float[]){0.1f, 0.2f}, .label = (float[]){1, 0.5f}},
        &m));
    FILE *f = open_memstream(&text, &n);
    measure_print(&m, f);
    fclose(f);
    ck_assert_ptr_nonnull(strstr(text, "undefined: one class"));
    free(text);
    measure_free(&m);
    ck_fails(measure_create(
                 &(measure_rows){.rows = 1, .labels = 1, .name = (const char *const[]){"toxic"}, .score = (float[]){NAN}, .label = (float[]){1}}, &m),
             STATUS_CHECK, "not a number");
}
END_TEST

int main(void)
{
    return support_run("measure", (const TTest *[]){measure_per_language, measure_says_undefined, NULL});
}
