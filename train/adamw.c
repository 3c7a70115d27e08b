#include "train/adamw.h"

#include <math.h>

double adamw_power(double base, int64_t n)
{
    double result = 1;
    for (; n > 0; n >>= 1) {
        if (n & 1)
            result *= base;
        base *= base;
    }
    return result;
}

adamw_step adamw_scalars(const adamw_options *o, double rate, int64_t t)
{
    double size = rate * sqrt(1 - adamw_power(o->beta2, t)) / (1 - adamw_power(o->beta1, t));
    return (adamw_step){
        .beta1 = (float)o->beta1,
        .one_minus_beta1 = (float)(1 - o->beta1),
        .beta2 = (float)o->beta2,
        .one_minus_beta2 = (float)(1 - o->beta2),
        .epsilon = (float)o->epsilon,
        .step_size = (float)size,
        .decay = (float)(rate * o->decay),
    };
}

double schedule_rate(const schedule *s, int64_t step)
{
    if (step < s->warmup)
        return s->rate * ((double)step / (double)s->warmup);
    if (s->kind == SCHEDULE_CONSTANT)
        return s->rate;
    if (step >= s->total)
        return 0;
    return s->rate * ((double)(s->total - step) / (double)(s->total - s->warmup));
}
