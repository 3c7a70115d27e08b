/* Rows whose text occurs more than once, over all parts and ranks.
 *
 *     duplicates d;
 *     TRY(duplicates_count(&parts, rows, memory, &d));    // collective
 *
 * Hashes of texts are dealt to ranks by their value, in as many rounds as keep a rank within half of `memory`.
 */
#ifndef FRETSAW_PREPROCESS_DUPLICATES_H
#define FRETSAW_PREPROCESS_DUPLICATES_H

#include "preprocess/parts.h"

typedef struct duplicate_counts {
    int64_t rows;      /* rows beyond the first of their text */
    int64_t texts;     /* texts that occur more than once */
    int64_t conflicts; /* of these, texts whose labelled rows do not all have the same labels */
} duplicate_counts;

/* Collective; every rank gets the same. Errors: those of reading row files, STATUS_RESOURCE. */
status duplicates_count(const token_parts *p, int64_t rows, int64_t memory, duplicate_counts *out);

#endif
