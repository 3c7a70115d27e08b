/* Validation: every row once, on one rank or none; the same numbers for any number of ranks and any micro-batches.
 *
 *     evaluation e;
 *     TRY(evaluate_run(&t, &e));
 *     if (e.stopped) ...                          // given up half way: nothing else is set
 *     TRY(evaluate_line(&t, epoch, &e, &text));   // for metrics.jsonl
 *     evaluate_free(&e);
 *
 * Collective.
 */
#ifndef FRETSAW_TRAIN_EVALUATE_H
#define FRETSAW_TRAIN_EVALUATE_H

#include "common/auc.h"
#include "train/step.h"

enum { EVALUATION_WORST = 3 };

typedef struct evaluation {
    bool stopped;
    char reason[STEP_REASON];
    int64_t rows, unlabelled; /* unlabelled: rows with a label missing, left out of the loss */
    double loss;              /* mean over labelled rows and labels; NaN without any */
    auc_count pooled;         /* over the scores of all labels together */
    auc_count *label;         /* C */
    int64_t worst[EVALUATION_WORST]; /* the rows of the highest losses, highest first; -1: no more */
} evaluation;

status evaluate_run(trainer *t, evaluation *e);
void evaluate_free(evaluation *e);
/* The epoch's line of metrics.jsonl, without newline; the caller frees. Local. */
status evaluate_line(const trainer *t, int64_t epoch, const evaluation *e, char **text);

#endif
