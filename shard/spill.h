/* Rows on their way from parts to shards, sorted by position with bounded memory: an arena that is written out as a sorted run each time it is
 * full, and a merge of all ranks' runs over a range of positions.
 *
 *     spill_writer *w;
 *     TRY(spill_create(folder, labels, memory, most, first, shards, &w));   // first[0 .. shards]: where each shard begins
 *     TRY(spill_add(w, position, &row)); ...
 *     TRY(spill_share(w, &runs));                                     // collective; frees w
 *     TRY(spill_merge(runs, shard, memory, take, job));               // local: rows of a shard in ascending position
 *     spill_free(runs);
 *
 * Each rank has one file, "rank-NNNNN", in `folder`, which all ranks see. The caller makes and removes the folder.
 */
#ifndef FRETSAW_SHARD_SPILL_H
#define FRETSAW_SHARD_SPILL_H

#include "store/rowfile.h"

typedef struct spill_writer spill_writer;
typedef struct spill_runs spill_runs;

/* Local. A run has `memory` bytes, `most` where a row needs as much for itself. `first` (shards + 1 positions) stays the caller's and must live until the
 * runs are freed. */
status spill_create(const char *folder, int64_t labels, int64_t memory, int64_t most, const int64_t *first, int64_t shards, spill_writer **out);
/* Local. STATUS_RESOURCE for a row that does not fit into the most memory; STATUS_IO when the disk is full. */
status spill_add(spill_writer *w, int64_t position, const rowfile_row *r);
/* Local; NULL is fine. */
void spill_writer_free(spill_writer *w);
/* Collective. Writes what is left and tells every rank where the runs are. Frees w in every case. */
status spill_share(spill_writer *w, spill_runs **out);
void spill_free(spill_runs *runs);

/* Local, once no rank reads any more. Removes this rank's file; what goes wrong will show when the folder is removed. */
void spill_remove_file(const char *folder);

typedef status (*spill_take)(void *job, const rowfile_row *r);
/* Local. STATUS_IO when not every position of the shard comes exactly once. */
status spill_merge(const spill_runs *runs, int64_t shard, int64_t memory, spill_take take, void *job);

#endif
