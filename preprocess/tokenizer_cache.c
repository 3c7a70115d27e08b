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
static status new_table(size_t bytes, void **memory, void **table)
{
    size_t alignment = bytes >= HUGE_PAGE ? HUGE_PAGE : LINE;
    *memory = calloc(1, bytes + alignment);
    if (!*memory)
        return fail(STATUS_RESOURCE, "out of memory: %zu bytes for the tokenizer's cache", bytes);
    *table = (void *)(((uintptr_t)*memory + alignment - 1) & ~(uintptr_t)(alignment - 1));
    if (bytes >= HUGE_PAGE)
        madvise(*table, bytes, MADV_HUGEPAGE); /* look-ups go all over it; where it can't be had nothing is lost */
    return STATUS_OK;
}

status cache_create(tokenizer_cache *c)
{
    void *tiny = NULL, *small = NULL, *large = NULL;
    status st;
    *c = (tokenizer_cache){.tiny_bits = TINY_LEAST, .small_bits = SMALL_LEAST, .large_bits = LARGE_LEAST};
    TRY_DONE(new_table(sizeof *c->tiny << TINY_LEAST, &c->tiny_memory, &tiny));
    TRY_DONE(new_table(sizeof *c->small << SMALL_LEAST, &c->small_memory, &small));
    TRY_DONE(new_table(sizeof *c->large << LARGE_LEAST, &c->large_memory, &large));
    c->tiny = tiny;
    c->small = small;
    c->large = large;
done:
    if (st != STATUS_OK)
        cache_free(c);
    return st;
}

void cache_free(tokenizer_cache *c)
{
    free(c->tiny_memory);
    free(c->small_memory);
    free(c->large_memory);
    free(c->wide);
    memset(c, 0, sizeof *c);
}

/* An empty entry has a key of NULs; such a word is never stored. Into full places a word comes last but one, so that those seen first, which are
 * the frequent ones, stay. */
static void put_tiny(tokenizer_cache *c, uint64_t key, cache_ids ids)
{
    size_t place = (size_t)(cache_tiny_at(c, cache_tiny_hash(key)) - c->tiny);
    for (int beside = 0; beside < 2; beside++) {
        cache_tiny *e = &c->tiny[place ^ (size_t)beside];
        for (int i = 0; i < CACHE_WAYS; i++)
            if (!e->key[i]) {
                e->key[i] = key;
                e->ids[i] = ids;
                c->tiny_used++;
                return;
            }
    }
    cache_tiny *e = &c->tiny[place ^ 1];
    e->key[CACHE_WAYS - 1] = e->key[CACHE_WAYS - 2];
    e->ids[CACHE_WAYS - 1] = e->ids[CACHE_WAYS - 2];
    e->key[CACHE_WAYS - 2] = key;
    e->ids[CACHE_WAYS - 2] = ids;
}

const cache_ids *cache_tiny_beside(const tokenizer_cache *c, const cache_word *w)
{
    const cache_tiny *e = &c->tiny[(size_t)(cache_tiny_at(c, w->hash) - c->tiny) ^ 1];
    for (int i = 0; i < CACHE_WAYS; i++)
        if (e->key[i] == w->key[0])
            return &e->ids[i];
    return NULL;
}

static void put_small(tokenizer_cache *c, const cache_small *new, uint64_t hash)
{
    size_t place = (size_t)(cache_small_at(c, hash) - c->small);
    for (size_t beside = 0; beside <= CACHE_WAYS; beside += CACHE_WAYS) {
        cache_small *e = &c->small[place ^ beside];
        for (int i = 0; i < CACHE_WAYS; i++)
            if (!(e[i].key[0] | e[i].key[1])) {
                e[i] = *new;
                c->small_used++;
                return;
            }
    }
    cache_small *e = &c->small[place ^ CACHE_WAYS];
    e[CACHE_WAYS - 1] = e[CACHE_WAYS - 2];
    e[CACHE_WAYS - 2] = *new;
}

const cache_small *cache_small_beside(const tokenizer_cache *c, const cache_word *w)
{
    const cache_small *e = &c->small[(size_t)(cache_small_at(c, w->hash) - c->small) ^ CACHE_WAYS];
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
    c->large_used += i < CACHE_WAYS;
    if (i == CACHE_WAYS) {
        i = CACHE_WAYS - 2;
        e[CACHE_WAYS - 1] = e[i];
    }
    e[i] = *new;
}

/* Twice the places, once half of their words are taken; those of a place keep their order. */
static status grow_tiny(tokenizer_cache *c)
{
    void *table = NULL, *memory = NULL, *old_memory = c->tiny_memory;
    size_t places = (size_t)1 << c->tiny_bits;
    const cache_tiny *old = c->tiny;
    TRY(new_table(2 * places * sizeof *old, &memory, &table));
    c->tiny = table;
    c->tiny_memory = memory;
    c->tiny_bits++;
    c->tiny_used = 0;
    for (size_t i = 0; i < places; i++)
        for (int k = 0; k < CACHE_WAYS && old[i].key[k]; k++)
            put_tiny(c, old[i].key[k], old[i].ids[k]);
    free(old_memory);
    return STATUS_OK;
}

static status grow_small(tokenizer_cache *c)
{
    void *table = NULL, *memory = NULL, *old_memory = c->small_memory;
    size_t entries = (size_t)1 << c->small_bits;
    const cache_small *old = c->small;
    TRY(new_table(2 * entries * sizeof *old, &memory, &table));
    c->small = table;
    c->small_memory = memory;
    c->small_bits++;
    c->small_used = 0;
    for (size_t i = 0; i < entries; i++) {
        const cache_small *e = &old[i];
        if (e->key[0] | e->key[1])
            put_small(c, e, cache_hash(e->key));
    }
    free(old_memory);
    return STATUS_OK;
}

static status grow_large(tokenizer_cache *c)
{
    void *table = NULL, *memory = NULL, *old_memory = c->large_memory;
    size_t entries = (size_t)1 << c->large_bits;
    const cache_large *old = c->large;
    TRY(new_table(2 * entries * sizeof *old, &memory, &table));
    c->large = table;
    c->large_memory = memory;
    c->large_bits++;
    c->large_used = 0;
    for (size_t i = 0; i < entries; i++) {
        const cache_large *e = &old[i];
        if (e->key[0] | e->key[1])
            put_large(c, e, cache_large_hash(e->key));
    }
    free(old_memory);
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
    if (2 * c->small_used >= (size_t)1 << c->small_bits && c->small_bits < SMALL_MOST)
        TRY(grow_small(c));
    TRY(pack_ids(c, ids, count, 2, e.ids, &kept));
    if (kept)
        put_small(c, &e, w->hash);
    return STATUS_OK;
}

static status store_tiny(tokenizer_cache *c, const cache_word *w, const uint32_t *ids, size_t count)
{
    cache_ids packed;
    bool kept;
    if (2 * c->tiny_used >= CACHE_WAYS * ((size_t)1 << c->tiny_bits) && c->tiny_bits < TINY_MOST)
        TRY(grow_tiny(c));
    TRY(pack_ids(c, ids, count, 1, &packed, &kept));
    if (kept)
        put_tiny(c, w->key[0], packed);
    return STATUS_OK;
}

static status store_large(tokenizer_cache *c, const cache_word *w, const uint32_t *ids, size_t count)
{
    if (2 * c->large_used >= (size_t)1 << c->large_bits && c->large_bits < LARGE_MOST)
        TRY(grow_large(c));
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
