#include "store/manifest.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "common/hash.h"
#include "common/options.h"
#include "store/difference.h"

enum { MANIFEST_FORMAT = 2, MOST_BYTES = 256 << 20 };

/* The last line but one: SHA-256 of all bytes before it. */
static const char seal_head[] = " \"sha256\": \"", seal_end[] = "\"\n}\n";
enum { SEAL_HEAD = sizeof seal_head - 1, SEAL_END = sizeof seal_end - 1, SEAL_BYTES = SEAL_HEAD + HASH_HEX - 1 + SEAL_END };

void manifest_free(manifest *m)
{
    for (int64_t i = 0; m->file && i < m->files; i++)
        free(m->file[i].name);
    free(m->file);
    free(m->stage);
    free(m->inputs);
    free(m->identity);
    free(m->tokenizer);
    free(m->read_with);
    *m = (manifest){0};
}

/* ---- texts of many lines stand in the file as lists of lines ---- */

static json_t *lines_of(const char *text)
{
    json_t *list = json_array();
    for (;;) {
        size_t n = strcspn(text, "\n");
        if (json_array_append_new(list, json_stringn(text, n)) != 0) {
            json_decref(list);
            return NULL;
        }
        if (text[n] == 0)
            return list;
        text += n + 1;
    }
}

static status join_lines(const json_t *list, const char *path, const char *name, char **text)
{
    size_t bytes = 0, i;
    const json_t *line;
    if (!json_is_array(list) || json_array_size(list) == 0)
        return fail(STATUS_INPUT, "%s: '%s' is not a list of lines; run the stage again", path, name);
    json_array_foreach((json_t *)list, i, line)
        bytes += json_string_length(line) + 1;
    char *to;
    TRY(memory_new(&to, bytes, name));
    *text = to;
    json_array_foreach((json_t *)list, i, line) {
        if (!json_is_string(line))
            return fail(STATUS_INPUT, "%s: '%s' is not a list of lines; run the stage again", path, name);
        if (i > 0)
            *to++ = '\n';
        memcpy(to, json_string_value(line), json_string_length(line));
        to += json_string_length(line);
    }
    return STATUS_OK;
}

/* ---- reading ---- */

static status get_count(const json_t *from, const char *path, const char *name, int64_t *value)
{
    const json_t *v = json_object_get(from, name);
    if (!json_is_integer(v) || json_integer_value(v) < 0)
        return fail(STATUS_INPUT, "%s: '%s' is missing or no count; run the stage again", path, name);
    *value = json_integer_value(v);
    return STATUS_OK;
}

static status get_text(const json_t *from, const char *path, const char *name, char **text)
{
    const json_t *v = json_object_get(from, name);
    if (!json_is_string(v) || strlen(json_string_value(v)) != json_string_length(v))
        return fail(STATUS_INPUT, "%s: '%s' is missing or no text; run the stage again", path, name);
    TRY(memory_new(text, json_string_length(v) + 1, name));
    memcpy(*text, json_string_value(v), json_string_length(v));
    return STATUS_OK;
}

static status get_hash(const json_t *from, const char *path, const char *name, char hex[HASH_HEX])
{
    const json_t *v = json_object_get(from, name);
    const char *text = json_is_string(v) ? json_string_value(v) : "";
    if (strspn(text, "0123456789abcdef") != HASH_HEX - 1 || text[HASH_HEX - 1] != 0)
        return fail(STATUS_INPUT, "%s: '%s' is missing or no SHA-256; run the stage again", path, name);
    memcpy(hex, text, HASH_HEX);
    return STATUS_OK;
}

static status get_file(const json_t *from, const char *path, manifest_file *f)
{
    int64_t bytes = 0;
    TRY(get_text(from, path, "name", &f->name));
    if (f->name[0] == 0 || f->name[0] == '.' || strchr(f->name, '/'))
        return fail(STATUS_INPUT, "%s: '%s' is no name of a file beside it", path, f->name);
    TRY(get_count(from, path, "rows", &f->rows));
    TRY(get_count(from, path, "tokens", &f->tokens));
    TRY(get_count(from, path, "bytes", &bytes));
    f->bytes = (uint64_t)bytes;
    return get_hash(from, path, "sha256", f->sha256);
}

static status get_files(const json_t *root, const char *path, manifest *m)
{
    const json_t *list = json_object_get(root, "files");
    int64_t rows = 0, tokens = 0;
    if (!json_is_array(list))
        return fail(STATUS_INPUT, "%s: 'files' is missing or no list; run the stage again", path);
    m->files = (int64_t)json_array_size(list);
    TRY(memory_new(&m->file, (size_t)m->files * sizeof *m->file, "the files of a manifest"));
    for (int64_t i = 0; i < m->files; i++) {
        TRY(get_file(json_array_get(list, (size_t)i), path, &m->file[i]));
        if (m->file[i].rows > m->rows - rows || m->file[i].tokens > m->tokens - tokens)
            return fail(STATUS_INPUT, "%s: its files have more rows or tokens than it says in all; run the stage again", path);
        rows += m->file[i].rows;
        tokens += m->file[i].tokens;
    }
    if (rows != m->rows || tokens != m->tokens)
        return fail(STATUS_INPUT, "%s: its files have fewer rows or tokens than it says in all; run the stage again", path);
    return STATUS_OK;
}

/* Whoever reads such a CSV again needs them. */
status manifest_reading(const char *identity, char **read_with)
{
    static const char *const names[] = {"id-column", "text-column", "lang-column", "labels", "csv", "delimiter", "unlabelled"};
    size_t used = 0;
    TRY(memory_new(read_with, strlen(identity) + 2, "how CSVs were read"));
    for (const char *line = identity; *line;) {
        size_t n = strcspn(line, "\n"), name = strcspn(line, " =\n");
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strlen(names[i]) == name && memcmp(names[i], line, name) == 0)
                used += (size_t)snprintf(*read_with + used, n + 2, "%.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
    if (used == 0) {
        free(*read_with);
        *read_with = NULL;
    }
    return STATUS_OK;
}

static status get_manifest(const json_t *root, const char *path, manifest *m)
{
    int64_t format = 0;
    TRY(get_count(root, path, "format", &format));
    if (format != MANIFEST_FORMAT)
        return fail(STATUS_INPUT, "%s: format %lld; this program reads format %d: run the stage again", path, (long long)format, MANIFEST_FORMAT);
    TRY(get_text(root, path, "stage", &m->stage));
    TRY(join_lines(json_object_get(root, "inputs"), path, "inputs", &m->inputs));
    TRY(join_lines(json_object_get(root, "identity"), path, "identity", &m->identity));
    TRY(join_lines(json_object_get(root, "tokenizer"), path, "tokenizer", &m->tokenizer));
    if (json_object_get(root, "read_with"))
        TRY(join_lines(json_object_get(root, "read_with"), path, "read_with", &m->read_with));
    else if (strcmp(m->stage, "preprocess") == 0)
        TRY(manifest_reading(m->identity, &m->read_with));
    TRY(get_count(root, path, "rows", &m->rows));
    TRY(get_count(root, path, "tokens", &m->tokens));
    TRY(get_hash(root, path, "data_identity", m->data_identity));
    return get_files(root, path, m);
}

/* Every byte counts, also one that JSON passes over or a digit in a number: so the text is held against its own hash before it is read. */
static status check_seal(const char *path, const char *text, size_t bytes)
{
    char hex[HASH_HEX];
    const char *seal = bytes > SEAL_BYTES ? text + bytes - SEAL_BYTES : NULL;
    if (!seal || memcmp(seal, seal_head, SEAL_HEAD) != 0 || memcmp(seal + SEAL_BYTES - SEAL_END, seal_end, SEAL_END) != 0)
        return fail(STATUS_INPUT, "%s: does not end with its own SHA-256: cut short, changed by hand, or of an older version; run the stage again", path);
    TRY(hash_sha256_buffer(text, bytes - SEAL_BYTES, hex));
    if (memcmp(seal + SEAL_HEAD, hex, HASH_HEX - 1) != 0)
        return fail(STATUS_INPUT, "%s: does not agree with the SHA-256 at its end: damaged, or changed by hand; run the stage again", path);
    return STATUS_OK;
}

status manifest_read(const char *folder, manifest *m)
{
    char *path = NULL, *text = NULL;
    size_t bytes;
    json_t *root = NULL;
    json_error_t error;
    status st;
    *m = (manifest){0};
    TRY_DONE(file_join(folder, "manifest.json", &path));
    if (!file_exists(folder))
        TRY_DONE(fail(STATUS_INPUT, "%s: no such folder; give one that preprocess or shard wrote", folder));
    if (!file_is_folder(folder))
        TRY_DONE(fail(STATUS_INPUT, "%s: is a file; a CSV goes through preprocess first, and the folder that this writes (--out) is what to give here", folder));
    if (!file_exists(path))
        TRY_DONE(fail(STATUS_INPUT, "%s: is missing: either the folder is not finished (run the stage that makes it again), or the folder to give is one inside it",
                      path));
    TRY_DONE(file_read_all(path, MOST_BYTES, &text, &bytes));
    TRY_DONE(check_seal(path, text, bytes));
    root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        TRY_DONE(fail(STATUS_INPUT, "%s: line %d: %s; run the stage again", path, error.line, error.text));
    TRY_DONE(get_manifest(root, path, m));
done:
    json_decref(root);
    free(text);
    free(path);
    if (st != STATUS_OK)
        manifest_free(m);
    return st;
}

/* ---- writing ---- */

static json_t *pack_files(const manifest *m)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < m->files; i++) {
        const manifest_file *f = &m->file[i];
        json_t *one = json_pack("{s:s, s:I, s:I, s:I, s:s}", "name", f->name, "rows", (json_int_t)f->rows, "tokens", (json_int_t)f->tokens, "bytes",
                                (json_int_t)f->bytes, "sha256", f->sha256);
        if (!one || json_array_append_new(list, one) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

status manifest_write(const char *folder, const manifest *m)
{
    char *path = NULL, *text = NULL, hex[HASH_HEX];
    status st;
    json_t *root = json_pack("{s:i, s:s, s:o, s:o, s:o, s:I, s:I, s:s, s:o}", "format", MANIFEST_FORMAT, "stage", m->stage, "inputs",
                             lines_of(m->inputs ? m->inputs : ""), "identity", lines_of(m->identity ? m->identity : ""), "tokenizer",
                             lines_of(m->tokenizer), "rows", (json_int_t)m->rows, "tokens", (json_int_t)m->tokens, "data_identity", m->data_identity, "files", pack_files(m));
    if (!root)
        return fail(STATUS_INPUT, "%s: manifest.json cannot be made: a name of a file or an option is not valid UTF-8; rename the input", folder);
    if (m->read_with && strcmp(m->stage, "preprocess") != 0) /* there it stands among the options */
        json_object_set_new(root, "read_with", lines_of(m->read_with));
    TRY_DONE(file_join(folder, "manifest.json", &path));
    text = json_dumps(root, JSON_INDENT(1));
    if (!text)
        TRY_DONE(fail(STATUS_RESOURCE, "out of memory for %s", path));
    size_t n = strlen(text) - strlen("\n}");
    TRY_DONE(memory_grow(&text, n + 2 + SEAL_BYTES + 1, "a manifest"));
    n += (size_t)snprintf(text + n, 3, ",\n");
    TRY_DONE(hash_sha256_buffer(text, n, hex));
    n += (size_t)snprintf(text + n, SEAL_BYTES + 1, "%s%s%s", seal_head, hex, seal_end);
    TRY_DONE(file_write_atomic(path, text, n));
done:
    json_decref(root);
    free(text);
    free(path);
    return st;
}

/* ---- checking ---- */

static status check_file(const char *path, const manifest_file *f, bool deep)
{
    uint64_t bytes;
    char hex[HASH_HEX];
    if (!file_exists(path))
        return fail(STATUS_INPUT, "%s: is missing; run the stage that makes it again", path);
    TRY(file_size(path, &bytes));
    if (bytes != f->bytes)
        return fail(STATUS_INPUT, "%s: has %llu bytes, its manifest says %llu; run the stage that makes it again", path, (unsigned long long)bytes,
                    (unsigned long long)f->bytes);
    if (!deep)
        return STATUS_OK;
    TRY(hash_sha256_file(path, hex));
    if (strcmp(hex, f->sha256) != 0)
        return fail(STATUS_INPUT, "%s: its bytes do not agree with the SHA-256 in its manifest; run the stage that makes it again", path);
    return STATUS_OK;
}

status manifest_check_file(const char *folder, const manifest *m, int64_t index, bool deep)
{
    char *path;
    TRY(file_join(folder, m->file[index].name, &path));
    status st = check_file(path, &m->file[index], deep);
    free(path);
    return st;
}

status manifest_check(const char *folder, const manifest *m, bool deep)
{
    for (int64_t i = 0; i < m->files; i++)
        TRY(manifest_check_file(folder, m, i, deep));
    return STATUS_OK;
}

status manifest_check_same(const char *folder, const manifest *m, const manifest *wanted)
{
    char detail[DIFFERENCE_TEXT], what[DIFFERENCE_TEXT + 100];
    const char *rows = strcmp(wanted->stage, "shard") == 0 ? "shards" : "parts";
    if (strcmp(m->stage, wanted->stage) != 0) {
        snprintf(what, sizeof what, "the work of another stage");
    } else if (strcmp(m->inputs, wanted->inputs) != 0) {
        difference_inputs(m->inputs, wanted->inputs, detail);
        snprintf(what, sizeof what, "the %s of other inputs (%s)", rows, detail);
    } else if (strcmp(m->tokenizer, wanted->tokenizer) != 0) {
        difference_settings(m->tokenizer, wanted->tokenizer, " where now ", detail);
        snprintf(what, sizeof what, "the %s of another tokenizer (it had %s is given)", rows, detail);
    } else if (strcmp(m->identity, wanted->identity) != 0) {
        options_differing(wanted->identity, m->identity, detail, sizeof detail);
        snprintf(what, sizeof what, "%s made with other options (%s)", rows, detail);
    } else {
        return STATUS_OK;
    }
    return fail(STATUS_USAGE, "%s: holds %s; give another --out, or remove it", folder, what);
}
