#include "preprocess/read_with.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "preprocess/columns.h"

enum { MOST_OPTIONS = 8 };

/* Names here and in preprocess's own table. */
static const struct {
    const char *name, *there;
} shared[MOST_OPTIONS] = {{"id-column", "id-column"}, {"text-column", "text-column"}, {"lang-column", "lang-column"},
                          {"dialect", "csv"},         {"delimiter", "delimiter"},     {"unlabelled", "unlabelled"}};

const char *read_with_value(const char *read_with, const char *name, size_t *bytes)
{
    *bytes = 0;
    for (const char *line = read_with; line && *line;) {
        size_t n = strcspn(line, "\n"), length = strlen(name);
        if (n > length + 3 && memcmp(line, name, length) == 0 && memcmp(line + length, " = ", 3) == 0) {
            *bytes = n - length - 3;
            return line + length + 3;
        }
        line += n + (line[n] == '\n');
    }
    return "";
}

static const option *find(const option *table, const char *name)
{
    for (; table->name; table++)
        if (strcmp(table->name, name) == 0)
            return table;
    return NULL;
}

/* The names that those CSVs had, then those looked for without them; numbers of rows only where no such column is there. */
static size_t add_line(const option *o, const char *value, size_t bytes, char *to, size_t room)
{
    static const char number[] = COLUMNS_NUMBER;
    size_t end = sizeof number - 1;
    bool list = o->type == OPTION_LIST, numbered = list && bytes >= end && memcmp(value + bytes - end, number, end) == 0;
    if (list && strlen(o->fallback) == bytes && memcmp(value, o->fallback, bytes) == 0)
        list = false;
    bytes -= numbered ? end : 0;
    while (numbered && bytes && value[bytes - 1] == ',')
        bytes--;
    return (size_t)snprintf(to, room, "%s = %.*s%s%s%s\n", o->name, (int)bytes, value, list && bytes ? "," : "", list ? o->fallback : "",
                            numbered ? "," COLUMNS_NUMBER : "");
}

/* A recipe of what is told. A # would begin a comment there: such a name must be given by hand. */
static status recipe_of(const option_program *program, const option *table, const char *read_with, char **text)
{
    size_t room = strlen(read_with) + 100 * MOST_OPTIONS, used;
    TRY(memory_new(text, room, "how CSVs were read"));
    used = (size_t)snprintf(*text, room, "[%s]\n", program->name);
    for (int i = 0; i < MOST_OPTIONS && shared[i].name; i++) {
        size_t bytes;
        const char *value = read_with_value(read_with, shared[i].there, &bytes);
        if (bytes && !memchr(value, '#', bytes) && find(table, shared[i].name))
            used += add_line(find(table, shared[i].name), value, bytes, *text + used, room - used);
    }
    return STATUS_OK;
}

static status add_change(const option *o, const char *before, char *list, size_t room)
{
    char *now;
    TRY(options_value(o, &now));
    if (strcmp(now, before) != 0)
        snprintf(list + strlen(list), room - strlen(list), " --%s %.100s", o->name, now);
    free(now);
    return STATUS_OK;
}

status read_with_underlay(const option_program *program, const option *table, const char *for_what, const char *read_with, const char *folder)
{
    char *before[MOST_OPTIONS] = {0}, *text = NULL, list[700] = "";
    status st = STATUS_OK;
    if (!read_with)
        return STATUS_OK;
    for (int i = 0; i < MOST_OPTIONS && shared[i].name; i++)
        if (find(table, shared[i].name))
            TRY_DONE(options_value(find(table, shared[i].name), &before[i]));
    TRY_DONE(recipe_of(program, table, read_with, &text));
    TRY_DONE(options_underlay(program, table, folder, text));
    for (int i = 0; i < MOST_OPTIONS && shared[i].name; i++)
        if (before[i])
            TRY_DONE(add_change(find(table, shared[i].name), before[i], list, sizeof list));
    if (list[0])
        log_info("%s: read as the CSVs of %s were:%s (options that are given are stronger)", for_what, folder, list);
done:
    for (int i = 0; i < MOST_OPTIONS; i++)
        free(before[i]);
    free(text);
    return st;
}

status read_with_labels(const char *read_with, char *const *label, int64_t count, read_with_names *out)
{
    size_t bytes;
    const char *names = read_with_value(read_with, "labels", &bytes);
    if (!bytes && count == 1 && strcmp(label[0], "toxic") == 0)
        names = "toxic|target", bytes = strlen(names);
    *out = (read_with_names){0};
    TRY(memory_new(&out->text, bytes + 1, "names of labels"));
    TRY(memory_new(&out->item, (size_t)count * sizeof *out->item, "names of labels"));
    memcpy(out->text, names, bytes);
    int64_t n = 0;
    for (char *at = out->text, *next; at && n < count; at = next, n++) {
        next = strchr(at, ',');
        if (next)
            *next++ = 0;
        size_t own = strcspn(at, "|");
        if (strlen(label[n]) != own || memcmp(at, label[n], own) != 0 || (n == count - 1 && next))
            break;
        out->item[n] = at;
    }
    for (int64_t i = 0; n < count && i < count; i++) /* not those of this run */
        out->item[i] = label[i];
    return STATUS_OK;
}

void read_with_free_labels(read_with_names *n)
{
    free(n->text);
    free(n->item);
    *n = (read_with_names){0};
}
