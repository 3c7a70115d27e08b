#include "unit/tokens_slow.h"

#include <stdlib.h>
#include <string.h>

#include "preprocess/normalise.h"
#include "preprocess/unicode.h"
#include "preprocess/utf8.h"
#include "support/support.h"

typedef struct points {
    uint32_t at[SLOW_POINTS];
    size_t n;
} points;

typedef struct output {
    uint32_t *ids;
    size_t n;
} output;

static const char *const specials[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

static bool has(uint32_t c, unsigned flag)
{
    return unicode_get(c)->flags & flag;
}

/* No ck_ok for each step: Check writes a note to a file for every assertion that holds. */
static void must(status st)
{
    if (st != STATUS_OK)
        ck_abort();
}

static void put(points *p, uint32_t c)
{
    if (p->n >= SLOW_POINTS)
        ck_abort();
    p->at[p->n++] = c;
}

/* The special token at p, its length in *bytes; NULL for none. */
static const char *special_at(const uint32_t *p, size_t left, size_t *bytes)
{
    for (size_t i = 0; i < 5; i++) {
        size_t k = 0;
        *bytes = strlen(specials[i]);
        while (k < *bytes && k < left && p[k] == (uint32_t)specials[i][k])
            k++;
        if (k == *bytes)
            return specials[i];
    }
    return NULL;
}

static char *const *sorting;

static int compare(const void *a, const void *b)
{
    uint32_t p = *(const uint32_t *)a, q = *(const uint32_t *)b;
    int order = strcmp(sorting[p], sorting[q]);
    return order ? order : (p > q) - (p < q);
}

void slow_sort(slow_rules *r)
{
    r->order = malloc(r->pieces * sizeof *r->order);
    ck_assert_ptr_nonnull(r->order);
    for (size_t i = 0; i < r->pieces; i++)
        r->order[i] = (uint32_t)i;
    sorting = r->piece;
    qsort(r->order, r->pieces, sizeof *r->order, compare);
}

static bool find(const slow_rules *r, const char *text, uint32_t *id)
{
    size_t low = 0, high = r->pieces; /* behind the last that is not greater: of equal pieces the last one counts */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(r->piece[r->order[middle]], text) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || strcmp(r->piece[r->order[low - 1]], text) != 0)
        return false;
    *id = r->order[low - 1];
    return true;
}

static void emit(const slow_rules *r, const char *piece, output *out)
{
    uint32_t id = 0;
    if (!find(r, piece, &id))
        ck_abort();
    out->ids[out->n++] = id;
}

static void wordpiece(const slow_rules *r, const uint32_t *word, size_t n, output *out)
{
    size_t before = out->n, start = 0;
    char text[8 + 4 * 100];
    if (n > 100) {
        emit(r, "[UNK]", out);
        return;
    }
    while (start < n) {
        size_t end = n;
        uint32_t id = 0;
        for (; end > start; end--) {
            size_t bytes = 0;
            if (start > 0) {
                memcpy(text, "##", 2);
                bytes = 2;
            }
            for (size_t i = start; i < end; i++)
                bytes += utf8_put(word[i], text + bytes);
            text[bytes] = 0;
            if (find(r, text, &id))
                break;
        }
        if (end == start) {
            out->n = before;
            emit(r, "[UNK]", out);
            return;
        }
        out->ids[out->n++] = id;
        start = end;
    }
}

static void normalise(points *p, status (*how)(normalise_word *))
{
    normalise_word w = {0};
    for (size_t i = 0; i < p->n; i++)
        must(normalise_push(&w, p->at[i]));
    must(how(&w));
    p->n = 0;
    for (size_t i = 0; i < w.count; i++)
        put(p, w.point[i]);
    normalise_free(&w);
}

static void lower_all(const uint32_t *from, size_t n, points *to)
{
    uint32_t two[2];
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0, m = unicode_lower(from[i], two); k < m; k++)
            put(to, two[k]);
}

static void basic_word(const slow_rules *r, const uint32_t *word, size_t n, output *out)
{
    static points p;
    size_t bytes;
    p.n = 0;
    bool special = special_at(word, n, &bytes) && bytes == n;
    if (r->lower && !special)
        lower_all(word, n, &p);
    else
        for (size_t i = 0; i < n; i++)
            put(&p, word[i]);
    if (r->strip && !special)
        normalise(&p, normalise_strip);
    if (special_at(p.at, p.n, &bytes) && bytes == p.n) {
        wordpiece(r, p.at, p.n, out);
        return;
    }
    for (size_t i = 0, from = 0; i <= p.n; i++)
        if (i == p.n || has(p.at[i], UNICODE_PUNCTUATION)) {
            if (i > from)
                wordpiece(r, p.at + from, i - from, out);
            if (i < p.n)
                wordpiece(r, p.at + i, 1, out);
            from = i + 1;
        }
}

static void segment(const slow_rules *r, const uint32_t *text, size_t n, output *out)
{
    static points p;
    p.n = 0;
    for (size_t i = 0; i < n; i++) {
        if (has(text[i], UNICODE_DROP))
            continue;
        bool apart = r->cjk && has(text[i], UNICODE_CJK);
        if (apart)
            put(&p, ' ');
        put(&p, text[i]);
        if (apart)
            put(&p, ' ');
    }
    normalise(&p, normalise_nfc);
    for (size_t i = 0, from = 0; i <= p.n; i++)
        if (i == p.n || has(p.at[i], UNICODE_SPACE)) {
            if (i > from)
                basic_word(r, p.at + from, i - from, out);
            from = i + 1;
        }
}

/* What the Rust tokenizers do to a stretch without special tokens: clean, set CJK apart, decompose and strip, lower-case, cut. */
static void segment_rust(const slow_rules *r, const uint32_t *text, size_t n, output *out)
{
    static points p, word;
    uint32_t two[2];
    p.n = 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t flags = unicode_rust_get(text[i])->flags;
        if (flags & UNICODE_DROP)
            continue;
        bool apart = r->cjk && flags & UNICODE_CJK;
        if (apart)
            put(&p, ' ');
        put(&p, text[i]);
        if (apart)
            put(&p, ' ');
    }
    if (r->strip) {
        normalise_word w = {.rust = true};
        for (size_t i = 0; i < p.n; i++)
            must(normalise_push(&w, p.at[i]));
        must(normalise_strip(&w));
        p.n = 0;
        for (size_t i = 0; i < w.count; i++)
            put(&p, w.point[i]);
        normalise_free(&w);
    }
    word.n = 0;
    for (size_t i = 0; i <= p.n; i++) {
        size_t m = i == p.n ? 1 : r->lower ? unicode_rust_lower(p.at[i], two) : 1;
        if (!r->lower || i == p.n)
            two[0] = i == p.n ? ' ' : p.at[i];
        for (size_t k = 0; k < m; k++) {
            uint8_t flags = unicode_rust_get(two[k])->flags;
            if (!(flags & (UNICODE_SPACE | UNICODE_PUNCTUATION))) {
                put(&word, two[k]);
                continue;
            }
            if (word.n)
                wordpiece(r, word.at, word.n, out);
            word.n = 0;
            if (flags & UNICODE_PUNCTUATION)
                wordpiece(r, &two[k], 1, out);
        }
    }
}

/* Special tokens are found in the text as it stands. */
static void encode_rust(const slow_rules *r, const uint32_t *text, size_t n, output *out)
{
    size_t bytes, from = 0;
    for (size_t i = 0; i < n;) {
        const char *special = special_at(text + i, n - i, &bytes);
        if (!special) {
            i++;
            continue;
        }
        segment_rust(r, text + from, i - from, out);
        emit(r, special, out);
        from = i += bytes;
    }
    segment_rust(r, text + from, n - from, out);
}

size_t slow_encode(const slow_rules *r, const uint32_t *text, size_t n, uint32_t *ids)
{
    static points joined, lowered;
    output out = {ids, 0};
    size_t bytes, from = 0;
    joined.n = lowered.n = 0;
    for (size_t i = 0; i < n; i++) {
        bool space = has(text[i], UNICODE_SPACE);
        if (!space && joined.n && i && has(text[i - 1], UNICODE_SPACE))
            put(&joined, ' ');
        if (!space)
            put(&joined, text[i]);
    }
    if (r->rust) {
        encode_rust(r, joined.at, joined.n, &out);
        return out.n;
    }
    for (size_t i = 0; i < joined.n;) {
        bool special = special_at(joined.at + i, joined.n - i, &bytes);
        size_t take = special ? bytes : 1;
        if (r->lower && !special)
            lower_all(joined.at + i, 1, &lowered);
        else
            for (size_t k = 0; k < take; k++)
                put(&lowered, joined.at[i + k]);
        i += take;
    }
    for (size_t i = 0; i < lowered.n;) {
        const char *special = special_at(lowered.at + i, lowered.n - i, &bytes);
        if (!special) {
            i++;
            continue;
        }
        segment(r, lowered.at + from, i - from, &out);
        emit(r, special, &out);
        from = i += bytes;
    }
    segment(r, lowered.at + from, lowered.n - from, &out);
    return out.n;
}
