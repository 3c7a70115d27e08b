/* One of N folds of the rows, by a hash of their text: rows of one text are in one fold, whatever else the inputs hold and in whatever order.
 *
 *     fold f; TRY(fold_read("fold", "2/5", &f));
 *     if (fold_has(&f, text_hash)) ...
 *
 * Local.
 */
#ifndef FRETSAW_SHARD_FOLD_H
#define FRETSAW_SHARD_FOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"

typedef struct fold {
    uint64_t number, of; /* 1 .. of; of = 0: not asked for, every row is in */
} fold;

/* "K/N"; NULL: not asked for. STATUS_USAGE names the option. */
status fold_read(const char *option_name, const char *text, fold *out);
bool fold_has(const fold *f, uint64_t text_hash);

#endif
