/* Initial weights in bulk: every instruction set gives the bits of the definition, written out here one element at a time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/rng.h"
#include "model/cpu/normal.h"
#include "support/support.h"

static double polynomial(const double *c, int n, double x)
{
    double p = c[n - 1];
    for (int i = n - 2; i >= 0; i--)
        p = fma(p, x, c[i]);
    return p;
}

static double log_by_branches(double x)
{
    double c[11];
    int n;
    for (int i = 0; i < 11; i++)
        c[i] = 2.0 / (2 * i + 3);
    double m = 2 * frexp(x, &n);
    n--;
    if (m > 0x1.6a09e667f3bcdp0) {
        m *= 0.5;
        n++;
    }
    double f = m - 1.0, s = f / (2.0 + f), z = s * s, half_square = 0.5 * f * f;
    double low = fma(s, half_square + z * polynomial(c, 11, z), n * 0x1.abc9e3b39803fp-56);
    return fma(n, 0x1.62e42fefa39efp-1, f - (half_square - low));
}

static void sincos_by_cases(double u, double *sine, double *cosine)
{
    double sin_c[8], cos_c[8], factorial = 1;
    for (int i = 2; i < 19; i++) {
        factorial *= i;
        double term = (i / 2 % 2 ? -1 : 1) / factorial;
        if (i > 2 && i % 2)
            sin_c[i / 2 - 1] = term;
        else if (i > 2)
            cos_c[i / 2 - 2] = term;
    }
    double quarter = nearbyint(4.0 * u), r = u - 0.25 * quarter;
    double a = r * 0x1.921fb54442d18p2, low = fma(r, 0x1.921fb54442d18p2, -a) + r * 0x1.1a62633145c07p-52, z = a * a;
    double s = a + fma(a * z, polynomial(sin_c, 8, z), low);
    double c = 1.0 - fma(z, 0.5, fma(low, a, -(z * z) * polynomial(cos_c, 8, z)));
    const double turned[4][2] = {{s, c}, {c, -s}, {-s, -c}, {-c, s}};
    *sine = turned[(int)quarter & 3][0];
    *cosine = turned[(int)quarter & 3][1];
}

static float element(uint64_t seed, uint32_t purpose, double deviation, int64_t i)
{
    uint32_t w[4];
    double sine, cosine, unit[2];
    rng_philox(seed, (const uint32_t[4]){(uint32_t)(i / 2), purpose << 24, (uint32_t)((uint64_t)(i / 2) >> 32), 0}, w);
    for (int k = 0; k < 2; k++)
        unit[k] = (double)(((uint64_t)w[2 * k] << 32 | w[2 * k + 1]) >> 11) * 0x1p-53;
    double radius = deviation * sqrt(-2.0 * log_by_branches(1.0 - unit[0]));
    sincos_by_cases(unit[1], &sine, &cosine);
    return (float)(radius * (i % 2 ? sine : cosine));
}

START_TEST(bits_of_the_definition)
{
    uint64_t seed = support_seed();
    float *got = malloc(5000 * sizeof *got);
    for (int isa = CPU_ISA_PLAIN; isa <= CPU_ISA_AVX512; isa++) {
        if (!isa_supported((cpu_isa)isa))
            continue;
        for (int k = 0; k < 40; k++) {
            /* also around the place where a pair's number needs its second word */
            int64_t base = k % 4 == 0 ? (INT64_C(1) << 33) - 2500 : 0, first = base + (int64_t)support_below(5000), n = 1 + (int64_t)support_below(4999);
            normal_fill((cpu_isa)isa, seed, RNG_INITIAL_WEIGHT, 0.02, first, n, got);
            for (int64_t i = 0; i < n; i++) {
                float want = element(seed, RNG_INITIAL_WEIGHT, 0.02, first + i);
                if (memcmp(&want, &got[i], sizeof want) != 0)
                    ck_abort_msg("%s: element %lld is %a, not %a", isa_name((cpu_isa)isa), (long long)(first + i), (double)got[i], (double)want);
            }
        }
    }
    free(got);
}
END_TEST

int main(void)
{
    int failed = support_run("normal", (const TTest *[]){bits_of_the_definition, NULL});
    return failed != 0;
}
