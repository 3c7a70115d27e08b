/* What a rank keeps of every row that it reads on the way to shards, in two files: hashes of the rows, for the identity of all, and hashes of texts with
 * values of labels, for the duplicates. Sixteen bytes and eight a row, since memory does not grow with the rows.
 *
 *     TRY(kept_create(folder, &k));
 *     TRY(kept_add(k, row_hash, text_hash, labels)); ...
 *     TRY(kept_finish(k));                                        // nothing more comes
 *     TRY(kept_add_hashes(folder, rank, identity, &rows));        // of any rank that has finished
 *     TRY(duplicates_count(&(duplicates_job){..., .each = kept_give, .with = k}, &d));
 *     kept_free(k);
 *
 * Local. Whoever made the folder removes it.
 */
#ifndef FRETSAW_PREPROCESS_KEPT_H
#define FRETSAW_PREPROCESS_KEPT_H

#include "preprocess/duplicates.h"
#include "store/identity.h"

typedef struct kept kept;
status kept_create(const char *folder, kept **out);
void kept_free(kept *k); /* NULL is fine */
/* `labels`: duplicates_labels of the row. */
status kept_add(kept *k, uint64_t row_hash, uint64_t text_hash, uint64_t labels);
status kept_finish(kept *k);
/* Adds that rank's row hashes to the identity, in its order, and their number to *rows. */
status kept_add_hashes(const char *folder, int rank, data_identity *d, int64_t *rows);
/* Of duplicates.h, with a kept that has finished. */
status kept_give(void *with, bool labelled, duplicate_sink *sink);

#endif
