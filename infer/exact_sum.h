/* Sums of doubles that are rounded once, at the end: the same number in whatever order the parts come.
 *
 *     exact_sum s = {0};
 *     exact_sum_add_product(&s, weight, value);      // any number of times
 *     double mean = exact_sum_value(&s) / total;
 *
 * For finite numbers whose sum is finite too. Local.
 */
#ifndef FRETSAW_INFER_EXACT_SUM_H
#define FRETSAW_INFER_EXACT_SUM_H

/* Pieces that do not overlap: 53 bits each out of the 2,098 between the smallest and the largest double. */
enum { EXACT_SUM_PIECES = 44 };

typedef struct exact_sum {
    int count;
    double piece[EXACT_SUM_PIECES]; /* ascending */
} exact_sum;

void exact_sum_add(exact_sum *s, double value);
/* The product is taken whole, too, unless it is below the smallest normal double. */
void exact_sum_add_product(exact_sum *s, double a, double b);
/* Nearest double, ties to even; 0 for an empty sum. */
double exact_sum_value(const exact_sum *s);

#endif
