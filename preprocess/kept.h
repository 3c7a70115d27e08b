/* What is kept of every row that is read on the way to shards, in files, since memory does not grow with the rows: the rows' hashes, for the identity of
 * all, by their numbers in a file that the ranks of a node share; and hashes of texts with values of labels, for the duplicates, in one of each rank.
 *
 *     TRY(kept_create(folder, node_first, &k));
 *     TRY(kept_go_to(k, number));                                 // of the row that comes next; those behind it follow
 *     TRY(kept_add(k, row_hash, text_hash, labels)); ...
 *     TRY(kept_finish(k));                                        // nothing more comes
 *     TRY(kept_add_hashes(folder, node, identity, &rows));        // of any node whose ranks have finished
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
/* `first`: the number of the first row of this node. */
status kept_create(const char *folder, int64_t first, kept **out);
void kept_free(kept *k); /* NULL is fine */
/* Any number from `first` on. */
status kept_go_to(kept *k, int64_t number);
/* `labels`: duplicates_labels of the row. */
status kept_add(kept *k, uint64_t row_hash, uint64_t text_hash, uint64_t labels);
status kept_finish(kept *k);
/* Adds that node's row hashes to the identity, in their order, and how many there are to *rows. */
status kept_add_hashes(const char *folder, int node, data_identity *d, int64_t *rows);
/* Of duplicates.h, with a kept that has finished. */
status kept_give(void *with, bool labelled, duplicate_sink *sink);

#endif
