#include "infer/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_DIGITS = 9 };

/* |x| = 0.d1d2d3... * 10^(exponent+1): digits without the point, and the exponent of the first. */
typedef struct decimal {
    char digit[MOST_DIGITS + 1];
    int count, exponent;
} decimal;

static void split(float x, int digits, decimal *d)
{
    char text[40];
    int n = snprintf(text, sizeof text, "%.*e", digits - 1, (double)x), at = 0;
    for (; at < n && text[at] != 'e'; at++)
        if (text[at] != '.')
            d->digit[d->count++] = text[at];
    d->digit[d->count] = 0;
    d->exponent = (int)strtol(text + at + 1, NULL, 10);
}

/* One more in the last place. */
static void step_up(decimal *d)
{
    int i = d->count - 1;
    for (; i >= 0 && d->digit[i] == '9'; i--)
        d->digit[i] = '0';
    if (i >= 0) {
        d->digit[i]++;
        return;
    }
    d->digit[0] = '1'; /* 99 becomes 10 of the next power */
    d->exponent++;
}

static float value(const decimal *d)
{
    char text[40];
    snprintf(text, sizeof text, "%c.%se%d", d->digit[0], d->digit + 1, d->exponent);
    return strtof(text, NULL);
}

/* A positive float. At a power of two the gap below is half the gap above, so the nearest decimal may lie too far below while the one above it is
 * still within reach: hence the second try. */
static void find_shortest(float x, decimal *d)
{
    for (int digits = 1; digits <= MOST_DIGITS; digits++) {
        *d = (decimal){0};
        split(x, digits, d);
        if (value(d) == x)
            return;
        step_up(d);
        if (digits < MOST_DIGITS && value(d) == x)
            return;
    }
    *d = (decimal){0};
    split(x, MOST_DIGITS, d); /* nine digits always read back */
}

static int print_decimal(const decimal *d, const char *sign, char *text)
{
    const char *digits = d->digit;
    int n = d->count, e = d->exponent;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    if (e < -4 || e >= 9)
        return snprintf(text, NUMBER_BYTES, "%s%c%s%.*se%c%02d", sign, digits[0], n > 1 ? "." : "", n - 1, digits + 1, e < 0 ? '-' : '+', abs(e));
    if (e < 0)
        return snprintf(text, NUMBER_BYTES, "%s0.%.*s%.*s", sign, -e - 1, "0000", n, digits);
    if (n <= e + 1)
        return snprintf(text, NUMBER_BYTES, "%s%.*s%.*s", sign, n, digits, e + 1 - n, "000000000");
    return snprintf(text, NUMBER_BYTES, "%s%.*s.%.*s", sign, e + 1, digits, n - e - 1, digits + e + 1);
}

int number_print(float x, int decimals, char text[NUMBER_BYTES])
{
    const char *sign = signbit(x) ? "-" : "";
    decimal d = {0};
    if (decimals >= 0)
        return snprintf(text, NUMBER_BYTES, "%.*f", decimals, (double)x);
    if (x == 0)
        return snprintf(text, NUMBER_BYTES, "%s0", sign);
    find_shortest(fabsf(x), &d);
    return print_decimal(&d, sign, text);
}

number_fault number_read(const char *text, size_t bytes, float *x)
{
    char copy[400], *end;
    while (bytes > 0 && (*text == ' ' || *text == '\t'))
        text++, bytes--;
    while (bytes > 0 && (text[bytes - 1] == ' ' || text[bytes - 1] == '\t'))
        bytes--;
    if (bytes == 0)
        return NUMBER_EMPTY;
    if (bytes >= sizeof copy || memchr(text, 0, bytes))
        return NUMBER_FOREIGN;
    memcpy(copy, text, bytes);
    copy[bytes] = 0;
    const char *bare = copy + (*copy == '+' || *copy == '-');
    if (strcasecmp(bare, "nan") == 0 || strcasecmp(bare, "inf") == 0 || strcasecmp(bare, "infinity") == 0)
        return NUMBER_NOT_FINITE;
    if (copy[strspn(copy, "0123456789+-.eE")]) /* strtod would also take hexadecimal */
        return NUMBER_FOREIGN;
    float value_read = strtof(copy, &end);
    if (*end)
        return NUMBER_FOREIGN;
    if (!isfinite(value_read))
        return NUMBER_NOT_FINITE;
    *x = value_read;
    return NUMBER_FINE;
}
