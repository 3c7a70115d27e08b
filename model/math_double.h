/* The few functions of a double that the project needs, from fma and the four operations alone: the same bits with every compiler,
 * C library and processor. Within about 2 units in the last place but for the power.
 *
 *     double s, c;
 *     math_sincos_turns(u2, &s, &c);                         // of the angle 2 pi u2
 *     double normal = sqrt(-2 * math_log(u1)) * c;           // Box-Muller
 *     double b1t = math_power(0.9, step);
 *
 * Local, cannot fail, no state.
 */
#ifndef FRETSAW_MODEL_MATH_DOUBLE_H
#define FRETSAW_MODEL_MATH_DOUBLE_H

#include <stdint.h>

/* e^x for every x, denormal results included; NaN stays NaN. */
double math_exp(double x);
/* Natural logarithm of a normal, positive, finite x. */
double math_log(double x);
/* log(1 + x) for 0 <= x <= 1. */
double math_log1p(double x);
/* 1 / (1 + e^-x), accurate on both sides. */
double math_sigmoid(double x);
/* Sine and cosine of 2 pi u, |u| <= 2^20. */
void math_sincos_turns(double u, double *sine, double *cosine);
/* base^n by squaring, relative error up to about n 2^-53; 1 for n = 0. */
double math_power(double base, uint64_t n);

#endif
