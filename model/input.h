/* A row as the network reads it: [CLS], the row's ids cut to fit, [SEP]. The one place that decides truncation.
 *
 *     input_format f = {.max_length = 192, .truncate = TRUNCATE_HEAD, .cls = 101, .sep = 102, .pad = 0};
 *     int64_t n = input_length(&f, dataset_length(d, row));
 *     TRY(input_read(&f, d, row, ids, &n));
 *
 * Local.
 */
#ifndef FRETSAW_MODEL_INPUT_H
#define FRETSAW_MODEL_INPUT_H

#include <stdint.h>

#include "store/dataset.h"

/* Which of a row's ids stay when it is too long: the first, the last, or a quarter of the room from the front and the rest from the end. */
typedef enum truncate_side { TRUNCATE_HEAD, TRUNCATE_TAIL, TRUNCATE_HEAD_TAIL } truncate_side;

typedef struct input_format {
    int64_t max_length; /* with [CLS] and [SEP], at least 3 */
    truncate_side truncate;
    int32_t cls, sep, pad;
} input_format;

/* Length with specials after truncation. */
int64_t input_length(const input_format *f, int64_t ids);
/* `out` has room for max_length. *n is the length. */
status input_read(const input_format *f, dataset *d, int64_t row, int32_t *out, int64_t *n);
/* The same from ids in memory. */
int64_t input_make(const input_format *f, const uint32_t *ids, int64_t count, int32_t *out);
/* STATUS_INPUT when an id lies outside a vocabulary of `entries`; `what` ("training row") and `row` say where it came from. */
status input_check_ids(const int32_t *ids, int64_t n, int64_t entries, const char *what, int64_t row);

#endif
