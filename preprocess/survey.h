/* Sums over rows for the closing report, taken while rows are written, or read back from parts that an earlier run wrote.
 *
 *     survey v;
 *     TRY(survey_create(langs, labels, max_length, unk, &v));
 *     survey_add(&v, lang, label, tokens, unknown); ...          // local, a row at a time
 *     TRY(survey_add_part(&v, rowfile));                         // local, all rows of a file
 *     survey_unite(&v);                                          // collective
 *     survey_free(&v);
 */
#ifndef FRETSAW_PREPROCESS_SURVEY_H
#define FRETSAW_PREPROCESS_SURVEY_H

#include "store/rowfile.h"

enum { SURVEY_LENGTHS = 65536, SURVEY_SPECIALS = 2 };

typedef struct survey {
    int64_t *sums;
    size_t count;
    int64_t *lengths;                              /* rows by length with specials; the last cell: that and more */
    int64_t *lang_rows, *lang_ids, *lang_cut;      /* by language */
    int64_t *labelled, *positive;                  /* by label */
    int64_t *ids, *unknown, *cut, *kept_parts;     /* one each */
    int64_t *missing, *replaced, *rows_replaced;   /* texts filled; U+FFFD for invalid UTF-8 in ids, texts, languages; rows with one */
    int64_t *cleaned;                              /* texts that cleaning changed */
    int64_t longest;
    int64_t max_length, labels;
    uint32_t unk;
} survey;

status survey_create(int64_t langs, int64_t labels, int64_t max_length, uint32_t unk, survey *out);
void survey_free(survey *v);
void survey_add(survey *v, uint16_t lang, const float *label, int64_t tokens, int64_t unknown);
status survey_add_part(survey *v, rowfile *f);
/* Collective: every rank has the sums of all. */
void survey_unite(survey *v);

#endif
