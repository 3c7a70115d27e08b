/* Text to ids. Every step of the reference works inside one word between spaces, so the text is joined first and then read as
 * stretches that cannot influence each other: ASCII signs are cut off where no neighbour can change them, and what lies
 * between is looked up whole in a cache of words. Where neighbours do matter, the stretch is done again in full. */
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "preprocess/clean.h"
#include "preprocess/normalise.h"
#include "preprocess/tokenizer.h"
#include "preprocess/tokenizer_cache.h"
#include "preprocess/tokenizer_scan.h"
#include "preprocess/tokenizer_table.h"
#include "preprocess/utf8.h"

enum {
    PADDING = SCAN_PADDING,
    ROOM_ONE_WORD = WORDPIECE_LONGEST_WORD + 8 /* ids that one word or one copy from the cache may write */
};

typedef struct span {
    cache_word word; /* set where the cache is asked */
    size_t begin, end;
    bool cached;
} span;

/* Words that come one after the other; what the cache knows of them is under way to the processor. */
typedef struct batch {
    size_t words;
    span w[SCAN_BATCH + SCAN_BLOCK];
} batch;

/* A text that was begun: joined, with its first words found. */
typedef struct begun_text {
    char *joined;
    size_t joined_room;
    tokenizer_tokens about;
    scan_edges edges;
    batch first;
} begun_text;

struct tokenizer_scratch {
    tokenizer_cache cache;
    uint32_t *ids;
    size_t count, room;
    begun_text text[TOKENIZER_SLOTS];
    batch next[2];
    char *repaired, *word;
    size_t repaired_room, word_room;
    size_t word_bytes, word_points; /* the word being put together */
    normalise_word full;
    clean_buffer clean;
};

status tokenizer_scratch_create(const tokenizer *t, tokenizer_scratch **out)
{
    (void)t;
    tokenizer_scratch *s;
    *out = NULL;
    TRY(memory_new(&s, sizeof *s, "the tokenizer's scratch"));
    if (cache_create(&s->cache) != STATUS_OK) {
        free(s);
        return STATUS_RESOURCE;
    }
    *out = s;
    return STATUS_OK;
}

void tokenizer_scratch_free(tokenizer_scratch *s)
{
    if (!s)
        return;
    cache_free(&s->cache);
    free(s->ids);
    free(s->repaired);
    for (int i = 0; i < TOKENIZER_SLOTS; i++)
        free(s->text[i].joined);
    free(s->word);
    normalise_free(&s->full);
    clean_free(&s->clean);
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

static inline status push(tokenizer_scratch *s, uint32_t id)
{
    TRY(room_for_ids(s, 1));
    s->ids[s->count++] = id;
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
        return push(s, t->vocabulary.special[VOCABULARY_UNK]);
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
    if (!t->lower && !t->rust) { /* what has become a special token is one */
        int special = special_at(s->word, s->word_bytes);
        if (special >= 0 && s->word_bytes == strlen(vocabulary_special_text[special])) {
            s->word_bytes = s->word_points = 0;
            return push(s, t->vocabulary.special[special]);
        }
    }
    s->word_bytes = 0;
    for (size_t i = 0; i < w->count; i++) {
        bool sign = tokenizer_record(t, w->point[i])->flags & UNICODE_PUNCTUATION;
        if (sign)
            TRY(end_word(t, s));
        s->word_bytes += utf8_put(w->point[i], s->word + s->word_bytes);
        s->word_points++;
        if (sign)
            TRY(end_word(t, s));
    }
    return end_word(t, s);
}

/* What the Rust tokenizers do to a word, whose code points are in s->full. */
static status normalise_rust(const tokenizer *t, normalise_word *w)
{
    if (t->strip)
        TRY(normalise_strip(w));
    for (size_t i = 0, n = w->count; t->lower && i < n; i++) {
        uint32_t lowered[2];
        size_t count = unicode_rust_lower(w->point[i], lowered);
        w->point[i] = lowered[0];
        if (count > 1) { /* U+0130 alone, and only where it has not been decomposed */
            TRY(normalise_push(w, 0));
            memmove(w->point + i + 2, w->point + i + 1, (w->count - i - 2) * sizeof *w->point);
            w->point[++i] = lowered[1];
            n++;
        }
    }
    return STATUS_OK;
}

static status end_full_word(const tokenizer *t, tokenizer_scratch *s)
{
    if (!s->full.count)
        return STATUS_OK;
    TRY(t->rust ? normalise_rust(t, &s->full) : t->strip ? normalise_strip(&s->full) : normalise_nfc(&s->full));
    TRY(cut_full_word(t, s));
    normalise_clear(&s->full);
    return STATUS_OK;
}

/* A stretch without spaces and special tokens, step by step as the reference has them. */
static status encode_segment_full(const tokenizer *t, tokenizer_scratch *s, const char *p, size_t n)
{
    normalise_clear(&s->full);
    s->full.rust = t->rust;
    for (size_t i = 0, bytes; i < n; i += bytes) {
        uint32_t lowered[2] = {utf8_get(p + i, &bytes)};
        size_t count = t->lower && !t->rust ? unicode_lower(lowered[0], lowered) : 1;
        for (size_t j = 0; j < count; j++) {
            uint8_t flags = tokenizer_record(t, lowered[j])->flags;
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
        TRY(push(s, t->vocabulary.special[special]));
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
    size_t count = s->count;
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
            TRY(push(s, (uint32_t)(action >> 16)));
            break;
        case KIND_HANGUL: add_hangul(s, c); break;
        default:
            s->count = count;
            return encode_full(t, s, p, n);
        }
    }
    return end_word(t, s);
}

/* ---- words by the cache ---- */

/* A run of CJK is cheap by the table and rarely comes again; what is longer than a key is not kept either. */
static inline bool asks_cache(const char *p, size_t n)
{
    return n <= CACHE_LARGE_KEY && (unsigned char)(p[0] - 0xE3) > 0xE9 - 0xE3;
}

static status encode_new_word(const tokenizer *t, tokenizer_scratch *s, const char *p, const span *w)
{
    size_t n = w->end - w->begin, count = s->count;
    TRY(encode_stretch(t, s, p + w->begin, n));
    return w->cached ? cache_store(&s->cache, &w->word, n, s->ids + count, s->count - count) : STATUS_OK;
}

static inline status encode_word(const tokenizer *t, tokenizer_scratch *s, const char *p, const span *w)
{
    size_t found;
    TRY(room_for_ids(s, CACHE_LARGE_IDS));
    if (!w->cached || !cache_find(&s->cache, &w->word, w->end - w->begin, s->ids + s->count, &found))
        return encode_new_word(t, s, p, w);
    s->count += found;
    return STATUS_OK;
}

/* ---- joined text ---- */

/* Where the walk is, and where the present chunk between spaces begins, in text and ids. */
typedef struct place {
    size_t at, chunk, count;
} place;

/* Must the chunk around the sign at p[i] be done in full? A bracket may begin a special token that only cleaning and NFC bring
 * out; < = > may compose with a mark behind them. */
static bool sign_needs_full(const tokenizer *t, const char *p, size_t n, size_t i)
{
    const uint8_t *class = t->class;
    if (t->rust)
        return false;
    if (p[i] == '[' && !t->lower) {
        for (size_t j = i + 1; j < n && class[(unsigned char)p[j]] != CLASS_SPACE; j++)
            if (class[(unsigned char)p[j]] == CLASS_OTHER)
                return true;
    }
    return !t->strip && p[i] >= '<' && p[i] <= '>' && class[(unsigned char)p[i + 1]] == CLASS_OTHER;
}

/* A bracket, or < = >: returns with the place behind what it took. */
static status encode_rare_sign(const tokenizer *t, tokenizer_scratch *s, const char *p, size_t n, place *x)
{
    int special = p[x->at] == '[' ? special_at(p + x->at, n - x->at) : -1;
    if (special >= 0) {
        x->at += strlen(vocabulary_special_text[special]);
        return push(s, t->vocabulary.special[special]);
    }
    if (!sign_needs_full(t, p, n, x->at))
        return push(s, t->sign[(unsigned char)p[x->at++]]);
    while (x->at < n && p[x->at] != ' ')
        x->at++;
    s->count = x->count;
    return encode_full(t, s, p + x->chunk, x->at - x->chunk);
}

/* Spaces and signs up to `end`, or past it where a special token or a chunk in full takes what follows. */
static inline status encode_gap(const tokenizer *t, tokenizer_scratch *s, const char *p, size_t n, size_t end, place *x)
{
    while (x->at < end) {
        char c = p[x->at];
        if (c == ' ')
            *x = (place){x->at + 1, x->at + 1, s->count};
        else if (c == '[' || (c >= '<' && c <= '>'))
            TRY(encode_rare_sign(t, s, p, n, x));
        else {
            TRY(push(s, t->sign[(unsigned char)c]));
            x->at++;
        }
    }
    return STATUS_OK;
}

static void next_words(const tokenizer *t, const tokenizer_scratch *s, scan_edges *edges, const char *p, size_t n, batch *b)
{
    span *w = b->w;
    b->words = scan_words(edges, p, n);
    for (size_t k = 0; k < b->words; k++, w++) {
        w->begin = edges->at[2 * k];
        w->end = edges->at[2 * k + 1];
        w->cached = asks_cache(p + w->begin, w->end - w->begin);
        if (w->cached) {
            cache_set_word(&w->word, p + w->begin, w->end - w->begin, t->lower);
            cache_prefetch(&s->cache, &w->word, w->end - w->begin);
        }
    }
}

static inline status encode_batch(const tokenizer *t, tokenizer_scratch *s, const char *p, size_t n, const batch *b, place *x)
{
    for (const span *w = b->w, *end = w + b->words; w < end; w++) {
        if (p[x->at] == ' ' && x->at + 1 == w->begin)
            *x = (place){w->begin, w->begin, s->count};
        else
            TRY(encode_gap(t, s, p, n, w->begin, x));
        if (x->at > w->begin)
            continue;
        TRY(encode_word(t, s, p, w));
        x->at = w->end;
    }
    return STATUS_OK;
}

/* The words of a text that was begun, each batch when the next one is under way. */
static status encode_joined(const tokenizer *t, tokenizer_scratch *s, begun_text *k)
{
    const char *p = k->joined;
    size_t n = k->about.text_bytes;
    place x = {0};
    for (batch *now = &k->first, *next = &s->next[0]; now->words > 0; now = next, next = &s->next[next == &s->next[0]]) {
        next_words(t, s, &k->edges, p, n, next);
        TRY(encode_batch(t, s, p, n, now, &x));
    }
    return encode_gap(t, s, p, n, n, &x);
}

static status prepare(const tokenizer *t, tokenizer_scratch *s, begun_text *k, const char *text, size_t n)
{
    tokenizer_tokens *out = &k->about;
    *out = (tokenizer_tokens){0};
    if (utf8_valid_prefix(text, n) < n) {
        size_t bytes = utf8_replaced_bytes(text, n, &out->replaced);
        TRY(make_room(&s->repaired, &s->repaired_room, bytes));
        n = utf8_replace(text, n, s->repaired);
        text = s->repaired;
    }
    if (t->settings.clean) {
        const char *given = text;
        TRY(clean_text(t->settings.clean, &s->clean, text, n, &text, &n));
        out->cleaned = text != given;
    }
    TRY(make_room(&k->joined, &k->joined_room, n + PADDING));
    size_t joined = scan_join(text, n, k->joined);
    memset(k->joined + joined, ' ', PADDING);
    out->text = k->joined;
    out->text_bytes = joined;
    return STATUS_OK;
}

status tokenizer_prepare(const tokenizer *t, tokenizer_scratch *s, const char *text, size_t n, tokenizer_tokens *out)
{
    TRY(prepare(t, s, &s->text[0], text, n));
    *out = s->text[0].about;
    return STATUS_OK;
}

uint64_t tokenizer_text_hash(const tokenizer_tokens *k)
{
    return hash_xxh3(k->text, k->text_bytes) & TOKENIZER_TEXT_HASH;
}

static int64_t count_unknown(const tokenizer_scratch *s, uint32_t unk)
{
    uint32_t found = 0; /* as wide as an id, so that it is counted by vectors */
    int64_t all = 0;
    for (size_t from = 0, end; from < s->count; from = end, all += found, found = 0) {
        end = s->count - from < UINT32_MAX ? s->count : from + UINT32_MAX;
        for (size_t i = from; i < end; i++)
            found += s->ids[i] == unk;
    }
    return all;
}

status tokenizer_begin(const tokenizer *t, tokenizer_scratch *s, int slot, const char *text, size_t n)
{
    begun_text *k = &s->text[slot];
    TRY(prepare(t, s, k, text, n));
    scan_begin(&k->edges);
    next_words(t, s, &k->edges, k->joined, k->about.text_bytes, &k->first);
    return STATUS_OK;
}

status tokenizer_finish(const tokenizer *t, tokenizer_scratch *s, int slot, tokenizer_tokens *out)
{
    begun_text *k = &s->text[slot];
    s->count = 0;
    TRY(room_for_ids(s, k->about.text_bytes / 4));
    TRY(encode_joined(t, s, k));
    *out = k->about;
    out->ids = s->ids;
    out->count = (int64_t)s->count;
    out->unknown = count_unknown(s, t->vocabulary.special[VOCABULARY_UNK]);
    return STATUS_OK;
}

void tokenizer_forget(tokenizer_scratch *s, int slot)
{
    begun_text *k = &s->text[slot];
    free(k->joined);
    k->joined = NULL;
    k->joined_room = 0;
}

status tokenizer_encode(const tokenizer *t, tokenizer_scratch *s, const char *text, size_t n, tokenizer_tokens *out)
{
    TRY(tokenizer_begin(t, s, 0, text, n));
    return tokenizer_finish(t, s, 0, out);
}
