#include "preprocess/clean.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "preprocess/clean_data.h"
#include "preprocess/unicode.h"
#include "preprocess/utf8.h"

enum { LONGEST_NAME = 32, PADDING = 16 };

static const char *const step_name[] = {"entities", "urls", "mentions", "ips", "repeats"};
enum { STEPS = sizeof step_name / sizeof step_name[0] };

/* ---- names ---- */

static status read_name(const char *name, size_t bytes, unsigned *steps)
{
    for (int i = 0; i < STEPS; i++)
        if (strlen(step_name[i]) == bytes && memcmp(name, step_name[i], bytes) == 0) {
            *steps |= 1u << i;
            return STATUS_OK;
        }
    return fail(STATUS_USAGE, "'%.*s' is no step of cleaning; there are entities, urls, mentions, ips and repeats", bytes < 80 ? (int)bytes : 80, name);
}

status clean_read(const char *names, unsigned *steps)
{
    *steps = 0;
    if (!names[0] || strcmp(names, "none") == 0)
        return STATUS_OK;
    for (;;) {
        size_t n = strcspn(names, ",");
        TRY(read_name(names, n, steps));
        if (!names[n])
            return STATUS_OK;
        names += n + 1;
    }
}

status clean_read_list(const option_list *names, unsigned *steps)
{
    *steps = 0;
    if (names->count == 1 && strcmp(names->item[0], "none") == 0)
        return STATUS_OK;
    for (size_t i = 0; i < names->count; i++)
        TRY(read_name(names->item[i], strlen(names->item[i]), steps));
    return STATUS_OK;
}

void clean_name(unsigned steps, char name[CLEAN_NAME])
{
    size_t n = 0;
    for (int i = 0; i < STEPS; i++)
        if (steps & 1u << i) {
            if (n)
                name[n++] = ',';
            memcpy(name + n, step_name[i], strlen(step_name[i]));
            n += strlen(step_name[i]);
        }
    if (!n) {
        memcpy(name, "none", 4);
        n = 4;
    }
    name[n] = 0;
}

/* ---- what characters are ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_ascii_word(char c)
{
    return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

/* \w of Python's re */
static bool is_word(uint32_t c)
{
    if (c < 0x80)
        return is_ascii_word((char)c);
    size_t low = 0, high = clean_words_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (clean_words[middle].last < c)
            low = middle + 1;
        else
            high = middle;
    }
    return low < clean_words_count && clean_words[low].first <= c;
}

/* Bytes of the character that is no white space at p; 0 where one is, or the end. */
static size_t solid_bytes(const char *p, const char *end)
{
    size_t bytes;
    return p < end && !(unicode_get(utf8_get(p, &bytes))->flags & UNICODE_SPACE) ? bytes : 0;
}

/* ---- entities: html.unescape() ---- */

static const clean_entity *find_entity(const char *name, size_t bytes)
{
    size_t low = 0, high = clean_entities_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const clean_entity *e = &clean_entities[middle];
        int order = strncmp(e->name, name, bytes);
        if (order == 0 && !e->name[bytes])
            return e;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* The digits behind &# or &#x at p; returns their bytes, a semicolon among them, or 0 where there are none. Saturates. */
static size_t read_number(const char *p, const char *end, unsigned base, uint32_t *value)
{
    const char *from = p;
    uint64_t v = 0;
    for (; p < end; p++) {
        char small = (char)(*p | 0x20);
        unsigned digit = is_digit(*p) ? (unsigned)(*p - '0') : base == 16 && small >= 'a' && small <= 'f' ? (unsigned)(small - 'a' + 10) : base;
        if (digit == base)
            break;
        v = v * base + digit < UNICODE_LIMIT ? v * base + digit : UNICODE_LIMIT;
    }
    *value = (uint32_t)v;
    return p == from ? 0 : (size_t)(p - from) + (p < end && *p == ';');
}

static size_t put_number(uint32_t value, char *out)
{
    if (value >= UNICODE_LIMIT)
        value = UTF8_REPLACEMENT;
    for (size_t i = 0; i < clean_numbers_count && clean_numbers[i].first <= value; i++)
        if (value <= clean_numbers[i].last) {
            value = clean_numbers[i].becomes;
            return value ? utf8_put(value, out) : 0;
        }
    return utf8_put(value, out);
}

static size_t put_text(const char *text, char *out)
{
    size_t n = strlen(text);
    memcpy(out, text, n);
    return n;
}

/* A name and, where the name has no end of its own, the longest one that is known without a semicolon. Returns the bytes taken, 0: none. */
static size_t take_name(const char *p, const char *end, char *out, size_t *written)
{
    size_t n = 0, bytes;
    for (int points = 0; points < LONGEST_NAME && p + n < end && p[n] && !strchr("\t\n\f <&#;", p[n]); points++) { /* no name has a NUL */
        utf8_get(p + n, &bytes);
        n += bytes;
    }
    const clean_entity *e = n && p + n < end && p[n] == ';' ? find_entity(p, n) : NULL;
    if (e) {
        *written = put_text(e->text, out);
        return n + 1;
    }
    for (n = n < clean_longest_bare ? n : clean_longest_bare; n > 1; n--)
        if ((e = find_entity(p, n)) && e->bare) {
            *written = put_text(e->text, out);
            return n;
        }
    return 0;
}

static size_t unescape(const char *p, size_t n, char *out)
{
    const char *end = p + n;
    size_t to = 0;
    while (p < end) {
        const char *mark = memchr(p, '&', (size_t)(end - p));
        size_t plain = mark ? (size_t)(mark - p) : (size_t)(end - p), taken = 0, written = 0;
        memcpy(out + to, p, plain);
        to += plain;
        p += plain;
        if (!mark)
            break;
        if (p + 2 < end && p[1] == '#') {
            uint32_t value;
            bool hex = p[2] == 'x' || p[2] == 'X';
            taken = read_number(p + 2 + hex, end, hex ? 16 : 10, &value);
            if (taken) {
                taken += 1 + (size_t)hex;
                written = put_number(value, out + to);
            }
        } else {
            taken = take_name(p + 1, end, out + to, &written);
        }
        if (!taken)
            out[to] = '&';
        to += taken ? written : 1;
        p += 1 + taken;
    }
    return to;
}

/* ---- what is taken out ---- */

/* Bytes of a match at p, 0 where there is none; p[-1] may be read unless p is the beginning. */
typedef size_t match_at(const char *begin, const char *p, const char *end);

static bool is_letters(const char *p, const char *end, const char *small)
{
    size_t n = strlen(small);
    if ((size_t)(end - p) < n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (p[i] != small[i] && !(small[i] >= 'a' && p[i] == small[i] - ('a' - 'A')))
            return false;
    return true;
}

static size_t match_url(const char *begin, const char *p, const char *end)
{
    size_t n = 0, bytes;
    if (is_letters(p, end, "http://"))
        n = 7;
    else if (is_letters(p, end, "https://"))
        n = 8;
    else if (is_letters(p, end, "www.") && (p == begin || !is_ascii_word(p[-1]) || p[-1] == '_'))
        n = 4;
    else
        return 0;
    size_t head = n;
    while ((bytes = solid_bytes(p + n, end)))
        n += bytes;
    return n > head ? n : 0;
}

static size_t match_mention(const char *begin, const char *p, const char *end)
{
    size_t n = 1, bytes;
    if (*p != '@' || (p > begin && is_ascii_word(p[-1])))
        return 0;
    while (p + n < end && is_word(utf8_get(p + n, &bytes)))
        n += bytes;
    return n > 1 ? n : 0;
}

static size_t match_ip(const char *begin, const char *p, const char *end)
{
    const char *q = p;
    if (p > begin && is_digit(p[-1]))
        return 0;
    for (int part = 0; part < 4; part++) {
        const char *from = q;
        while (q < end && is_digit(*q))
            q++;
        if (q == from || q - from > 3)
            return 0;
        if (part < 3 && (q == end || *q++ != '.'))
            return 0;
    }
    return (size_t)(q - p);
}

/* Every match becomes one space, so that what stood on its two sides does not become one word. */
static size_t take_out(match_at *match, const char *first, const char *p, size_t n, char *out)
{
    bool starts[256] = {false};
    const char *begin = p, *end = p + n;
    size_t to = 0;
    for (; *first; first++)
        starts[(unsigned char)*first] = true;
    while (p < end) {
        size_t taken = starts[(unsigned char)*p] ? match(begin, p, end) : 0;
        out[to++] = taken ? ' ' : *p;
        p += taken ? taken : 1;
    }
    return to;
}

/* Of three or more of one character in a row two stay. */
static size_t shorten(const char *p, size_t n, char *out)
{
    const char *end = p + n;
    uint32_t last = 0;
    size_t to = 0, run = 0, bytes;
    for (; p < end; p += bytes) {
        uint32_t c = utf8_get(p, &bytes);
        run = run && c == last ? run + 1 : 1;
        last = c;
        if (run > 2 && c != '\n' && !(c < 0x80 && is_digit((char)c)))
            continue;
        memcpy(out + to, p, bytes);
        to += bytes;
    }
    return to;
}

/* ---- all together ---- */

void clean_free(clean_buffer *b)
{
    free(b->text[0]);
    free(b->text[1]);
    *b = (clean_buffer){0};
}

static size_t run_step(unsigned step, const char *text, size_t n, char *out)
{
    switch (step) {
    case CLEAN_ENTITIES: return unescape(text, n, out);
    case CLEAN_URLS: return take_out(match_url, "hHwW", text, n, out);
    case CLEAN_MENTIONS: return take_out(match_mention, "@", text, n, out);
    case CLEAN_IPS: return take_out(match_ip, "0123456789", text, n, out);
    default: return shorten(text, n, out);
    }
}

status clean_text(unsigned steps, clean_buffer *b, const char *text, size_t n, const char **out, size_t *bytes)
{
    int turn = 0;
    *out = text;
    *bytes = n;
    for (unsigned step = 1; step <= CLEAN_ALL; step *= 2) {
        if (!(steps & step) || !*bytes || (step == CLEAN_ENTITIES && !memchr(text, '&', n)) || (step == CLEAN_MENTIONS && !memchr(*out, '@', *bytes)))
            continue;
        size_t most = step == CLEAN_ENTITIES ? 2 * n + PADDING : *bytes + PADDING; /* a few entities are shorter than their text */
        if (most > b->room[turn]) {
            TRY(memory_grow(&b->text[turn], most + most / 2, "a text to clean"));
            b->room[turn] = most + most / 2;
        }
        size_t written = run_step(step, *out, *bytes, b->text[turn]);
        if (written == *bytes && memcmp(b->text[turn], *out, written) == 0)
            continue;
        *out = b->text[turn];
        *bytes = written;
        turn ^= 1;
    }
    return STATUS_OK;
}
