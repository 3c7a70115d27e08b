/* The tokenizer's memory of words: bytes of a word -> its ids. Words of up to 8 bytes and 3 ids, most of a text, take a quarter of a line of the
 * processor's cache, those of up to 16 bytes and 6 ids half a one, of up to 32 bytes and 7 ids a whole one; longer ones are not kept. Each table
 * grows with what it holds, up to 16 MiB, and then forgets one of the words that share a place.
 *
 *     cache_set_word(&w, p, n, fold);                        // n from 1 to CACHE_LARGE_KEY; 32 bytes at p may be read
 *     cache_prefetch(&c, &w, n);                             // some words ahead
 *     if (!cache_find(&c, &w, n, ids, &count)) { ...; TRY(cache_store(&c, &w, n, ids, count)); }
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

enum { CACHE_TINY_KEY = 8, CACHE_SMALL_KEY = 16, CACHE_LARGE_KEY = 32, CACHE_LARGE_IDS = 7, CACHE_ID_BITS = 20, CACHE_WORD_IDS = 3, CACHE_WAYS = 4 };

/* Ids as they are kept: three of 20 bits, the lowest first, and in bits 60 to 62 how many there are in all. With bit 63 what does not fit so lies among
 * the wide ones, at the index in the low bits. */
typedef uint64_t cache_ids;
#define CACHE_IS_WIDE ((cache_ids)1 << 63)

typedef struct cache_tiny { /* a place for four words: one line */
    uint64_t key[CACHE_WAYS];
    cache_ids ids[CACHE_WAYS];
} cache_tiny;
typedef struct cache_small {
    uint64_t key[2];
    cache_ids ids[2]; /* the second three follow the first, which have the count */
} cache_small;
typedef struct cache_wide {
    uint32_t id[CACHE_LARGE_IDS], count;
} cache_wide;
typedef struct cache_large {
    uint64_t key[4];
    uint32_t id[CACHE_LARGE_IDS], count;
} cache_large;

typedef struct cache_word {
    uint64_t hash, key[4]; /* only key[0] is set for up to 8 bytes, key[0..1] for up to 16 */
} cache_word;

typedef struct cache_table {
    void *at, *memory; /* entries; as malloc gave it: the table is aligned inside */
    int bits;          /* 2^bits places of tiny ones, entries of the others */
    size_t used;       /* words */
} cache_table;

/* A word's place: CACHE_WAYS entries in a row, filled from the first. When it is full, the place beside it takes the word; when that is full too, one of
 * the last ones there is forgotten. */
typedef struct tokenizer_cache {
    cache_table tiny, small, large; /* of cache_tiny, cache_small, cache_large */
    cache_wide *wide; /* of words in the first two tables; never forgotten, so that words are no longer kept once there is no room */
    size_t wide_used, wide_room;
} tokenizer_cache;

/* Errors: STATUS_RESOURCE. */
status cache_create(tokenizer_cache *c);
void cache_free(tokenizer_cache *c);
/* Keeps the ids of a word not in the cache, where it has room for so many. Errors: STATUS_RESOURCE. */
status cache_store(tokenizer_cache *c, const cache_word *w, size_t n, const uint32_t *ids, size_t count);

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

static inline uint64_t cache_large_hash(const uint64_t *key)
{
    return cache_hash(key) ^ cache_hash(key + 2) * 0x9E3779B97F4A7C15u;
}

static inline uint64_t cache_tiny_hash(uint64_t key)
{
    uint64_t h = key * 0x9E3779B97F4A7C15u;
    return (h ^ h >> 32) * 0xD6E8FEB86659FD93u;
}

/* Into place: a struct returned by value is copied in pieces other than it was written in, which the processor waits for. */
static inline void cache_set_word(cache_word *w, const char *p, size_t n, bool fold)
{
    uint64_t mask[4], key[4];
    if (n <= CACHE_TINY_KEY) {
        memcpy(key, p, CACHE_TINY_KEY);
        key[0] &= ~(uint64_t)0 >> (64 - 8 * n);
        w->key[0] = fold ? cache_fold(key[0]) : key[0];
        w->hash = cache_tiny_hash(w->key[0]);
        return;
    }
    memcpy(key, p, CACHE_LARGE_KEY);
    memcpy(mask, cache_mask + CACHE_LARGE_KEY - n, CACHE_LARGE_KEY);
    for (int i = 0; i < 2; i++)
        w->key[i] = fold ? cache_fold(key[i] & mask[i]) : key[i] & mask[i];
    if (n <= CACHE_SMALL_KEY) {
        w->hash = cache_hash(w->key);
        return;
    }
    for (int i = 2; i < 4; i++)
        w->key[i] = fold ? cache_fold(key[i] & mask[i]) : key[i] & mask[i];
    w->hash = cache_large_hash(w->key);
}

static inline cache_tiny *cache_tiny_at(const tokenizer_cache *c, uint64_t hash)
{
    return (cache_tiny *)c->tiny.at + (hash >> (64 - c->tiny.bits));
}
static inline cache_small *cache_small_at(const tokenizer_cache *c, uint64_t hash)
{
    return (cache_small *)c->small.at + (hash >> (64 - c->small.bits) & ~(uint64_t)(CACHE_WAYS - 1));
}
static inline cache_large *cache_large_at(const tokenizer_cache *c, uint64_t hash)
{
    return (cache_large *)c->large.at + (hash >> (64 - c->large.bits) & ~(uint64_t)(CACHE_WAYS - 1));
}

/* Inlined in any case: GCC takes a function that only prefetches for one without effect and drops calls to it. */
__attribute__((always_inline)) static inline void cache_prefetch(const tokenizer_cache *c, const cache_word *w, size_t n)
{
    if (n <= CACHE_TINY_KEY) {
        __builtin_prefetch(cache_tiny_at(c, w->hash));
        return;
    }
    const char *place = n <= CACHE_SMALL_KEY ? (const char *)cache_small_at(c, w->hash) : (const char *)cache_large_at(c, w->hash);
    __builtin_prefetch(place);
    __builtin_prefetch(place + 64);
}

static inline bool cache_find_large(const tokenizer_cache *c, const cache_word *w, uint32_t *ids, size_t *count)
{
    const cache_large *e = cache_large_at(c, w->hash);
    for (int i = 0; i < CACHE_WAYS; i++, e++)
        if (((e->key[0] ^ w->key[0]) | (e->key[1] ^ w->key[1]) | (e->key[2] ^ w->key[2]) | (e->key[3] ^ w->key[3])) == 0) {
            memcpy(ids, e->id, sizeof e->id);
            *count = e->count;
            return true;
        }
    return false;
}

static inline bool cache_is_small(const cache_small *e, const uint64_t *key)
{
    return ((e->key[0] ^ key[0]) | (e->key[1] ^ key[1])) == 0;
}

static inline void cache_unpack(cache_ids packed, uint32_t *ids)
{
    const uint32_t one = (1u << CACHE_ID_BITS) - 1;
    ids[0] = (uint32_t)packed & one;
    ids[1] = (uint32_t)(packed >> CACHE_ID_BITS) & one;
    ids[2] = (uint32_t)(packed >> 2 * CACHE_ID_BITS) & one;
}

static inline void cache_take_wide(const tokenizer_cache *c, cache_ids packed, uint32_t *ids, size_t *count)
{
    const cache_wide *w = &c->wide[packed & ~CACHE_IS_WIDE];
    memcpy(ids, w->id, sizeof w->id);
    *count = w->count;
}

/* The same of the place beside; NULL where that has it neither. */
const cache_small *cache_small_beside(const tokenizer_cache *c, const cache_word *w);
const cache_ids *cache_tiny_beside(const tokenizer_cache *c, const cache_word *w);

static inline bool cache_find_small(const tokenizer_cache *c, const cache_word *w, uint32_t *ids, size_t *count)
{
    const cache_small *e = cache_small_at(c, w->hash);
    if (!cache_is_small(e, w->key) && !cache_is_small(++e, w->key) && !cache_is_small(++e, w->key) && !cache_is_small(++e, w->key)) {
        if (!(e->key[0] | e->key[1]) || !(e = cache_small_beside(c, w)))
            return false;
    }
    if (__builtin_expect(e->ids[0] >> 63, 0)) {
        cache_take_wide(c, e->ids[0], ids, count);
        return true;
    }
    cache_unpack(e->ids[0], ids);
    cache_unpack(e->ids[1], ids + CACHE_WORD_IDS);
    *count = e->ids[0] >> CACHE_WORD_IDS * CACHE_ID_BITS;
    return true;
}

/* Without branches up to the one that is nearly always taken the same way: which of the four it is cannot be foreseen. */
static inline bool cache_find_tiny(const tokenizer_cache *c, const cache_word *w, uint32_t *ids, size_t *count)
{
    const cache_tiny *e = cache_tiny_at(c, w->hash);
    uint64_t key = w->key[0];
    size_t i = (size_t)(e->key[1] == key) + 2 * (size_t)(e->key[2] == key) + 3 * (size_t)(e->key[3] == key);
    i &= CACHE_WAYS - 1; /* a word of NULs equals every empty key, which has no ids either */
    const cache_ids *found = &e->ids[i];
    if (__builtin_expect(e->key[i] != key, 0) && (!e->key[CACHE_WAYS - 1] || !(found = cache_tiny_beside(c, w))))
        return false;
    cache_ids packed = *found;
    if (__builtin_expect(packed >> 63, 0)) {
        cache_take_wide(c, packed, ids, count);
        return true;
    }
    cache_unpack(packed, ids);
    *count = packed >> CACHE_WORD_IDS * CACHE_ID_BITS;
    return true;
}

/* The ids of a word: ids has room for CACHE_LARGE_IDS, of which *count are set. */
static inline bool cache_find(const tokenizer_cache *c, const cache_word *w, size_t n, uint32_t *ids, size_t *count)
{
    return n <= CACHE_TINY_KEY    ? cache_find_tiny(c, w, ids, count)
           : n <= CACHE_SMALL_KEY ? cache_find_small(c, w, ids, count)
                                  : cache_find_large(c, w, ids, count);
}

#endif
