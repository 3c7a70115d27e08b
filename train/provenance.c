/* provenance.json: the chain of hashes from the CSVs to the weights, written last of all. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/files.h"
#include "model/run.h"
#include "store/manifest.h"
#include "train/describe.h"

/* The inputs that a folder's rows came from, as its first file tells. */
static status list_sources(const char *folder, const manifest *m, json_t *list)
{
    char *path;
    rowfile *file;
    if (m->files == 0)
        return STATUS_OK;
    TRY(file_join(folder, m->file[0].name, &path));
    status st = rowfile_open(path, &file);
    free(path);
    TRY(st);
    const rowfile_meta *meta = rowfile_get_meta(file);
    for (int64_t i = 0; i < meta->sources; i++)
        json_array_append_new(list, json_pack("{s:s, s:s}", "name", meta->source[i].name, "sha256", meta->source[i].sha256));
    rowfile_free(file);
    return STATUS_OK;
}

static status add_folder(const char *folder, json_t *list)
{
    manifest m;
    char plain[4096];
    TRY(manifest_read(folder, &m));
    json_t *sources = json_array();
    status st = list_sources(folder, &m, sources);
    size_t n = (size_t)snprintf(plain, sizeof plain, "%s", folder);
    while (n > 1 && n < sizeof plain && plain[n - 1] == '/') /* "shards/train/" is named train */
        plain[--n] = 0;
    json_array_append_new(list, json_pack("{s:s, s:I, s:s, s:s, s:s, s:o}", "name", file_base(plain), "rows", (json_int_t)m.rows, "identity",
                                          m.data_identity, "made_with", m.identity ? m.identity : "", "tokenizer", m.tokenizer ? m.tokenizer : "",
                                          "sources", sources));
    manifest_free(&m);
    return st;
}

static status add_data(json_t *object, const char *key, const option_list *folders)
{
    json_t *list = json_array();
    json_object_set_new(object, key, list);
    for (size_t i = 0; i < folders->count; i++)
        TRY(add_folder(folders->item[i], list));
    return STATUS_OK;
}

static status add_file_hash(const trainer *t, json_t *object, const char *folder, const char *file)
{
    char *path, name[96], hex[HASH_HEX];
    snprintf(name, sizeof name, "%s%s%s", folder, folder[0] ? "/" : "", file);
    TRY(file_join(t->o->out, name, &path));
    status st = hash_sha256_file(path, hex);
    free(path);
    if (st == STATUS_OK)
        json_object_set_new(object, name, json_string(hex));
    return st;
}

/* The weights of every epoch lie there from when it ended: they must not have changed since. */
static status check_epoch(const trainer *t, const char *name)
{
    char *folder;
    TRY(file_join(t->o->out, name, &folder));
    status st = checkpoint_check_folder(folder, t->table);
    free(folder);
    if (st == STATUS_INPUT)
        return fail(st, "%s; restore it from a copy, or train again into a new folder (the run's other weights are whole)", status_message());
    return st;
}

static status add_results(const trainer *t, json_t *object)
{
    json_t *list = json_object();
    char name[32];
    int64_t epochs = (t->total + t->order.steps_per_epoch - 1) / t->order.steps_per_epoch;
    json_object_set_new(object, "results", list);
    for (int64_t epoch = 1; epoch <= epochs; epoch++) {
        snprintf(name, sizeof name, "epoch-%" PRId64, epoch);
        TRY(check_epoch(t, name));
        TRY(add_file_hash(t, list, name, "model.safetensors"));
    }
    checkpoint_name(t->total, name);
    TRY(add_file_hash(t, list, name, "model.safetensors"));
    return add_file_hash(t, list, "", "metrics.jsonl");
}

static status write_provenance(const trainer *t)
{
    char *recipe, *path, state[17];
    json_t *object = json_object();
    TRY(file_join(t->o->out, "provenance.json", &path));
    status st = options_text(&train_about, train_table, true, &recipe);
    if (st == STATUS_OK) {
        char hash[HASH_HEX] = "";
        st = hash_sha256_buffer(recipe, strlen(recipe), hash);
        free(recipe);
        snprintf(state, sizeof state, "%016" PRIx64, t->optimizer->state);
        json_object_set_new(object, "version", json_string(FRETSAW_VERSION));
        json_object_set_new(object, "arithmetic", json_integer(ARITHMETIC_VERSION));
        json_object_set_new(object, "reduce", json_string(t->o->reduce == REDUCE_FAST ? "fast" : "exact"));
        json_object_set_new(object, "run", json_string(t->state.run));
        json_object_set_new(object, "recipe", json_string(hash));
        json_object_set_new(object, "vocabulary", json_string(t->initial.vocabulary_hash));
        json_object_set_new(object, "model", json_pack("{s:s, s:s}", "file", t->initial.file, "sha256", t->initial.hash));
        json_object_set_new(object, "steps", json_integer(t->total));
        json_object_set_new(object, "state", json_string(state));
    }
    if (st == STATUS_OK && t->order_hash[0])
        json_object_set_new(object, "order", json_pack("{s:s, s:s}", "file", file_base(t->o->order), "sha256", t->order_hash));
    if (st == STATUS_OK)
        st = add_data(object, "train", &t->o->train);
    if (st == STATUS_OK)
        st = add_data(object, "valid", &t->o->valid);
    if (st == STATUS_OK)
        st = add_results(t, object);
    char *text = st == STATUS_OK ? json_dumps(object, JSON_INDENT(1) | JSON_PRESERVE_ORDER) : NULL;
    if (st == STATUS_OK)
        st = text ? file_write_atomic(path, text, strlen(text)) : fail(STATUS_RESOURCE, "out of memory: provenance.json");
    free(text);
    free(path);
    json_decref(object);
    return st;
}

status describe_end(const trainer *t)
{
    return comm_agree(comm_rank() == 0 ? write_provenance(t) : STATUS_OK);
}
