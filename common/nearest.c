#include "common/nearest.h"

#include <limits.h>
#include <string.h>

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Row by row of the table of prefixes; the two rows before are kept. */
static int distance(const char *a, const char *b)
{
    int before[NEAREST_LONGEST + 2], last[NEAREST_LONGEST + 2], now[NEAREST_LONGEST + 2];
    int n = (int)strlen(a), m = (int)strlen(b);
    for (int j = 0; j <= m; j++)
        last[j] = j;
    memcpy(before, last, sizeof before);
    for (int i = 1; i <= n; i++) {
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
        }
        memcpy(before, last, sizeof before);
        memcpy(last, now, sizeof last);
    }
    return last[m];
}

nearest nearest_of(const char *word, size_t bytes)
{
    nearest n = {.distance = INT_MAX};
    if (bytes <= NEAREST_LONGEST)
        memcpy(n.word, word, bytes);
    return n;
}

void nearest_add(nearest *n, const char *name)
{
    if (!n->word[0] || strlen(name) > NEAREST_LONGEST)
        return;
    int d = distance(n->word, name);
    n->tie = d == n->distance || (n->tie && d > n->distance);
    if (d < n->distance) {
        n->distance = d;
        n->best = name;
    }
}

const char *nearest_found(const nearest *n)
{
    size_t length = strlen(n->word);
    int most = length < 3 ? 0 : length < 6 ? 1 : 2;
    return n->best && !n->tie && n->distance <= most ? n->best : NULL;
}
