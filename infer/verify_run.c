/* The links of runs: recipe, initial weights, results, weights; and those of the submission. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "common/hash.h"
#include "infer/network.h"
#include "infer/verify_links.h"
#include "model/run.h"
#include "model/weights.h"

/* ---- recipe, initial weights, results ---- */

static void link_initial(links *l)
{
    const json_t *model = json_object_get(l->now->chain, "model"), *known = json_object_get(l->now->about, "model");
    const char *kind = links_text(known, "kind"), *sha256 = links_text(model, "sha256");
    char place[4096];
    char *path = NULL;
    bool random = links_equal(kind, "random");
    bool found = (random && links_started_with(l, "config", 0, place, sizeof place)) || links_started_with(l, "model", 0, place, sizeof place);
    if (!links_equal(sha256, links_text(known, "sha256")))
        link_breaks(l, "initial weights -> run: provenance.json and run.json tell of different ones");
    if (!found && links_started_with(l, "init-from", 0, place, sizeof place)) { /* what that run ended with */
        run from;
        found = run_open(place, "last", &from) == STATUS_OK && weights_find(from.weights_folder, &path) == STATUS_OK;
        run_close(&from);
    } else if (found && !random)
        found = weights_find(place, &path) == STATUS_OK;
    else if (found)
        found = (file_is_folder(place) ? file_join(place, "config.json", &path) == STATUS_OK : (path = strdup(place)) != NULL) && file_exists(path);
    if (found)
        link_file(l, random ? "initial weights -> run: random ones of the shape of" : "initial weights -> run", path, sha256);
    else
        link_unseen(l, "initial weights -> run: %s is not where the run found it", links_text(model, "file"));
    free(path);
}

static void link_results(links *l)
{
    const char *name;
    json_t *sha256;
    char *path;
    json_object_foreach(json_object_get(l->now->chain, "results"), name, sha256) {
        if (file_join(l->now->folder, name, &path) != STATUS_OK)
            return;
        link_file(l, "run -> results", path, json_string_value(sha256));
        free(path);
    }
}

static void link_run(links *l)
{
    char *path, hex[HASH_HEX];
    const json_t *about = l->now->about, *chain = l->now->chain;
    const char *recipe = links_text(about, "recipe_sha256");
    if (file_join(l->now->folder, "run.json", &path) != STATUS_OK)
        return;
    link_file(l, "run.json -> provenance", path, l->now->identity);
    free(path);
    if (file_join(l->now->folder, "recipe.conf", &path) != STATUS_OK)
        return;
    link_file(l, "recipe -> run", path, recipe);
    free(path);
    const char *text = links_text(about, "recipe");
    if (!text || hash_sha256_buffer(text, strlen(text), hex) != STATUS_OK || !links_equal(hex, recipe) || !links_equal(links_text(chain, "recipe"), recipe))
        link_breaks(l, "recipe -> run: run.json, its recipe and provenance.json do not agree");
    link_initial(l);
    link_results(l);
}

void links_of_runs(links *l)
{
    for (int64_t i = 0; i < l->runs; i++) {
        l->now = &l->run[i];
        link_run(l);
    }
    l->now = NULL;
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
    if (file_join(l->now->folder, "metrics.jsonl", &path) != STATUS_OK)
        return false;
    snprintf(head, sizeof head, "{\"step\":%lld,", (long long)step);
    if (file_read_all(path, 0, &lines, &bytes) == STATUS_OK)
        for (const char *at = lines; *at && !found; at += strcspn(at, "\n"), at += *at == '\n')
            if (strncmp(at, head, strlen(head)) == 0) {
                json_t *line = json_loadb(at, strcspn(at, "\n"), 0, NULL);
                const char *state = links_text(line, "state");
                found = state && strlen(state) == 16;
                if (found)
                    memcpy(text, state, 17);
                json_decref(line);
            }
    free(lines);
    free(path);
    return found;
}

static void link_weights(links *l, const json_t *member)
{
    const char *name = links_text(member, "weights"), *state = links_text(member, "weights_state");
    char there[17] = "", told[17] = "";
    run r;
    if (!name || run_open(l->now->folder, name, &r) != STATUS_OK) {
        link_breaks(l, "run -> weights: %s", name ? status_message() : "the submission's provenance names none");
        return;
    }
    if (hash_weights(&r, there) != STATUS_OK)
        link_breaks(l, "run -> weights: %s", status_message());
    else if (!find_state(l, r.step, told) || !links_equal(there, told) || !links_equal(there, r.weights_hash))
        link_breaks(l, "run -> weights: %s has state %s, metrics.jsonl says %s after step %lld, state.json %s", r.weights_folder, there, told,
                    (long long)r.step, r.weights_hash);
    else if (!links_equal(there, state))
        link_breaks(l, "weights -> submission: scored by weights of state %s, %s has %s", state ? state : "(none)", r.weights_folder, there);
    else
        link_holds(l, "run -> weights -> submission: %s, state %s as metrics.jsonl has it after step %lld", r.weights, there, (long long)r.step);
    run_close(&r);
}

static bool has_scored(const json_t *members, const char *identity)
{
    for (size_t i = 0; i < json_array_size(members); i++)
        if (links_equal(links_text(json_array_get(members, i), "run"), identity))
            return true;
    return false;
}

/* Each scorer's run and weights. */
static void link_members(links *l, const json_t *members)
{
    for (size_t i = 0; i < json_array_size(members); i++) {
        const json_t *member = json_array_get(members, i);
        const char *identity = links_text(member, "run"), *weights = links_text(member, "weights");
        int64_t place = links_find_run(l, identity);
        l->now = place < 0 ? NULL : &l->run[place];
        if (l->now)
            link_weights(l, member);
        else
            link_unseen(l, "run -> submission: %s of a run (%.16s...) scored it too: name that run with --verify", weights ? weights : "(none)",
                        identity ? identity : "(none)");
    }
    for (int64_t i = 0; i < l->runs; i++) {
        l->now = &l->run[i];
        if (!has_scored(members, l->now->identity))
            link_breaks(l, "run -> submission: %s was not scored by this run (%.16s...)", l->submission, l->now->identity ? l->now->identity : "(none)");
    }
    l->now = NULL;
}

void links_of_submission(links *l)
{
    link_members(l, json_object_get(l->made, "scored_by"));
    link_file(l, "submission", l->submission, links_text(l->made, "sha256"));
    const json_t *sample = json_object_get(l->made, "sample");
    if (sample && l->settings->sample)
        link_file(l, "sample -> submission", l->settings->sample, links_text(sample, "sha256"));
    else if (sample)
        link_unseen(l, "sample -> submission: %s: give it with --sample-submission", links_text(sample, "name"));
}
