#include "train/describe.h"

#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/comm.h"
#include "common/files.h"
#include "common/sealed.h"
#include "model/run.h"
#include "store/difference.h"

enum { CLAIM_SECONDS = 10 };

static status in_run(const trainer *t, const char *name, char **path)
{
    return file_join(t->o->out, name, path);
}

static status write_text(const trainer *t, const char *name, const char *text)
{
    char *path;
    TRY(in_run(t, name, &path));
    status st = file_write_atomic(path, text, strlen(text));
    free(path);
    return st;
}

/* ---- run.json ---- */

static json_t *data_object(const dataset *d)
{
    json_t *list = json_array();
    for (int64_t i = 0; d && i < dataset_folders(d); i++)
        json_array_append_new(list, json_string(dataset_folder_identity(d, i)));
    return json_pack("{s:I, s:o}", "rows", (json_int_t)(d ? dataset_rows(d) : 0), "identities", list);
}

static json_t *label_names(const dataset *d)
{
    json_t *list = json_array();
    for (int c = 0; c < dataset_labels(d); c++)
        json_array_append_new(list, json_string(dataset_label_name(d, c)));
    return list;
}

/* Of the config.json that goes beside the weights; empty on want of memory, which no run.json agrees with. */
static json_t *config_hash(const trainer *t)
{
    char *text, hash[HASH_HEX] = "";
    if (model_config_text(&t->table->config, &text) == STATUS_OK) {
        if (hash_sha256_buffer(text, strlen(text), hash) != STATUS_OK)
            hash[0] = 0;
        free(text);
    }
    return json_string(hash);
}

static json_t *run_object(const trainer *t, const char *recipe, const char *recipe_hash)
{
    static const char *const sides[] = {"head", "tail", "head-tail"};
    const initial_model *m = &t->initial;
    json_t *object = json_object();
    json_object_set_new(object, "format", json_integer(1));
    json_object_set_new(object, "arithmetic", json_integer(ARITHMETIC_VERSION));
    json_object_set_new(object, "recipe", json_string(recipe));
    json_object_set_new(object, "recipe_sha256", json_string(recipe_hash));
    json_object_set_new(object, "pooling", json_string(t->o->pooling == POOLING_PADDED ? "padded" : "real"));
    json_object_set_new(object, "max_length", json_integer(t->input.max_length));
    json_object_set_new(object, "truncate", json_string(sides[t->input.truncate]));
    json_object_set_new(object, "labels", label_names(t->train));
    json_object_set_new(object, "tokenizer", json_string(dataset_tokenizer(t->train)));
    if (dataset_read_with(t->train))
        json_object_set_new(object, "read_with", json_string(dataset_read_with(t->train)));
    json_object_set_new(
        object, "vocabulary",
        json_pack("{s:s, s:i, s:i, s:i}", "sha256", m->vocabulary_hash, "cls", t->input.cls, "sep", t->input.sep, "pad", t->input.pad));
    json_object_set_new(object, "train", data_object(t->train));
    json_object_set_new(object, "valid", data_object(t->valid));
    json_object_set_new(object, "order", t->order_hash[0] ? json_string(t->order_hash) : json_null());
    json_object_set_new(object, "config", config_hash(t));
    if (t->device_identity[0])
        json_object_set_new(object, "device", json_string(t->device_identity));
    json_object_set_new(object, "model", json_pack("{s:s, s:s}", "kind", m->folder ? "weights" : "random", "sha256", m->hash));
    return object;
}

/* ---- is it the same run ---- */

static status compare_recipes(const trainer *t, const char *now, const char *then)
{
    char names[512];
    if (strcmp(now, then) == 0)
        return STATUS_OK;
    options_differing(now, then, names, sizeof names);
    return fail(STATUS_USAGE, "%s was begun with other values of %s (see its recipe.conf), which can change the weights: give those again, or another --out",
                t->o->out, names);
}

static status compare_runs(const trainer *t, const json_t *now, const json_t *then)
{
    static const struct {
        const char *key, *what;
    } parts[] = {{"train", "training data"}, {"valid", "validation data"}, {"tokenizer", "tokenizer settings"},
                 {"labels", "labels"},       {"order", "rows in --order"},
                 {"vocabulary", "vocabulary"}, {"model", "initial weights"}, {"config", "values in config.json"}};
    const json_t *place_now = json_object_get(now, "device"), *place_then = json_object_get(then, "device");
    const char *recipe = json_string_value(json_object_get(then, "recipe"));
    if (!recipe || json_integer_value(json_object_get(then, "format")) != 1)
        return fail(STATUS_INPUT, "%s/run.json is damaged or of another version: restore it, or give another --out", t->o->out);
    TRY(compare_recipes(t, json_string_value(json_object_get(now, "recipe")), recipe));
    if (!json_equal(json_object_get(now, "arithmetic"), json_object_get(then, "arithmetic")))
        return fail(STATUS_CHECK, "%s was begun with another version of the arithmetic: continue it with the program that began it", t->o->out);
    if (place_now != place_then && !json_equal(place_now, place_then))
        return fail(STATUS_CHECK,
                    "%s was begun on %s and would go on on %s: their bits differ, so a run stays where it was begun (--device, --attention, --micro-tokens); give another "
                    "--out to begin anew",
                    t->o->out, place_then ? json_string_value(place_then) : "the CPU", place_now ? json_string_value(place_now) : "the CPU");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const json_t *a = json_object_get(then, parts[i].key), *b = json_object_get(now, parts[i].key);
        char detail[DIFFERENCE_TEXT] = "";
        if (json_equal(a, b))
            continue;
        if (json_is_string(a) && json_is_string(b) && strchr(json_string_value(a), '=')) /* settings; hashes tell nobody anything */
            difference_settings(json_string_value(a), json_string_value(b), " where now ", detail);
        return fail(STATUS_INPUT, "%s was begun with other %s%s%s%s, on which its weights depend: give the same again, or another --out",
                    t->o->out, parts[i].what, *detail ? " (it had " : "", detail, *detail ? " is given)" : "");
    }
    if (!json_equal(now, then))
        return fail(STATUS_INPUT, "%s/run.json is damaged or of another version: restore it, or give another --out", t->o->out);
    return STATUS_OK;
}

static status compare_with(const trainer *t, const char *path, const json_t *now)
{
    json_t *then;
    status st = sealed_read(path, &then, NULL);
    if (st == STATUS_INPUT)
        return fail(st, "%s; restore it from a copy, or give another --out", status_message());
    TRY(st);
    st = compare_runs(t, now, then);
    json_decref(then);
    return st;
}

/* The record has to be whole at the end, whatever happened to it while the run stood still. */
static status write_recipe(const trainer *t, const char *recipe)
{
    char *path, *text = NULL;
    size_t bytes;
    TRY(in_run(t, "recipe.conf", &path));
    bool whole = file_exists(path) && file_read_all(path, 0, &text, &bytes) == STATUS_OK && strcmp(text, recipe) == 0;
    free(text);
    free(path);
    return whole ? STATUS_OK : write_text(t, "recipe.conf", recipe);
}

static status describe_run(trainer *t, json_t **object)
{
    char recipe_hash[HASH_HEX];
    TRY(options_text(&train_about, train_table, true, &t->recipe_text));
    TRY(options_hash(&train_about, train_table, recipe_hash));
    *object = run_object(t, t->recipe_text, recipe_hash);
    TRY(sealed_text(*object, &t->run_text));
    return hash_sha256_buffer(t->run_text, strlen(t->run_text), t->state.run);
}

/* Held until the process ends, however it ends. */
static status claim_folder(const trainer *t, int *claim)
{
    static int held = -1;
    status st = held >= 0 ? STATUS_OK : file_claim_folder(t->o->out, CLAIM_SECONDS, &held);
    *claim = held;
    return st;
}

static status begin(trainer *t, bool *finished)
{
    char *path = NULL, *end = NULL;
    json_t *object = NULL;
    status st;
    int claim;
    TRY_DONE(describe_run(t, &object));
    TRY_DONE(file_check_output_folder(t->o->out));
    if (!file_is_folder(t->o->out))
        goto done;
    TRY_DONE(claim_folder(t, &claim));
    TRY_DONE(in_run(t, "run.json", &path));
    if (!file_exists(path))
        goto done;
    TRY_DONE(compare_with(t, path, object));
    TRY_DONE(file_remove_temporaries(t->o->out));
    if (claim >= 0) /* else another one might be writing there */
        TRY_DONE(checkpoint_clear(t->o->out));
    TRY_DONE(in_run(t, "provenance.json", &end));
    *finished = file_exists(end);
done:
    json_decref(object);
    free(path);
    free(end);
    return st;
}

status describe_begin(trainer *t, bool *finished)
{
    *finished = false;
    TRY(comm_agree(comm_rank() == 0 ? begin(t, finished) : STATUS_OK));
    comm_broadcast(t->state.run, sizeof t->state.run, 0);
    comm_broadcast(finished, sizeof *finished, 0);
    return STATUS_OK;
}

static status settle(const trainer *t)
{
    char *path;
    int claim;
    TRY(file_make_folder(t->o->out));
    TRY(claim_folder(t, &claim));
    TRY(write_recipe(t, t->recipe_text));
    TRY(in_run(t, "run.json", &path));
    char *there = NULL;
    size_t bytes;
    status st = file_exists(path) ? file_read_all(path, 0, &there, &bytes) : STATUS_OK;
    if (there && strcmp(there, t->run_text) != 0)
        st = fail(STATUS_IO, "%s: another process has written it meanwhile; choose another --out", path);
    else if (st == STATUS_OK && !there)
        st = write_text(t, "run.json", t->run_text);
    free(there);
    free(path);
    return st;
}

status describe_settle(const trainer *t)
{
    return comm_agree(comm_rank() == 0 ? settle(t) : STATUS_OK);
}

/* ---- environment.json ---- */

static status write_environment(const trainer *t, const char *hosts)
{
    char *options;
    TRY(options_text(&train_about, train_table, false, &options));
    json_t *list = json_array();
    for (int r = 0; r < comm_size(); r++)
        json_array_append_new(list, json_string(hosts + 256 * r));
    json_t *object = json_pack("{s:s, s:i, s:i, s:o, s:I, s:s, s:b, s:s}", "version", FRETSAW_VERSION, "ranks", comm_size(), "nodes", comm_nodes(),
                               "hosts", list, "threads", (json_int_t)t->o->threads, "cpu", trainer_kernels(t), "parameters_shared",
                               t->parameters_shared, "options", options);
    free(options);
    char *text, folder[PATH_MAX];
    if (getcwd(folder, sizeof folder))
        json_object_set_new(object, "folder", json_string(folder)); /* where the paths among the options begin; none, where its name is no UTF-8 */
    status st = sealed_text(object, &text);
    json_decref(object);
    TRY(st);
    st = write_text(t, "environment.json", text);
    free(text);
    return st;
}

status describe_environment(const trainer *t)
{
    char mine[256] = "", *hosts;
    TRY(memory_new(&hosts, 256 * (size_t)comm_size(), "host names"));
    snprintf(mine, sizeof mine, "%s", comm_host());
    comm_all_gather(mine, sizeof mine, hosts);
    status st = comm_agree(comm_rank() == 0 ? write_environment(t, hosts) : STATUS_OK);
    free(hosts);
    return st;
}
