#include "store/difference.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 48 };

/* The line behind this one; NULL after the last. */
static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line && line[1] ? line + 1 : NULL;
}

static const char *first_line(const char *text)
{
    return text && *text ? text : NULL;
}

static size_t line_bytes(const char *line)
{
    return line ? strcspn(line, "\n") : 0;
}

static bool same_bytes(const char *a, size_t n, const char *b, size_t m)
{
    return n == m && memcmp(a, b, n) == 0;
}

static void add(char *text, const char *piece)
{
    size_t used = strlen(text), n = strlen(piece);
    if (used + n < DIFFERENCE_TEXT)
        memcpy(text + used, piece, n + 1);
}

/* ---- settings ---- */

static const char *line_of_key(const char *text, const char *like)
{
    size_t key = strcspn(like, "=\n");
    for (const char *line = first_line(text); line; line = next_line(line))
        if (same_bytes(line, strcspn(line, "=\n"), like, key))
            return line;
    return NULL;
}

/* The line in quotes, or "nothing". */
static void show(const char *line, char to[SHOWN + 8])
{
    int n = (int)line_bytes(line);
    if (line)
        snprintf(to, SHOWN + 8, "'%.*s%s'", n > SHOWN ? SHOWN : n, line, n > SHOWN ? "..." : "");
    else
        snprintf(to, SHOWN + 8, "nothing");
}

static void add_pair(const char *a, const char *b, const char *between, char *text)
{
    char x[SHOWN + 8], y[SHOWN + 8], piece[400];
    show(a, x);
    show(b, y);
    snprintf(piece, sizeof piece, "%s%s%s%s", *text ? ", " : "", x, between, y);
    add(text, piece);
}

void difference_settings(const char *a, const char *b, const char *between, char text[DIFFERENCE_TEXT])
{
    text[0] = 0;
    for (const char *line = first_line(a); line; line = next_line(line)) {
        const char *other = line_of_key(b, line);
        if (!other || !same_bytes(line, line_bytes(line), other, line_bytes(other)))
            add_pair(line, other, between, text);
    }
    for (const char *line = first_line(b); line; line = next_line(line))
        if (!line_of_key(a, line))
            add_pair(NULL, line, between, text);
}

/* ---- inputs ---- */

/* Of "NAME rows=1 data=... made=..." and "NAME SHA-256"; a name may have spaces. */
static size_t name_bytes(const char *line)
{
    size_t n = line_bytes(line);
    const char *rows = memmem(line, n, " rows=", 6);
    const char *space = rows ? rows : memrchr(line, ' ', n);
    return space ? (size_t)(space - line) : n;
}

static bool has_line(const char *text, const char *like)
{
    for (const char *line = first_line(text); line; line = next_line(line))
        if (same_bytes(line, line_bytes(line), like, line_bytes(like)))
            return true;
    return false;
}

static bool has_name(const char *text, const char *like)
{
    for (const char *line = first_line(text); line; line = next_line(line))
        if (same_bytes(line, name_bytes(line), like, name_bytes(like)))
            return true;
    return false;
}

static void add_input(const char *line, const char *what, char *text)
{
    char piece[400];
    size_t n = name_bytes(line);
    snprintf(piece, sizeof piece, "%s%.*s %s", *text ? "; " : "", (int)(n > 200 ? 200 : n), line, what);
    add(text, piece);
}

void difference_inputs(const char *then, const char *now, char text[DIFFERENCE_TEXT])
{
    text[0] = 0;
    for (const char *line = first_line(then); line; line = next_line(line))
        if (!has_line(now, line))
            add_input(line, has_name(now, line) ? "has changed" : "is left out now", text);
    for (const char *line = first_line(now); line; line = next_line(line))
        if (!has_line(then, line) && !has_name(then, line))
            add_input(line, "is added", text);
    if (!text[0])
        add(text, "they come in another order or number");
}
