/* A keyed permutation of 0 .. n-1 that can be entered anywhere in constant time: balanced Feistel, 6 rounds, walked until < n.
 *
 *     permutation p = permutation_make(n, seed, RNG_EPOCH_ORDER, epoch);
 *     int64_t row = permutation_at(&p, position);          // permutation_find is its inverse
 *
 * Local, no memory, cannot fail, unless said otherwise. n >= 0 and at most 2^62.
 */
#ifndef FRETSAW_COMMON_PERMUTATION_H
#define FRETSAW_COMMON_PERMUTATION_H

#include <stdint.h>

#include "common/status.h"

typedef struct permutation {
    int64_t n;
    uint64_t seed;
    uint32_t purpose, epoch;
    int half_bits; /* k: smallest with 4^k >= n */
    uint32_t *word; /* rounds x 2^k: what a round makes of each half; NULL: worked out each time */
} permutation;

permutation permutation_make(int64_t n, uint64_t seed, uint32_t purpose, uint32_t epoch);
int64_t permutation_at(const permutation *p, int64_t position);
int64_t permutation_find(const permutation *p, int64_t value);
/* found[i] is permutation_find of first + i, for i < count; faster than one by one. */
void permutation_find_range(const permutation *p, int64_t first, int64_t count, int64_t *found);
/* For who asks for most of the n values: a table of 6 * 2^k words makes each ten times as fast. Does nothing where that is more than 1.5 MB
 * (n above 2^32). Error: STATUS_RESOURCE. The table is freed by permutation_forget, which is fine without one. */
status permutation_remember(permutation *p);
void permutation_forget(permutation *p);

#endif
