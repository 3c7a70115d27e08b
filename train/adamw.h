/* The scalars of AdamW (Hugging Face's of 2020) and of the learning rate's schedule. The pass over parameters is backend.h's `adamw`.
 *
 *     adamw_options o = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-6, .decay = 0.001};
 *     schedule s = {.kind = SCHEDULE_LINEAR, .rate = 3.2e-5, .total = steps, .warmup = 0};
 *     adamw_step one = adamw_scalars(&o, schedule_rate(&s, step), step + 1);      // step counts from 0, t from 1
 *
 * All in double and rounded to float once. Local, cannot fail; no library function but sqrt, which is exact everywhere.
 */
#ifndef FRETSAW_TRAIN_ADAMW_H
#define FRETSAW_TRAIN_ADAMW_H

#include <stdint.h>

#include "model/backend.h"

typedef struct adamw_options {
    double beta1, beta2, epsilon, decay;
} adamw_options;

/* `rate` of this step; t >= 1 counts the steps. */
adamw_step adamw_scalars(const adamw_options *o, double rate, int64_t t);
/* base^n by squaring: the same bits on every machine, which pow() does not promise. n >= 0. */
double adamw_power(double base, int64_t n);

typedef enum schedule_kind { SCHEDULE_LINEAR, SCHEDULE_CONSTANT } schedule_kind;

typedef struct schedule {
    schedule_kind kind;
    double rate;    /* peak */
    int64_t total;  /* steps that really run */
    int64_t warmup; /* steps of linear rise from 0 */
} schedule;

/* Rate of the step with index `step` (from 0). Linear: rate * step / warmup, then rate * (total - step) / (total - warmup), never below 0.
 * Constant: the rate after the warm-up. */
double schedule_rate(const schedule *s, int64_t step);

#endif
