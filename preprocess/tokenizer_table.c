#include "preprocess/tokenizer_table.h"

#include <string.h>

#include "common/hash.h"
#include "preprocess/utf8.h"

enum { LAST_HANGUL = 0xD7A3, FIRST_HANGUL = 0xAC00, PARTS = 2 * UNICODE_MOST_PARTS };

/* What c becomes when no neighbour changes it; false where one might. */
static bool fold(const tokenizer *t, uint32_t c, uint32_t out[PARTS], size_t *count)
{
    uint32_t lowered[2] = {c}, parts[UNICODE_MOST_PARTS];
    size_t n = t->lower ? unicode_lower(c, lowered) : 1;
    *count = 0;
    for (size_t i = 0; i < n; i++) {
        if (!t->strip) {
            if (unicode_get(lowered[i])->flags & UNICODE_NFC)
                return false;
            out[(*count)++] = lowered[i];
            continue;
        }
        size_t m = unicode_decompose(lowered[i], parts);
        for (size_t j = 0; j < m; j++) {
            const unicode_record *r = unicode_get(parts[j]);
            if (r->flags & UNICODE_MARK)
                continue;
            if (r->combining) /* stays, and may trade places with another such mark */
                return false;
            out[(*count)++] = parts[j];
        }
    }
    return true;
}

/* The same for the Rust tokenizers, which decompose first, then lower-case, and know no NFC. */
static bool fold_rust(const tokenizer *t, uint32_t c, uint32_t out[PARTS], size_t *count)
{
    uint32_t parts[UNICODE_MOST_PARTS] = {c};
    size_t n = t->strip && unicode_rust_get(c)->flags & UNICODE_DECOMPOSES ? unicode_decompose(c, parts) : 1;
    *count = 0;
    for (size_t i = 0; i < n; i++) {
        const unicode_record *r = unicode_rust_get(parts[i]);
        if (t->strip && r->flags & UNICODE_MARK)
            continue;
        if (t->strip && r->combining)
            return false;
        out[*count] = parts[i];
        *count += t->lower ? unicode_rust_lower(parts[i], out + *count) : 1;
    }
    return true;
}

static uint64_t action(const tokenizer *t, uint32_t c)
{
    uint8_t flags = tokenizer_record(t, c)->flags;
    if (flags & UNICODE_DROP)
        return KIND_NOTHING;
    if (t->strip && c >= FIRST_HANGUL && c <= LAST_HANGUL)
        return KIND_HANGUL;
    uint32_t out[PARTS];
    size_t count, bytes = 0;
    if (!(t->rust ? fold_rust(t, c, out, &count) : fold(t, c, out, &count)))
        return KIND_FULL;
    if (!count)
        return KIND_NOTHING;
    bool sign = (t->cjk && flags & UNICODE_CJK) || (count == 1 && tokenizer_record(t, out[0])->flags & UNICODE_PUNCTUATION);
    char text[PARTS * UTF8_LONGEST];
    for (size_t i = 0; i < count; i++)
        bytes += utf8_put(out[i], text + bytes);
    if (sign && count == 1) {
        uint32_t id = t->vocabulary.special[VOCABULARY_UNK];
        vocabulary_find(&t->vocabulary, text, bytes, &id);
        return KIND_SIGN | (uint64_t)id << 16;
    }
    if (count == 1 && out[0] == c)
        return KIND_COPY;
    if (sign || bytes > ACTION_BYTES)
        return KIND_FULL;
    uint64_t a = KIND_REPLACE | (uint64_t)bytes << 8 | (uint64_t)count << 12;
    for (size_t i = 0; i < bytes; i++)
        a |= (uint64_t)(unsigned char)text[i] << (16 + 8 * i);
    return a;
}

/* Most blocks are alike (copy all, drop all): each different one is kept once. */
static status fill_actions(tokenizer *t)
{
    enum { BLOCKS = UNICODE_LIMIT >> ACTION_BLOCK_BITS };
    uint64_t block[ACTION_BLOCK], hash[BLOCKS];
    size_t kept = 0, room = 0;
    for (uint32_t b = 0; b < BLOCKS; b++) {
        for (uint32_t i = 0; i < ACTION_BLOCK; i++)
            block[i] = action(t, b << ACTION_BLOCK_BITS | i);
        uint64_t h = hash_xxh3(block, sizeof block);
        size_t k = 0;
        while (k < kept && (hash[k] != h || memcmp(t->cell + k * ACTION_BLOCK, block, sizeof block) != 0))
            k++;
        if (k == kept) {
            if (kept == room) {
                room = 2 * room + 64;
                TRY(memory_grow(&t->cell, room * sizeof block, "the tokenizer's table"));
            }
            hash[kept] = h;
            memcpy(t->cell + kept++ * ACTION_BLOCK, block, sizeof block);
        }
        t->block[b] = (uint16_t)k;
    }
    return STATUS_OK;
}

status tokenizer_fill_tables(tokenizer *t)
{
    TRY(fill_actions(t));
    for (int c = 0; c < 256; c++) {
        uint8_t flags = c < 128 ? unicode_get((uint32_t)c)->flags : UNICODE_DROP;
        t->class[c] = c == ' '                                 ? CLASS_SPACE
                      : flags & UNICODE_PUNCTUATION            ? CLASS_SIGN
                      : flags & (UNICODE_DROP | UNICODE_SPACE) ? CLASS_OTHER
                                                               : CLASS_WORD;
    }
    for (int c = 0; c < 128; c++) {
        char text = (char)c;
        if (!vocabulary_find(&t->vocabulary, &text, 1, &t->sign[c]))
            t->sign[c] = t->vocabulary.special[VOCABULARY_UNK];
    }
    return STATUS_OK;
}
