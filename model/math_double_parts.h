/* The bodies of math_log and math_sincos_turns (model/math_double.h) without branches and on 64-bit lanes only, so that a loop over them becomes
 * vectors where the source is compiled for them. Every operation is exact or correctly rounded: scalar or vector, the bits are equal.
 *
 *     for (int i = 0; i < 16; i++)
 *         log[i] = math_part_log(x[i]);
 */
#ifndef FRETSAW_MODEL_MATH_DOUBLE_PARTS_H
#define FRETSAW_MODEL_MATH_DOUBLE_PARTS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define MATH_PART static inline __attribute__((always_inline, unused))

MATH_PART uint64_t math_part_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

MATH_PART double math_part_double(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Of a normal, positive, finite x. */
MATH_PART double math_part_log(double x)
{
    /* x = 2^n (1 + f), sqrt(1/2) <= 1 + f < sqrt 2; with s = f / (2 + f): log(1 + f) = 2 atanh s = f - (f^2/2 - s (f^2/2 + R)),
     * R = 2 (s^2/3 + s^4/5 + ...) */
    const double ln2_high = 0x1.62e42fefa39efp-1, ln2_low = 0x1.abc9e3b39803fp-56;
    uint64_t bits = math_part_bits(x);
    double n = math_part_double(bits >> 52 | (uint64_t)1075 << 52) - (0x1p52 + 1023.0); /* the exponent as the low bits of 2^52 + it */
    double m = math_part_double((bits & 0xfffffffffffffu) | (uint64_t)1023 << 52);
    uint64_t above = 0 - (uint64_t)(m > 0x1.6a09e667f3bcdp0); /* then half of m, and one more for n: chosen by bits, since a branch would stop vectors */
    n += math_part_double(above & (uint64_t)1023 << 52);
    m *= math_part_double(((uint64_t)1023 << 52) - (above & (uint64_t)1 << 52));
    double f = m - 1.0, s = f / (2.0 + f), z = s * s, half_square = 0.5 * f * f;
    double p = 2.0 / 23;
    p = fma(p, z, 2.0 / 21);
    p = fma(p, z, 2.0 / 19);
    p = fma(p, z, 2.0 / 17);
    p = fma(p, z, 2.0 / 15);
    p = fma(p, z, 2.0 / 13);
    p = fma(p, z, 2.0 / 11);
    p = fma(p, z, 2.0 / 9);
    p = fma(p, z, 2.0 / 7);
    p = fma(p, z, 2.0 / 5);
    p = fma(p, z, 2.0 / 3);
    double low = fma(s, half_square + z * p, n * ln2_low);
    return fma(n, ln2_high, f - (half_square - low));
}

/* Of the angle 2 pi u, |u| <= 2^20. */
MATH_PART void math_part_sincos_turns(double u, double *sine, double *cosine)
{
    const double magic = 0x1.8p52, two_pi_high = 0x1.921fb54442d18p2, two_pi_low = 0x1.1a62633145c07p-52;
    double shifted = 4.0 * u + magic, quarter = shifted - magic;
    double r = fma(-0.25, quarter, u); /* exact, |r| <= 1/8 */
    double a = r * two_pi_high, low = fma(r, two_pi_high, -a) + r * two_pi_low, z = a * a;
    double p = -1.0 / 1307674368000.0, q = 1.0 / 355687428096000.0;
    p = fma(q, z, p);
    p = fma(p, z, 1.0 / 6227020800.0);
    p = fma(p, z, -1.0 / 39916800);
    p = fma(p, z, 1.0 / 362880);
    p = fma(p, z, -1.0 / 5040);
    p = fma(p, z, 1.0 / 120);
    p = fma(p, z, -1.0 / 6);
    q = -1.0 / 6402373705728000.0;
    q = fma(q, z, 1.0 / 20922789888000.0);
    q = fma(q, z, -1.0 / 87178291200.0);
    q = fma(q, z, 1.0 / 479001600);
    q = fma(q, z, -1.0 / 3628800);
    q = fma(q, z, 1.0 / 40320);
    q = fma(q, z, -1.0 / 720);
    q = fma(q, z, 1.0 / 24);
    uint64_t s = math_part_bits(a + fma(a * z, p, low));
    uint64_t c = math_part_bits(1.0 - fma(z, 0.5, fma(low, a, -(z * z) * q)));
    /* Odd quarters swap the two; the sine is negative in quarters 2 and 3, the cosine in 1 and 2. */
    uint64_t turn = math_part_bits(shifted), swap = 0 - (turn & 1), both = (s ^ c) & swap;
    *sine = math_part_double(s ^ both ^ (turn & 2) << 62);
    *cosine = math_part_double(c ^ both ^ ((turn + 1) & 2) << 62);
}

#endif
