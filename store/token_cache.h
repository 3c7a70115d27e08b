/* Decompressed chunks of tokens, kept up to a number of slots and replaced by the clock rule (a chunk used since the hand last passed stays).
 *
 *     TRY(token_cache_create(chunks, bytes, &cache));
 *     const uint32_t *ids = token_cache_find(cache, chunk);
 *     if (!ids) { uint32_t *to; TRY(token_cache_place(cache, chunk, &to)); fill to[0 .. ROWFILE_CHUNK); }   // token_cache_forget if that fails
 *
 * Local; one caller at a time.
 */
#ifndef FRETSAW_STORE_TOKEN_CACHE_H
#define FRETSAW_STORE_TOKEN_CACHE_H

#include <stdint.h>

#include "common/status.h"

typedef struct token_cache token_cache;
/* For chunks 0 .. chunks-1; at least 2 slots whatever `bytes` says. */
status token_cache_create(int64_t chunks, int64_t bytes, token_cache **out);
void token_cache_free(token_cache *c);
/* NULL where it is not kept. Valid until the next place. */
const uint32_t *token_cache_find(token_cache *c, int64_t chunk);
status token_cache_place(token_cache *c, int64_t chunk, uint32_t **to);
void token_cache_forget(token_cache *c, int64_t chunk);

#endif
