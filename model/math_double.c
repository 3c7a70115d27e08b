#include "model/math_double.h"

#include <math.h>
#include <string.h>

#include "model/math_double_parts.h"

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
    return math_part_log(x);
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
    math_part_sincos_turns(u, sine, cosine);
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
