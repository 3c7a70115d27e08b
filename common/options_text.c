/* The resolved set as text: recipe.conf, and what is hashed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/options.h"

static status choice_text(const option *o, char **text)
{
    const char *at = o->choices;
    for (int i = *(int *)o->field; i > 0; i--)
        at = strchr(at, '|') + 1;
    *text = strndup(at, strcspn(at, "|"));
    return *text ? STATUS_OK : fail(STATUS_RESOURCE, "out of memory for options");
}

static status list_text(const option_list *list, char **text)
{
    size_t n = 1;
    for (size_t i = 0; i < list->count; i++)
        n += strlen(list->item[i]) + 1;
    TRY(memory_new(text, n, "options"));
    char *at = *text;
    for (size_t i = 0; i < list->count; i++) {
        size_t length = strlen(list->item[i]);
        if (i)
            *at++ = ',';
        memcpy(at, list->item[i], length);
        at += length;
    }
    return STATUS_OK;
}

/* Shortest decimal form that reads back the same double, so that recipe.conf shows 3.2e-05 and not its seventeen digits. */
static int real_text(double v, char *to, size_t capacity)
{
    int n = 0;
    for (int digits = 1; digits <= 17; digits++) {
        n = snprintf(to, capacity, "%.*g", digits, v);
        if (strtod(to, NULL) == v)
            break;
    }
    return n;
}

status options_value(const option *o, char **text)
{
    char number[64];
    const char *from = number;
    switch (o->type) {
    case OPTION_CHOICE: return choice_text(o, text);
    case OPTION_LIST: return list_text(o->field, text);
    case OPTION_FLAG: from = *(bool *)o->field ? "yes" : "no"; break;
    case OPTION_TEXT: from = *(const char **)o->field ? *(const char **)o->field : ""; break;
    case OPTION_REAL: real_text(*(double *)o->field, number, sizeof number); break;
    default: snprintf(number, sizeof number, "%lld", (long long)*(int64_t *)o->field);
    }
    *text = strdup(from);
    return *text ? STATUS_OK : fail(STATUS_RESOURCE, "out of memory for options");
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const option *const *)a)->name, (*(const option *const *)b)->name);
}

status options_text(const option_program *program, const option *table, bool identity_only, char **text)
{
    size_t n = 0, bytes;
    while (table[n].name)
        n++;
    const option **sorted;
    TRY(memory_new(&sorted, (n + 1) * sizeof *sorted, "options"));
    size_t used = 0;
    for (size_t i = 0; i < n; i++)
        if (!identity_only || table[i].kind == OPTION_IDENTITY)
            sorted[used++] = &table[i];
    qsort(sorted, used, sizeof *sorted, by_name);
    status st = STATUS_OK;
    FILE *out = open_memstream(text, &bytes);
    if (!out)
        TRY_DONE(fail(STATUS_RESOURCE, "out of memory for options"));
    fprintf(out, "[%s]\n", program->name);
    for (size_t i = 0; st == STATUS_OK && i < used; i++) {
        char *value = NULL;
        st = options_value(sorted[i], &value);
        if (st == STATUS_OK && *value) /* an option without a value has no line: it reads back as not given */
            fprintf(out, "%s = %s\n", sorted[i]->name, value);
        free(value);
    }
    if (fclose(out) != 0 && st == STATUS_OK)
        st = fail(STATUS_RESOURCE, "out of memory for options");
    if (st != STATUS_OK)
        free(*text);
done:
    free(sorted);
    return st;
}

status options_hash(const option_program *program, const option *table, char hex[65])
{
    char *text;
    TRY(options_text(program, table, true, &text));
    status st = hash_sha256_buffer(text, strlen(text), hex);
    free(text);
    return st;
}

/* ---- two sets ---- */

static bool has_line(const char *text, const char *line, size_t bytes)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        if (n == bytes && memcmp(line, text, n) == 0)
            return true;
        text += n + (text[n] == '\n');
    }
    return false;
}

static bool is_listed(const char *names, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = strstr(names, name); at; at = strstr(at + n, name))
        if (at[n] == ',' || at[n] == 0)
            return true;
    return false;
}

/* Adds the names of the lines "name = value" that the other text lacks. */
static size_t add_differing(const char *text, const char *other, char *names, size_t used, size_t room)
{
    while (*text) {
        size_t n = strcspn(text, "\n"), length = strcspn(text, " =\n");
        char name[64];
        snprintf(name, sizeof name, "--%.*s", (int)length, text);
        if (*text != '[' && *text != '#' && length && !has_line(other, text, n) && !is_listed(names, name) && used + strlen(name) + 3 < room)
            used += (size_t)snprintf(names + used, room - used, "%s%s", used ? ", " : "", name);
        text += n + (text[n] == '\n');
    }
    return used;
}

size_t options_differing(const char *text, const char *other, char *names, size_t room)
{
    names[0] = 0;
    return add_differing(other, text, names, add_differing(text, other, names, 0, room), room);
}
