#include "infer/verify_links.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "common/hash.h"

/* ---- lines ---- */

/* Of several runs, the one that a line is about. */
static const char *whose(const links *l)
{
    return l->now && l->runs > 1 ? l->now->folder : "";
}

static void put_line(const links *l, const char *verdict, const char *text)
{
    const char *run = whose(l);
    printf("%-13s%s%s%s\n", verdict, run, run[0] ? ": " : "", text);
}

void link_holds(links *l, const char *format, ...)
{
    char text[8192];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    put_line(l, "holds", text);
    l->holding++;
}

void link_unseen(links *l, const char *format, ...)
{
    char text[8192];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    put_line(l, "not checked", text);
    l->unseen++;
}

void link_breaks(links *l, const char *format, ...)
{
    char text[8192];
    const char *run = whose(l);
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    put_line(l, "BREAKS", text);
    if (!l->broken++)
        snprintf(l->first, sizeof l->first, "%s%s%.400s", run, run[0] ? ": " : "", text);
}

bool links_equal(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

const char *links_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* ---- hashes ---- */

const char *links_find_known(const links *l, const char *path)
{
    for (size_t i = 0; i < l->known_count; i++)
        if (strcmp(l->known[i].path, path) == 0)
            return l->known[i].hash;
    return NULL;
}

/* Without memory it is hashed again the next time. */
void links_keep_known(links *l, const char *path, const char *hash)
{
    links_known *more = realloc(l->known, (l->known_count + 1) * sizeof *more);
    if (!more)
        return;
    l->known = more;
    more += l->known_count;
    *more = (links_known){.path = strdup(path)};
    snprintf(more->hash, sizeof more->hash, "%s", hash);
    l->known_count += more->path != NULL;
}

bool links_hash_file(links *l, const char *path, char hash[HASH_HEX])
{
    const char *known = links_find_known(l, path);
    if (known) {
        memcpy(hash, known, HASH_HEX);
        return true;
    }
    if (!file_exists(path) || hash_sha256_file(path, hash) != STATUS_OK)
        return false;
    links_keep_known(l, path, hash);
    return true;
}

void link_file(links *l, const char *what, const char *path, const char *expected)
{
    char hex[HASH_HEX];
    if (!links_hash_file(l, path, hex))
        link_breaks(l, "%s: %s is not there or cannot be read", what, path);
    else if (!links_equal(hex, expected))
        link_breaks(l, "%s: %s has SHA-256 %.16s..., not %.16s...", what, path, hex, expected ? expected : "(none told)");
    else
        link_holds(l, "%s: %s (SHA-256 %.16s...)", what, path, hex);
}

/* ---- descriptions ---- */

static status read_object(const char *folder, const char *name, json_t **out)
{
    char *path, *text = NULL;
    size_t bytes;
    TRY(file_join(folder, name, &path));
    status st = file_read_all(path, 256 << 20, &text, &bytes);
    if (st == STATUS_OK) {
        *out = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
        if (!json_is_object(*out))
            st = fail(STATUS_INPUT, "%s: the file is damaged: restore it, or run the stage that makes it again", path);
    }
    free(text);
    free(path);
    return st;
}

static status read_run(links_run *r, const char *folder)
{
    r->folder = folder;
    TRY(read_object(folder, "run.json", &r->about));
    TRY(read_object(folder, "provenance.json", &r->chain));
    if (read_object(folder, "environment.json", &r->environment) != STATUS_OK)
        r->environment = NULL;
    r->identity = links_text(r->chain, "run");
    return STATUS_OK;
}

status links_read_made(const char *submission, json_t **out)
{
    char *made = NULL, folder[4096] = ".";
    if (asprintf(&made, "%s.provenance.json", submission) < 0)
        return fail(STATUS_RESOURCE, "out of memory for a path");
    char *end = strrchr(made, '/'), *name = end ? end + 1 : made;
    if (end)
        snprintf(folder, sizeof folder, "%.*s", (int)(end - made), made);
    status st = read_object(end == made ? "/" : folder, name, out);
    free(made);
    return st;
}

status links_read(links *l)
{
    const option_list *runs = &l->settings->verify;
    TRY(memory_new(&l->run, runs->count * sizeof *l->run, "the list of runs"));
    for (; l->runs < (int64_t)runs->count; l->runs++)
        TRY(read_run(&l->run[l->runs], runs->item[l->runs]));
    TRY(links_read_made(l->submission, &l->made));
    TRY(memory_new(&l->used_csv, l->settings->csv.count + 1, "the list of CSVs"));
    return memory_new(&l->used_input, l->settings->input.count + 1, "the list of folders");
}

void links_free(links *l)
{
    for (size_t i = 0; l->run && i < l->settings->verify.count; i++) {
        json_decref(l->run[i].about);
        json_decref(l->run[i].chain);
        json_decref(l->run[i].environment);
    }
    for (size_t i = 0; i < l->known_count; i++)
        free(l->known[i].path);
    json_decref(l->made);
    free(l->run);
    free(l->known);
    free(l->used_csv);
    free(l->used_input);
}

int64_t links_find_run(const links *l, const char *identity)
{
    for (int64_t i = 0; i < l->runs; i++)
        if (links_equal(l->run[i].identity, identity))
            return i;
    return -1;
}

bool links_started_with(const links *l, const char *name, size_t index, char *to, size_t room)
{
    const char *options = links_text(l->now->environment, "options");
    size_t n = strlen(name);
    for (const char *line = options; line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (strncmp(line, name, n) != 0 || strncmp(line + n, " = ", 3) != 0)
            continue;
        const char *at = line + n + 3;
        for (; index > 0 && at[strcspn(at, ",\n")] == ','; index--)
            at += strcspn(at, ",\n") + 1;
        return index == 0 && snprintf(to, room, "%.*s", (int)strcspn(at, ",\n"), at) < (int)room;
    }
    return false;
}
