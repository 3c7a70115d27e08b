/* A label as pandas reads a float, in ASCII.
 *
 *     float label;
 *     if (!label_read(field.text, field.bytes, &rule, &label)) ...      // NaN: unlabelled
 *
 * Local. Digits with or without a point and an exponent, a sign, spaces around; no hex, no underscores, no inf, no words.
 */
#ifndef FRETSAW_PREPROCESS_LABEL_H
#define FRETSAW_PREPROCESS_LABEL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct label_rule {
    bool has_unlabelled; /* `unlabelled` is one more way to say so, wherever it lies */
    double unlabelled;
} label_rule;

/* False: not a number, or outside 0..1. NaN for an empty field, spaces alone, a missing-value word or the rule's number. */
bool label_read(const char *text, size_t n, const label_rule *rule, float *out);

/* True, no, Y and their like, in any case, with spaces around: what is no label, but could become one. */
bool label_is_yes_or_no(const char *text, size_t n);

#endif
