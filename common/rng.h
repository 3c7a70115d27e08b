/* Counter-based random numbers: Philox4x32-10. A number is a function of (key, counter); there is no state.
 *
 *     uint32_t w[4];
 *     rng_philox(seed, (uint32_t[4]){element / 4, purpose << 24 | layer << 12 | site, low, high}, w);
 *
 * Key: low word = low 32 bits of the seed, high word = high 32 bits. Local, cannot fail.
 */
#ifndef FRETSAW_COMMON_RNG_H
#define FRETSAW_COMMON_RNG_H

#include <stdint.h>

/* What a stream is for: the top byte of the second counter word, so that no two uses share numbers. */
enum rng_purpose { RNG_SHARD_ORDER = 1, RNG_EPOCH_ORDER = 2, RNG_DROPOUT = 3, RNG_INITIAL_WEIGHT = 4 };

static inline void rng_philox(uint64_t seed, const uint32_t counter[4], uint32_t out[4])
{
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * c0, b = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(b >> 32) ^ c1 ^ k0, n2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)b;
        c3 = (uint32_t)a;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

#endif
