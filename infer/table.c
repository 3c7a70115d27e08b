#include "infer/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preprocess/utf8.h"

static status copy_name(const char *name, char **out)
{
    *out = strdup(name);
    return *out ? STATUS_OK : fail(STATUS_RESOURCE, "out of memory for the name of a column");
}

status table_begin(const char *id_name, const char *const *column, int64_t columns, table *t)
{
    status st = STATUS_OK;
    *t = (table){0};
    TRY_DONE(copy_name(id_name, &t->id_name));
    TRY_DONE(memory_new(&t->column, (size_t)columns * sizeof *t->column, "names of columns"));
    for (; t->columns < columns; t->columns++)
        TRY_DONE(copy_name(column[t->columns], &t->column[t->columns]));
    TRY_DONE(memory_new(&t->first, sizeof *t->first, "offsets of ids"));
    return STATUS_OK;
done:
    table_free(t);
    return st;
}

void table_free(table *t)
{
    for (int64_t i = 0; i < t->columns; i++)
        free(t->column[i]);
    free(t->column);
    free(t->path);
    free(t->id_name);
    free(t->ids);
    free(t->first);
    free(t->value);
    free(t->line);
    free(t->slot);
    *t = (table){0};
}

static status grow(table *t, size_t id_bytes)
{
    if (t->rows + 1 > t->row_room) {
        int64_t room = t->row_room ? t->row_room * 2 : 1024;
        TRY(memory_grow(&t->first, (size_t)(room + 1) * sizeof *t->first, "offsets of ids"));
        TRY(memory_grow(&t->value, (size_t)(room * t->columns) * sizeof *t->value, "numbers of a table"));
        t->row_room = room;
    }
    if (t->first[t->rows] + (int64_t)id_bytes > t->id_room) {
        int64_t room = t->id_room * 2 + (int64_t)id_bytes + 4096;
        TRY(memory_grow(&t->ids, (size_t)room, "ids"));
        t->id_room = room;
    }
    return STATUS_OK;
}

status table_append(table *t, const char *id, size_t bytes, const double *value)
{
    size_t row_bytes = (size_t)t->columns * sizeof *value;
    TRY(grow(t, bytes));
    if (bytes)
        memcpy(t->ids + t->first[t->rows], id, bytes);
    t->first[t->rows + 1] = t->first[t->rows] + (int64_t)bytes;
    if (value)
        memcpy(t->value + t->rows * t->columns, value, row_bytes);
    else
        memset(t->value + t->rows * t->columns, 0, row_bytes);
    t->rows++;
    return STATUS_OK;
}

const char *table_id(const table *t, int64_t row, size_t *bytes)
{
    *bytes = (size_t)(t->first[row + 1] - t->first[row]);
    return t->ids ? t->ids + t->first[row] : "";
}

/* Slot that holds this id's row, or the empty one (-1) where it would go. */
static int64_t *find_slot(const table *t, const char *id, size_t bytes)
{
    uint64_t mask = (uint64_t)t->slots - 1;
    for (uint64_t at = hash_xxh3(id, bytes) & mask;; at = (at + 1) & mask) {
        size_t n;
        if (t->slot[at] < 0)
            return &t->slot[at];
        const char *there = table_id(t, t->slot[at], &n);
        if (n == bytes && memcmp(there, id, n) == 0)
            return &t->slot[at];
    }
}

status table_index(table *t, table_repeats *repeats)
{
    *repeats = (table_repeats){.row = -1, .earlier = -1};
    t->slots = 16;
    while (t->slots < 2 * t->rows)
        t->slots *= 2;
    free(t->slot);
    t->slot = NULL;
    TRY(memory_new(&t->slot, (size_t)t->slots * sizeof *t->slot, "the index of ids"));
    memset(t->slot, 0xff, (size_t)t->slots * sizeof *t->slot);
    for (int64_t row = 0; row < t->rows; row++) {
        size_t bytes;
        const char *id = table_id(t, row, &bytes);
        int64_t *slot = find_slot(t, id, bytes);
        if (*slot < 0) {
            *slot = row;
            continue;
        }
        if (repeats->count++ == 0) {
            repeats->row = row;
            repeats->earlier = *slot;
        }
    }
    return STATUS_OK;
}

int64_t table_find(const table *t, const char *id, size_t bytes)
{
    return *find_slot(t, id, bytes);
}

int64_t table_column(const table *t, const char *name)
{
    for (int64_t i = 0; i < t->columns; i++)
        if (strcmp(t->column[i], name) == 0)
            return i;
    return -1;
}

size_t table_show_text(const char *from, size_t bytes, char *to, size_t room)
{
    size_t n = 0, i = 0;
    while (i < bytes) {
        size_t width = 1, left = bytes - i < UTF8_LONGEST ? bytes - i : UTF8_LONGEST;
        uint32_t c = '?';
        if (utf8_valid_prefix(from + i, left) > 0 && (unsigned char)from[i] >= ' ') /* the first code point is whole */
            c = utf8_get(from + i, &width);
        bool shown = c >= ' ' && !(c >= 0x7F && c < 0xA0) && c != 0x2028 && c != 0x2029; /* nothing that a terminal obeys */
        if (n + (shown ? width : 1) >= room)
            break;
        if (shown && c != '?')
            memcpy(to + n, from + i, width);
        else
            to[n] = '?';
        n += shown ? width : 1;
        i += width;
    }
    to[n] = 0;
    return i;
}

void table_show_id(const table *t, int64_t row, char text[64])
{
    size_t bytes;
    const char *id = table_id(t, row, &bytes);
    text[0] = '"';
    size_t done = table_show_text(id, bytes, text + 1, 64 - 5);
    size_t n = strlen(text);
    snprintf(text + n, 64 - n, "%s", done < bytes ? "...\"" : "\"");
}
