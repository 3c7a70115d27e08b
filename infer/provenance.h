/* <out>.provenance.json: what a submission was made of, as hashes: data, runs, sample, options. No paths and no times: the same inputs give the same
 * bytes.
 *
 *     TRY(provenance_write(&outcome, submission_sha256));
 */
#ifndef FRETSAW_INFER_PROVENANCE_H
#define FRETSAW_INFER_PROVENANCE_H

#include "infer/outcome.h"

/* Local. */
status provenance_write(const outcome *o, const char *submission_sha256);

#endif
