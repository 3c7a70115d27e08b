/* Where two runs part: the first line of metrics.jsonl, then the first tensor and element of the weights after it.
 *
 *     TRY(diff_runs("runs/one", "runs/two"));       // STATUS_OK: equal; STATUS_CHECK: what parts them has been printed
 *
 * Lines of metrics.jsonl come first, then the checkpoints and epochs that both runs have after the same step: the hashes of tensors in state.json,
 * then the weights themselves, so that a damaged file is found too. Findings go to stdout. Local; reads only.
 */
#ifndef FRETSAW_TRAIN_DIFF_H
#define FRETSAW_TRAIN_DIFF_H

#include "common/status.h"

/* STATUS_INPUT: one of the two is no run, or a file of it is damaged. */
status diff_runs(const char *one, const char *two);

#endif
