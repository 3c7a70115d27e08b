/* The options of shard, for its own program and for who makes shards by another one.
 *
 *     TRY(settings_parse_shard(words, count));       // "shard", "--out", "shards/train", ...
 *     ... shard_settings.make ...
 *     TRY(options_text(&shard_program, shard_table, true, &identity));
 *
 * Local.
 */
#ifndef FRETSAW_SHARD_SETTINGS_H
#define FRETSAW_SHARD_SETTINGS_H

#include "shard/shard.h"

enum { EXPORT_NONE, EXPORT_CSV };

typedef struct shard_set {
    shard_options make;
    bool info, verify;
    int format; /* of --export */
} shard_set;

extern shard_set shard_settings;
extern const option shard_table[];
extern const option_program shard_program;

/* Into shard_settings, as if these were the words of shard's command line. Errors: STATUS_USAGE, STATUS_RESOURCE. */
status settings_parse_shard(char **words, int count);

#endif
