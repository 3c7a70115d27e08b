/* What shards and their manifest say of the folders that their rows came from: a line for each.
 *
 *     TRY(inputs_add(&list, "", "tokens/train", &manifest));     // "train rows=200 data=<identity of the rows> made=<SHA-256 of what they were made from>"
 *
 * Whoever makes rows and shards at once knows the rows' number and identity last of all: until then there are blanks in their place. All local.
 */
#ifndef FRETSAW_SHARD_INPUTS_H
#define FRETSAW_SHARD_INPUTS_H

#include "store/manifest.h"

/* Adds a line to *list (NULL: none yet; a fresh string each time). `what` stands in front. Of *m count inputs, identity, rows and data_identity; an empty
 * data_identity leaves blanks for itself and the rows. */
status inputs_add(char **list, const char *what, const char *folder, const manifest *m);
bool inputs_have_blanks(const char *list);
/* Whether `text` is `wanted`, with whatever number or hash in the place of each blank. */
bool inputs_fit(const char *wanted, const char *text);

#endif
