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

static void put(points *p, uint32_t c)
{
    if (p->n >= SLOW_POINTS) /* no assertion for each: Check writes a file note for those that hold */
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

static bool find(const slow_rules *r, const char *text, uint32_t *id)
{
    bool found = false;
    for (size_t i = 0; i < r->pieces; i++)
        if (strcmp(r->piece[i], text) == 0) { /* the last one counts */
            *id = (uint32_t)i;
            found = true;
        }
    return found;
}

static void emit(const slow_rules *r, const char *piece, output *out)
{
    uint32_t id = 0;
    ck_assert(find(r, piece, &id));
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
        ck_ok(normalise_push(&w, p->at[i]));
    ck_ok(how(&w));
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
