#include "store/token_cache.h"

#include <stdbool.h>
#include <stdlib.h>

#include "store/rowfile.h"

typedef struct slot {
    uint32_t *ids; /* made when the slot is first used */
    int64_t chunk; /* -1: free */
    bool used;     /* since the hand last passed */
} slot;

struct token_cache {
    int64_t slots, hand, chunks;
    slot *slot;
    int32_t *slot_of; /* of each chunk, -1: none */
};

status token_cache_create(int64_t chunks, int64_t bytes, token_cache **out)
{
    token_cache *c;
    *out = NULL;
    TRY(memory_new(&c, sizeof *c, "the cache of tokens"));
    int64_t fit = bytes / (int64_t)(ROWFILE_CHUNK * sizeof(uint32_t));
    fit = fit < chunks ? fit : chunks;
    c->slots = fit < 2 ? 2 : fit < INT32_MAX ? fit : INT32_MAX;
    c->chunks = chunks;
    status st = memory_new(&c->slot, (size_t)c->slots * sizeof *c->slot, "the cache of tokens");
    if (st == STATUS_OK)
        st = memory_new(&c->slot_of, (size_t)chunks * sizeof *c->slot_of, "the cache of tokens");
    if (st != STATUS_OK) {
        token_cache_free(c);
        return st;
    }
    for (int64_t i = 0; i < c->slots; i++)
        c->slot[i].chunk = -1;
    for (int64_t i = 0; i < chunks; i++)
        c->slot_of[i] = -1;
    *out = c;
    return STATUS_OK;
}

void token_cache_free(token_cache *c)
{
    if (!c)
        return;
    for (int64_t i = 0; c->slot && i < c->slots; i++)
        free(c->slot[i].ids);
    free(c->slot);
    free(c->slot_of);
    free(c);
}

const uint32_t *token_cache_find(token_cache *c, int64_t chunk)
{
    int32_t at = c->slot_of[chunk];
    if (at < 0)
        return NULL;
    c->slot[at].used = true;
    return c->slot[at].ids;
}

void token_cache_forget(token_cache *c, int64_t chunk)
{
    int32_t at = c->slot_of[chunk];
    if (at < 0)
        return;
    c->slot[at].chunk = -1;
    c->slot_of[chunk] = -1;
}

status token_cache_place(token_cache *c, int64_t chunk, uint32_t **to)
{
    while (c->slot[c->hand].chunk >= 0 && c->slot[c->hand].used) {
        c->slot[c->hand].used = false;
        c->hand = (c->hand + 1) % c->slots;
    }
    slot *s = &c->slot[c->hand];
    if (s->chunk >= 0)
        c->slot_of[s->chunk] = -1;
    s->chunk = -1;
    if (!s->ids)
        TRY(memory_new(&s->ids, ROWFILE_CHUNK * sizeof *s->ids, "the cache of tokens"));
    s->chunk = chunk;
    s->used = true;
    c->slot_of[chunk] = (int32_t)c->hand;
    c->hand = (c->hand + 1) % c->slots;
    *to = s->ids;
    return STATUS_OK;
}
