#include "preprocess/columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preprocess/utf8.h"

/* The header's names, valid UTF-8. */
typedef struct header_names {
    int64_t count;
    char **text;
    size_t *bytes;
    uint64_t *at;
} header_names;

static void names_free(header_names *n)
{
    for (int64_t i = 0; n->text && i < n->count; i++)
        free(n->text[i]);
    free(n->text);
    free(n->bytes);
    free(n->at);
}

static status names_read(csv_reader *header, header_names *out)
{
    *out = (header_names){.count = csv_reader_width(header)};
    size_t count = (size_t)out->count;
    TRY(memory_new(&out->text, count * sizeof *out->text, "column names"));
    TRY(memory_new(&out->bytes, count * sizeof *out->bytes, "column names"));
    TRY(memory_new(&out->at, count * sizeof *out->at, "column names"));
    for (int64_t i = 0; i < out->count; i++) {
        csv_field f;
        csv_reader_field(header, i, &f);
        out->at[i] = f.at;
        out->bytes[i] = utf8_replaced_bytes(f.text, f.bytes, NULL);
        TRY(memory_new(&out->text[i], out->bytes[i] + 1, "a column name"));
        utf8_replace(f.text, f.bytes, out->text[i]);
    }
    return STATUS_OK;
}

/* The number of the first column of that name, -1: none; *last that of the last one. */
static int64_t find_name(const header_names *n, const char *name, size_t bytes, int64_t *last)
{
    int64_t first = -1;
    for (int64_t i = 0; i < n->count; i++)
        if (n->bytes[i] == bytes && memcmp(n->text[i], name, bytes) == 0) {
            first = first < 0 ? i : first;
            *last = i;
        }
    return first;
}

/* One wanted column by its names, divided by `divider`. A second column of the name is a fault. */
static int64_t find_column(const header_names *n, const char *choices, char divider, bool first_counts, csv_fault *fault)
{
    for (const char *name = choices;; name++) {
        size_t bytes = strcspn(name, (char[]){divider, 0});
        int64_t last = -1, first = find_name(n, name, bytes, &last);
        if (first >= 0) {
            if (last != first && !first_counts && fault->kind == CSV_FINE) {
                *fault = (csv_fault){.kind = CSV_EQUAL_NAMES, .record = 0, .byte = n->at[last]};
                csv_quote_text(name, bytes, fault->detail, sizeof fault->detail);
            }
            return first;
        }
        name += bytes;
        if (!*name)
            return -1;
    }
}

static int64_t find_listed(const header_names *n, const option_list *list, bool first_counts, csv_fault *fault)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->item[i], COLUMNS_NUMBER) == 0)
            return COLUMNS_NUMBERED;
        int64_t c = find_column(n, list->item[i], '\0', first_counts, fault);
        if (c >= 0)
            return c;
    }
    return -1;
}

/* Appends 'name' to a list of such; false: there is no room. */
static bool append_name(char *to, size_t room, const char *name, size_t bytes)
{
    size_t used = strlen(to);
    if (used + 24 > room)
        return false;
    used += (size_t)snprintf(to + used, room - used, "%s'", used ? " " : "");
    csv_quote_text(name, bytes, to + used, room - used - 1);
    used += strlen(to + used);
    snprintf(to + used, room - used, "'");
    return true;
}

static void list_header(const header_names *n, char to[COLUMNS_HEADER])
{
    enum { REST = 40 }; /* room for the words about what is left out */
    int64_t i = 0;
    to[0] = 0;
    while (i < n->count && append_name(to, COLUMNS_HEADER - REST, n->text[i], n->bytes[i]))
        i++;
    if (i < n->count)
        snprintf(to + strlen(to), REST, " and %lld more", (long long)(n->count - i));
}

/* "no id column (looked for 'id'; the header has 'a' 'b')" */
static void say_missing(csv_fault *fault, csv_fault_kind kind, const option_list *wanted, const csv_columns *c)
{
    char looked[80] = "";
    if (fault->kind != CSV_FINE)
        return;
    *fault = (csv_fault){.kind = kind, .record = -1, .byte = CSV_NOWHERE};
    for (size_t i = 0; i < wanted->count; i++)
        append_name(looked, sizeof looked, wanted->item[i], strlen(wanted->item[i]));
    snprintf(fault->detail, sizeof fault->detail, "looked for %s; the header has %s", looked, c->header);
}

static void find_labels(const columns_wanted *wanted, const header_names *n, csv_columns *out, csv_fault *fault)
{
    int64_t found = 0;
    const char *missing = NULL;
    for (int64_t i = 0; i < out->labels; i++) {
        out->label[i] = find_column(n, wanted->labels.item[i], '|', wanted->first_counts, fault);
        found += out->label[i] >= 0;
        missing = out->label[i] < 0 && !missing ? wanted->labels.item[i] : missing;
    }
    for (int64_t i = 0; i < out->labels; i++)
        if (out->label[i] >= 0)
            out->heading[i] = strdup(n->text[out->label[i]]); /* only for messages */
    if (found && missing)
        say_missing(fault, CSV_NO_LABEL, &(option_list){.item = (char *[]){(char *)missing}, .count = 1}, out);
}

/* A column serves one purpose: a reader gives each field once. */
static status refuse_shared(const csv_columns *c, const header_names *n)
{
    for (int64_t i = -3; i < c->labels; i++)
        for (int64_t j = -3; j < i; j++) {
            const int64_t *others = (const int64_t[]){c->id, c->text, c->lang};
            int64_t a = i < 0 ? others[i + 3] : c->label[i], b = j < 0 ? others[j + 3] : c->label[j];
            if (a >= 0 && a == b)
                return fail(STATUS_USAGE, "column '%s' is named for two purposes among --id-column, --text-column, --lang-column and --labels; "
                                          "give each its own", n->text[a]);
        }
    return STATUS_OK;
}

status columns_find(const columns_wanted *wanted, csv_reader *header, csv_columns *out, csv_fault *fault)
{
    header_names n = {0};
    status st = STATUS_OK;
    *out = (csv_columns){.width = csv_reader_width(header), .labels = (int64_t)wanted->labels.count};
    *fault = (csv_fault){.kind = CSV_FINE};
    TRY(memory_new(&out->label, (size_t)out->labels * sizeof *out->label, "label columns"));
    TRY(memory_new(&out->heading, (size_t)out->labels * sizeof *out->heading, "label columns"));
    TRY_DONE(names_read(header, &n));
    list_header(&n, out->header);
    out->id = find_listed(&n, &wanted->id, wanted->first_counts, fault);
    if (out->id == -1)
        say_missing(fault, CSV_NO_ID, &wanted->id, out);
    out->text = find_listed(&n, &wanted->text, wanted->first_counts, fault);
    if (out->text < 0)
        say_missing(fault, CSV_NO_TEXT, &wanted->text, out);
    find_labels(wanted, &n, out, fault);
    out->lang = find_listed(&n, &wanted->lang, wanted->first_counts, fault);
    if (out->lang < 0 && wanted->lang_given)
        say_missing(fault, CSV_NO_LANG, &wanted->lang, out);
    if (fault->kind == CSV_FINE)
        st = refuse_shared(out, &n);
done:
    names_free(&n);
    return st;
}

void columns_shift(csv_columns *c, int64_t more)
{
    c->width += more;
    if (c->id >= 0)
        c->id += more;
    c->text += more;
    if (c->lang >= 0)
        c->lang += more;
    for (int64_t i = 0; i < c->labels; i++)
        if (c->label[i] >= 0)
            c->label[i] += more;
}

void columns_free(csv_columns *c)
{
    for (int64_t i = 0; c->heading && i < c->labels; i++)
        free(c->heading[i]);
    free(c->heading);
    free(c->label);
    *c = (csv_columns){0};
}

bool columns_labelled(const csv_columns *c)
{
    for (int64_t i = 0; i < c->labels; i++)
        if (c->label[i] >= 0)
            return true;
    return false;
}

status columns_label_name(const columns_wanted *wanted, int64_t label, char **out)
{
    const char *choices = wanted->labels.item[label];
    size_t n = strcspn(choices, "|");
    TRY(memory_new(out, n + 1, "a label's name"));
    memcpy(*out, choices, n);
    return STATUS_OK;
}
