#include "infer/replaced.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "common/log.h"

enum { TEXT = 800 };

/* What the file's provenance.json says, as long as it is about the file as it is; NULL: nothing. */
static json_t *read_provenance(const char *path, const char *sha256)
{
    char *name;
    if (asprintf(&name, "%s.provenance.json", path) < 0)
        return NULL;
    json_t *j = json_load_file(name, 0, NULL);
    free(name);
    const char *of = json_string_value(json_object_get(j, "sha256"));
    if (j && (!of || strcmp(of, sha256) != 0)) {
        json_decref(j);
        j = NULL;
    }
    return j;
}

/* A run's folder beside `folder`, by its identity, the SHA-256 of its run.json. */
static bool find_beside(const char *folder, const char *identity, char *to, size_t room)
{
    char **names, above[TEXT], hex[HASH_HEX];
    size_t count = 0;
    bool found = false;
    int parent = (int)(file_base(folder) - folder);
    snprintf(above, sizeof above, "%.*s", parent ? parent : 2, parent ? folder : "./");
    if (file_list(above, &names, &count) != STATUS_OK)
        return false;
    for (size_t i = 0; i < count && !found; i++) {
        char path[TEXT];
        snprintf(to, room, "%s%s", parent ? above : "", names[i]);
        found = snprintf(path, sizeof path, "%s/run.json", to) < (int)sizeof path && file_exists(path) && hash_sha256_file(path, hex) == STATUS_OK &&
                strcmp(hex, identity) == 0;
    }
    file_free_names(names, count);
    return found;
}

/* "runs/one (epoch-2, step 24)"; whether it is a run and weights of `e` in *same. */
static void describe(const json_t *member, const ensemble *e, char *to, size_t room, bool *same)
{
    const char *identity = json_string_value(json_object_get(member, "run")), *weights = json_string_value(json_object_get(member, "weights"));
    long long step = json_integer_value(json_object_get(member, "step"));
    char name[TEXT];
    bool named = false;
    *same = false;
    for (int64_t i = 0; identity && e && i < e->count && !named; i++) {
        const run *r = &e->member[i];
        named = strcmp(r->identity, identity) == 0;
        if (named)
            snprintf(name, sizeof name, "%s", r->folder);
        *same = named && r->step == step;
    }
    if (!named && !(identity && e && e->count && find_beside(e->member[0].folder, identity, name, sizeof name)))
        snprintf(name, sizeof name, "the run of identity %.16s...", identity ? identity : "?");
    snprintf(to, room, "%.500s (%.60s, step %lld)", name, weights ? weights : "?", step);
}

void replaced_tell(const char *path, const char *sha256, const ensemble *e)
{
    char old[HASH_HEX], text[2 * TEXT] = "", one[TEXT];
    bool all_same = true, same;
    if (!file_exists(path) || hash_sha256_file(path, old) != STATUS_OK || strcmp(old, sha256) == 0)
        return;
    json_t *j = read_provenance(path, old), *members = json_object_get(j, "scored_by"), *member;
    size_t i;
    json_array_foreach(members, i, member) {
        describe(member, e, one, sizeof one, &same);
        all_same = all_same && same;
        if (strlen(text) < TEXT - 10)
            snprintf(text + strlen(text), TEXT + 10, "%s%s", i ? " and " : "", one);
    }
    if (!text[0])
        log_info("%s is replaced; no provenance.json beside it tells who made it", path);
    else
        log_info("%s is replaced: it was made by %s%s", path, text,
                 all_same && e && (size_t)e->count == json_array_size(members) ? ", of other rows or with other options" : "");
    json_decref(j);
}
