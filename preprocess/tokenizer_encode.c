/* Text to ids. Every step of the reference works inside one word between spaces, so the text is joined first and then read as
 * stretches that cannot influence each other: ASCII signs are cut off where no neighbour can change them, and what lies
 * between is looked up whole in a cache of words. Where neighbours do matter, the stretch is done again in full. */
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "preprocess/normalise.h"
#include "preprocess/tokenizer.h"
#include "preprocess/tokenizer_table.h"
#include "preprocess/utf8.h"

enum {
    CACHE_BITS = 15,
    KEY_BYTES = 16,
    CACHED_IDS = 3,
    PADDING = 64,                              /* bytes behind joined text that may be read */
    ROOM_ONE_WORD = WORDPIECE_LONGEST_WORD + 8 /* ids that one word or one copy from the cache may write */
};

/* Half a line of the processor's cache. The key is the stretch's bytes, filled up with NUL: since NUL is dropped, stretches that
 * differ in NULs at the end alone have the same ids, and an empty entry rightly says that NULs give none. */
typedef struct entry {
    uint64_t key[KEY_BYTES / 8];
    uint32_t id[CACHED_IDS];
    uint16_t count, unknown;
} entry;

struct tokenizer_scratch {
    entry *cache;
    uint32_t *ids;
    size_t count, room, unknown;
    char *repaired, *joined, *word;
    size_t repaired_room, joined_room, word_room;
    size_t word_bytes, word_points; /* the word being put together */
    normalise_word full;
};

status tokenizer_scratch_create(const tokenizer *t, tokenizer_scratch **out)
{
    (void)t;
    tokenizer_scratch *s;
    *out = NULL;
    TRY(memory_new(&s, sizeof *s, "the tokenizer's scratch"));
    size_t bytes = sizeof(entry) << CACHE_BITS;
    s->cache = aligned_alloc(sizeof(entry), bytes);
    if (!s->cache) {
        free(s);
        return fail(STATUS_RESOURCE, "out of memory: %zu bytes for the tokenizer's cache", bytes);
    }
    memset(s->cache, 0, bytes);
    *out = s;
    return STATUS_OK;
}

void tokenizer_scratch_free(tokenizer_scratch *s)
{
    if (!s)
        return;
    free(s->cache);
    free(s->ids);
    free(s->repaired);
    free(s->joined);
    free(s->word);
    normalise_free(&s->full);
    free(s);
}

static status make_room(char **p, size_t *room, size_t bytes)
{
    if (bytes <= *room)
        return STATUS_OK;
    size_t larger = bytes + bytes / 2 + PADDING;
    TRY(memory_grow(p, larger, "a text to tokenize"));
    *room = larger;
    return STATUS_OK;
}

/* After this, `more` ids can be written behind the count. */
static inline status room_for_ids(tokenizer_scratch *s, size_t more)
{
    if (s->count + more <= s->room)
        return STATUS_OK;
    size_t room = 2 * s->room + more + 1024;
    TRY(memory_grow(&s->ids, room * sizeof *s->ids, "a text's ids"));
    s->room = room;
    return STATUS_OK;
}

static status push(const tokenizer *t, tokenizer_scratch *s, uint32_t id)
{
    TRY(room_for_ids(s, 1));
    s->ids[s->count++] = id;
    s->unknown += id == t->vocabulary.special[VOCABULARY_UNK];
    return STATUS_OK;
}

/* The pieces of the word put together so far; begins the next. */
static status end_word(const tokenizer *t, tokenizer_scratch *s)
{
    size_t bytes = s->word_bytes, points = s->word_points, pieces = 0;
    if (!points)
        return STATUS_OK;
    s->word_bytes = s->word_points = 0;
    TRY(room_for_ids(s, ROOM_ONE_WORD));
    if (points <= WORDPIECE_LONGEST_WORD)
        pieces = wordpiece_split(&t->vocabulary.trie, s->word, bytes, s->ids + s->count);
    if (!pieces)
        return push(t, s, t->vocabulary.special[VOCABULARY_UNK]);
    s->count += pieces;
    return STATUS_OK;
}

/* Index of the special token that begins at p, or -1. */
static int special_at(const char *p, size_t left)
{
    for (int i = 0; i < VOCABULARY_SPECIALS; i++) {
        size_t bytes = strlen(vocabulary_special_text[i]);
        if (bytes <= left && memcmp(p, vocabulary_special_text[i], bytes) == 0)
            return i;
    }
    return -1;
}

/* ---- in full ---- */

/* Cuts the normalised word of s->full at punctuation. */
static status cut_full_word(const tokenizer *t, tokenizer_scratch *s)
{
    const normalise_word *w = &s->full;
    TRY(make_room(&s->word, &s->word_room, w->count * UTF8_LONGEST + PADDING));
    s->word_bytes = s->word_points = 0;
    for (size_t i = 0; i < w->count; i++)
        s->word_bytes += utf8_put(w->point[i], s->word + s->word_bytes);
    if (!t->lower) { /* what has become a special token is one */
        int special = special_at(s->word, s->word_bytes);
        if (special >= 0 && s->word_bytes == strlen(vocabulary_special_text[special])) {
            s->word_bytes = s->word_points = 0;
            return push(t, s, t->vocabulary.special[special]);
        }
    }
    s->word_bytes = 0;
    for (size_t i = 0; i < w->count; i++) {
        bool sign = unicode_get(w->point[i])->flags & UNICODE_PUNCTUATION;
        if (sign)
            TRY(end_word(t, s));
        s->word_bytes += utf8_put(w->point[i], s->word + s->word_bytes);
        s->word_points++;
        if (sign)
            TRY(end_word(t, s));
    }
    return end_word(t, s);
}

static status end_full_word(const tokenizer *t, tokenizer_scratch *s)
{
    if (!s->full.count)
        return STATUS_OK;
    TRY(t->strip ? normalise_strip(&s->full) : normalise_nfc(&s->full));
    TRY(cut_full_word(t, s));
    normalise_clear(&s->full);
    return STATUS_OK;
}

/* A stretch without spaces and special tokens, step by step as the reference has them. */
static status encode_segment_full(const tokenizer *t, tokenizer_scratch *s, const char *p, size_t n)
{
    normalise_clear(&s->full);
    for (size_t i = 0, bytes; i < n; i += bytes) {
        uint32_t lowered[2] = {utf8_get(p + i, &bytes)};
        size_t count = t->lower ? unicode_lower(lowered[0], lowered) : 1;
        for (size_t j = 0; j < count; j++) {
            uint8_t flags = unicode_get(lowered[j])->flags;
            bool apart = t->cjk && flags & UNICODE_CJK;
            if (flags & UNICODE_DROP)
                continue;
            if (apart)
                TRY(end_full_word(t, s));
            TRY(normalise_push(&s->full, lowered[j]));
            if (apart)
                TRY(end_full_word(t, s));
        }
    }
    return end_full_word(t, s);
}

static status encode_full(const tokenizer *t, tokenizer_scratch *s, const char *p, size_t n)
{
    size_t from = 0, i = 0;
    while (i < n) {
        int special = p[i] == '[' ? special_at(p + i, n - i) : -1;
        if (special < 0) {
            i++;
            continue;
        }
        TRY(encode_segment_full(t, s, p + from, i - from));
        TRY(push(t, s, t->vocabulary.special[special]));
        from = i += strlen(vocabulary_special_text[special]);
    }
    return encode_segment_full(t, s, p + from, n - from);
}

/* ---- by the table ---- */

static inline void add(tokenizer_scratch *s, const char *p, size_t bytes)
{
    memcpy(s->word + s->word_bytes, p, UTF8_LONGEST);
    s->word_bytes += bytes;
    s->word_points++;
}

static inline void add_replacement(tokenizer_scratch *s, uint64_t action)
{
    uint64_t text = action >> 16;
    memcpy(s->word + s->word_bytes, &text, sizeof text);
    s->word_bytes += action >> 8 & 0xF;
    s->word_points += action >> 12 & 0xF;
}

static void add_hangul(tokenizer_scratch *s, uint32_t c)
{
    uint32_t jamo[UNICODE_MOST_PARTS];
    size_t n = unicode_decompose(c, jamo);
    for (size_t i = 0; i < n; i++)
        s->word_bytes += utf8_put(jamo[i], s->word + s->word_bytes);
    s->word_points += n;
}

/* A stretch without spaces, special tokens and the ASCII signs that concern its neighbours. */
static status encode_stretch(const tokenizer *t, tokenizer_scratch *s, const char *p, size_t n)
{
    size_t count = s->count, unknown = s->unknown;
    TRY(make_room(&s->word, &s->word_room, 3 * n + PADDING)); /* a Hangul syllable of 3 bytes becomes 9 */
    s->word_bytes = s->word_points = 0;
    for (size_t i = 0, bytes; i < n; i += bytes) {
        uint32_t c = utf8_get(p + i, &bytes);
        uint64_t action = tokenizer_action(t, c);
        switch (action & TOKENIZER_KIND) {
        case KIND_COPY: add(s, p + i, bytes); break;
        case KIND_REPLACE: add_replacement(s, action); break;
        case KIND_NOTHING: break;
        case KIND_SIGN:
            TRY(end_word(t, s));
            add(s, p + i, bytes);
            TRY(end_word(t, s));
            break;
        case KIND_SIGN_REPLACE:
            TRY(end_word(t, s));
            add_replacement(s, action);
            TRY(end_word(t, s));
            break;
        case KIND_HANGUL: add_hangul(s, c); break;
        default:
            s->count = count;
            s->unknown = unknown;
            return encode_full(t, s, p, n);
        }
    }
    return end_word(t, s);
}

/* ---- the cache of words ---- */

/* 16 bytes from KEY_BYTES - n on: ones for the first n bytes of a key. */
static const uint8_t key_mask[2 * KEY_BYTES] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

/* A stretch of at most KEY_BYTES bytes in joined text. */
static inline status encode_cached(const tokenizer *t, tokenizer_scratch *s, const char *p, size_t n)
{
    uint64_t key[2], mask[2];
    memcpy(key, p, sizeof key);
    memcpy(mask, key_mask + KEY_BYTES - n, sizeof mask);
    key[0] &= mask[0];
    key[1] &= mask[1];
    uint64_t h = (key[0] ^ (key[1] << 29 | key[1] >> 35)) * 0x9E3779B97F4A7C15u + key[1];
    h = (h ^ h >> 32) * 0xD6E8FEB86659FD93u;
    entry *e = &s->cache[h >> (64 - CACHE_BITS)];
    TRY(room_for_ids(s, CACHED_IDS));
    if (((e->key[0] ^ key[0]) | (e->key[1] ^ key[1])) == 0) {
        memcpy(s->ids + s->count, e->id, sizeof e->id);
        s->count += e->count;
        s->unknown += e->unknown;
        return STATUS_OK;
    }
    size_t count = s->count, unknown = s->unknown;
    TRY(encode_stretch(t, s, p, n));
    if (s->count - count <= CACHED_IDS) {
        memcpy(e->key, key, sizeof key);
        e->count = (uint16_t)(s->count - count);
        e->unknown = (uint16_t)(s->unknown - unknown);
        memcpy(e->id, s->ids + count, e->count * sizeof *e->id);
    }
    return STATUS_OK;
}

/* ---- joined text ---- */

/* Must the chunk around the sign at p[i] be done in full? A bracket may begin a special token that only cleaning and NFC bring
 * out; < = > may compose with a mark behind them. */
static bool sign_needs_full(const tokenizer *t, const char *p, size_t n, size_t i)
{
    const uint8_t *class = t->class;
    if (p[i] == '[' && !t->lower) {
        for (size_t j = i + 1; j < n && class[(unsigned char)p[j]] != CLASS_SPACE; j++)
            if (class[(unsigned char)p[j]] == CLASS_OTHER)
                return true;
    }
    return !t->strip && p[i] >= '<' && p[i] <= '>' && class[(unsigned char)p[i + 1]] == CLASS_OTHER;
}

/* p[0..n-1] is joined; p[n] is a space and PADDING bytes from there may be read. */
static status encode_joined(const tokenizer *t, tokenizer_scratch *s, const char *p, size_t n)
{
    const uint8_t *class = t->class;
    size_t chunk = 0, count = 0, unknown = 0; /* where the present chunk between spaces begins, in text and ids */
    for (size_t i = 0; i < n;) {
        size_t j = i;
        while (class[(unsigned char)p[j]] >= CLASS_WORD)
            j++;
        if (j > i) {
            TRY(j - i <= KEY_BYTES ? encode_cached(t, s, p + i, j - i) : encode_stretch(t, s, p + i, j - i));
            i = j;
            continue;
        }
        if (class[(unsigned char)p[i]] == CLASS_SPACE) {
            chunk = ++i;
            count = s->count;
            unknown = s->unknown;
            continue;
        }
        int special = p[i] == '[' ? special_at(p + i, n - i) : -1;
        if (special >= 0) {
            TRY(push(t, s, t->vocabulary.special[special]));
            i += strlen(vocabulary_special_text[special]);
        } else if ((p[i] == '[' || (p[i] >= '<' && p[i] <= '>')) && sign_needs_full(t, p, n, i)) {
            while (i < n && p[i] != ' ')
                i++;
            s->count = count;
            s->unknown = unknown;
            TRY(encode_full(t, s, p + chunk, i - chunk));
        } else {
            TRY(push(t, s, t->sign[(unsigned char)p[i++]]));
        }
    }
    return STATUS_OK;
}

/* Bytes of the white space of str.split() at p, 0 where there is none. Valid text. */
static size_t space_bytes(const unsigned char *p)
{
    if (p[0] < 0x80)
        return (p[0] >= 9 && p[0] <= 13) || (p[0] >= 28 && p[0] <= 32);
    if (p[0] != 0xC2 && (p[0] < 0xE1 || p[0] > 0xE3))
        return 0;
    size_t bytes;
    uint32_t c = utf8_get((const char *)p, &bytes);
    return unicode_get(c)->flags & UNICODE_SPACE ? bytes : 0;
}

/* No white space but single spaces inside? Simple enough for the compiler to do many bytes at once. Errs towards no. */
static bool is_joined(const unsigned char *p, size_t n)
{
    unsigned char odd = 0;
    if (!n)
        return true;
    for (size_t i = 0; i + 1 < n; i++)
        odd |= (unsigned char)((p[i] < 32) | (p[i] == 0xC2) | ((unsigned char)(p[i] - 0xE1) < 3) | ((p[i] == 32) & (p[i + 1] == 32)));
    return !odd && p[0] != 32 && p[n - 1] > 32;
}

static size_t join(const char *text, size_t n, char *out)
{
    const unsigned char *u = (const unsigned char *)text;
    size_t written = 0;
    if (is_joined(u, n)) {
        if (n)
            memcpy(out, text, n);
        return n;
    }
    for (size_t i = 0; i < n;) {
        size_t space = space_bytes(u + i);
        if (!space) {
            out[written++] = text[i++];
            continue;
        }
        if (written && out[written - 1] != ' ')
            out[written++] = ' ';
        i += space;
    }
    return written && out[written - 1] == ' ' ? written - 1 : written;
}

status tokenizer_encode(const tokenizer *t, tokenizer_scratch *s, const char *text, size_t n, tokenizer_tokens *out)
{
    memset(out, 0, sizeof *out);
    s->count = s->unknown = 0;
    if (utf8_valid_prefix(text, n) < n) {
        size_t bytes = utf8_replaced_bytes(text, n, &out->replaced);
        TRY(make_room(&s->repaired, &s->repaired_room, bytes));
        n = utf8_replace(text, n, s->repaired);
        text = s->repaired;
    }
    TRY(make_room(&s->joined, &s->joined_room, n + PADDING));
    size_t joined = join(text, n, s->joined);
    memset(s->joined + joined, ' ', PADDING);
    out->text_hash = hash_xxh3(s->joined, joined);
    TRY(room_for_ids(s, joined / 4));
    TRY(encode_joined(t, s, s->joined, joined));
    out->ids = s->ids;
    out->count = (int64_t)s->count;
    out->unknown = (int64_t)s->unknown;
    return STATUS_OK;
}
