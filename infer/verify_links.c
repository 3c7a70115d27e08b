#include "infer/verify_links.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "common/hash.h"
#include "infer/network.h"
#include "model/run.h"
#include "model/weights.h"
#include "store/identity.h"
#include "store/manifest.h"

/* ---- lines ---- */

void link_holds(links *l, const char *format, ...)
{
    va_list list;
    printf("holds        ");
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    printf("\n");
    l->holding++;
}

void link_unseen(links *l, const char *format, ...)
{
    va_list list;
    printf("not checked  ");
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    printf("\n");
    l->unseen++;
}

void link_breaks(links *l, const char *format, ...)
{
    char text[sizeof l->first];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    printf("BREAKS       %s\n", text);
    if (!l->broken++)
        memcpy(l->first, text, sizeof text);
}

static bool equal(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

void link_file(links *l, const char *what, const char *path, const char *expected)
{
    char hex[HASH_HEX];
    if (!file_exists(path) || hash_sha256_file(path, hex) != STATUS_OK)
        link_breaks(l, "%s: %s is not there or cannot be read", what, path);
    else if (!equal(hex, expected))
        link_breaks(l, "%s: %s has SHA-256 %.16s..., not %.16s...", what, path, hex, expected ? expected : "(none told)");
    else
        link_holds(l, "%s: %s (SHA-256 %.16s...)", what, path, hex);
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
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

status links_read(links *l)
{
    char *made = NULL;
    TRY(read_object(l->folder, "run.json", &l->run));
    TRY(read_object(l->folder, "provenance.json", &l->chain));
    if (read_object(l->folder, "environment.json", &l->environment) != STATUS_OK)
        l->environment = NULL;
    if (asprintf(&made, "%s.provenance.json", l->submission) < 0)
        return fail(STATUS_RESOURCE, "out of memory for a path");
    char *end = strrchr(made, '/'), *name = end ? end + 1 : made;
    char folder[4096] = ".";
    if (end)
        snprintf(folder, sizeof folder, "%.*s", (int)(end - made), made);
    status st = read_object(end == made ? "/" : folder, name, &l->made);
    free(made);
    TRY(st);
    TRY(memory_new(&l->used_csv, l->settings->csv.count + 1, "the list of CSVs"));
    return memory_new(&l->used_input, l->settings->input.count + 1, "the list of folders");
}

void links_free(links *l)
{
    json_decref(l->run);
    json_decref(l->chain);
    json_decref(l->environment);
    json_decref(l->made);
    free(l->used_csv);
    free(l->used_input);
}

/* ---- data ---- */

/* A CSV of this base name among --csv. Several data sets may come from one. */
static void link_csv(links *l, const char *set, const char *name, const char *sha256)
{
    const option_list *csv = &l->settings->csv;
    char what[256];
    for (size_t i = 0; i < csv->count; i++)
        if (name && strcmp(file_base(csv->item[i]), name) == 0) {
            l->used_csv[i] = true;
            snprintf(what, sizeof what, "CSV -> %s", set);
            link_file(l, what, csv->item[i], sha256);
            return;
        }
    link_unseen(l, "CSV -> %s: %s: give it with --csv", set, name ? name : "(no name)");
}

/* The CSVs that a folder's first file names; `told` is the provenance's list of them, NULL where there is none. */
static void link_sources(links *l, const char *set, const char *folder, const manifest *m, const json_t *told)
{
    char *path;
    rowfile *file;
    if (m->files == 0 || file_join(folder, m->file[0].name, &path) != STATUS_OK)
        return;
    if (rowfile_open(path, &file) != STATUS_OK) {
        link_breaks(l, "CSV -> %s: %s: %s", set, folder, status_message());
    } else {
        const rowfile_meta *meta = rowfile_get_meta(file);
        bool same = !told || json_array_size(told) == (size_t)meta->sources;
        for (int64_t i = 0; i < meta->sources; i++) {
            const json_t *one = json_array_get(told, (size_t)i);
            same = same && (!told || (equal(text_of(one, "name"), meta->source[i].name) && equal(text_of(one, "sha256"), meta->source[i].sha256)));
            link_csv(l, set, meta->source[i].name, meta->source[i].sha256);
        }
        if (!same)
            link_breaks(l, "CSV -> %s: %s was made of other CSVs than provenance.json says", set, folder);
        rowfile_free(file);
    }
    free(path);
}

/* A folder that is there: its files, and the identity of their rows. */
static void link_folder(links *l, const char *set, const char *folder, const manifest *m, const char *identity, const json_t *told)
{
    char **paths, hex[HASH_HEX];
    status st = manifest_check(folder, m, true);
    if (st == STATUS_OK)
        st = memory_new(&paths, (size_t)(m->files + 1) * sizeof *paths, "paths");
    if (st == STATUS_OK) {
        for (int64_t i = 0; st == STATUS_OK && i < m->files; i++)
            st = file_join(folder, m->file[i].name, &paths[i]);
        if (st == STATUS_OK)
            st = data_identity_of_files(m->tokenizer, m->rows, paths, m->files, hex);
        for (int64_t i = 0; i < m->files; i++)
            free(paths[i]);
        free(paths);
    }
    if (st != STATUS_OK)
        link_breaks(l, "%s: %s", set, status_message());
    else if (!equal(hex, identity) || !equal(m->data_identity, identity))
        link_breaks(l, "%s: the rows of %s have identity %.16s..., not %.16s...", set, folder, hex, identity ? identity : "(none told)");
    else
        link_holds(l, "%s: %s, %lld rows (identity %.16s...)", set, folder, (long long)m->rows, hex);
    link_sources(l, set, folder, m, told);
}

/* The place among --input of the folder with these rows; -1. */
static int find_input(links *l, const char *identity)
{
    const option_list *input = &l->settings->input;
    for (size_t i = 0; i < input->count; i++) {
        manifest m;
        if (manifest_read(input->item[i], &m) != STATUS_OK)
            continue;
        bool same = equal(m.data_identity, identity);
        manifest_free(&m);
        if (same) {
            l->used_input[i] = true;
            return (int)i;
        }
    }
    return -1;
}

/* Item `index` of the option `name` when the run was started last; false when it is not told. */
static bool started_with(const links *l, const char *name, size_t index, char *to, size_t room)
{
    const char *options = text_of(l->environment, "options");
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

static void link_set(links *l, const char *key, size_t index, const json_t *told)
{
    const char *identity = text_of(told, "identity");
    const json_t *known = json_array_get(json_object_get(json_object_get(l->run, key), "identities"), index);
    char set[128], folder[4096];
    snprintf(set, sizeof set, "%s %s", strcmp(key, "train") == 0 ? "training data" : "validation data", text_of(told, "name") ? text_of(told, "name") : "");
    if (!equal(identity, json_string_value(known))) {
        link_breaks(l, "%s -> run: provenance.json says identity %.16s..., run.json %.16s...", set, identity ? identity : "(none)",
                    json_string_value(known) ? json_string_value(known) : "(none)");
        return;
    }
    link_holds(l, "%s -> run: identity %.16s... in run.json", set, identity);
    int place = find_input(l, identity);
    if (place >= 0)
        snprintf(folder, sizeof folder, "%s", l->settings->input.item[place]);
    manifest m;
    if (place < 0 && (!started_with(l, key, index, folder, sizeof folder) || !file_is_folder(folder))) {
        link_unseen(l, "%s: its folder is not here: give it with --input", set);
    } else if (manifest_read(folder, &m) != STATUS_OK) {
        link_breaks(l, "%s: %s", set, status_message());
    } else {
        link_folder(l, set, folder, &m, identity, json_object_get(told, "sources"));
        manifest_free(&m);
    }
}

static void link_scored(links *l)
{
    const json_t *folders = json_object_get(json_object_get(l->made, "data"), "folders");
    for (size_t i = 0; i < json_array_size(folders) && i < LINKS_FOLDERS; i++) {
        const char *identity = json_string_value(json_array_get(folders, i));
        int place = find_input(l, identity);
        manifest m;
        l->scored[l->scored_count++] = place;
        if (place < 0) {
            link_unseen(l, "scored data: the folder with identity %.16s...: give it with --input", identity ? identity : "(none)");
        } else if (manifest_read(l->settings->input.item[place], &m) == STATUS_OK) {
            link_folder(l, "scored data", l->settings->input.item[place], &m, identity, NULL);
            manifest_free(&m);
        }
    }
}

void links_of_data(links *l)
{
    static const char *const keys[] = {"train", "valid"};
    for (int k = 0; k < 2; k++) {
        const json_t *list = json_object_get(l->chain, keys[k]);
        if (json_array_size(list) != json_array_size(json_object_get(json_object_get(l->run, keys[k]), "identities")))
            link_breaks(l, "%s data -> run: provenance.json and run.json tell of different numbers of folders", keys[k]);
        for (size_t i = 0; i < json_array_size(list); i++)
            link_set(l, keys[k], i, json_array_get(list, i));
    }
    link_scored(l);
    for (size_t i = 0; i < l->settings->csv.count; i++)
        if (!l->used_csv[i])
            link_breaks(l, "CSV: no data of this chain was made of a file named %s", file_base(l->settings->csv.item[i]));
    for (size_t i = 0; i < l->settings->input.count; i++)
        if (!l->used_input[i])
            link_breaks(l, "data: %s holds no rows of this chain (or its manifest.json has changed)", l->settings->input.item[i]);
}

/* ---- recipe, initial weights, results ---- */

static void link_initial(links *l)
{
    const json_t *model = json_object_get(l->chain, "model");
    const char *kind = text_of(json_object_get(l->run, "model"), "kind"), *sha256 = text_of(model, "sha256");
    char place[4096];
    char *path = NULL;
    bool random = equal(kind, "random"), found = (random && started_with(l, "config", 0, place, sizeof place)) || started_with(l, "model", 0, place, sizeof place);
    if (!equal(sha256, text_of(json_object_get(l->run, "model"), "sha256")))
        link_breaks(l, "initial weights -> run: provenance.json and run.json tell of different ones");
    if (found && !random)
        found = weights_find(place, &path) == STATUS_OK;
    else if (found)
        found = (file_is_folder(place) ? file_join(place, "config.json", &path) == STATUS_OK : (path = strdup(place)) != NULL) && file_exists(path);
    if (found)
        link_file(l, random ? "initial weights -> run: random ones of the shape of" : "initial weights -> run", path, sha256);
    else
        link_unseen(l, "initial weights -> run: %s is not where the run found it", text_of(model, "file"));
    free(path);
}

static void link_results(links *l)
{
    const char *name;
    json_t *sha256;
    char *path;
    json_object_foreach(json_object_get(l->chain, "results"), name, sha256) {
        if (file_join(l->folder, name, &path) != STATUS_OK)
            return;
        link_file(l, "run -> results", path, json_string_value(sha256));
        free(path);
    }
}

void links_of_run(links *l)
{
    char *path, hex[HASH_HEX];
    const char *recipe = text_of(l->run, "recipe_sha256");
    if (file_join(l->folder, "run.json", &path) != STATUS_OK)
        return;
    link_file(l, "run.json -> provenance", path, text_of(l->chain, "run"));
    free(path);
    if (file_join(l->folder, "recipe.conf", &path) != STATUS_OK)
        return;
    link_file(l, "recipe -> run", path, recipe);
    free(path);
    const char *text = text_of(l->run, "recipe");
    if (!text || hash_sha256_buffer(text, strlen(text), hex) != STATUS_OK || !equal(hex, recipe) || !equal(text_of(l->chain, "recipe"), recipe))
        link_breaks(l, "recipe -> run: run.json, its recipe and provenance.json do not agree");
    link_initial(l);
    link_results(l);
}

/* ---- weights, submission ---- */

/* The state hash of a checkpoint's weights as they are on disk. */
static status hash_weights(const run *r, char text[17])
{
    model_config config;
    weights_file *file = NULL;
    weights_report report;
    tensor_table *table = NULL;
    float *parameters = NULL;
    uint64_t hash;
    char *path;
    status st;
    TRY(file_join(r->weights_folder, "config.json", &path));
    st = model_config_read(path, &config);
    free(path);
    TRY(st);
    TRY_DONE(weights_open(r->weights_folder, &file));
    TRY_DONE(tensor_table_create(&config, r->labels, weights_have_pooler(file), &table));
    TRY_DONE(memory_new(&parameters, (size_t)table->parameters * sizeof *parameters, "weights"));
    TRY_DONE(weights_load(file, table, 0, parameters, &report));
    TRY_DONE(network_state_hash(table, parameters, NULL, &hash));
    snprintf(text, 17, "%016llx", (unsigned long long)hash);
done:
    free(parameters);
    tensor_table_free(table);
    weights_file_close(file);
    return st;
}

/* The state of a step as metrics.jsonl has it. */
static bool find_state(const links *l, int64_t step, char text[17])
{
    char *path, *lines = NULL, head[48];
    size_t bytes;
    bool found = false;
    if (file_join(l->folder, "metrics.jsonl", &path) != STATUS_OK)
        return false;
    snprintf(head, sizeof head, "{\"step\":%lld,", (long long)step);
    if (file_read_all(path, 0, &lines, &bytes) == STATUS_OK)
        for (const char *at = lines; *at && !found; at += strcspn(at, "\n"), at += *at == '\n')
            if (strncmp(at, head, strlen(head)) == 0) {
                json_t *line = json_loadb(at, strcspn(at, "\n"), 0, NULL);
                const char *state = text_of(line, "state");
                found = state && strlen(state) == 16;
                if (found)
                    memcpy(text, state, 17);
                json_decref(line);
            }
    free(lines);
    free(path);
    return found;
}

static void link_weights(links *l)
{
    const char *name = text_of(l->member, "weights"), *state = text_of(l->member, "weights_state");
    char there[17] = "", told[17] = "";
    run r;
    if (!name || run_open(l->folder, name, &r) != STATUS_OK) {
        link_breaks(l, "run -> weights: %s", name ? status_message() : "the submission's provenance names none");
        return;
    }
    if (hash_weights(&r, there) != STATUS_OK)
        link_breaks(l, "run -> weights: %s", status_message());
    else if (!find_state(l, r.step, told) || !equal(there, told) || !equal(there, r.weights_hash))
        link_breaks(l, "run -> weights: %s has state %s, metrics.jsonl says %s after step %lld, state.json %s", r.weights_folder, there, told,
                    (long long)r.step, r.weights_hash);
    else if (!equal(there, state))
        link_breaks(l, "weights -> submission: scored by weights of state %s, %s has %s", state ? state : "(none)", r.weights_folder, there);
    else
        link_holds(l, "run -> weights -> submission: %s, state %s as metrics.jsonl has it after step %lld", r.weights, there, (long long)r.step);
    run_close(&r);
}

void links_of_submission(links *l)
{
    const json_t *members = json_object_get(l->made, "scored_by");
    const char *identity = text_of(l->chain, "run");
    for (size_t i = 0; i < json_array_size(members) && !l->member; i++)
        if (equal(text_of(json_array_get(members, i), "run"), identity))
            l->member = json_array_get(members, i);
    if (!l->member)
        link_breaks(l, "run -> submission: %s was not scored by this run (%.16s...)", l->submission, identity ? identity : "(none)");
    else
        link_weights(l);
    if (json_array_size(members) > 1)
        link_unseen(l, "%zu more scored it too: verify it with each of their runs", json_array_size(members) - 1);
    link_file(l, "submission", l->submission, text_of(l->made, "sha256"));
    const json_t *sample = json_object_get(l->made, "sample");
    if (sample && l->settings->sample)
        link_file(l, "sample -> submission", l->settings->sample, text_of(sample, "sha256"));
    else if (sample)
        link_unseen(l, "sample -> submission: %s: give it with --sample-submission", text_of(sample, "name"));
}
