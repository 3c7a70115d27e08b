/* Numbers of submissions as text: the shortest form that reads back the same float32, or a fixed count of decimals.
 *
 *     char text[NUMBER_BYTES];
 *     number_print(0.1f, NUMBER_SHORTEST, text);      // "0.1", not 0.100000001490116
 *     number_print(0.1f, 4, text);                    // "0.1000"
 *     if (number_read("0.25", 4, &x) != NUMBER_FINE) ...
 *
 * Shortest: the fewest significant digits (1 to 9) for which some decimal reads back the same float; of several such the nearest. Written plainly
 * ("0.00012", "1500") from 1e-4 to below 1e9, with an exponent of two digits ("1.2e-05") outside. No sign for +0. Local; the C locale is assumed.
 */
#ifndef FRETSAW_INFER_NUMBER_H
#define FRETSAW_INFER_NUMBER_H

#include <stddef.h>

enum { NUMBER_BYTES = 80, NUMBER_SHORTEST = -1, NUMBER_MOST_DECIMALS = 20 };

/* `x` is finite. Returns the length; the text has a NUL. */
int number_print(float x, int decimals, char text[NUMBER_BYTES]);

typedef enum number_fault { NUMBER_FINE, NUMBER_EMPTY, NUMBER_FOREIGN, NUMBER_NOT_FINITE } number_fault;
/* A decimal number as the nearest float32, with spaces and tabs around it allowed. NUMBER_NOT_FINITE: nan, inf, or beyond a float32. *x is set when
 * FINE. */
number_fault number_read(const char *text, size_t bytes, float *x);

#endif
