/* What comes of the scores: submission.csv, predictions, AUC, provenance. Rank 0's business; local.
 *
 *     outcome o;
 *     TRY(outcome_prepare(&settings, data, &ensemble, &o));     // reads sample and truth and matches ids, before hours are spent on scoring
 *     TRY(outcome_write(&o, score));
 *     outcome_free(&o);
 *
 * Files are replaced whole, and left alone where they are already as they should be.
 */
#ifndef FRETSAW_INFER_OUTCOME_H
#define FRETSAW_INFER_OUTCOME_H

#include "infer/ensemble.h"
#include "infer/settings.h"
#include "infer/table.h"

typedef struct outcome {
    const settings *settings;
    dataset *data;
    const ensemble *ensemble;
    table scores;      /* ids of the input; numbers filled in at the end */
    table sample;      /* rows 0: none given */
    float *label;      /* rows x C; NULL: no labels are known */
    const char **lang; /* rows; NULL: no row has a language */
    const char *device; /* what the scores' bits depend on there; "": on the CPU */
} outcome;

/* *stub: the input is so small that the sample was copied instead (--stub-below); nothing is left to do. */
status outcome_prepare(const settings *s, dataset *d, const ensemble *e, outcome *out, bool *stub);
void outcome_free(outcome *o);
status outcome_write(outcome *o, const float *score);
/* SHA-256 of the submission that these scores make; writes nothing. */
status outcome_hash(outcome *o, const float *score, char sha256[HASH_HEX]);

/* Writes a whole file unless it has these bytes already; says which on the log. */
status outcome_put_file(const char *path, const char *text, size_t bytes);

#endif
