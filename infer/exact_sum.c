#include "infer/exact_sum.h"

#include <math.h>

/* What a + b loses when it is rounded; |a| >= |b|. */
static double lost(double a, double b, double sum)
{
    return b - (sum - a);
}

void exact_sum_add(exact_sum *s, double value)
{
    int kept = 0;
    for (int i = 0; i < s->count; i++) {
        double larger = s->piece[i], smaller = value;
        if (fabs(larger) < fabs(smaller)) {
            larger = value;
            smaller = s->piece[i];
        }
        value = larger + smaller;
        double rest = lost(larger, smaller, value);
        if (rest != 0)
            s->piece[kept++] = rest;
    }
    if (value != 0)
        s->piece[kept++] = value;
    s->count = kept;
}

void exact_sum_add_product(exact_sum *s, double a, double b)
{
    double product = a * b;
    exact_sum_add(s, fma(a, b, -product));
    exact_sum_add(s, product);
}

double exact_sum_value(const exact_sum *s)
{
    int i = s->count - 1;
    if (i < 0)
        return 0;
    double sum = s->piece[i], rest = 0;
    while (i > 0 && rest == 0) {
        double top = sum;
        sum = top + s->piece[--i];
        rest = lost(top, s->piece[i], sum);
    }
    /* Half a unit is left, and a smaller piece on the same side decides where ties-to-even has decided already. */
    if (i > 0 && rest != 0 && (rest < 0) == (s->piece[i - 1] < 0)) {
        double further = sum + 2 * rest;
        if (2 * rest == further - sum)
            sum = further;
    }
    return sum;
}
