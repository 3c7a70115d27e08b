/* The scans of each instruction set against one byte at a time, and the composition of pieces at every cut. */
#include <stdio.h>
#include <stdlib.h>

#include "preprocess/csv_scan.h"
#include "support/support.h"

enum { MOST = 700 };

static size_t random_bytes(uint8_t *p, size_t most)
{
    static const char alphabet[] = "abcdefgh,,\"\"\n\n\r  ";
    size_t n = support_below(most + 1);
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)alphabet[support_below(sizeof alphabet - 1)];
    return n;
}

/* A piece by the definition: a record starts where a line does, unless the line is empty. */
static csv_piece slow_piece(const uint8_t *p, size_t n, size_t from, size_t to)
{
    csv_piece piece = {.first = {CSV_NOWHERE, CSV_NOWHERE}};
    for (int s = 0; s < CSV_STATES; s++) {
        bool inside = s == CSV_INSIDE, fresh = !inside && (from == 0 || p[from - 1] == '\n');
        for (size_t i = from; i < to; i++) {
            bool empty = p[i] == '\n' || (p[i] == '\r' && i + 1 < n && p[i + 1] == '\n');
            if (fresh && !empty) {
                piece.first[s] = piece.records[s]++ ? piece.first[s] : i;
            }
            inside ^= p[i] == '"';
            fresh = !inside && p[i] == '\n';
        }
        if (s == CSV_OUTSIDE)
            piece.flips = inside;
    }
    return piece;
}

static csv_piece fast_piece(const csv_scan *scan, const uint8_t *p, size_t n, size_t from, size_t to)
{
    csv_count c = csv_count_begin(from, from ? p[from - 1] : '\n');
    while (from < to) { /* in pieces of any size, as reads give them */
        size_t step = 1 + support_below(to - from);
        scan->count(&c, p + from, step, from + step < n ? p[from + step] : -1);
        from += step;
    }
    return c.piece;
}

static void same_piece(const csv_piece *a, const csv_piece *b, const char *what)
{
    for (int s = 0; s < CSV_STATES; s++)
        ck_assert_msg(a->first[s] == b->first[s] && a->records[s] == b->records[s], "%s, state %d: first %llu %llu, records %lld %lld", what, s,
                      (unsigned long long)a->first[s], (unsigned long long)b->first[s], (long long)a->records[s], (long long)b->records[s]);
    ck_assert_msg(a->flips == b->flips, "%s: flips", what);
}

static const char *const names[] = {"sse2", "avx2"};

START_TEST(pieces_join_at_every_cut)
{
    uint8_t p[MOST];
    for (int i = 0; i < 200; i++) {
        size_t n = random_bytes(p, i % 2 ? MOST : 70);
        csv_piece whole = slow_piece(p, n, 0, n);
        for (size_t k = 0; k < 2; k++) {
            const csv_scan *scan = csv_scan_named(names[k]);
            for (size_t cut = 0; scan && cut <= n; cut++) {
                csv_piece a = fast_piece(scan, p, n, 0, cut), b = fast_piece(scan, p, n, cut, n), slow = slow_piece(p, n, cut, n), joined = csv_piece_join(&a, &b);
                same_piece(&b, &slow, names[k]);
                same_piece(&joined, &whole, names[k]);
            }
        }
    }
}
END_TEST

typedef struct index_result {
    uint32_t entries[MOST + 80], ends[MOST + 80];
    csv_index x;
} index_result;

static void slow_index(const uint8_t *p, size_t n, char delimiter, index_result *r)
{
    bool inside = false;
    r->x = csv_index_begin();
    for (size_t i = 0; i < n; i++) {
        uint8_t before = i ? p[i - 1] : '\n', c = p[i];
        bool closed = i && before == '"' && !inside;
        r->x.broken = CSV_NO_BREAK;
        if (i && !inside && before == '\r' && c != '\n')
            r->x.broken = CSV_BREAK_LONE_CR;
        else if (c == '"' && !inside && before != (uint8_t)delimiter && before != '\n' && !closed)
            r->x.broken = CSV_BREAK_QUOTE;
        else if (closed && c != '"' && c != (uint8_t)delimiter && c != '\n' && c != '\r')
            r->x.broken = CSV_BREAK_TEXT;
        if (r->x.broken) {
            r->x.broken_at = i - (r->x.broken == CSV_BREAK_LONE_CR);
            return;
        }
        inside ^= c == '"';
        if (!inside && (c == (uint8_t)delimiter || c == '\n')) {
            if (c == '\n')
                r->ends[r->x.ends++] = (uint32_t)r->x.entries;
            r->entries[r->x.entries++] = (uint32_t)i;
        }
    }
}

static void fast_index(const csv_scan *scan, const uint8_t *p, size_t n, char delimiter, index_result *r)
{
    size_t done = 0, have = 0;
    r->x = csv_index_begin();
    ck_assert_int_eq(r->x.delimiter, ',');
    r->x.delimiter = delimiter;
    while (done < n && !r->x.broken) {
        have += 1 + support_below(n - have > 200 ? 200 : n - have);
        done += scan->index(&r->x, p + done, have - done, have == n, (uint32_t)done, r->entries, r->ends);
        if (have == n)
            break;
    }
}

static void expect_equal_indices(const uint8_t *p, size_t n, char delimiter)
{
    static index_result fast, slow;
    slow_index(p, n, delimiter, &slow);
    for (size_t k = 0; k < 2; k++) {
        const csv_scan *scan = csv_scan_named(names[k]);
        if (!scan)
            continue;
        fast_index(scan, p, n, delimiter, &fast);
        ck_assert_msg(fast.x.broken == slow.x.broken && (!slow.x.broken || fast.x.broken_at == slow.x.broken_at), "%s: %d at %zu, not %d at %zu", names[k],
                      (int)fast.x.broken, fast.x.broken_at, (int)slow.x.broken, slow.x.broken_at);
        ck_assert_uint_eq(fast.x.entries, slow.x.entries);
        ck_assert_uint_eq(fast.x.ends, slow.x.ends);
        ck_assert_int_eq(memcmp(fast.entries, slow.entries, slow.x.entries * sizeof *slow.entries), 0);
        ck_assert_int_eq(memcmp(fast.ends, slow.ends, slow.x.ends * sizeof *slow.ends), 0);
    }
}

START_TEST(indices_equal_the_slow_one)
{
    uint8_t p[MOST];
    for (int i = 0; i < 20000; i++) {
        size_t n = random_bytes(p, i % 2 ? MOST : 70);
        char delimiter = ",\t;a"[support_below(4)];
        for (size_t k = 0; k < n; k++)
            p[k] = p[k] == ',' && support_below(5) ? (uint8_t)delimiter : p[k];
        for (size_t k = 0; i % 2 && k < n; k++) /* mostly fine for long */
            if (p[k] == '"' || p[k] == '\r')
                p[k] = support_below(100) == 0 ? p[k] : (uint8_t)",ab\n"[support_below(4)];
        expect_equal_indices(p, n, delimiter);
    }
}
END_TEST

static const char long_text[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/* A quote that opens and one that closes at every place of a vector, and what may and may not follow. */
START_TEST(quotes_at_every_place)
{
    static const char *const after[] = {"x\n", "\"\"\n", ",x\n", "\n", "\r\n", "\rx\n", "\"x\"\n", ""};
    for (size_t begin = 0; begin < 70; begin++) {
        for (size_t length = 0; length < 140; length++) {
            for (size_t k = 0; k < sizeof after / sizeof *after; k++) {
                char p[256];
                int n = snprintf(p, sizeof p, "%.*s,\"%.*s\"%s", (int)begin, long_text, (int)length, long_text, after[k]);
                expect_equal_indices((const uint8_t *)p, (size_t)n, ',');
            }
        }
    }
}
END_TEST

int main(void)
{
    return support_run("csv_scan", (const TTest *[]){pieces_join_at_every_cut, indices_equal_the_slow_one, quotes_at_every_place, NULL});
}
