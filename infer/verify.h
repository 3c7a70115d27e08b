/* The chain of hashes from the CSVs to a submission, link by link, as far as what it leads over is there to be looked at:
 * CSV, shards, recipe, initial weights, weights, predictions, submission.
 *
 *     TRY(verify_chain(&settings, "submission.csv"));      // of the runs in --verify; collective; STATUS_CHECK: some link breaks, told on stdout
 *
 * Data that train read is looked for where the run says it was, and among --input; CSVs among --csv. What is not found is told as not checked. Where
 * the scored rows are given, by --input or as the CSVs that infer tokenized itself, and all runs that scored them, the submission is made once more,
 * from finished predictions and where there are none from the weights, and compared.
 */
#ifndef FRETSAW_INFER_VERIFY_H
#define FRETSAW_INFER_VERIFY_H

#include "infer/settings.h"

status verify_chain(const settings *s, const char *submission);

#endif
