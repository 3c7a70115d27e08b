/* A block of initial weights: sixteen counters, then loops that the compiler turns into vectors of doubles. */
#include "model/cpu/math_vec.h"
#include "model/cpu/normal.h"
#include "model/math_double_parts.h"

enum { PAIRS = NORMAL_BLOCK / 2 };

/* The upper 53 bits of two words, in [0, 1): both parts and their sum are exact. */
VEC double unit(uint32_t high, uint32_t low)
{
    uint64_t upper = high >> 5, lower = (uint64_t)(high & 31) << 21 | low >> 11;
    double a = math_part_double(upper | (uint64_t)1075 << 52) - 0x1p52, b = math_part_double(lower | (uint64_t)1075 << 52) - 0x1p52;
    return a * 0x1p-27 + b * 0x1p-53;
}

void ISA(normal_block)(uint64_t seed, uint32_t purpose, double deviation, int64_t first, float *out)
{
    veci word[4];
    uint32_t w[4 * PAIRS];
    double radius[PAIRS], angle[PAIRS], sine[PAIRS], cosine[PAIRS];
    uint64_t pair = (uint64_t)first / 2; /* sixteen from a multiple of sixteen: the low word does not overflow among them */
    const philox_keys key = philox_keys_of(seed);
    vec_philox(&key, (uint32_t)pair, purpose << 24, (uint32_t)(pair >> 32), 0, word);
    for (int k = 0; k < 4; k++)
        veci_store_full(w + 16 * k, word[k]);
    for (int i = 0; i < PAIRS; i++) {
        radius[i] = 1.0 - unit(w[4 * i], w[4 * i + 1]);
        angle[i] = unit(w[4 * i + 2], w[4 * i + 3]);
    }
    for (int i = 0; i < PAIRS; i++)
        radius[i] = deviation * sqrt(-2.0 * math_part_log(radius[i]));
    for (int i = 0; i < PAIRS; i++)
        math_part_sincos_turns(angle[i], &sine[i], &cosine[i]);
    for (int i = 0; i < PAIRS; i++) {
        out[2 * i] = (float)(radius[i] * cosine[i]);
        out[2 * i + 1] = (float)(radius[i] * sine[i]);
    }
}
