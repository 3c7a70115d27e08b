/* The shard program's options and its two outer calls.
 *
 *     shard_options o = {...};                              // filled by main.c's table
 *     TRY(shard_make(&o, identity_text, folders, count));   // collective
 */
#ifndef FRETSAW_SHARD_SHARD_H
#define FRETSAW_SHARD_SHARD_H

#include <stdbool.h>

#include "common/options.h"

enum { LABELLED_ANY, LABELLED_YES, LABELLED_NO };
enum { SHUFFLE_YES, SHUFFLE_NO };

typedef struct shard_options {
    const char *out;
    int64_t shards, sample, seed; /* sample 0: all rows */
    int shuffle, labelled;
    option_list lang, source;     /* empty: all */
    int duplicates;               /* repeats.h */
    option_list exclude;          /* folders whose texts stay out */
    const char *fold, *without_fold; /* NULL or K/N, fold.h */
    int64_t memory;               /* bytes a rank */
} shard_options;

/* Collective. Folders of parts or shards, concatenated in order, to shards and a manifest in o->out. `identity` = the identity options as recipe
 * lines. Skips what is there and whole; STATUS_STOPPED at every rank when a signal came, with the finished shards kept. */
status shard_make(const shard_options *o, const char *identity, char *const *folders, int64_t count);

#endif
