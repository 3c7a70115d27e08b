/* Who reads which pieces, decided while they are read: every node has a run of them beforehand, and its ranks take from it turn by turn, so that none
 * waits for one whose processor is slower. Which rank reads a row must not matter to what is made of it.
 *
 *     turns t;
 *     TRY(turns_open(&splits, &t));                     // collective
 *     while (turns_next(&t, &first, &end)) ...          // pieces [first, end), of several inputs perhaps
 *     turns_close(&t);                                  // collective
 */
#ifndef FRETSAW_PREPROCESS_TURNS_H
#define FRETSAW_PREPROCESS_TURNS_H

#include "preprocess/splits.h"

typedef struct turns {
    int64_t node_first; /* the first piece of this node's run */
    int64_t first, end; /* of the run that `taken` counts in: the node's, or the rank's own where ranks share no memory */
    int64_t step;       /* pieces of a turn */
    _Atomic int64_t *taken;
} turns;

/* Collective. Errors: STATUS_RESOURCE. */
status turns_open(const csv_splits *s, turns *out);
/* Local. False: nothing is left for this rank. Turns come in ascending order. */
bool turns_next(turns *t, int64_t *first, int64_t *end);
/* Collective; zeros are fine. */
void turns_close(turns *t);

#endif
