/* Rows that stay out because of their text: later rows with the text of an earlier one, and rows whose text another folder has.
 *
 *     repeats_job job = {.mode = REPEATS_DROP, .rows = all, .first = first_row_of_rank, .each = give_rows, .with = me, .memory = 100 << 20};
 *     TRY(repeats_find(&job, dropped, &counts));       // collective; dropped: a bit for each row of this rank
 *
 * Texts are equal when their hash is (rows/text_hash, 64 bits). Which rows stay depends on the order of the inputs alone, never on the ranks.
 * Memory is bounded: the hashes are looked at in as many rounds as it takes.
 */
#ifndef FRETSAW_SHARD_REPEATS_H
#define FRETSAW_SHARD_REPEATS_H

#include "common/options.h"
#include "store/rowfile.h"

enum { REPEATS_KEEP, REPEATS_DROP, REPEATS_DROP_CONFLICTS };

typedef struct repeats_sink repeats_sink;
/* `index` counts the rows of all inputs in order; labels 0: unlabelled (repeats_labels). */
void repeats_give(repeats_sink *s, uint64_t text, int64_t index, uint64_t labels);
/* A number for a row's labels: equal where they are, 0 where there is none. */
uint64_t repeats_labels(const float *label, int64_t count);

/* Hashes of texts that were cleaned in different ways say nothing of each other: STATUS_INPUT names `folder`. Both are identities of tokens. */
status repeats_comparable(const char *tokenizer, const char *other, const char *folder);

typedef struct repeats_job {
    int mode;
    int64_t rows;                                     /* of all ranks */
    const int64_t *first;                             /* ranks + 1: rank r has rows [first[r], first[r + 1]) */
    status (*each)(void *with, repeats_sink *s);      /* gives every row of this rank that counts, each time it is called */
    void *with;
    const option_list *exclude;                       /* folders whose texts drop out */
    int64_t memory;
} repeats_job;

typedef struct repeats_counts {
    int64_t repeated, common; /* rows dropped: text of an earlier row, or of conflicting labels; text of an excluded folder */
    int64_t conflicts;        /* texts with different labels */
} repeats_counts;

/* Collective. dropped[] has a bit for each row of this rank, all 0. */
status repeats_find(const repeats_job *job, uint8_t *dropped, repeats_counts *out);

#endif
