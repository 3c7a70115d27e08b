/* Whether a file is a submission for a sample: header, every id once, order, finite numbers, count.
 *
 *     TRY(validate_submission("submission.csv", "sample_submission.csv", stderr));
 *
 * Every kind of fault is told on `to` with its count and the line of the first, and what to do; then STATUS_CHECK with a summary.
 * Numbers outside [0, 1] are told and counted in *outside but are no fault, since a ranking metric takes them. STATUS_INPUT where one of the two
 * files is no CSV. Local.
 */
#ifndef FRETSAW_INFER_VALIDATE_H
#define FRETSAW_INFER_VALIDATE_H

#include <stdint.h>
#include <stdio.h>

#include "common/status.h"

typedef struct validate_result {
    int64_t rows, outside;
} validate_result;

status validate_submission(const char *path, const char *sample_path, FILE *to, validate_result *result);

#endif
