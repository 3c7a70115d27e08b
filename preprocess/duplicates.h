/* Rows whose text occurs more than once, over all ranks.
 *
 *     duplicate_counts d;
 *     TRY(duplicates_count(&(duplicates_job){.rows = rows, .memory = memory, .each = each, .with = mine}, &d));    // collective
 *     ... in each: duplicates_give(sink, text_hash, duplicates_labels(labels, count));
 *
 * Hashes of texts are dealt to ranks by their value, in as many rounds as keep a rank within half of `memory`.
 */
#ifndef FRETSAW_PREPROCESS_DUPLICATES_H
#define FRETSAW_PREPROCESS_DUPLICATES_H

#include "preprocess/parts.h"

typedef struct duplicate_sink duplicate_sink;
typedef struct duplicates_job {
    int64_t rows, memory; /* of all ranks; bytes a rank */
    /* Gives each row of this rank, in any order. Called twice a round: without `labelled` those it gives do not count. */
    status (*each)(void *with, bool labelled, duplicate_sink *sink);
    void *with;
} duplicates_job;

typedef struct duplicate_counts {
    int64_t rows;      /* rows beyond the first of their text */
    int64_t texts;     /* texts that occur more than once */
    int64_t conflicts; /* of these, texts whose labelled rows do not all have the same labels */
} duplicate_counts;

/* Collective; every rank gets the same. Errors: those of `each`, STATUS_RESOURCE. */
status duplicates_count(const duplicates_job *job, duplicate_counts *out);
/* The same over all parts. Errors: those of reading row files too. */
status duplicates_of_parts(const token_parts *p, int64_t rows, int64_t memory, duplicate_counts *out);
/* Local. `labels`: duplicates_labels of the row. */
void duplicates_give(duplicate_sink *sink, uint64_t text_hash, uint64_t labels);
/* Local. One value for equal labels; 0 where a row has none. */
uint64_t duplicates_labels(const float *label, int64_t count);

#endif
