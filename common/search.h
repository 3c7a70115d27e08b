/* Where a value stands, or would stand, in an ascending list.
 *
 *     int64_t from = search_first(ids, count, first), end = search_first(ids, count, last + 1);   // ids[from..end-1] are first .. last
 *
 * Local; cannot fail. Inline, so that a library opened at run time needs nothing of the program for it.
 */
#ifndef FRETSAW_COMMON_SEARCH_H
#define FRETSAW_COMMON_SEARCH_H

#include <stdint.h>

/* Index of the first element that is not below `value`; `count` when all are. */
static inline int64_t search_first(const int32_t *ascending, int64_t count, int64_t value)
{
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (ascending[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
