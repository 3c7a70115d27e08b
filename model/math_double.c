#include "model/math_double.h"

#include <math.h>
#include <string.h>

static const double LN2_HIGH = 0x1.62e42fefa39efp-1, LN2_LOW = 0x1.abc9e3b39803fp-56;

static double power_of_two(int n)
{
    uint64_t bits = (uint64_t)(n + 1023) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* c[0] + c[1] x + ... + c[n-1] x^(n-1) */
static double polynomial(const double *c, int n, double x)
{
    double p = c[n - 1];
    for (int i = n - 2; i >= 0; i--)
        p = fma(p, x, c[i]);
    return p;
}

double math_exp(double x)
{
    /* the rest of e^r = 1 + r + r^2 (1/2! + r/3! + ...), |r| <= ln2 / 2 */
    static const double c[] = {1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880,
                               1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
    if (x != x)
        return x;
    x = x > 710.0 ? 710.0 : x < -746.0 ? -746.0 : x;
    const double magic = 0x1.8p52; /* adding it leaves the nearest integer */
    double n = fma(x, 0x1.71547652b82fep0, magic) - magic;
    double r = fma(-n, LN2_LOW, fma(-n, LN2_HIGH, x));
    double p = 1.0 + fma(polynomial(c, (int)(sizeof c / sizeof *c), r), r * r, r);
    int power = (int)n, half = power / 2; /* two factors: only the last product rounds, also into the denormals */
    return p * power_of_two(half) * power_of_two(power - half);
}

double math_log(double x)
{
    /* x = 2^n (1 + f), sqrt(1/2) <= 1 + f < sqrt 2; with s = f / (2 + f): log(1 + f) = 2 atanh s = f - (f^2/2 - s (f^2/2 + R)),
     * R = 2 (s^2/3 + s^4/5 + ...) */
    static const double c[] = {2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int n = (int)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffffu) | (uint64_t)1023 << 52;
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 0x1.6a09e667f3bcdp0) {
        m *= 0.5;
        n++;
    }
    double f = m - 1.0, s = f / (2.0 + f), z = s * s, half_square = 0.5 * f * f;
    double rest = z * polynomial(c, (int)(sizeof c / sizeof *c), z);
    double low = fma(s, half_square + rest, (double)n * LN2_LOW);
    return fma((double)n, LN2_HIGH, f - (half_square - low));
}

double math_log1p(double x)
{
    double sum = 1.0 + x;
    return math_log(sum) + (x - (sum - 1.0)) / sum; /* the second term puts back what the addition rounded away */
}

double math_sigmoid(double x)
{
    if (x >= 0)
        return 1.0 / (1.0 + math_exp(-x));
    double e = math_exp(x);
    return e / (1.0 + e);
}

void math_sincos_turns(double u, double *sine, double *cosine)
{
    static const double sin_c[] = {-1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800.0,
                                   -1.0 / 1307674368000.0, 1.0 / 355687428096000.0};
    static const double cos_c[] = {1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600, -1.0 / 87178291200.0,
                                   1.0 / 20922789888000.0, -1.0 / 6402373705728000.0};
    const double magic = 0x1.8p52, two_pi_high = 0x1.921fb54442d18p2, two_pi_low = 0x1.1a62633145c07p-52;
    double quarter = (4.0 * u + magic) - magic;
    double r = fma(-0.25, quarter, u); /* exact, |r| <= 1/8 */
    double a = r * two_pi_high, low = fma(r, two_pi_high, -a) + r * two_pi_low, z = a * a;
    double s = a + fma(a * z, polynomial(sin_c, 8, z), low);
    double c = 1.0 - fma(z, 0.5, fma(low, a, -(z * z) * polynomial(cos_c, 8, z)));
    switch ((int64_t)quarter & 3) {
    case 0: *sine = s, *cosine = c; break;
    case 1: *sine = c, *cosine = -s; break;
    case 2: *sine = -s, *cosine = -c; break;
    default: *sine = -c, *cosine = s; break;
    }
}

double math_power(double base, uint64_t n)
{
    double result = 1.0;
    for (; n; n >>= 1) {
        if (n & 1)
            result *= base;
        base *= base;
    }
    return result;
}
