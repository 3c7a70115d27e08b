/* Labels as numbers, missing-value words. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "preprocess/label.h"
#include "preprocess/missing.h"
#include "support/support.h"

static const label_rule plain = {0}, minus_one = {.has_unlabelled = true, .unlabelled = -1};

static void number(const char *text, float value)
{
    float got;
    ck_assert_msg(label_read(text, strlen(text), &plain, &got), "'%s' is refused", text);
    ck_assert_msg(memcmp(&got, &value, sizeof got) == 0, "'%s': %.9g, not %.9g", text, (double)got, (double)value);
}

START_TEST(numbers)
{
    number("0", 0);
    number("1", 1);
    number(" 1", 1);
    number("0.25  ", 0.25f);
    number("+1", 1);
    number("-0", 0);
    number("-0.0", 0);
    number(".5", 0.5f);
    number("1.", 1);
    number("1e0", 1);
    number("25E-2", 0.25f);
    number("1e-400", 0);
    number("0.0000001e+7", 1);
    number("0.1", 0.1f);
    number("0.50000000000000000000000000000000000000000000000000000000000000000000000000000000000001", 0.5f);
    number("00001.0000", 1);
}
END_TEST

START_TEST(no_numbers)
{
    static const char *const texts[] = {"yes", "inf", "-inf", "Infinity", "0x1", "1_0", "True", "1 0", "0,5", "1.5", "-1", "1e400", ".", "+", "-", "e5", "1e", "1e+",
                                        "+-1", "1.2.3", "--1", "\t1", "1\t", "\xD9\xA1", "\xEF\xBC\x91", "NAN", " NA", "NA ", "1.0000001", "-1e-9", "1f", "1d0", "nan0"};
    float got;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_msg(!label_read(texts[i], strlen(texts[i]), &plain, &got), "'%s' is taken as %g", texts[i], (double)got);
    ck_assert(!label_read("1\0", 2, &plain, &got));
    ck_assert(!label_read("0\0", 2, &plain, &got));
}
END_TEST

START_TEST(unlabelled)
{
    static const char *const texts[] = {"", " ", "   ", "NA", "nan", "NaN", "None", "null", "#N/A N/A", "-1.#IND"};
    float got;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_msg(label_read(texts[i], strlen(texts[i]), &plain, &got) && isnan(got), "'%s'", texts[i]);
    ck_assert(label_read("-1", 2, &minus_one, &got) && isnan(got));
    ck_assert(label_read(" -1.0 ", 6, &minus_one, &got) && isnan(got));
    ck_assert(label_read("1", 1, &minus_one, &got) && got == 1);
    ck_assert(!label_read("-2", 2, &minus_one, &got));
    uint32_t bits;
    ck_assert(label_read("", 0, &plain, &got));
    memcpy(&bits, &got, sizeof bits);
    ck_assert_uint_eq(bits, 0x7fc00000u);
}
END_TEST

/* Random decimal numbers: taken when strtod's value lies in 0..1, and rounded as it rounds. */
START_TEST(random_numbers)
{
    for (int i = 0; i < 20000; i++) {
        char text[80];
        int n = snprintf(text, sizeof text, "%s%s%llu", support_below(4) ? "" : "+", support_below(3) ? "0." : "", (unsigned long long)support_random() >> support_below(64));
        if (support_below(2))
            snprintf(text + n, sizeof text - (size_t)n, "e%d", (int)support_below(40) - 30);
        double value = strtod(text, NULL);
        float got;
        bool taken = label_read(text, strlen(text), &plain, &got);
        ck_assert_msg(taken == (value >= 0 && value <= 1), "'%s' is %s", text, taken ? "taken" : "refused");
        ck_assert_msg(!taken || got == (float)value, "'%s': %.9g", text, (double)got);
    }
}
END_TEST

START_TEST(words_of_pandas)
{
    const char *path = support_oracle("csv/na.json");
    if (!path) {
        support_skip("csv/na.json");
        return;
    }
    json_t *root = json_load_file(path, 0, NULL), *words = json_object_get(root, "words");
    ck_assert_uint_eq(json_array_size(words), 19);
    for (size_t i = 0; i < json_array_size(words); i++) {
        char more[40];
        const char *word = json_string_value(json_array_get(words, i));
        ck_assert_msg(missing_is_word(word, strlen(word)), "'%s'", word);
        for (int k = 0; word[0] && k < 3; k++) {
            int n = snprintf(more, sizeof more, "%s%s%s", k == 0 ? " " : "", word, k == 1 ? " " : k == 2 ? "x" : "");
            ck_assert_msg(!missing_is_word(more, (size_t)n), "'%s'", more);
        }
        ck_assert(!missing_is_word(word, strlen(word) + 1)); /* its NUL */
    }
    ck_assert(!missing_is_old_word("None", 4) && missing_is_old_word("NULL", 4) && missing_is_old_word("", 0) && !missing_is_old_word("none", 4));
    ck_assert(!missing_is_word("none", 4) && !missing_is_word("NONE", 4) && !missing_is_word(" ", 1));
    json_decref(root);
}
END_TEST

int main(void)
{
    return support_run("csv_label", (const TTest *[]){numbers, no_numbers, unlabelled, random_numbers, words_of_pandas, NULL});
}
