/* The tokenizer's memory of words: bytes of a word -> its ids. Words of up to 16 bytes and 3 ids take half a line of the processor's
 * cache, those of up to 32 bytes and 7 ids a whole one; longer ones are not kept. Both tables grow with what they hold, up to 32 and
 * 16 MiB, and then forget one of the words that share a place.
 *
 *     cache_word w = cache_word_of(p, n, fold);              // n <= CACHE_LARGE_KEY; 32 bytes at p may be read
 *     cache_prefetch(&c, &w, n);                             // some words ahead
 *     if (!cache_find(&c, &w, n, ids, &count, &unknown)) { ...; TRY(cache_store(&c, &w, n, ids, count, unknown)); }
 *
 * A key is the word's bytes filled up with NUL: since the tokenizer drops NUL, words that differ in NULs at the end alone have the
 * same ids. With `fold` ASCII capitals count as small letters. All functions are local.
 */
#ifndef FRETSAW_PREPROCESS_TOKENIZER_CACHE_H
#define FRETSAW_PREPROCESS_TOKENIZER_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/status.h"

enum { CACHE_SMALL_KEY = 16, CACHE_SMALL_IDS = 3, CACHE_LARGE_KEY = 32, CACHE_LARGE_IDS = 7, CACHE_ELSEWHERE = 0xFFFF, CACHE_WAYS = 4 };

typedef struct cache_small {
    uint64_t key[2];
    uint32_t id[CACHE_SMALL_IDS];
    uint16_t count, unknown; /* count CACHE_ELSEWHERE: more ids than fit here, see the other table */
} cache_small;
typedef struct cache_large {
    uint64_t key[4];
    uint32_t id[CACHE_LARGE_IDS];
    uint16_t count, unknown;
} cache_large;

typedef struct cache_word {
    uint64_t key[4], hash; /* key[2..3] are 0 for up to 16 bytes */
} cache_word;

/* A word's place: CACHE_WAYS entries in a row, filled from the first; the last ones are those that are forgotten. */
typedef struct tokenizer_cache {
    cache_small *small;
    cache_large *large;
    void *small_memory, *large_memory; /* as given by malloc: the tables are aligned inside */
    int small_bits, large_bits; /* 2^bits entries */
    size_t small_used, large_used;
} tokenizer_cache;

/* Errors: STATUS_RESOURCE. */
status cache_create(tokenizer_cache *c);
void cache_free(tokenizer_cache *c);
/* Keeps the ids of a word not in the cache, where it has room for so many. Errors: STATUS_RESOURCE. */
status cache_store(tokenizer_cache *c, const cache_word *w, size_t n, const uint32_t *ids, size_t count, size_t unknown);

/* 32 bytes from CACHE_LARGE_KEY - n on: ones for the first n bytes of a key. */
extern const uint8_t cache_mask[2 * CACHE_LARGE_KEY];

/* ASCII capitals to small letters, eight bytes at once. */
static inline uint64_t cache_fold(uint64_t x)
{
    const uint64_t ones = 0x0101010101010101u;
    uint64_t low = x & 0x7F * ones, capital = (low + (0x80 - 'A') * ones) & ~(low + (0x80 - 'Z' - 1) * ones) & ~x & 0x80 * ones;
    return x | capital >> 2;
}

static inline uint64_t cache_hash(const uint64_t *key)
{
    uint64_t h = (key[0] ^ (key[1] << 29 | key[1] >> 35)) * 0x9E3779B97F4A7C15u + key[1];
    return (h ^ h >> 32) * 0xD6E8FEB86659FD93u;
}

static inline cache_word cache_word_of(const char *p, size_t n, bool fold)
{
    cache_word w = {{0}, 0};
    uint64_t mask[4];
    if (n <= CACHE_SMALL_KEY) {
        memcpy(w.key, p, CACHE_SMALL_KEY);
        memcpy(mask, cache_mask + CACHE_LARGE_KEY - n, CACHE_SMALL_KEY);
        w.key[0] &= mask[0];
        w.key[1] &= mask[1];
        if (fold) {
            w.key[0] = cache_fold(w.key[0]);
            w.key[1] = cache_fold(w.key[1]);
        }
        w.hash = cache_hash(w.key);
        return w;
    }
    memcpy(w.key, p, CACHE_LARGE_KEY);
    memcpy(mask, cache_mask + CACHE_LARGE_KEY - n, CACHE_LARGE_KEY);
    for (int i = 0; i < 4; i++) {
        w.key[i] &= mask[i];
        if (fold)
            w.key[i] = cache_fold(w.key[i]);
    }
    w.hash = cache_hash(w.key) ^ cache_hash(w.key + 2) * 0x9E3779B97F4A7C15u;
    return w;
}

static inline cache_small *cache_small_at(const tokenizer_cache *c, uint64_t hash)
{
    return &c->small[hash >> (64 - c->small_bits) & ~(uint64_t)(CACHE_WAYS - 1)];
}
static inline cache_large *cache_large_at(const tokenizer_cache *c, uint64_t hash)
{
    return &c->large[hash >> (64 - c->large_bits) & ~(uint64_t)(CACHE_WAYS - 1)];
}

static inline void cache_prefetch(const tokenizer_cache *c, const cache_word *w, size_t n)
{
    const char *place = n <= CACHE_SMALL_KEY ? (const char *)cache_small_at(c, w->hash) : (const char *)cache_large_at(c, w->hash);
    __builtin_prefetch(place);
    __builtin_prefetch(place + 64);
}

static inline bool cache_find_large(const tokenizer_cache *c, const cache_word *w, uint32_t *ids, size_t *count, size_t *unknown)
{
    const cache_large *e = cache_large_at(c, w->hash);
    for (int i = 0; i < CACHE_WAYS; i++, e++)
        if (memcmp(e->key, w->key, sizeof e->key) == 0) {
            memcpy(ids, e->id, sizeof e->id);
            *count = e->count;
            *unknown = e->unknown;
            return true;
        }
    return false;
}

static inline bool cache_is_small(const cache_small *e, const uint64_t *key)
{
    return ((e->key[0] ^ key[0]) | (e->key[1] ^ key[1])) == 0;
}

/* The ids of a word: ids has room for CACHE_LARGE_IDS, of which *count are set. */
static inline bool cache_find(const tokenizer_cache *c, const cache_word *w, size_t n, uint32_t *ids, size_t *count, size_t *unknown)
{
    if (n > CACHE_SMALL_KEY)
        return cache_find_large(c, w, ids, count, unknown);
    cache_small *e = cache_small_at(c, w->hash);
    if (!cache_is_small(e, w->key) && !cache_is_small(++e, w->key)) {
        if (!cache_is_small(++e, w->key) && !cache_is_small(++e, w->key))
            return false;
        cache_small up = *e; /* a word that comes again moves away from the end */
        *e = e[-1];
        *--e = up;
    }
    if (e->count == CACHE_ELSEWHERE)
        return cache_find_large(c, w, ids, count, unknown);
    memcpy(ids, e->id, sizeof e->id);
    *count = e->count;
    *unknown = e->unknown;
    return true;
}

#endif
