#include "preprocess/tokenizer_cache.h"

#include <stdlib.h>
#include <sys/mman.h>

enum {
    SMALL_LEAST = 13, /* bits: 256 KiB, so that a short run does not pay for more */
    SMALL_MOST = 20,
    LARGE_LEAST = 10,
    LARGE_MOST = 18,
    HUGE_PAGE = 2 << 20,
    LINE = 64,
};

_Static_assert(sizeof(cache_small) == LINE / 2 && sizeof(cache_large) == LINE, "entries fill lines");

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
    void *small = NULL, *large = NULL;
    status st;
    *c = (tokenizer_cache){.small_bits = SMALL_LEAST, .large_bits = LARGE_LEAST};
    TRY_DONE(new_table(sizeof *c->small << SMALL_LEAST, &c->small_memory, &small));
    TRY_DONE(new_table(sizeof *c->large << LARGE_LEAST, &c->large_memory, &large));
    c->small = small;
    c->large = large;
done:
    if (st != STATUS_OK)
        cache_free(c);
    return st;
}

void cache_free(tokenizer_cache *c)
{
    free(c->small_memory);
    free(c->large_memory);
    memset(c, 0, sizeof *c);
}

/* An empty entry has a key of NULs; such a word is never stored. Into a full place a word comes last but one, so that those seen
 * first, which are the frequent ones, stay. */
static void put_small(tokenizer_cache *c, const cache_small *new, uint64_t hash)
{
    cache_small *e = cache_small_at(c, hash);
    int i = 0;
    while (i < CACHE_WAYS && e[i].key[0] | e[i].key[1])
        i++;
    c->small_used += i < CACHE_WAYS;
    if (i == CACHE_WAYS) {
        i = CACHE_WAYS - 2;
        e[CACHE_WAYS - 1] = e[i];
    }
    e[i] = *new;
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

/* Twice the entries, once half of them are taken; those of a place keep their order. */
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

/* Equals the small one where key[2..3] are 0. */
static uint64_t large_hash(const uint64_t *key)
{
    return cache_hash(key) ^ cache_hash(key + 2) * 0x9E3779B97F4A7C15u;
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
            put_large(c, e, large_hash(e->key));
    }
    free(old_memory);
    return STATUS_OK;
}

status cache_store(tokenizer_cache *c, const cache_word *w, size_t n, const uint32_t *ids, size_t count, size_t unknown)
{
    if (count > CACHE_LARGE_IDS || !(w->key[0] | w->key[1]))
        return STATUS_OK;
    if (n <= CACHE_SMALL_KEY) {
        if (2 * c->small_used >= (size_t)1 << c->small_bits && c->small_bits < SMALL_MOST)
            TRY(grow_small(c));
        cache_small e = {.key = {w->key[0], w->key[1]}, .count = CACHE_ELSEWHERE};
        if (count <= CACHE_SMALL_IDS) {
            e.count = (uint16_t)count;
            e.unknown = (uint16_t)unknown;
            memcpy(e.id, ids, count * sizeof *ids);
        }
        const cache_small *there = cache_small_at(c, w->hash);
        int i = 0;
        while (i < CACHE_WAYS && !cache_is_small(&there[i], e.key))
            i++;
        if (i == CACHE_WAYS) /* else only its ids have been forgotten, in the other table */
            put_small(c, &e, w->hash);
        if (count <= CACHE_SMALL_IDS)
            return STATUS_OK;
    }
    if (2 * c->large_used >= (size_t)1 << c->large_bits && c->large_bits < LARGE_MOST)
        TRY(grow_large(c));
    cache_large e = {.key = {w->key[0], w->key[1], w->key[2], w->key[3]}, .count = (uint16_t)count, .unknown = (uint16_t)unknown};
    memcpy(e.id, ids, count * sizeof *ids);
    put_large(c, &e, w->hash);
    return STATUS_OK;
}
