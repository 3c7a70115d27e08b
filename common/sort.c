#include "common/sort.h"

enum { FEW = 48, BUCKETS = 256 };

static void insert_sort(sort_pair *p, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        sort_pair one = p[i];
        size_t at = i;
        for (; at > 0 && p[at - 1].key > one.key; at--)
            p[at] = p[at - 1];
        p[at] = one;
    }
}

/* Each pair goes to its bucket by swapping along the cycles, so no second array is needed. */
static void sort_from(sort_pair *p, size_t n, int shift)
{
    size_t end[BUCKETS], next[BUCKETS], count[BUCKETS] = {0};
    for (size_t i = 0; i < n; i++)
        count[p[i].key >> shift & (BUCKETS - 1)]++;
    for (size_t b = 0, at = 0; b < BUCKETS; b++) {
        next[b] = at;
        end[b] = at += count[b];
    }
    for (size_t b = 0; b < BUCKETS; b++)
        while (next[b] < end[b]) {
            sort_pair one = p[next[b]];
            for (size_t to = one.key >> shift & (BUCKETS - 1); to != b; to = one.key >> shift & (BUCKETS - 1)) {
                sort_pair other = p[next[to]];
                p[next[to]++] = one;
                one = other;
            }
            p[next[b]++] = one;
        }
    for (size_t b = 0; b < BUCKETS; b++) {
        sort_pair *bucket = p + end[b] - count[b];
        if (count[b] <= FEW)
            insert_sort(bucket, count[b]);
        else if (shift > 0)
            sort_from(bucket, count[b], shift < 8 ? 0 : shift - 8);
    }
}

void sort_pairs(sort_pair *p, size_t n)
{
    uint64_t differ = 0;
    for (size_t i = 1; i < n; i++)
        differ |= p[i].key ^ p[0].key;
    int bits = differ ? 64 - __builtin_clzll(differ) : 0;
    if (n <= FEW || bits == 0)
        insert_sort(p, bits ? n : 0);
    else
        sort_from(p, n, bits > 8 ? bits - 8 : 0);
}
