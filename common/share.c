#include "common/share.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/files.h"
#include "common/nearest.h"

/* Seen from the folder of the programs: lib/fretsaw/bin of an installed tree, bin of the static program, build/NAME/bin of a source folder. */
static const char *const places[] = {"../../../share/fretsaw", "../share/fretsaw", "../../.."};

status share_find(const char *name, char **path)
{
    char home[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", home, sizeof home - 1);
    char *slash = n > 0 ? memrchr(home, '/', (size_t)n) : NULL;
    for (size_t i = 0; slash && *name != '/' && !file_exists(name) && i < sizeof places / sizeof *places; i++) {
        if (asprintf(path, "%.*s/%s/%s", (int)(slash - home), home, places[i], name) < 0)
            return fail(STATUS_RESOURCE, "out of memory for a path");
        if (file_exists(*path))
            return STATUS_OK;
        free(*path);
    }
    *path = strdup(name);
    return *path ? STATUS_OK : fail(STATUS_RESOURCE, "out of memory for a path");
}

/* ---- recipes ---- */

/* Adds " NAME" of each recipe in the folder; none, where it is not there. The nearest to `base` into `meant`. */
static void list_recipes(const char *folder, const char *base, char *list, size_t room, char *meant, size_t meant_room)
{
    char **names;
    size_t count, used = 0;
    nearest near = nearest_of(base, strlen(base));
    list[0] = meant[0] = 0;
    if (!file_is_folder(folder) || file_list(folder, &names, &count) != STATUS_OK)
        return;
    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(names[i]);
        if (n < 6 || strcmp(names[i] + n - 5, ".conf") != 0)
            continue;
        nearest_add(&near, names[i]);
        if (used + n + 3 < room)
            used += (size_t)snprintf(list + used, room - used, "%s%s", used ? ", " : "", names[i]);
    }
    if (nearest_found(&near))
        snprintf(meant, meant_room, "%s", nearest_found(&near));
    file_free_names(names, count);
}

status share_find_recipe(const char *name, char **path)
{
    char own[PATH_MAX], list[1000], meant[100], *folder = NULL;
    const char *base = file_base(name);
    TRY(share_find(name, path));
    if (file_exists(*path))
        return STATUS_OK;
    free(*path);
    *path = NULL;
    snprintf(own, sizeof own, "%.*s", base > name ? (int)(base - name - (base > name + 1)) : 1, base > name ? name : ".");
    for (int turn = 0; turn < 2; turn++) {
        TRY(share_find(turn ? "recipes" : own, &folder));
        list_recipes(folder, base, list, sizeof list, meant, sizeof meant);
        if (list[0])
            break;
        free(folder);
        folder = NULL;
    }
    char *real = folder ? realpath(folder, NULL) : NULL; /* ../.. in it would tell a person little */
    status st = !list[0] ? fail(STATUS_INPUT, "%s: no such file; check the path", name)
                         : fail(STATUS_INPUT, "%s: no such file; %s%s%sthe recipes in %s are %s", name, meant[0] ? "did you mean " : "", meant,
                                meant[0] ? "? " : "", real ? real : folder, list);
    free(real);
    free(folder);
    return st;
}
