#include "common/sort.h"

#include <stdlib.h>
#include <string.h>

#include "support/support.h"

static int by_both(const void *a, const void *b)
{
    const sort_pair *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

/* Keys of every width and many equal ones: ascending, and the same pairs as before. */
START_TEST(sorts_any_keys)
{
    enum { MOST = 20000 };
    static sort_pair p[MOST], wanted[MOST];
    for (int round = 0; round < 300; round++) {
        size_t n = support_below(round < 100 ? 100 : MOST);
        int shift = (int)support_below(64);
        uint64_t base = support_random() & ~(UINT64_MAX >> shift), repeat = 1 + support_below(3);
        for (size_t i = 0; i < n; i++)
            p[i] = (sort_pair){base | (support_random() >> shift) / repeat * repeat, i};
        memcpy(wanted, p, n * sizeof *p);
        qsort(wanted, n, sizeof *wanted, by_both);
        sort_pairs(p, n);
        for (size_t i = 0; i < n; i++)
            ck_assert_msg(p[i].key == wanted[i].key, "round %d: pair %zu of %zu", round, i, n);
        qsort(p, n, sizeof *p, by_both);
        ck_assert_mem_eq(p, wanted, n * sizeof *p);
    }
    sort_pairs(NULL, 0);
}
END_TEST

int main(void)
{
    return support_run("sort", (const TTest *[]){sorts_any_keys, NULL});
}
