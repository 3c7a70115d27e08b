/* The folder of shards: names, what is there and whole, the manifest.
 *
 *     output out;
 *     TRY(output_open(&out, o));                       // local
 *     TRY(output_look_by_manifest(&out, &about));      // collective; `about`: what the manifest says of the work, inputs perhaps with blanks (inputs.h)
 *     output_free(&out);
 */
#ifndef FRETSAW_SHARD_OUTPUT_H
#define FRETSAW_SHARD_OUTPUT_H

#include "shard/shard.h"
#include "store/manifest.h"

typedef struct output {
    const char *folder;
    int64_t shards;
    int64_t *first;         /* shards + 1 positions, once the number of rows is known */
    rowfile_summary *done;  /* of each whole shard; zeroed where it is still to be made */
    bool *whole, *told;     /* of each shard: it is there; and every rank knows */
    bool agrees;               /* manifest.json is there: then it is of these inputs and options */
    char data_identity[65];    /* as that manifest says */
    char *inputs;              /* as that manifest, or the shards that are whole, say: without blanks. NULL: nothing says it */
} output;

/* Local. */
status output_open(output *out, const shard_options *o);
void output_free(output *out);
/* Shard i of n rows holds positions [first[i], first[i + 1]). */
void output_divide(output *out, int64_t rows);
status output_path(const output *out, int64_t shard, char **path);

/* Collective. With a manifest of the same inputs and options: which of its shards are there with the right bytes. One of other work is STATUS_USAGE:
 * it is never written over. */
status output_look_by_manifest(output *out, const manifest *about);
/* Collective, after output_divide. Without one: which shards an interrupted run of the same work has left whole. */
status output_look_by_files(output *out, const manifest *about);
/* What each shard says it is: identity options and inputs, in a fresh string. */
status output_describe(const manifest *about, char **text);
int64_t output_missing(const output *out);
/* Collective. Removes what would make the folder look finished or belongs to earlier work: the manifest, temporary files, shards of other counts. */
status output_clear(const output *out);
/* Collective, when every shard is whole: tells all ranks, then rank 0 writes the manifest. `done` of shards made here must be filled at one rank. */
status output_finish(output *out, const manifest *about);

#endif
