#include "model/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "common/sealed.h"
#include "model/pointer.h"

enum { SMALL_FILE = 64 << 20 };

static status copy_text(const char *from, char **to)
{
    *to = strdup(from);
    return *to ? STATUS_OK : fail(STATUS_RESOURCE, "out of memory: a run's description");
}

static status damaged(const char *path, const char *key)
{
    return fail(STATUS_INPUT, "%s: no usable \"%s\": the file is damaged or of another version; restore it, or train again into a new folder", path,
                key);
}

static status get_text(const json_t *object, const char *path, const char *key, const char **out)
{
    *out = json_string_value(json_object_get(object, key));
    return *out ? STATUS_OK : damaged(path, key);
}

static status get_hash(const json_t *object, const char *path, const char *key, size_t digits, char *out)
{
    const char *text;
    TRY(get_text(object, path, key, &text));
    if (strlen(text) != digits || strspn(text, "0123456789abcdef") != digits)
        return damaged(path, key);
    memcpy(out, text, digits + 1);
    return STATUS_OK;
}

static status get_int(const json_t *object, const char *path, const char *key, int64_t low, int64_t high, int64_t *out)
{
    const json_t *value = json_object_get(object, key);
    *out = json_integer_value(value);
    return json_is_integer(value) && *out >= low && *out <= high ? STATUS_OK : damaged(path, key);
}

static status read_json(const char *path, json_t **out, char sha256[HASH_HEX])
{
    status st = sealed_read(path, out, sha256);
    return st == STATUS_INPUT ? fail(st, "%s; restore it from a copy, or train again into a new folder", status_message()) : st;
}

/* ---- run.json ---- */

static status read_input(const json_t *object, const char *path, run *r)
{
    static const char *const sides[] = {"head", "tail", "head-tail"};
    const char *text;
    const json_t *vocabulary = json_object_get(object, "vocabulary");
    int64_t cls, sep, pad;
    TRY(get_int(object, path, "max_length", 3, 1 << 20, &r->input.max_length));
    TRY(get_text(object, path, "pooling", &text));
    if (strcmp(text, "real") != 0 && strcmp(text, "padded") != 0)
        return damaged(path, "pooling");
    r->padded = strcmp(text, "padded") == 0;
    TRY(get_text(object, path, "truncate", &text));
    size_t side = 0;
    while (side < 3 && strcmp(text, sides[side]) != 0)
        side++;
    if (side == 3)
        return damaged(path, "truncate");
    r->input.truncate = (truncate_side)side;
    TRY(get_int(vocabulary, path, "cls", 0, INT32_MAX, &cls));
    TRY(get_int(vocabulary, path, "sep", 0, INT32_MAX, &sep));
    TRY(get_int(vocabulary, path, "pad", 0, INT32_MAX, &pad));
    r->input.cls = (int32_t)cls;
    r->input.sep = (int32_t)sep;
    r->input.pad = (int32_t)pad;
    return STATUS_OK;
}

static status read_labels(const json_t *object, const char *path, run *r)
{
    const json_t *list = json_object_get(object, "labels");
    size_t n = json_array_size(list);
    if (n == 0)
        return damaged(path, "labels");
    TRY(memory_new(&r->label, n * sizeof *r->label, "label names"));
    for (size_t i = 0; i < n; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (!name)
            return damaged(path, "labels");
        TRY(copy_text(name, &r->label[i]));
        r->labels++;
    }
    return STATUS_OK;
}

static status read_description(run *r)
{
    char *path;
    json_t *object = NULL;
    const char *text;
    int64_t version;
    TRY(file_join(r->folder, "run.json", &path));
    status st = STATUS_OK;
    if (!file_exists(path))
        TRY_DONE(fail(STATUS_INPUT, "%s: no run.json in it: not the folder of a run; give the --out of train", r->folder));
    TRY_DONE(read_json(path, &object, r->identity));
    TRY_DONE(get_int(object, path, "format", 1, 1, &version));
    TRY_DONE(get_int(object, path, "arithmetic", 1, 1 << 20, &version));
    r->arithmetic = (int)version;
    TRY_DONE(get_hash(object, path, "recipe_sha256", 64, r->recipe_hash));
    TRY_DONE(get_text(object, path, "tokenizer", &text));
    TRY_DONE(copy_text(text, &r->tokenizer));
    text = json_string_value(json_object_get(object, "read_with"));
    if (text)
        TRY_DONE(copy_text(text, &r->read_with));
    if (json_object_get(object, "config"))
        TRY_DONE(get_hash(object, path, "config", 64, r->config_hash));
    TRY_DONE(read_input(object, path, r));
    TRY_DONE(read_labels(object, path, r));
done:
    json_decref(object);
    free(path);
    return st;
}

/* ---- which weights ---- */

/* What the run has, for messages: "last, best, epoch-1". */
static void list_choices(const run *r, char *text, size_t room)
{
    char **names;
    size_t count, used = 0;
    text[0] = 0;
    if (file_list(r->folder, &names, &count) != STATUS_OK)
        return;
    for (size_t i = 0; i < count; i++) {
        bool weights = strncmp(names[i], "epoch-", 6) == 0 || strncmp(names[i], "step-", 5) == 0 || strcmp(names[i], "last") == 0 ||
                       strcmp(names[i], "best") == 0;
        if (weights && used + strlen(names[i]) + 3 < room)
            used += (size_t)snprintf(text + used, room - used, "%s%s", used ? ", " : "", names[i]);
    }
    file_free_names(names, count);
}

static status read_pointer(run *r, const char *which)
{
    char *path, *text = NULL;
    size_t bytes;
    TRY(file_join(r->folder, which, &path));
    status st = STATUS_OK;
    if (file_is_folder(path)) {
        st = copy_text(which, &r->weights);
    } else if (!file_exists(path)) {
        char choices[512];
        list_choices(r, choices, sizeof choices);
        st = fail(STATUS_INPUT, "%s: the run has no weights named '%s' (it has: %s)%s", r->folder, which, choices[0] ? choices : "none yet",
                  strcmp(which, "best") == 0 ? "; best needs a validation set with both classes" : "");
    } else {
        TRY_DONE(file_read_all(path, 4096, &text, &bytes));
        if (!pointer_name(text, bytes))
            TRY_DONE(fail(STATUS_INPUT,
                          "%s: does not name a folder beside it: the file is damaged; write the name of a step- or epoch- folder into it", path));
        st = copy_text(text, &r->weights);
    }
done:
    free(text);
    free(path);
    return st;
}

static status read_state(run *r)
{
    char *path, sha256[HASH_HEX];
    json_t *object = NULL;
    TRY(file_join(r->weights_folder, "state.json", &path));
    status st = read_json(path, &object, sha256);
    if (st == STATUS_OK)
        st = get_int(object, path, "step", 0, INT64_MAX, &r->step);
    if (st == STATUS_OK)
        st = get_hash(object, path, "state", 16, r->weights_hash);
    json_decref(object);
    free(path);
    return st;
}

/* Another number of heads or another epsilon would load as well, and only give other scores. */
static status check_config(const run *r)
{
    char *path, hash[HASH_HEX] = "";
    if (!r->config_hash[0])
        return STATUS_OK;
    TRY(file_join(r->weights_folder, "config.json", &path));
    status st = hash_sha256_file(path, hash);
    if (st == STATUS_OK && strcmp(hash, r->config_hash) != 0)
        st = fail(STATUS_INPUT, "%s: is not the run's (SHA-256 %.16s..., run.json says %.16s...); restore it, from another folder of the run for instance", path,
                  hash, r->config_hash);
    free(path);
    return st;
}

status run_open(const char *folder, const char *which, run *out)
{
    status st;
    char *path = NULL;
    *out = (run){0};
    TRY_DONE(copy_text(folder, &out->folder));
    if (!file_is_folder(folder))
        TRY_DONE(fail(STATUS_INPUT, "%s: %s; give the --out of train", folder, file_exists(folder) ? "is a file" : "no such folder"));
    TRY_DONE(read_description(out));
    TRY_DONE(read_pointer(out, which ? which : "last"));
    TRY_DONE(file_join(folder, out->weights, &out->weights_folder));
    if (!file_is_folder(out->weights_folder))
        TRY_DONE(fail(STATUS_INPUT, "%s: '%s' names %s, which is not there; write the name of a step- or epoch- folder into it, or name one with --weights", folder, which ? which : "last", out->weights));
    TRY_DONE(read_state(out));
    TRY_DONE(check_config(out));
    TRY_DONE(file_join(folder, "provenance.json", &path));
    out->finished = file_exists(path);
done:
    free(path);
    if (st != STATUS_OK)
        run_close(out);
    return st;
}

void run_close(run *r)
{
    for (int64_t i = 0; i < r->labels; i++)
        free(r->label[i]);
    free(r->label);
    free(r->folder);
    free(r->weights);
    free(r->weights_folder);
    free(r->tokenizer);
    free(r->read_with);
    *r = (run){0};
}

/* ---- vocabulary ---- */

bool run_vocabulary_matches(const char *tokenizer, const char *vocabulary_sha256)
{
    for (const char *line = tokenizer; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "vocab=", 6) == 0)
            return strncmp(line + 6, vocabulary_sha256, 64) == 0;
    }
    return false;
}
