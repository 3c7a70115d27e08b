#include "infer/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/support.h"

/* Significant digits of a printed number. */
static int count_digits(const char *text)
{
    char digits[NUMBER_BYTES];
    int n = 0;
    for (; *text && *text != 'e'; text++)
        if (*text >= '0' && *text <= '9' && (n || *text != '0'))
            digits[n++] = *text;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    return n;
}

/* The two decimals of `digits` digits around |x|, as text: the nearest and its neighbours hold both. */
static float neighbour(float x, int digits, int step)
{
    char text[40], mantissa[16], moved[60];
    int n = 0, at = 0;
    snprintf(text, sizeof text, "%.*e", digits - 1, fabs((double)x));
    for (; text[at] != 'e'; at++)
        if (text[at] != '.')
            mantissa[n++] = text[at];
    mantissa[n] = 0;
    snprintf(moved, sizeof moved, "%llde%d", strtoll(mantissa, NULL, 10) + step, atoi(text + at + 1) - (digits - 1));
    return strtof(moved, NULL);
}

static void check_shortest(float x)
{
    char text[NUMBER_BYTES];
    int length = number_print(x, NUMBER_SHORTEST, text);
    ck_assert_uint_eq((size_t)length, strlen(text));
    float back = strtof(text, NULL);
    ck_assert_msg(memcmp(&back, &x, sizeof x) == 0, "%a prints as %s, which reads as %a", (double)x, text, (double)back);
    if (x == 0)
        return;
    for (int digits = 1; digits < count_digits(text); digits++)
        for (int step = -1; step <= 1; step++)
            ck_assert_msg(neighbour(x, digits, step) != fabsf(x), "%a prints as %s, but %d digits are enough", (double)x, text, digits);
    /* Nothing nearer of the same length: the plain rounding to as many digits, where it reads back, is what was printed. */
    char rounded[40];
    snprintf(rounded, sizeof rounded, "%.*e", count_digits(text) - 1, (double)x);
    if (strtof(rounded, NULL) == x)
        ck_assert_msg(strtod(rounded, NULL) == strtod(text, NULL), "%s where %s is nearer", text, rounded);
    float value;
    ck_assert_int_eq(number_read(text, strlen(text), &value), NUMBER_FINE);
    ck_assert(value == x);
}

START_TEST(number_shortest_random)
{
    for (int i = 0; i < 20000; i++) {
        uint32_t bits = (uint32_t)support_random();
        float x;
        if (i % 4 == 0)
            bits &= 0x807fffffu; /* denormal */
        else if (i % 4 == 1)
            bits = bits % 0x3f800001u; /* a probability */
        memcpy(&x, &bits, sizeof x);
        if (isfinite(x))
            check_shortest(x);
    }
    for (int e = -149; e <= 127; e++) { /* where the gaps on both sides differ */
        float x = ldexpf(1.0f, e);
        check_shortest(x);
        check_shortest(nextafterf(x, 0.0f));
        check_shortest(nextafterf(x, INFINITY));
    }
    check_shortest(0.0f);
    check_shortest(-0.0f);
}
END_TEST

START_TEST(number_forms)
{
    static const struct {
        float x;
        const char *text;
    } cases[] = {
        {0.1f, "0.1"},
        {1.0f, "1"},
        {0.0f, "0"},
        {-0.0f, "-0"},
        {0.5f, "0.5"},
        {1.0f / 3.0f, "0.33333334"},
        {0.0001f, "0.0001"},
        {1e-5f, "1e-05"},
        {1.5e-5f, "1.5e-05"},
        {1e-45f, "1e-45"},
        {1.17549435e-38f, "1.1754944e-38"},
        {3.40282347e+38f, "3.4028235e+38"},
        {16777216.0f, "16777216"},
        {123456792.0f, "123456790"},
        {1e9f, "1e+09"},
        {1500.0f, "1500"},
        {-12.25f, "-12.25"},
        {0.99999994f, "0.99999994"},
        {100.0f, "100"},
        {0.00012f, "0.00012"},
    };
    char text[NUMBER_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        number_print(cases[i].x, NUMBER_SHORTEST, text);
        ck_assert_str_eq(text, cases[i].text);
    }
    number_print(0.1f, 4, text);
    ck_assert_str_eq(text, "0.1000");
    number_print(0.99999994f, 3, text);
    ck_assert_str_eq(text, "1.000");
    number_print(0.6f, 0, text);
    ck_assert_str_eq(text, "1");
}
END_TEST

START_TEST(number_reads)
{
    static const struct {
        const char *text;
        number_fault fault;
        double value;
    } cases[] = {
        {"0.25", NUMBER_FINE, 0.25},    {" 1e-3\t", NUMBER_FINE, 1e-3},
        {"+.5", NUMBER_FINE, 0.5},      {"-2.", NUMBER_FINE, -2},
        {"", NUMBER_EMPTY, 0},          {"  ", NUMBER_EMPTY, 0},
        {"nan", NUMBER_NOT_FINITE, 0},  {"-NaN", NUMBER_NOT_FINITE, 0},
        {"inf", NUMBER_NOT_FINITE, 0},  {"-Infinity", NUMBER_NOT_FINITE, 0},
        {"1e39", NUMBER_NOT_FINITE, 0}, {"1e999", NUMBER_NOT_FINITE, 0},
        {"0x1p3", NUMBER_FOREIGN, 0},   {"1,5", NUMBER_FOREIGN, 0},
        {"0.5x", NUMBER_FOREIGN, 0},    {"e5", NUMBER_FOREIGN, 0},
        {"1 2", NUMBER_FOREIGN, 0},     {"none", NUMBER_FOREIGN, 0},
        {"--1", NUMBER_FOREIGN, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float x = 0;
        number_fault fault = number_read(cases[i].text, strlen(cases[i].text), &x);
        ck_assert_msg(fault == cases[i].fault, "'%s': %d", cases[i].text, (int)fault);
        if (fault == NUMBER_FINE)
            ck_assert(x == (float)cases[i].value);
    }
    float x;
    ck_assert_int_eq(number_read("0.5\0"
                                 "1",
                                 5, &x),
                     NUMBER_FOREIGN);
}
END_TEST

int main(void)
{
    return support_run("number", (const TTest *[]){number_shortest_random, number_forms, number_reads, NULL});
}
