#include "common/permutation.h"

#include <stdlib.h>

#include "common/rng.h"

enum { ROUNDS = 6, MOST_BITS = 16 };

permutation permutation_make(int64_t n, uint64_t seed, uint32_t purpose, uint32_t epoch)
{
    permutation p = {.n = n, .seed = seed, .purpose = purpose, .epoch = epoch};
    while ((uint64_t)1 << 2 * p.half_bits < (uint64_t)n)
        p.half_bits++;
    return p;
}

static uint64_t mix(const permutation *p, uint64_t half, uint32_t round)
{
    if (p->word)
        return p->word[(uint64_t)round << p->half_bits | half];
    uint32_t word[4];
    rng_philox(p->seed, (uint32_t[4]){(uint32_t)half, round, p->purpose, p->epoch}, word);
    return word[0] & (((uint64_t)1 << p->half_bits) - 1);
}

/* Both directions walk the cycle until they are back below n: the domain 4^k holds fewer than 4n values, so that takes four steps on average at most.
 */
int64_t permutation_at(const permutation *p, int64_t position)
{
    uint64_t mask = ((uint64_t)1 << p->half_bits) - 1, x = (uint64_t)position;
    do {
        uint64_t left = x >> p->half_bits, right = x & mask;
        for (uint32_t round = 0; round < ROUNDS; round++) {
            uint64_t next = left ^ mix(p, right, round);
            left = right;
            right = next;
        }
        x = left << p->half_bits | right;
    } while (x >= (uint64_t)p->n);
    return (int64_t)x;
}

static uint64_t find_once(const permutation *p, uint64_t x)
{
    uint64_t left = x >> p->half_bits, right = x & (((uint64_t)1 << p->half_bits) - 1);
    for (uint32_t round = ROUNDS; round-- > 0;) {
        uint64_t previous = right ^ mix(p, left, round);
        right = left;
        left = previous;
    }
    return left << p->half_bits | right;
}

int64_t permutation_find(const permutation *p, int64_t value)
{
    uint64_t x = (uint64_t)value;
    do
        x = find_once(p, x);
    while (x >= (uint64_t)p->n);
    return (int64_t)x;
}

/* All walk a step at once: the steps of different values do not wait for each other, and which of them go on is found without branches. */
void permutation_find_range(const permutation *p, int64_t first, int64_t count, int64_t *found)
{
    enum { BLOCK = 256 };
    uint16_t walks[BLOCK];
    for (; count > 0; first += BLOCK, count -= BLOCK, found += BLOCK) {
        size_t walking = count < BLOCK ? (size_t)count : BLOCK;
        for (size_t i = 0; i < walking; i++) {
            found[i] = first + (int64_t)i;
            walks[i] = (uint16_t)i;
        }
        while (walking > 0) {
            size_t left = 0;
            for (size_t i = 0; i < walking; i++) {
                uint16_t k = walks[i];
                found[k] = (int64_t)find_once(p, (uint64_t)found[k]);
                walks[left] = k;
                left += found[k] >= p->n;
            }
            walking = left;
        }
    }
}

status permutation_remember(permutation *p)
{
    uint32_t *word;
    if (p->word || p->half_bits > MOST_BITS)
        return STATUS_OK;
    uint64_t halves = (uint64_t)1 << p->half_bits;
    TRY(memory_new(&word, ROUNDS * halves * sizeof *word, "a permutation"));
    for (uint32_t round = 0; round < ROUNDS; round++)
        for (uint64_t half = 0; half < halves; half++)
            word[(uint64_t)round << p->half_bits | half] = (uint32_t)mix(p, half, round);
    p->word = word;
    return STATUS_OK;
}

void permutation_forget(permutation *p)
{
    free(p->word);
    p->word = NULL;
}
