/* The CSVs as the user names them: what they are, their hashes, and the plain bytes of those that are packed.
 *
 *     csv_sources s;
 *     TRY(comm_agree(sources_open(paths, count, &s)));
 *     TRY(sources_share_hashes(&s, sources_hash_mine(&s)));    // collective
 *     if (sources_packed(&s))
 *         TRY(sources_unpack(&s, "tokens/train", memory));     // collective
 *     ... s.source[i].plain ? s.source[i].plain : s.source[i].path ...
 *     sources_close(&s);                                       // collective
 *
 * A packed stream can be read from its start alone, so one rank reads each such file and writes what it unpacks to into a folder in that of the
 * output; from there on all ranks share the work on it as on any other CSV. The folder is gone when the sources are closed.
 */
#ifndef FRETSAW_PREPROCESS_SOURCES_H
#define FRETSAW_PREPROCESS_SOURCES_H

#include "common/hash.h"
#include "preprocess/packed.h"

typedef struct csv_source {
    const char *path;      /* the caller's */
    packed_kind packed;
    uint64_t stored;       /* bytes of path */
    char *plain;           /* what it unpacks to; NULL where it is not packed, or not yet unpacked */
    char sha256[HASH_HEX]; /* of path; after sources_share_hashes */
} csv_source;

typedef struct csv_sources {
    int64_t count;
    csv_source *source;
    char *folder;     /* of the plain files; NULL: none */
    bool shared;      /* all ranks know of the folder */
} csv_sources;

/* Local. STATUS_INPUT for a file that is not there, STATUS_IO. */
status sources_open(char *const *paths, int64_t count, csv_sources *out);
bool sources_packed(const csv_sources *s);
/* Local: input i is hashed by rank i mod size. Then collective: every rank has all hashes, or the error of any. */
status sources_hash_mine(csv_sources *s);
status sources_share_hashes(csv_sources *s, status mine);
/* Local, after the hashes: base name, space, SHA-256, LF for each, in a fresh string. */
status sources_list(const csv_sources *s, char **out);
/* Collective. Errors: those of packed_unpack, of the first input that has one; STATUS_STOPPED. */
status sources_unpack(csv_sources *s, const char *out, int64_t memory);
/* Local, for who has claimed `out`: removes what a killed run has unpacked there. */
status sources_remove_left(const char *out);
/* Collective after sources_unpack: removes what that made. */
void sources_close(csv_sources *s);

#endif
