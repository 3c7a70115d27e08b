/* NFD and NFC against Python's unicodedata (tests/oracle/tokens_normalise.py): every code point in seven contexts, random sequences; long
 * runs of marks. */
#include <stdio.h>
#include <stdlib.h>

#include "common/files.h"
#include "common/hash.h"
#include "preprocess/normalise.h"
#include "preprocess/unicode.h"
#include "support/support.h"

enum { CONTEXTS = 7, DIGEST = 16, BLOCK = 4096, MOST = 64, LONGEST = 12 };

static const uint32_t SELF = UINT32_MAX; /* stands for the code point itself */

/* As ck_ok, but silent: Check writes a note to a file for every assertion that holds, too slow for millions. */
static void must(status st)
{
    if (st != STATUS_OK)
        ck_abort_msg("%s", status_message());
}

static void load(normalise_word *w, const uint32_t *points, size_t n)
{
    normalise_clear(w);
    for (size_t i = 0; i < n; i++)
        must(normalise_push(w, points[i]));
}

static uint32_t *put_record(uint32_t *to, const normalise_word *w)
{
    if (w->count >= LONGEST)
        ck_abort_msg("%zu code points", w->count);
    *to = (uint32_t)w->count;
    memcpy(to + 1, w->point, w->count * sizeof *to);
    return to + 1 + w->count;
}

static void digest_block(uint32_t first, normalise_word *w, char digest[HASH_HEX])
{
    static const struct {
        size_t n;
        uint32_t point[4];
    } context[CONTEXTS] = {{1, {SELF}},
                           {2, {SELF, 0x301}},
                           {3, {'A', 0x323, SELF}},
                           {2, {0x1100, SELF}},
                           {3, {SELF, 0x1161, 0x11A8}},
                           {4, {SELF, 0x338, 0x345, 0x93C}},
                           {3, {'e', SELF, 0x301}}};
    static uint32_t records[BLOCK * CONTEXTS * 2 * LONGEST];
    uint32_t *end = records;
    for (uint32_t c = first; c < first + BLOCK; c++) {
        if (c >= 0xD800 && c < 0xE000)
            continue;
        for (int k = 0; k < CONTEXTS; k++) {
            uint32_t text[4];
            for (size_t i = 0; i < context[k].n; i++)
                text[i] = context[k].point[i] == SELF ? c : context[k].point[i];
            load(w, text, context[k].n);
            must(normalise_nfd(w));
            end = put_record(end, w);
            load(w, text, context[k].n);
            must(normalise_nfc(w));
            end = put_record(end, w);
        }
    }
    ck_ok(hash_sha256_buffer(records, (size_t)(end - records) * sizeof *end, digest));
}

static size_t parse_points(char *text, uint32_t *points)
{
    size_t n = 0;
    for (char *end; *text; text = end) {
        ck_assert_uint_lt(n, 4 * MOST);
        points[n++] = (uint32_t)strtoul(text, &end, 16);
        ck_assert_ptr_ne(end, text);
    }
    return n;
}

static void check_random(char *column[4], normalise_word *w)
{
    uint32_t text[4 * MOST], want[4 * MOST];
    size_t n = parse_points(column[1], text);
    for (int form = 0; form < 2; form++) {
        size_t count = parse_points(column[2 + form], want);
        load(w, text, n);
        ck_ok(form ? normalise_nfc(w) : normalise_nfd(w));
        ck_assert_msg(w->count == count && memcmp(w->point, want, count * sizeof *want) == 0, "%s of %s differs", form ? "NFC" : "NFD", column[1]);
    }
}

START_TEST(golden)
{
    char *text, digest[HASH_HEX], *column[4];
    size_t bytes;
    int blocks = 0, sequences = 0;
    normalise_word w = {0};
    ck_ok(file_read_all(support_source("tests/oracle/tokens_normalise.tsv"), 0, &text, &bytes));
    for (char *line = text, *next; *line; line = next) {
        next = strchr(line, '\n') + 1;
        next[-1] = 0;
        int columns = 0;
        for (char *p = line; p && columns < 4; columns++) {
            column[columns] = p;
            p = strchr(p, '\t');
            if (p)
                *p++ = 0;
        }
        if (strcmp(line, "block") == 0) {
            digest_block((uint32_t)strtoul(column[1], NULL, 16), &w, digest);
            ck_assert_msg(strncmp(column[2], digest, DIGEST) == 0, "the block from U+%s differs", column[1]);
            blocks++;
        } else {
            check_random(column, &w);
            sequences++;
        }
    }
    ck_assert_int_eq(blocks, UNICODE_LIMIT / BLOCK);
    ck_assert_int_eq(sequences, 300);
    normalise_free(&w);
    free(text);
}
END_TEST

/* Long runs are sorted another way than short ones: the order must be the same, and stable. */
START_TEST(long_runs_of_marks)
{
    enum { MARKS = 5000 };
    static const uint32_t marks[] = {0x301, 0x323, 0x345, 0x338, 0x302, 0x327, 0x31B, 0x93C};
    normalise_word w = {0};
    ck_ok(normalise_push(&w, 'q'));
    for (int i = 0; i < MARKS; i++)
        ck_ok(normalise_push(&w, marks[support_below(8)]));
    uint32_t before[MARKS + 1];
    memcpy(before, w.point, sizeof before);
    ck_ok(normalise_nfd(&w));
    ck_assert_uint_eq(w.count, MARKS + 1);
    size_t at = 0;
    for (int class = 0; class < 256; class ++)
        for (int i = 0; i <= MARKS; i++)
            if (unicode_get(before[i])->combining == class)
                ck_assert_uint_eq(w.point[at++], before[i]);
    ck_assert_uint_eq(at, MARKS + 1);
    normalise_free(&w);
}
END_TEST

int main(void)
{
    return support_run("normalisation", (const TTest *[]){golden, long_runs_of_marks, NULL});
}
