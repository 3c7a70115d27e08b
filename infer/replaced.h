/* Who made the submission that another one replaces.
 *
 *     replaced_tell("submission.csv", sha256, &ensemble);      // "submission.csv is replaced: it was made by runs/one (epoch-2, step 24)"
 *
 * Local: rank 0's business.
 */
#ifndef FRETSAW_INFER_REPLACED_H
#define FRETSAW_INFER_REPLACED_H

#include "infer/ensemble.h"

/* A line in the log where a file of another content is there; its provenance.json tells who made it. A run goes by the name of its folder where that is
 * one of `e` or lies beside one of them, else by its identity. `e` may be NULL. */
void replaced_tell(const char *path, const char *sha256, const ensemble *e);

#endif
