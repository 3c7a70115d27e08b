/* A large file written from front to back at the speed of the disk: each part is handed to the disk as soon as it is written, hashed on the way where
 * that is asked for, and the sync at the end finds little left to do.
 *
 *     large_file f;
 *     TRY(large_file_begin(".step-000812.tmp/model.safetensors", bytes, LARGE_FILE_HASHED, &f));
 *     st = large_file_add(&f, p, n);                        // as often as needed
 *     ...                                                   // other files may be written in between: the disk goes on with this one
 *     TRY(large_file_end(&f, &hash));                       // on the disk; or large_file_abandon(&f) on the way out of an error
 *
 * It has its name from the beginning, so it belongs into a folder whose own name is still a temporary one; the folder's sync and its renaming are the
 * caller's. All local. Errors (STATUS_IO) name the path.
 */
#ifndef FRETSAW_COMMON_LARGE_FILE_H
#define FRETSAW_COMMON_LARGE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "common/hash.h"
#include "common/status.h"

typedef enum large_file_kind { LARGE_FILE_PLAIN, LARGE_FILE_HASHED } large_file_kind;

/* Private; zeroed and after end or abandon it holds nothing. */
typedef struct large_file {
    char *path;
    int fd;
    hash_xxh3_stream *hash;
    uint64_t expected, bytes, handed;
} large_file;

/* A new file, or an old one emptied. `expected` bytes are told where there is no room for them; 0: unknown. */
status large_file_begin(const char *path, uint64_t expected, large_file_kind kind, large_file *f);
status large_file_add(large_file *f, const void *p, size_t n);
/* Syncs and closes, also on an error. *hash is the XXH3-64 of all bytes of a hashed file; it may be NULL. */
status large_file_end(large_file *f, uint64_t *hash);
/* Closes and removes it; fine after end. */
void large_file_abandon(large_file *f);

#endif
