/* Rows whose texts two data sets have in common, by the hashes that row files keep of them.
 *
 *     int64_t rows; TRY(overlap_count(valid, train, OVERLAP_ROUND, &rows));     // rows of valid whose text is in train, too
 *
 * Cheap: the training rows' hashes (8 bytes each) are read once and looked up in a table of the other set's; 20 million against a hundred
 * thousand take a second or two. Both sets must have the same tokenizer identity (texts cleaned alike), which whoever opens both has checked.
 */
#ifndef FRETSAW_STORE_OVERLAP_H
#define FRETSAW_STORE_OVERLAP_H

#include "store/dataset.h"

enum { OVERLAP_ROUND = 1 << 22 };

/* Collective; rank 0 reads. The same at any number of ranks. A larger `of` is looked up in rounds of `round` rows each, in a table of at most 36 bytes a
 * row (OVERLAP_ROUND: 144 MiB). */
status overlap_count(dataset *of, dataset *in, int64_t round, int64_t *rows);

#endif
