/* Our own functions against the C library's in higher precision, and the three instruction sets against each other. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/rng.h"
#include "common/threads.h"
#include "model/cpu/isa.h"
#include "model/math_double.h"
#include "support/support.h"
#include "unit/math_vec_entry.h"

enum { N = 200003 }; /* no multiple of 16 */

static const math_vec_entry *const entries[] = {[CPU_ISA_PLAIN] = &math_vec_entry_plain, [CPU_ISA_AVX2] = &math_vec_entry_avx2,
                                                [CPU_ISA_AVX512] = &math_vec_entry_avx512};

/* Distance in units of the last place of `want` as a float (denormal spacing below the normal range). */
static double float_ulps(float got, double want)
{
    int e;
    frexp(want, &e);
    return fabs(got - want) / ldexp(1, e - 24 < -149 ? -149 : e - 24);
}

static double double_ulps(double got, long double want)
{
    int e;
    frexpl(want, &e);
    return (double)(fabsl(got - want) / ldexpl(1, e - 53 < -1074 ? -1074 : e - 53));
}

static float *inputs(double low, double high)
{
    float *x = malloc(N * sizeof *x);
    ck_assert_ptr_nonnull(x);
    for (int i = 0; i < N; i++)
        x[i] = (float)(low + (high - low) * support_uniform());
    return x;
}

START_TEST(exp_of_floats)
{
    float *x = inputs(-104, 88.72), *y = malloc(N * sizeof *y);
    double worst = 0;
    entries[CPU_ISA_PLAIN]->exp(N, x, y);
    for (int i = 0; i < N; i++)
        worst = fmax(worst, float_ulps(y[i], exp(x[i])));
    fprintf(stderr, "exp: at most %.3f ulp\n", worst);
    ck_assert_double_lt(worst, 1.0);
    float special[] = {0.0f, -0.0f, 88.8f, 1000.0f, INFINITY, -103.97f, -104.0f, -1000.0f, -INFINITY, NAN, -87.4f};
    entries[CPU_ISA_PLAIN]->exp(11, special, y);
    ck_assert(y[0] == 1 && y[1] == 1 && isinf(y[2]) && isinf(y[3]) && isinf(y[4]) && y[6] == 0 && y[7] == 0 && y[8] == 0 && isnan(y[9]));
    ck_assert(y[5] > 0 && y[10] > 0 && y[10] < FLT_MIN); /* denormals are results, not zeros */
}
END_TEST

START_TEST(gelu_and_its_slope)
{
    float *y = malloc(N * sizeof *y), *slope = malloc(N * sizeof *slope);
    double worst[3] = {0, 0, 0};
    for (int range = 0; range < 2; range++) {
        float *x = range ? inputs(-5, 5) : inputs(-30, 30);
        entries[CPU_ISA_PLAIN]->gelu(N, x, y);
        entries[CPU_ISA_PLAIN]->slope(N, x, slope);
        for (int i = 0; i < N; i++) {
            double v = x[i], cdf = 0.5 * erfc(-v / sqrt(2)), d = cdf + v * exp(-v * v / 2) / sqrt(2 * M_PI);
            worst[0] = fmax(worst[0], fabs(y[i] - v * cdf) / fmax(1, fabs(v * cdf)));
            worst[1] = fmax(worst[1], fabs(slope[i] - d) / fmax(1, fabs(d)));
            if (v > -12)
                worst[2] = fmax(worst[2], fabs(y[i] - v * cdf) / fabs(v * cdf));
        }
    }
    fprintf(stderr, "gelu: error %.2g, slope %.2g (relative over 1, absolute below); gelu above -12 relative %.2g\n", worst[0], worst[1], worst[2]);
    ck_assert_double_lt(worst[0], 4e-7);
    ck_assert_double_lt(worst[1], 6e-7);
    ck_assert_double_lt(worst[2], 1e-5);
    float special[] = {0.0f, -0.0f, 1e-40f, -1e-40f, NAN};
    entries[CPU_ISA_PLAIN]->gelu(5, special, y);
    ck_assert(y[0] == 0 && !signbit(y[0]) && y[1] == 0 && signbit(y[1]) && isnan(y[4]));
    ck_assert(fabs(y[2] - 0.5e-40) < 2e-45 && y[3] == -y[2]);
}
END_TEST

START_TEST(every_isa_gives_the_same_bits)
{
    float *y[2] = {malloc(N * sizeof(float)), malloc(N * sizeof(float))}, *x = inputs(0, 1);
    for (int i = 0; i < N; i++) { /* any bits but NaN, a quarter of them of ordinary size */
        uint32_t bits = (uint32_t)support_random();
        if ((bits & 0x7f800000u) == 0x7f800000u)
            bits ^= 0x40000000u;
        memcpy(x + i, &bits, sizeof bits);
        if (i % 4 == 0)
            x[i] = 8 * support_normal();
    }
    for (int isa = CPU_ISA_AVX2; isa <= CPU_ISA_AVX512; isa++) {
        if (!isa_supported((cpu_isa)isa))
            continue;
        const math_vec_entry *a = entries[CPU_ISA_PLAIN], *b = entries[isa];
        a->exp(N, x, y[0]), b->exp(N, x, y[1]);
        ck_assert(memcmp(y[0], y[1], N * sizeof(float)) == 0);
        for (int i = 0; i < N; i++) /* infinity times zero is NaN, of a sign that nobody promises: stay below */
            x[i] = fabsf(x[i]) < 1e18f ? x[i] : 1.0f;
        a->gelu(N, x, y[0]), b->gelu(N, x, y[1]);
        ck_assert(memcmp(y[0], y[1], N * sizeof(float)) == 0);
        a->slope(N, x, y[0]), b->slope(N, x, y[1]);
        ck_assert(memcmp(y[0], y[1], N * sizeof(float)) == 0);
        for (int n = 0; n < 40; n++) {
            float s = a->sum(n, x + n), t = b->sum(n, x + n);
            ck_assert(memcmp(&s, &t, sizeof s) == 0);
            uint32_t bits = (uint32_t)support_below(65536);
            ck_assert_uint_eq(a->bits(bits), bits);
            ck_assert_uint_eq(b->bits(bits), bits);
        }
    }
}
END_TEST

START_TEST(sums_use_sixteen_accumulators)
{
    for (int round = 0; round < 50; round++) {
        int n = (int)support_below(100);
        float x[100], a[16] = {0};
        for (int i = 0; i < n; i++)
            x[i] = support_normal();
        for (int i = 0; i < n; i++)
            a[i % 16] += x[i];
        for (int half = 8; half; half /= 2)
            for (int i = 0; i < half; i++)
                a[i] += a[i + half];
        for (int isa = CPU_ISA_PLAIN; isa <= CPU_ISA_AVX512; isa++)
            if (isa_supported((cpu_isa)isa))
                ck_assert(entries[isa]->sum(n, x) == a[0]);
    }
}
END_TEST

START_TEST(philox_words_are_those_of_the_generator)
{
    for (int round = 0; round < 200; round++) {
        uint64_t seed = support_random();
        uint32_t c[4] = {(uint32_t)support_random(), (uint32_t)support_random(), (uint32_t)support_random(), (uint32_t)support_random()}, want[64], got[64];
        for (uint32_t i = 0; i < 16; i++)
            rng_philox(seed, (uint32_t[4]){c[0] + i, c[1], c[2], c[3]}, want + 4 * i);
        for (int isa = CPU_ISA_PLAIN; isa <= CPU_ISA_AVX512; isa++)
            if (isa_supported((cpu_isa)isa)) {
                entries[isa]->philox(seed, c, got);
                ck_assert(memcmp(want, got, sizeof got) == 0);
            }
    }
}
END_TEST

START_TEST(functions_of_doubles)
{
    double worst[6] = {0};
    for (int i = 0; i < 100000; i++) {
        double x = -745 + 1454.7 * support_uniform(), u = support_uniform(), turns = i % 2 ? u : 200 * (u - 0.5), s, c;
        double small = -4 + 8 * support_uniform(), ten = small * 10;
        worst[0] = fmax(worst[0], double_ulps(math_exp(x), expl(x)));
        worst[0] = fmax(worst[0], double_ulps(math_exp(small), expl(small)));
        worst[1] = fmax(worst[1], double_ulps(math_log(u + 0x1p-60), logl(u + 0x1p-60)));
        worst[1] = fmax(worst[1], double_ulps(math_log(exp(small)), logl(exp(small))));
        double tiny = ldexp(u, -(int)support_below(300));
        worst[2] = fmax(worst[2], double_ulps(math_log1p(tiny), log1pl(tiny)));
        math_sincos_turns(turns, &s, &c);
        long double angle = 2 * 3.14159265358979323846264338327950288L * turns;
        worst[3] = fmax(worst[3], fabs((double)(s - sinl(angle)))); /* near a zero of the sine the long double angle is too coarse */
        worst[3] = fmax(worst[3], fabs((double)(c - cosl(angle))));
        worst[4] = fmax(worst[4], double_ulps(math_sigmoid(ten), 1 / (1 + expl(-(long double)ten))));
    }
    fprintf(stderr, "double: exp %.2f, log %.2f, log1p %.2f, sigmoid %.2f ulp; sine and cosine %.2g\n", worst[0], worst[1], worst[2], worst[4], worst[3]);
    ck_assert(worst[0] < 2 && worst[1] < 2 && worst[2] < 2 && worst[4] < 4 && worst[3] < 2.3e-16);
    ck_assert(math_exp(0) == 1 && math_exp(-800) == 0 && isinf(math_exp(800)) && isnan(math_exp(NAN)) && math_exp(-745) == 0x1p-1074);
    ck_assert(math_log(1) == 0 && math_log1p(0) == 0 && math_sigmoid(0) == 0.5);
    static const double sines[] = {0, 1, 0, -1};
    double s, c;
    for (int quarter = -8; quarter < 8; quarter++) { /* exact at the quarter turns */
        math_sincos_turns(quarter * 0.25, &s, &c);
        ck_assert(s == sines[quarter & 3] && c == sines[(quarter + 1) & 3]);
    }
    ck_assert(math_power(0.9, 0) == 1 && math_power(-3, 5) == -243 && fabs(math_power(0.999, 12345) / pow(0.999, 12345) - 1) < 12345 * 0x1p-53);
}
END_TEST

/* The bits themselves: they must not move with a compiler or a C library. */
START_TEST(golden_bits)
{
    double s, c;
    uint64_t sum = 0;
    for (int i = 1; i <= 4096; i++) {
        double values[6], u = i * 0x1p-12;
        math_sincos_turns(u, &s, &c);
        memcpy(values, (double[]){s, c, math_log(u), math_exp(-8 * u), math_log1p(u), math_sigmoid(16 * u - 8)}, sizeof values);
        for (int k = 0; k < 6; k++) {
            uint64_t bits;
            memcpy(&bits, values + k, sizeof bits);
            sum = (sum ^ bits) * 0x9E3779B97F4A7C15u;
        }
    }
    float x[4096], y[4096];
    for (int i = 0; i < 4096; i++)
        x[i] = (float)(i - 2048) / 128;
    for (int f = 0; f < 3; f++) {
        (f == 0 ? entries[CPU_ISA_PLAIN]->exp : f == 1 ? entries[CPU_ISA_PLAIN]->gelu : entries[CPU_ISA_PLAIN]->slope)(4096, x, y);
        for (int i = 0; i < 4096; i++) {
            uint32_t bits;
            memcpy(&bits, y + i, sizeof bits);
            sum = (sum ^ bits) * 0x9E3779B97F4A7C15u;
        }
    }
    ck_assert_msg(sum == UINT64_C(0xbd0a4ef901ce08ac), "arithmetic version 1 has changed: %016llx", (unsigned long long)sum);
}
END_TEST

int main(void)
{
    threads_set_rounding();
    return support_run("math", (const TTest *const[]){exp_of_floats, gelu_and_its_slope, every_isa_gives_the_same_bits, sums_use_sixteen_accumulators,
                                                      philox_words_are_those_of_the_generator, functions_of_doubles, golden_bits, NULL});
}
