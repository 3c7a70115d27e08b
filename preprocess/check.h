/* The inputs before anything is written: every record's structure, the columns, every label and language. So a faulty input leaves no
 * part behind, and what is said of it does not depend on the ranks.
 *
 *     check_result c;
 *     TRY(check_inputs(&splits, &rules, NULL, &c)); // collective; STATUS_INPUT with the first fault; counts the splits where that is still to do
 *     check_free(&c, splits.inputs);
 *
 * First means: the first input that has a fault; in it the structure of the whole file comes before its columns, and those before its values.
 *
 * Splits of the strict dialect that are not counted are counted and checked in one reading: each rank guesses from the first records of its run how the
 * run is entered. Where a guess turns out wrong, or anything is faulty, all is thrown away and done in two readings, which need no guess.
 */
#ifndef FRETSAW_PREPROCESS_CHECK_H
#define FRETSAW_PREPROCESS_CHECK_H

#include "preprocess/columns.h"
#include "preprocess/label.h"
#include "preprocess/langs.h"
#include "preprocess/splits.h"

typedef struct check_rules {
    columns_wanted columns;
    label_rule label;
    bool na_keep;   /* missing-value words are texts */
    bool na_old;    /* the words are those before pandas 2.0 */
    int64_t memory; /* of the CSV reader: csv_reader_create */
} check_rules;

typedef struct check_result {
    csv_columns *input;   /* one an input */
    int64_t labels;   /* C of the rows: 0 when no input has a label column and the user named none */
    lang_set langs;
    int64_t rows;
    bool at_once;     /* counted and checked in one reading */
} check_result;

/* Collective. Every rank gets the same result, or the same error. busy[r]: what rank r has to do besides, in bytes of CSV that it would check
 * meanwhile (NULL: nothing). */
status check_inputs(csv_splits *s, const check_rules *rules, const uint64_t *busy, check_result *out);
void check_free(check_result *c, int64_t inputs);

#endif
