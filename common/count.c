#include "common/count.h"

#include <inttypes.h>
#include <stdio.h>

enum { TEXTS = 16, BYTES = 64 };

static char *next_text(void)
{
    static _Thread_local char ring[TEXTS][BYTES];
    static _Thread_local unsigned turn;
    return ring[turn++ % TEXTS];
}

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

static void group(int64_t n, char out[32])
{
    char digits[24];
    int count = snprintf(digits, sizeof digits, "%" PRId64, n), used = 0;
    for (int i = 0; i < count; i++) {
        if (i && (count - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = 0;
}

const char *count_of(int64_t n, const char *one)
{
    char *text = next_text();
    snprintf(text, BYTES, "%" PRId64 " %s%s", n, one, plural(n));
    return text;
}

const char *count_grouped(int64_t n)
{
    char *text = next_text();
    group(n, text);
    return text;
}

const char *count_grouped_of(int64_t n, const char *one)
{
    char digits[32], *text = next_text();
    group(n, digits);
    snprintf(text, BYTES, "%s %s%s", digits, one, plural(n));
    return text;
}
