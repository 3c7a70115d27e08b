#include "common/count.h"

#include <inttypes.h>
#include <stdio.h>

const char *count_of(int64_t n, const char *one)
{
    static _Thread_local char ring[16][64];
    static _Thread_local unsigned turn;
    char *text = ring[turn++ % 16];
    snprintf(text, sizeof ring[0], "%" PRId64 " %s%s", n, one, n == 1 ? "" : "s");
    return text;
}
