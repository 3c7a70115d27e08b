/* The links of data: CSV to tokens, tokens to shards, shards to run; and what was scored. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "common/hash.h"
#include "infer/verify_links.h"
#include "store/identity.h"
#include "store/manifest.h"

/* The place among --csv of the CSV of this base name, -1: of several the one with this hash, else one that no data have been found to come from, else
 * the first. Several data sets may come from one. */
static int find_csv(links *l, const char *name, const char *sha256)
{
    const option_list *csv = &l->settings->csv;
    int place = -1;
    for (size_t i = 0; i < csv->count; i++) {
        char hex[HASH_HEX];
        if (!name || strcmp(file_base(csv->item[i]), name) != 0)
            continue;
        if (place < 0 || (l->used_csv[place] && !l->used_csv[i]))
            place = (int)i;
        if (links_hash_file(l, csv->item[i], hex) && links_equal(hex, sha256)) {
            place = (int)i;
            break;
        }
    }
    if (place >= 0)
        l->used_csv[place] = true;
    return place;
}

static int link_csv(links *l, const char *set, const char *name, const char *sha256)
{
    char what[256];
    int place = find_csv(l, name, sha256);
    snprintf(what, sizeof what, "CSV -> %s", set);
    if (place >= 0)
        link_file(l, what, l->settings->csv.item[place], sha256);
    else
        link_unseen(l, "CSV -> %s: %s: give it with --csv", set, name ? name : "(no name)");
    return place;
}

static bool is_told(const json_t *told, const rowfile_source *source)
{
    for (size_t i = 0; i < json_array_size(told); i++) {
        const json_t *one = json_array_get(told, i);
        if (links_equal(links_text(one, "name"), source->name) && links_equal(links_text(one, "sha256"), source->sha256))
            return true;
    }
    return false;
}

/* The CSVs that a folder's first file names; `told` is the provenance's list of them. */
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
        bool same = true;
        for (int64_t i = 0; i < meta->sources; i++) {
            same = same && is_told(told, &meta->source[i]);
            link_csv(l, set, meta->source[i].name, meta->source[i].sha256);
        }
        if (!same)
            link_breaks(l, "CSV -> %s: %s was made of other CSVs than provenance.json says", set, folder);
        rowfile_free(file);
    }
    free(path);
}

/* Every byte of a folder's files, and the identity of their rows. */
static status identify_folder(links *l, const char *folder, const manifest *m, char hex[HASH_HEX])
{
    char **paths;
    const char *known = links_find_known(l, folder);
    if (known) {
        memcpy(hex, known, HASH_HEX);
        return STATUS_OK;
    }
    TRY(manifest_check(folder, m, true));
    TRY(memory_new(&paths, (size_t)(m->files + 1) * sizeof *paths, "paths"));
    status st = STATUS_OK;
    for (int64_t i = 0; st == STATUS_OK && i < m->files; i++)
        st = file_join(folder, m->file[i].name, &paths[i]);
    if (st == STATUS_OK)
        st = data_identity_of_files(m->tokenizer, m->rows, paths, m->files, hex);
    for (int64_t i = 0; i < m->files; i++)
        free(paths[i]);
    free(paths);
    if (st == STATUS_OK)
        links_keep_known(l, folder, hex);
    return st;
}

static void link_folder(links *l, const char *set, const char *folder, const manifest *m, const char *identity, const json_t *told)
{
    char hex[HASH_HEX];
    if (identify_folder(l, folder, m, hex) != STATUS_OK)
        link_breaks(l, "%s: %s", set, status_message());
    else if (!links_equal(hex, identity) || !links_equal(m->data_identity, identity))
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
        bool same = links_equal(m.data_identity, identity);
        manifest_free(&m);
        if (same) {
            l->used_input[i] = true;
            return (int)i;
        }
    }
    return -1;
}

static void link_set(links *l, const char *key, size_t index, const json_t *told)
{
    const char *identity = links_text(told, "identity"), *name = links_text(told, "name");
    const json_t *known = json_array_get(json_object_get(json_object_get(l->now->about, key), "identities"), index);
    char set[128], folder[4096];
    snprintf(set, sizeof set, "%s %s", strcmp(key, "train") == 0 ? "training data" : "validation data", name ? name : "");
    if (!links_equal(identity, json_string_value(known))) {
        link_breaks(l, "%s -> run: provenance.json says identity %.16s..., run.json %.16s...", set, identity ? identity : "(none)",
                    json_string_value(known) ? json_string_value(known) : "(none)");
        return;
    }
    link_holds(l, "%s -> run: identity %.16s... in run.json", set, identity);
    int place = find_input(l, identity);
    if (place >= 0)
        snprintf(folder, sizeof folder, "%s", l->settings->input.item[place]);
    manifest m;
    if (place < 0 && (!links_started_with(l, key, index, folder, sizeof folder) || !file_is_folder(folder))) {
        link_unseen(l, "%s: its folder is not here: give it with --input", set);
    } else if (manifest_read(folder, &m) != STATUS_OK) {
        link_breaks(l, "%s: %s", set, status_message());
    } else {
        link_folder(l, set, folder, &m, identity, json_object_get(told, "sources"));
        manifest_free(&m);
    }
}

static void link_run_data(links *l)
{
    static const char *const keys[] = {"train", "valid"};
    for (int k = 0; k < 2; k++) {
        const json_t *list = json_object_get(l->now->chain, keys[k]);
        if (json_array_size(list) != json_array_size(json_object_get(json_object_get(l->now->about, keys[k]), "identities")))
            link_breaks(l, "%s data -> run: provenance.json and run.json tell of different numbers of folders", keys[k]);
        for (size_t i = 0; i < json_array_size(list); i++)
            link_set(l, keys[k], i, json_array_get(list, i));
    }
}

/* ---- what was scored ---- */

static void keep_scored(links *l, int place)
{
    l->scored_given = l->scored_given && place >= 0 && l->scored_count < LINKS_PARTS;
    if (l->scored_count < LINKS_PARTS)
        l->scored[l->scored_count++] = place;
}

static bool all_are_input(links *l, const json_t *folders)
{
    for (size_t i = 0; i < json_array_size(folders); i++)
        if (find_input(l, json_string_value(json_array_get(folders, i))) < 0)
            return false;
    return true;
}

static void link_scored_folders(links *l, const json_t *folders, const json_t *told)
{
    for (size_t i = 0; i < json_array_size(folders); i++) {
        const char *identity = json_string_value(json_array_get(folders, i));
        int place = find_input(l, identity);
        manifest m;
        keep_scored(l, place);
        if (place < 0) {
            link_unseen(l, "scored data: the folder with identity %.16s...: give it with --input", identity ? identity : "(none)");
        } else if (manifest_read(l->settings->input.item[place], &m) == STATUS_OK) {
            link_folder(l, "scored data", l->settings->input.item[place], &m, identity, told);
            manifest_free(&m);
        }
    }
}

/* Rows that infer has tokenized itself come again from their CSVs, or lie in the folder that it kept them in. */
static void link_scored(links *l)
{
    const json_t *data = json_object_get(l->made, "data"), *folders = json_object_get(data, "folders"), *told = json_object_get(data, "sources");
    l->scored_given = true;
    l->scored_csv = json_object_get(l->made, "csv") && !all_are_input(l, folders);
    if (!l->scored_csv)
        link_scored_folders(l, folders, told);
    for (size_t i = 0; l->scored_csv && i < json_array_size(told); i++) {
        const json_t *one = json_array_get(told, i);
        keep_scored(l, link_csv(l, "scored data", links_text(one, "name"), links_text(one, "sha256")));
    }
    l->scored_given = l->scored_given && l->scored_count > 0;
}

/* What was given and is no part of the chain; it may be another run's where not all that scored are named. */
static void link_left_over(links *l)
{
    const json_t *members = json_object_get(l->made, "scored_by");
    void (*tell)(links *, const char *, ...) = link_breaks;
    for (size_t i = 0; i < json_array_size(members); i++)
        if (links_find_run(l, links_text(json_array_get(members, i), "run")) < 0)
            tell = link_unseen;
    for (size_t i = 0; i < l->settings->csv.count; i++)
        if (!l->used_csv[i])
            tell(l, "CSV: no data of this chain was made of a file named %s", file_base(l->settings->csv.item[i]));
    for (size_t i = 0; i < l->settings->input.count; i++)
        if (!l->used_input[i])
            tell(l, "data: %s holds no rows of this chain (or its manifest.json has changed)", l->settings->input.item[i]);
}

void links_of_data(links *l)
{
    for (int64_t i = 0; i < l->runs; i++) {
        l->now = &l->run[i];
        link_run_data(l);
    }
    l->now = NULL;
    link_scored(l);
    link_left_over(l);
}
