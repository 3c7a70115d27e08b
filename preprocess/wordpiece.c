#include "preprocess/wordpiece.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 256,
    OPEN_BLOCKS = 32, /* only the newest blocks are searched for free slots: keeps building linear */
    LABEL_BITS = 9,
    BASE_BITS = 23,
    ROOT = BLOCK, /* block 0 stays free, so that base 0, a node without children, leads nowhere */
};

typedef struct builder {
    const wordpiece_key *keys;
    uint64_t *slot;
    uint32_t *next, *before; /* ring of free slots in the open blocks; `ring` is one of them or NONE */
    bool *base_used;
    size_t slots;
    uint32_t ring;
    size_t first_open; /* block */
    struct pending *stack;
    size_t top, room;
} builder;

static const uint32_t NONE = UINT32_MAX;

/* A run of keys that share the bytes before `depth`, and the slot of that prefix. */
typedef struct pending {
    size_t begin, end;
    uint32_t depth, slot;
} pending;

static uint64_t slot_base(uint64_t slot)
{
    return slot >> LABEL_BITS & ((1u << BASE_BITS) - 1);
}

static bool step(const uint64_t *slots, uint64_t *node, unsigned char c)
{
    uint64_t child = slots[slot_base(*node) ^ c];
    if ((child & ((1u << LABEL_BITS) - 1)) != c + 1u)
        return false;
    *node = child;
    return true;
}

static void take(builder *b, uint32_t s)
{
    uint32_t next = b->next[s], before = b->before[s];
    if (next == s) {
        b->ring = NONE;
    } else {
        b->next[before] = next;
        b->before[next] = before;
        if (b->ring == s)
            b->ring = next;
    }
    b->next[s] = NONE; /* no longer free */
}

static void give(builder *b, uint32_t s)
{
    if (b->ring == NONE) {
        b->ring = b->next[s] = b->before[s] = s;
        return;
    }
    uint32_t first = b->ring, last = b->before[first];
    b->next[last] = s;
    b->before[s] = last;
    b->next[s] = first;
    b->before[first] = s;
}

static status add_block(builder *b)
{
    size_t from = b->slots, to = from + BLOCK;
    if (to > 1u << BASE_BITS)
        return fail(STATUS_INPUT, "the vocabulary's pieces need more than %u trie nodes; give a smaller vocabulary", 1u << BASE_BITS);
    if ((from & (from - 1)) == 0) { /* room doubles at powers of two */
        size_t room = from < BLOCK ? 2 * BLOCK : 2 * from;
        TRY(memory_grow(&b->slot, room * sizeof *b->slot, "the vocabulary's trie"));
        TRY(memory_grow(&b->next, room * sizeof *b->next, "the vocabulary's trie"));
        TRY(memory_grow(&b->before, room * sizeof *b->before, "the vocabulary's trie"));
        TRY(memory_grow(&b->base_used, room * sizeof *b->base_used, "the vocabulary's trie"));
    }
    b->slots = to;
    for (size_t s = from; s < to; s++) {
        b->slot[s] = 0;
        b->base_used[s] = false;
        b->next[s] = NONE;
    }
    if (from == 0)
        return STATUS_OK; /* block 0 is kept free for good */
    for (size_t s = from; s < to; s++)
        give(b, (uint32_t)s);
    for (; b->first_open + OPEN_BLOCKS < to / BLOCK; b->first_open++)
        for (size_t s = b->first_open * BLOCK; s < (b->first_open + 1) * BLOCK; s++)
            if (b->next[s] != NONE)
                take(b, (uint32_t)s);
    return STATUS_OK;
}

static bool fits(const builder *b, uint32_t base, const unsigned char *labels, size_t count)
{
    if (b->base_used[base])
        return false;
    for (size_t i = 0; i < count; i++)
        if (b->next[base ^ labels[i]] == NONE)
            return false;
    return true;
}

/* A base under which every label's slot is free. */
static status find_base(builder *b, const unsigned char *labels, size_t count, uint32_t *base)
{
    if (b->ring != NONE) {
        uint32_t s = b->ring;
        do {
            if (fits(b, s ^ labels[0], labels, count)) {
                *base = s ^ labels[0];
                return STATUS_OK;
            }
            s = b->next[s];
        } while (s != b->ring);
    }
    TRY(add_block(b));
    *base = (uint32_t)(b->slots - BLOCK) ^ labels[0];
    return STATUS_OK;
}

/* Places the children of one node and leaves them on the stack. */
static status place_children(builder *b, pending p)
{
    unsigned char labels[BLOCK];
    size_t starts[BLOCK + 1], count = 0;
    if (b->keys[p.begin].bytes == p.depth) {
        b->slot[p.slot] |= (uint64_t)(b->keys[p.begin].id + 1u) << 32;
        p.begin++;
    }
    for (size_t k = p.begin; k < p.end; k++) {
        unsigned char c = (unsigned char)b->keys[k].text[p.depth];
        if (!count || labels[count - 1] != c) {
            starts[count] = k;
            labels[count++] = c;
        }
    }
    if (!count)
        return STATUS_OK;
    starts[count] = p.end;
    if (b->top + count > b->room) {
        b->room = 2 * b->room + BLOCK;
        TRY(memory_grow(&b->stack, b->room * sizeof *b->stack, "the vocabulary's trie"));
    }
    uint32_t base;
    TRY(find_base(b, labels, count, &base));
    b->base_used[base] = true;
    b->slot[p.slot] |= (uint64_t)base << LABEL_BITS;
    for (size_t i = 0; i < count; i++) {
        uint32_t s = base ^ labels[i];
        take(b, s);
        b->slot[s] = labels[i] + 1u;
        b->stack[b->top++] = (pending){starts[i], starts[i + 1], p.depth + 1, s};
    }
    return STATUS_OK;
}

status wordpiece_build(const wordpiece_key *keys, size_t count, wordpiece_trie *out)
{
    status st;
    builder b = {.keys = keys, .ring = NONE, .first_open = 1};
    memset(out, 0, sizeof *out);
    TRY_DONE(add_block(&b));
    TRY_DONE(add_block(&b));
    take(&b, ROOT);
    if (count)
        TRY_DONE(place_children(&b, (pending){0, count, 0, ROOT}));
    while (b.top)
        TRY_DONE(place_children(&b, b.stack[--b.top]));
    out->slot = b.slot;
    out->first = b.slot[ROOT];
    uint64_t inside = out->first;
    if (step(out->slot, &inside, '#') && step(out->slot, &inside, '#'))
        out->inside = inside;
    b.slot = NULL;
    st = STATUS_OK;
done:
    free(b.slot);
    free(b.next);
    free(b.before);
    free(b.base_used);
    free(b.stack);
    return st;
}

void wordpiece_free(wordpiece_trie *t)
{
    free(t->slot);
    memset(t, 0, sizeof *t);
}

bool wordpiece_find(const wordpiece_trie *t, const char *piece, size_t bytes, uint32_t *id)
{
    uint64_t node = t->first;
    for (size_t i = 0; i < bytes; i++)
        if (!step(t->slot, &node, (unsigned char)piece[i]))
            return false;
    if (!bytes || !(node >> 32))
        return false;
    *id = (uint32_t)(node >> 32) - 1;
    return true;
}

size_t wordpiece_split(const wordpiece_trie *t, const char *word, size_t bytes, uint32_t *ids)
{
    size_t count = 0;
    uint64_t node = t->first;
    for (size_t at = 0; at < bytes; node = t->inside) {
        size_t end = at;
        uint64_t ended = 0;
        for (size_t i = at; i < bytes && step(t->slot, &node, (unsigned char)word[i]); i++)
            if (node >> 32) {
                ended = node;
                end = i + 1;
            }
        if (!ended)
            return 0;
        ids[count++] = (uint32_t)(ended >> 32) - 1;
        at = end;
    }
    return count;
}
