/* Room on a disk, and folders that are taken back where nothing came to lie in them.
 *
 *     space room = space_at("runs/one");                      // that of runs, as long as runs/one is not there
 *     if (room.known && room.bytes < need) ...
 *
 *     made_folder made = {0};
 *     TRY(made_folder_begin(&made, "tokens/train"));          // makes it and those above it
 *     made_folder_end(&made, st != STATUS_OK);                // after an error: those that it made, if they are empty, are gone again
 *
 * All local.
 */
#ifndef FRETSAW_COMMON_SPACE_H
#define FRETSAW_COMMON_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

typedef struct space {
    uint64_t bytes; /* free for this user; a quota may leave fewer */
    bool known;     /* false: the file system says nothing of use */
    bool packs;     /* it may pack what is written, so that more fits */
} space;
/* Of the file system of `path`, or of the nearest folder above it that is there. */
space space_at(const char *path);
/* "1.23 GB", "40.0 MB", "0.54 MB": powers of 1000. */
void space_text(uint64_t bytes, char text[32]);

typedef struct made_folder {
    char *path;
    size_t before; /* so many characters of it name a folder that was there */
} made_folder;
/* As file_make_folder. Calling it again does nothing. */
status made_folder_begin(made_folder *m, const char *path);
void made_folder_end(made_folder *m, bool take_back); /* fine on one that was never begun */

#endif
