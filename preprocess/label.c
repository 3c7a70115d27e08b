#include "preprocess/label.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "preprocess/missing.h"

static size_t digits(const char *p, size_t n)
{
    size_t i = 0;
    while (i < n && p[i] >= '0' && p[i] <= '9')
        i++;
    return i;
}

/* Whether all of p[0..n-1] is a number: [sign] digits [. digits] or [sign] . digits, then [e [sign] digits]. */
static bool is_number(const char *p, size_t n)
{
    size_t i = n && (*p == '+' || *p == '-');
    size_t before = digits(p + i, n - i), after = 0;
    i += before;
    if (i < n && p[i] == '.') {
        after = digits(p + i + 1, n - i - 1);
        i += 1 + after;
    }
    if (before + after == 0)
        return false;
    if (i < n && (p[i] == 'e' || p[i] == 'E')) {
        i++;
        i += i < n && (p[i] == '+' || p[i] == '-');
        size_t power = digits(p + i, n - i);
        if (power == 0)
            return false;
        i += power;
    }
    return i == n;
}

/* The value of a number of any length; strtod wants a NUL behind it. */
static bool value_of(const char *p, size_t n, double *value)
{
    char small[64], *copy = n < sizeof small ? small : malloc(n + 1);
    if (!copy)
        return false;
    memcpy(copy, p, n);
    copy[n] = 0;
    *value = strtod(copy, NULL);
    if (copy != small)
        free(copy);
    return true;
}

bool label_read(const char *text, size_t n, const label_rule *rule, float *out)
{
    if (n == 1 && (text[0] == '0' || text[0] == '1') && !rule->has_unlabelled) { /* nearly every label there is */
        *out = text[0] == '1';
        return true;
    }
    *out = NAN;
    if (missing_is_word(text, n))
        return true;
    while (n && text[0] == ' ')
        text++, n--;
    while (n && text[n - 1] == ' ')
        n--;
    if (n == 0)
        return true;
    double value;
    if (!is_number(text, n) || !value_of(text, n, &value))
        return false;
    if (rule->has_unlabelled && value == rule->unlabelled)
        return true;
    if (!(value >= 0 && value <= 1))
        return false;
    *out = (float)value + 0.0f; /* -0 becomes 0: equal labels have equal bits */
    return true;
}

bool label_is_yes_or_no(const char *text, size_t n)
{
    static const char *const words[] = {"true", "false", "yes", "no", "y", "n", "t", "f"};
    while (n && *text == ' ')
        text++, n--;
    while (n && text[n - 1] == ' ')
        n--;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && strncasecmp(text, words[i], n) == 0)
            return true;
    return false;
}
