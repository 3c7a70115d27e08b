#include "preprocess/tokenizer_cache.h"

#include <stdlib.h>
#include <sys/mman.h>

enum {
    TINY_LEAST = 11,  /* bits: 128 KiB each, so that a short run does not pay for more */
    TINY_MOST = 18,   /* 16 MiB each */
    SMALL_LEAST = 12,
    SMALL_MOST = 19,
    LARGE_LEAST = 10,
    WIDE_LEAST = 1024, /* of 32 bytes, and 8 MiB */
    WIDE_MOST = 1 << 18,
    LARGE_MOST = 18,
    HUGE_PAGE = 2 << 20,
    LINE = 64,
};

_Static_assert(sizeof(cache_tiny) == LINE && sizeof(cache_small) == LINE / 2 && sizeof(cache_large) == LINE, "entries fill lines");

const uint8_t cache_mask[2 * CACHE_LARGE_KEY] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
                                                 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

/* Zeros: a large calloc is fresh from the system and costs nothing until it is used. */
static status new_table(size_t entry, int bits, cache_table *t)
{
    size_t bytes = entry << bits, alignment = bytes >= HUGE_PAGE ? HUGE_PAGE : LINE;
    void *memory = calloc(1, bytes + alignment);
    if (!memory)
        return fail(STATUS_RESOURCE, "out of memory: %zu bytes for the tokenizer's cache", bytes);
    *t = (cache_table){.memory = memory, .bits = bits, .at = (void *)(((uintptr_t)memory + alignment - 1) & ~(uintptr_t)(alignment - 1))};
    if (bytes >= HUGE_PAGE)
        madvise(t->at, bytes, MADV_HUGEPAGE); /* look-ups go all over it; where it can't be had nothing is lost */
    return STATUS_OK;
}

status cache_create(tokenizer_cache *c)
{
    *c = (tokenizer_cache){0};
    status st = new_table(sizeof(cache_tiny), TINY_LEAST, &c->tiny);
    if (st == STATUS_OK)
        st = new_table(sizeof(cache_small), SMALL_LEAST, &c->small);
    if (st == STATUS_OK)
        st = new_table(sizeof(cache_large), LARGE_LEAST, &c->large);
    if (st != STATUS_OK)
        cache_free(c);
    return st;
}

void cache_free(tokenizer_cache *c)
{
    free(c->tiny.memory);
    free(c->small.memory);
    free(c->large.memory);
    free(c->wide);
    memset(c, 0, sizeof *c);
}

/* An empty entry has a key of NULs; such a word is never stored. Into full places a word comes last but one, so that those seen first, which are
 * the frequent ones, stay. */
static void put_tiny(tokenizer_cache *c, uint64_t key, cache_ids ids)
{
    cache_tiny *all = c->tiny.at;
    size_t place = (size_t)(cache_tiny_at(c, cache_tiny_hash(key)) - all);
    for (int beside = 0; beside < 2; beside++) {
        cache_tiny *e = &all[place ^ (size_t)beside];
        for (int i = 0; i < CACHE_WAYS; i++)
            if (!e->key[i]) {
                e->key[i] = key;
                e->ids[i] = ids;
                c->tiny.used++;
                return;
            }
    }
    cache_tiny *e = &all[place ^ 1];
    e->key[CACHE_WAYS - 1] = e->key[CACHE_WAYS - 2];
    e->ids[CACHE_WAYS - 1] = e->ids[CACHE_WAYS - 2];
    e->key[CACHE_WAYS - 2] = key;
    e->ids[CACHE_WAYS - 2] = ids;
}

const cache_ids *cache_tiny_beside(const tokenizer_cache *c, const cache_word *w)
{
    const cache_tiny *all = c->tiny.at, *e = &all[(size_t)(cache_tiny_at(c, w->hash) - all) ^ 1];
    for (int i = 0; i < CACHE_WAYS; i++)
        if (e->key[i] == w->key[0])
            return &e->ids[i];
    return NULL;
}

static void put_small(tokenizer_cache *c, const cache_small *new, uint64_t hash)
{
    cache_small *all = c->small.at;
    size_t place = (size_t)(cache_small_at(c, hash) - all);
    for (size_t beside = 0; beside <= CACHE_WAYS; beside += CACHE_WAYS) {
        cache_small *e = &all[place ^ beside];
        for (int i = 0; i < CACHE_WAYS; i++)
            if (!(e[i].key[0] | e[i].key[1])) {
                e[i] = *new;
                c->small.used++;
                return;
            }
    }
    cache_small *e = &all[place ^ CACHE_WAYS];
    e[CACHE_WAYS - 1] = e[CACHE_WAYS - 2];
    e[CACHE_WAYS - 2] = *new;
}

const cache_small *cache_small_beside(const tokenizer_cache *c, const cache_word *w)
{
    const cache_small *all = c->small.at, *e = &all[(size_t)(cache_small_at(c, w->hash) - all) ^ CACHE_WAYS];
    for (int i = 0; i < CACHE_WAYS; i++)
        if (cache_is_small(&e[i], w->key))
            return &e[i];
    return NULL;
}

static void put_large(tokenizer_cache *c, const cache_large *new, uint64_t hash)
{
    cache_large *e = cache_large_at(c, hash);
    int i = 0;
    while (i < CACHE_WAYS && e[i].key[0] | e[i].key[1])
        i++;
    c->large.used += i < CACHE_WAYS;
    if (i == CACHE_WAYS) {
        i = CACHE_WAYS - 2;
        e[CACHE_WAYS - 1] = e[i];
    }
    e[i] = *new;
}

/* The words of an entry of a table that is too small, into the new one. */
static void move_tiny(tokenizer_cache *c, const void *entry)
{
    const cache_tiny *e = entry;
    for (int k = 0; k < CACHE_WAYS && e->key[k]; k++)
        put_tiny(c, e->key[k], e->ids[k]);
}

static void move_small(tokenizer_cache *c, const void *entry)
{
    const cache_small *e = entry;
    if (e->key[0] | e->key[1])
        put_small(c, e, cache_hash(e->key));
}

static void move_large(tokenizer_cache *c, const void *entry)
{
    const cache_large *e = entry;
    if (e->key[0] | e->key[1])
        put_large(c, e, cache_large_hash(e->key));
}

/* Twice the places, once half of their words are taken; those of a place keep their order. A table that cannot be had leaves the old one. */
static status grow(tokenizer_cache *c, cache_table *t, size_t entry, void (*move)(tokenizer_cache *c, const void *entry))
{
    cache_table old = *t;
    TRY(new_table(entry, old.bits + 1, t));
    for (const char *e = old.at, *end = e + (entry << old.bits); e < end; e += entry)
        move(c, e);
    free(old.memory);
    return STATUS_OK;
}

/* As they are kept: packed[0..words-1], or one of the wide ones. *kept false: there is no more room for those. */
static status pack_ids(tokenizer_cache *c, const uint32_t *ids, size_t count, size_t words, cache_ids *packed, bool *kept)
{
    bool fits = count <= words * CACHE_WORD_IDS;
    memset(packed, 0, words * sizeof *packed);
    *kept = true;
    for (size_t i = 0; fits && i < count; i++) {
        packed[i / CACHE_WORD_IDS] |= (cache_ids)ids[i] << i % CACHE_WORD_IDS * CACHE_ID_BITS;
        fits = ids[i] >> CACHE_ID_BITS == 0;
    }
    if (fits) {
        packed[0] |= (cache_ids)count << CACHE_WORD_IDS * CACHE_ID_BITS;
        return STATUS_OK;
    }
    *kept = c->wide_used < WIDE_MOST;
    if (!*kept)
        return STATUS_OK;
    if (c->wide_used == c->wide_room) {
        size_t room = c->wide_room ? 2 * c->wide_room : WIDE_LEAST;
        TRY(memory_grow(&c->wide, room * sizeof *c->wide, "the tokenizer's cache"));
        c->wide_room = room;
    }
    cache_wide *wide = &c->wide[c->wide_used];
    *wide = (cache_wide){.count = (uint32_t)count};
    memcpy(wide->id, ids, count * sizeof *ids);
    packed[0] = CACHE_IS_WIDE | c->wide_used++;
    return STATUS_OK;
}

static status store_small(tokenizer_cache *c, const cache_word *w, const uint32_t *ids, size_t count)
{
    cache_small e = {.key = {w->key[0], w->key[1]}};
    bool kept;
    if (2 * c->small.used >= (size_t)1 << c->small.bits && c->small.bits < SMALL_MOST)
        TRY(grow(c, &c->small, sizeof(cache_small), move_small));
    TRY(pack_ids(c, ids, count, 2, e.ids, &kept));
    if (kept)
        put_small(c, &e, w->hash);
    return STATUS_OK;
}

static status store_tiny(tokenizer_cache *c, const cache_word *w, const uint32_t *ids, size_t count)
{
    cache_ids packed;
    bool kept;
    if (2 * c->tiny.used >= CACHE_WAYS * ((size_t)1 << c->tiny.bits) && c->tiny.bits < TINY_MOST)
        TRY(grow(c, &c->tiny, sizeof(cache_tiny), move_tiny));
    TRY(pack_ids(c, ids, count, 1, &packed, &kept));
    if (kept)
        put_tiny(c, w->key[0], packed);
    return STATUS_OK;
}

static status store_large(tokenizer_cache *c, const cache_word *w, const uint32_t *ids, size_t count)
{
    if (2 * c->large.used >= (size_t)1 << c->large.bits && c->large.bits < LARGE_MOST)
        TRY(grow(c, &c->large, sizeof(cache_large), move_large));
    cache_large e = {.key = {w->key[0], w->key[1], w->key[2], w->key[3]}, .count = (uint32_t)count};
    memcpy(e.id, ids, count * sizeof *ids);
    put_large(c, &e, w->hash);
    return STATUS_OK;
}

status cache_store(tokenizer_cache *c, const cache_word *w, size_t n, const uint32_t *ids, size_t count)
{
    if (count > CACHE_LARGE_IDS || !(w->key[0] | (n > CACHE_TINY_KEY ? w->key[1] : 0)))
        return STATUS_OK;
    return n <= CACHE_TINY_KEY    ? store_tiny(c, w, ids, count)
           : n <= CACHE_SMALL_KEY ? store_small(c, w, ids, count)
                                  : store_large(c, w, ids, count);
}
