/* Files that came along with the programs: recipes, sample.
 *
 *     char *path; TRY(share_find("recipes/jigsaw-mbert.conf", &path)); ... free(path);
 *
 * Local.
 */
#ifndef FRETSAW_COMMON_SHARE_H
#define FRETSAW_COMMON_SHARE_H

#include "common/status.h"

/* The path itself where such a file is there or where it is absolute; else that below share/fretsaw of an installed tree, or below the source folder
 * of a build in it, where one of these has such a file; else the path itself. A fresh string. */
status share_find(const char *name, char **path);
/* As share_find for a recipe. One that is not there is STATUS_INPUT, which names those that there are in its folder, or among the project's own. */
status share_find_recipe(const char *name, char **path);

#endif
