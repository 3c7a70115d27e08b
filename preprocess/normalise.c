#include "preprocess/normalise.h"

#include <stdlib.h>
#include <string.h>

#include "preprocess/unicode.h"

enum {
    HANGUL_S = 0xAC00,
    HANGUL_L = 0x1100,
    HANGUL_V = 0x1161,
    HANGUL_T = 0x11A7, /* one before the first trailing consonant */
    HANGUL_L_COUNT = 19,
    HANGUL_V_COUNT = 21,
    HANGUL_T_COUNT = 28,
    HANGUL_S_COUNT = HANGUL_L_COUNT * HANGUL_V_COUNT * HANGUL_T_COUNT,
    SHORT_RUN = 16, /* marks in a row up to which insertion is the faster sort */
};

size_t unicode_lower(uint32_t c, uint32_t out[2])
{
    out[0] = c;
    if (!(unicode_get(c)->flags & UNICODE_LOWER))
        return 1;
    if (c == 0x130) {
        out[0] = 'i';
        out[1] = 0x307;
        return 2;
    }
    size_t low = 0, high = unicode_lowers_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (unicode_lowers[middle].from < c)
            low = middle + 1;
        else
            high = middle;
    }
    out[0] = unicode_lowers[low].to;
    return 1;
}

const unicode_record *unicode_rust_get(uint32_t c)
{
    size_t low = 0, high = unicode_rust_ranges_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (unicode_rust_ranges[middle].last < c)
            low = middle + 1;
        else
            high = middle;
    }
    return low < unicode_rust_ranges_count && unicode_rust_ranges[low].first <= c ? &unicode_rust_ranges[low].record : unicode_get(c);
}

size_t unicode_rust_lower(uint32_t c, uint32_t out[2])
{
    for (size_t i = 0; i < unicode_rust_lowers_count; i++)
        if (unicode_rust_lowers[i].from == c) {
            out[0] = unicode_rust_lowers[i].to;
            return 1;
        }
    return unicode_lower(c, out);
}

size_t unicode_decompose(uint32_t c, uint32_t out[UNICODE_MOST_PARTS])
{
    out[0] = c;
    if (!(unicode_get(c)->flags & UNICODE_DECOMPOSES))
        return 1;
    if (c - HANGUL_S < HANGUL_S_COUNT) {
        uint32_t s = c - HANGUL_S, t = s % HANGUL_T_COUNT;
        out[0] = HANGUL_L + s / (HANGUL_V_COUNT * HANGUL_T_COUNT);
        out[1] = HANGUL_V + s / HANGUL_T_COUNT % HANGUL_V_COUNT;
        out[2] = HANGUL_T + t;
        return t ? 3 : 2;
    }
    size_t low = 0, high = unicode_decompositions_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (unicode_decompositions[middle].from < c)
            low = middle + 1;
        else
            high = middle;
    }
    const unicode_decomposition *d = &unicode_decompositions[low];
    memcpy(out, unicode_parts + d->first, d->count * sizeof *out);
    return d->count;
}

uint32_t unicode_compose(uint32_t first, uint32_t second)
{
    if (first - HANGUL_L < HANGUL_L_COUNT && second - HANGUL_V < HANGUL_V_COUNT)
        return HANGUL_S + ((first - HANGUL_L) * HANGUL_V_COUNT + (second - HANGUL_V)) * HANGUL_T_COUNT;
    if (first - HANGUL_S < HANGUL_S_COUNT && (first - HANGUL_S) % HANGUL_T_COUNT == 0 && second > HANGUL_T && second < HANGUL_T + HANGUL_T_COUNT)
        return first + (second - HANGUL_T);
    size_t low = 0, high = unicode_compositions_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const unicode_composition *p = &unicode_compositions[middle];
        if (p->first < first || (p->first == first && p->second < second))
            low = middle + 1;
        else
            high = middle;
    }
    if (low < unicode_compositions_count && unicode_compositions[low].first == first && unicode_compositions[low].second == second)
        return unicode_compositions[low].composed;
    return 0;
}

static status make_room(normalise_word *w, size_t count)
{
    if (count <= w->room)
        return STATUS_OK;
    size_t room = w->room ? w->room : 64;
    while (room < count)
        room *= 2;
    TRY(memory_grow(&w->point, room * sizeof *w->point, "a word's code points"));
    TRY(memory_grow(&w->spare, room * sizeof *w->spare, "a word's code points"));
    w->room = room;
    return STATUS_OK;
}

status normalise_push(normalise_word *w, uint32_t code_point)
{
    if (w->count == w->room)
        TRY(make_room(w, w->count + 1));
    w->point[w->count++] = code_point;
    return STATUS_OK;
}

void normalise_free(normalise_word *w)
{
    free(w->point);
    free(w->spare);
    memset(w, 0, sizeof *w);
}

static inline const unicode_record *record(const normalise_word *w, uint32_t c)
{
    return w->rust ? unicode_rust_get(c) : unicode_get(c);
}

static void swap(normalise_word *w)
{
    uint32_t *p = w->point;
    w->point = w->spare;
    w->spare = p;
}

/* Puts the marks point[0..n-1], all of combining class > 0, in order of class, equal classes as they stand. A long run is
 * sorted by counting, so that hostile text costs no quadratic time. `spare` has n places. */
static void order_marks(const normalise_word *w, uint32_t *point, size_t n, uint32_t *spare)
{
    if (n <= SHORT_RUN) {
        for (size_t i = 1; i < n; i++) {
            uint32_t c = point[i];
            uint8_t class = record(w, c)->combining;
            size_t j = i;
            for (; j > 0 && record(w, point[j - 1])->combining > class; j--)
                point[j] = point[j - 1];
            point[j] = c;
        }
        return;
    }
    size_t start[257] = {0};
    for (size_t i = 0; i < n; i++)
        start[record(w, point[i])->combining + 1]++;
    for (size_t class = 1; class < 257; class ++)
        start[class] += start[class - 1];
    for (size_t i = 0; i < n; i++)
        spare[start[record(w, point[i])->combining]++] = point[i];
    memcpy(point, spare, n * sizeof *point);
}

status normalise_nfd(normalise_word *w)
{
    size_t n = 0, run = 0; /* run: code points at the end with a combining class */
    TRY(make_room(w, w->count * UNICODE_MOST_PARTS));
    for (size_t i = 0; i < w->count; i++)
        if (record(w, w->point[i])->flags & UNICODE_DECOMPOSES)
            n += unicode_decompose(w->point[i], w->spare + n);
        else
            w->spare[n++] = w->point[i];
    swap(w);
    w->count = n;
    for (size_t i = 0; i <= n; i++) {
        if (i < n && record(w, w->point[i])->combining) {
            run++;
        } else {
            if (run > 1)
                order_marks(w, w->point + i - run, run, w->spare);
            run = 0;
        }
    }
    return STATUS_OK;
}

status normalise_nfc(normalise_word *w)
{
    TRY(normalise_nfd(w));
    size_t kept = 0, starter = SIZE_MAX; /* index of the last starter kept */
    uint8_t before = 0;                  /* class of the last code point kept after that starter, 0 directly after it */
    for (size_t i = 0; i < w->count; i++) {
        uint32_t c = w->point[i];
        uint8_t class = unicode_get(c)->combining;
        /* Blocked when something of the same or a higher class, or another starter, stands between. */
        if (starter != SIZE_MAX && (kept == starter + 1 || (before && before < class))) {
            uint32_t composed = unicode_compose(w->point[starter], c);
            if (composed) {
                w->point[starter] = composed;
                continue;
            }
        }
        if (!class)
            starter = kept;
        before = class;
        w->point[kept++] = c;
    }
    w->count = kept;
    return STATUS_OK;
}

status normalise_strip(normalise_word *w)
{
    TRY(normalise_nfd(w));
    size_t kept = 0;
    for (size_t i = 0; i < w->count; i++)
        if (!(record(w, w->point[i])->flags & UNICODE_MARK))
            w->point[kept++] = w->point[i];
    w->count = kept;
    return STATUS_OK;
}
