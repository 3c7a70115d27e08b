/* Functions of sixteen floats, from the exact operations of vec.h alone: exp, the normal distribution (for GELU), random words.
 *
 *     vec16 e = vec_exp(x);                    // within 1 ulp, denormal results included; NaN stays, overflow is infinite
 *     vec16 cdf, density;
 *     vec_normal(x, &cdf, &density);           // Phi(x) and phi(x): gelu(x) = x Phi(x), its slope Phi(x) + x phi(x)
 *     veci word[4];
 *     philox_keys key = philox_keys_of(seed);
 *     vec_philox(&key, c0, c1, c2, c3, word);  // words of counters c0 .. c0+15, counter after counter
 */
#ifndef FRETSAW_MODEL_CPU_MATH_VEC_H
#define FRETSAW_MODEL_CPU_MATH_VEC_H

#include "model/cpu/vec.h"

/* e^x = 2^power e^r with |r| <= ln2 / 2; returns e^r. */
VEC vec16 vec_exp_reduced(vec16 x, veci *power)
{
    const vec16 magic = vec_set(0x1.8p23f); /* adding it leaves the nearest integer in the low bits */
    vec16 shifted = vec_fma(x, vec_set(0x1.715476p0f), magic);
    vec16 n = vec_sub(shifted, magic);
    vec16 r = vec_fma(n, vec_set(-0x1.62e430p-1f), x);
    r = vec_fma(n, vec_set(0x1.05c610p-29f), r);
    vec16 p = vec_set(0x1.9e20f6p-13f);
    p = vec_fma(p, r, vec_set(0x1.6d4f3ap-10f));
    p = vec_fma(p, r, vec_set(0x1.1112fep-7f));
    p = vec_fma(p, r, vec_set(0x1.5554e6p-5f));
    p = vec_fma(p, r, vec_set(0x1.555554p-3f));
    p = vec_fma(p, r, vec_set(0.5f));
    p = vec_fma(p, r, vec_set(1.0f));
    *power = veci_sub(vec_as_int(shifted), vec_as_int(magic));
    return vec_fma(p, r, vec_set(1.0f));
}

/* 2^n, -126 <= n <= 127. */
VEC vec16 vec_power_of_two(veci n)
{
    return veci_as_float(veci_shift_left(veci_add(n, veci_set(127)), 23));
}

/* The power is applied in two factors: the first product is exact, so a denormal result is rounded once. */
VEC vec16 vec_exp(vec16 x)
{
    veci power;
    x = vec_max(vec_set(-104.5f), vec_min(vec_set(89.5f), x)); /* in this order of operands NaN passes */
    vec16 e = vec_exp_reduced(x, &power);
    veci half = veci_shift_right_signed(power, 1);
    return vec_mul(vec_mul(e, vec_power_of_two(half)), vec_power_of_two(veci_sub(power, half)));
}

/* The same for -87 <= x <= 88 and NaN, where one factor will do: a sixth less work for GELU. */
VEC vec16 vec_exp_near(vec16 x)
{
    veci power;
    vec16 e = vec_exp_reduced(x, &power);
    return vec_mul(e, vec_power_of_two(power));
}

/* Phi(x) = (1 + erf(x / sqrt 2)) / 2 and phi(x) = exp(-x^2 / 2) / sqrt(2 pi). The tail is Phi(-|x|) = exp(-x^2 / 2) Q(t) with a
 * polynomial Q in t = 1 / (1 + 0.265 |x|), fitted on |x| <= 14.5 to 1.5e-8: one exponential serves both, there is no branch, and
 * the negative side keeps its relative accuracy down to -12.6. Beyond, the exponential stays at e^-80: what follows from it is off by
 * less than 1e-35, and no product becomes denormal, which would cost a hundred cycles each. */
VEC void vec_normal(vec16 x, vec16 *cdf, vec16 *density)
{
    vec16 a = vec_absolute(x);
    vec16 e = vec_exp_near(vec_max(vec_set(-80.0f), vec_mul(vec_mul(vec_set(-0.5f), x), x))); /* NaN passes */
    vec16 t = vec_div(vec_set(1.0f), vec_fma(a, vec_set(0.265f), vec_set(1.0f)));
    vec16 q = vec_set(0.030624501f);
    q = vec_fma(q, t, vec_set(-0.1433007f));
    q = vec_fma(q, t, vec_set(0.21595031f));
    q = vec_fma(q, t, vec_set(-0.11428607f));
    q = vec_fma(q, t, vec_set(0.1365545f));
    q = vec_fma(q, t, vec_set(0.060895283f));
    q = vec_fma(q, t, vec_set(0.102555f));
    q = vec_fma(q, t, vec_set(0.10526679f));
    q = vec_fma(q, t, vec_set(0.10574039f));
    vec16 tail = vec_mul(e, vec_mul(q, t));
    *cdf = vec_select(vec_gt(x, vec_zero()), vec_sub(vec_set(1.0f), tail), tail);
    *density = vec_mul(e, vec_set(0.39894228f));
}

VEC vec16 vec_gelu(vec16 x)
{
    vec16 cdf, density;
    vec_normal(x, &cdf, &density);
    return vec_mul(x, cdf);
}

VEC vec16 vec_gelu_slope(vec16 x)
{
    vec16 cdf, density;
    vec_normal(x, &cdf, &density);
    return vec_fma(x, density, cdf);
}

/* The two keys of each of Philox's ten rounds. */
typedef struct philox_keys {
    uint32_t word[20];
} philox_keys;

VEC philox_keys philox_keys_of(uint64_t seed)
{
    philox_keys key;
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        key.word[2 * round] = k0;
        key.word[2 * round + 1] = k1;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return key;
}

/* One round on the even elements of each register. What the odd ones hold is never read: a product takes the even ones alone and leaves its high
 * half where the odd ones are, so nothing has to be put together before the last round. */
VEC void philox_round(veci x[4], veci m0, veci m1, veci k0, veci k1)
{
    veci p0 = veci_multiply_even(x[0], m0), p1 = veci_multiply_even(x[2], m1);
    x[0] = veci_xor(veci_xor(veci_odd_to_even(p1), x[1]), k0);
    x[2] = veci_xor(veci_xor(veci_odd_to_even(p0), x[3]), k1);
    x[1] = p1;
    x[3] = p0;
}

/* Philox4x32-10 (common/rng.h) of sixteen counters (c0[i], c1, c2, c3); element 4i + j of c0 is the first word of counter 4j + i, which makes the
 * interleaving at the end stay inside 128-bit lanes. word[k] holds the four words of counters 4k .. 4k+3. */
VEC void vec_philox_each(const philox_keys *key, veci c0, uint32_t c1, uint32_t c2, uint32_t c3, veci word[4])
{
    const veci m0 = veci_set(0xD2511F53u), m1 = veci_set(0xCD9E8D57u);
    veci even[4] = {c0, veci_set(c1), veci_set(c2), veci_set(c3)}, odd[4] = {veci_odd_to_even(c0), even[1], even[2], even[3]};
    for (int round = 0; round < 10; round++) {
        veci k0 = veci_set(key->word[2 * round]), k1 = veci_set(key->word[2 * round + 1]);
        philox_round(even, m0, m1, k0, k1);
        philox_round(odd, m0, m1, k0, k1);
    }
    for (int i = 0; i < 4; i++)
        even[i] = veci_even_and_odd(even[i], odd[i]);
    veci_interleave(even[0], even[1], even[2], even[3], word);
}

/* Where vec_philox_each wants counter i's first word. */
static const uint32_t philox_order[16] __attribute__((unused)) = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};

/* Sixteen counters in a row, (c0 + i, c1, c2, c3). */
VEC void vec_philox(const philox_keys *key, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, veci word[4])
{
    vec_philox_each(key, veci_add(veci_set(c0), veci_load_full(philox_order)), c1, c2, c3, word);
}

#endif
