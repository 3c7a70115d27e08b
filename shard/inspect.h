/* Looking at a folder of parts or shards, or at one row file: what is in it, whether it is whole, its rows as CSV.
 *
 *     TRY(inspect_info("shards/train"));              // on stdout, rank 0 reads
 *     TRY(inspect_common(paths, 2, memory));          // the texts that two have in common
 *     TRY(inspect_verify("shards/train"));            // collective: files are dealt to ranks
 *     TRY(export_csv("shards/train", NULL));          // on stdout or to a file, rank 0 reads
 */
#ifndef FRETSAW_SHARD_INSPECT_H
#define FRETSAW_SHARD_INSPECT_H

#include "store/manifest.h"

/* Files of a folder by its manifest, or the one file that `path` is. */
typedef struct inspect_files {
    char **path;
    int64_t count;
    bool listed;  /* m was read */
    manifest m;
} inspect_files;
status inspect_open(const char *path, inspect_files *f); /* local */
void inspect_close(inspect_files *f);

/* Collective; only rank 0 reads. */
status inspect_info(const char *path);
/* Collective; only rank 0 reads. Of several folders or files: what they hold, and for each two of them the texts they have in common, by their
 * hash. `memory` bounds what is held at once. */
status inspect_common(char *const *paths, int64_t count, int64_t memory);
/* Collective. Every checksum: of files, chunks, rows, and of the whole. STATUS_CHECK names the damaged file and row; every damaged file is logged. */
status inspect_verify(const char *path);
/* Collective; only rank 0 reads. id, lang, labels, ids as text; `out` NULL is stdout. */
status export_csv(const char *path, const char *out);

#endif
