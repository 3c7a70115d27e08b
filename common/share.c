#include "common/share.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/files.h"

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
