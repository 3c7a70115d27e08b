/* A keyed permutation of 0 .. n-1 that can be entered anywhere in constant time: balanced Feistel, 6 rounds, walked until < n.
 *
 *     permutation p = permutation_make(n, seed, RNG_EPOCH_ORDER, epoch);
 *     int64_t row = permutation_at(&p, position);          // permutation_find is its inverse
 *
 * Local, no memory, cannot fail. n >= 0 and at most 2^62.
 */
#ifndef FRETSAW_COMMON_PERMUTATION_H
#define FRETSAW_COMMON_PERMUTATION_H

#include <stdint.h>

typedef struct permutation {
    int64_t n;
    uint64_t seed;
    uint32_t purpose, epoch;
    int half_bits; /* k: smallest with 4^k >= n */
} permutation;

permutation permutation_make(int64_t n, uint64_t seed, uint32_t purpose, uint32_t epoch);
int64_t permutation_at(const permutation *p, int64_t position);
int64_t permutation_find(const permutation *p, int64_t value);

#endif
