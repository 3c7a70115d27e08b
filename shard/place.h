/* Rows, from wherever they come, to shards and a manifest: each row goes to a run on the disk by its position in the final order, the runs of all ranks
 * are merged into shards.
 *
 *     row_source from = {.with = &mine, .inputs = line, .tokenizer = identity, .count = count, .route = route};
 *     TRY(place_rows(&o, identity, &from));      // collective
 */
#ifndef FRETSAW_SHARD_PLACE_H
#define FRETSAW_SHARD_PLACE_H

#include "shard/shard.h"
#include "store/rowfile.h"

/* What is known of the rows once they are counted; what it points at is the source's. */
typedef struct row_counts {
    int64_t kept, chosen;     /* rows after all filters; those of them that go to shards: positions 0 .. chosen - 1 */
    int64_t bytes;            /* what the chosen rows take in memory, about */
    const char *inputs;       /* what the rows were made from: shard/inputs.h. It may have blanks, which `settle` fills */
    const rowfile_meta *meta; /* of all rows; its identity_text and seed do not count */
} row_counts;

/* Asked first, by position alone: rows that nobody wants need not be read. */
typedef bool (*row_wanted)(void *job, int64_t position);
/* `r` has source and language as indices into the description of all rows; valid during the call. */
typedef status (*row_send)(void *job, int64_t position, const rowfile_row *r);

typedef struct row_source {
    void *with;
    const char *inputs;    /* as in row_counts; may be NULL where the folder has no manifest.json yet */
    const char *tokenizer, *read_with; /* of the rows; store/manifest.h */
    int64_t held;          /* bytes of --memory that a rank needs for `route` itself */
    /* Collective; called where something is to be made. */
    status (*count)(void *with, row_counts *out);
    /* Local: sends this rank's rows that are wanted, all ranks together each position once. Returns early, with STATUS_OK, when it is to stop.
     * `folder` is there for what the source wants to keep until `settle`; it is removed with all in it. */
    status (*route)(void *with, const char *folder, row_wanted wanted, row_send send, void *job);
    /* Collective, after `route`; NULL where `inputs` has no blanks. `inputs` without them, in a fresh string. */
    status (*settle)(void *with, const char *folder, char **inputs);
    /* Collective; NULL: nothing. Called in the end, whatever came of it, before the folder of the shards is let go: what the source keeps there goes. */
    void (*close)(void *with);
} row_source;

/* Collective. `identity` = the identity options as recipe lines. Skips what is there and whole; STATUS_STOPPED at every rank when a signal came, with the
 * finished shards kept. */
status place_rows(const shard_options *o, const char *identity, const row_source *from);

#endif
