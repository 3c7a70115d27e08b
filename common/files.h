/* Files: whole reads, folders, and writes that are never visible half done (temporary name, fsync, rename, fsync of the folder).
 *
 *     atomic_file f;
 *     TRY(file_atomic_begin("out/submission.csv", &f));     // writes go to f.stream (a FILE *) or f.temporary (a path)
 *     fputs(text, f.stream);
 *     TRY(file_atomic_commit(&f));                           // or file_atomic_abandon(&f) on the way out of an error
 *
 * All local. Errors name the path: STATUS_INPUT where a file to read does not exist or may not be read, STATUS_IO for the rest.
 */
#ifndef FRETSAW_COMMON_FILES_H
#define FRETSAW_COMMON_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/status.h"

/* Whole file with a NUL behind it; the caller frees. Refuses more than `limit` bytes (0: no limit) with STATUS_INPUT. */
status file_read_all(const char *path, size_t limit, char **text, size_t *bytes);
/* Exactly `bytes` at `offset`. STATUS_INPUT when the file is shorter. */
status file_read_at(const char *path, uint64_t offset, void *to, size_t bytes);
/* The same on an open descriptor; `path` is for messages. */
status file_read_fd(int fd, const char *path, uint64_t offset, void *to, size_t bytes);
status file_size(const char *path, uint64_t *bytes);
bool file_exists(const char *path);
bool file_is_folder(const char *path);
bool file_same(const char *a, const char *b); /* both are there, and are one file or folder */
/* Read-only mapping of a whole file (an empty file gives a valid pointer and 0 bytes). */
status file_map(const char *path, const void **p, size_t *bytes);
void file_unmap(const void *p, size_t bytes);
/* Part of a mapping is not needed for now: its whole pages count as this process's memory no longer, and come back when read. */
void file_forget(const void *p, size_t bytes);

/* Whether a file, or a folder, could be written there, before hours are spent on what goes into it: it is not a folder (a file), and what is there
 * of the path may be written to. STATUS_IO says what is in the way. Writes nothing. */
status file_check_output(const char *path);
status file_check_output_folder(const char *path);
/* Makes the folder and those above it; fine when it is there. */
status file_make_folder(const char *path);
/* Removes a folder with all in it, or a file; fine when it is not there. */
status file_remove_tree(const char *path);
status file_remove(const char *path); /* fine when it is not there */
status file_rename(const char *from, const char *to); /* then fsyncs the folder of `to` */
status file_sync_folder(const char *path);
/* Names in a folder, sorted by bytes, without . and ..; the caller frees with file_free_names. */
status file_list(const char *folder, char ***names, size_t *count);
void file_free_names(char **names, size_t count);
/* Claims an existing folder until its release or the end of the process, so that two do not write there at once: STATUS_IO when another
 * one has it and keeps it for `seconds` more (a killed job's ranks may take a moment to go). *claim is -1, and the status OK, where the file
 * system has no such locks. */
status file_claim_folder(const char *path, int seconds, int *claim);
void file_release_folder(int *claim); /* fine on -1 */
/* Removes what killed writers left of file_atomic_begin in a folder; only for who has claimed it. */
status file_remove_temporaries(const char *folder);
/* What a failed write to `path` means, from its errno: no space says how much is free there, and what the file needs where `bytes` is not 0. */
status file_output_error(int error, const char *path, uint64_t bytes);
/* Bytes free for this user on the file system of `path` (an existing folder). */
status file_space(const char *path, uint64_t *bytes);

typedef struct atomic_file {
    FILE *stream;
    char *temporary, *path;
} atomic_file;
/* Opens "<path>.tmp-<pid>" for writing in binary; makes the folder when it is missing. */
status file_atomic_begin(const char *path, atomic_file *f);
/* Flushes, fsyncs, closes, renames over `path`, fsyncs the folder. Abandons on error. With `stream` NULL (closed by the caller
 * or the file written through its path) it fsyncs through a new descriptor. */
status file_atomic_commit(atomic_file *f);
/* Closes and removes the temporary file; fine after commit. */
void file_atomic_abandon(atomic_file *f);
/* A whole small file in one go. */
status file_write_atomic(const char *path, const void *bytes, size_t n);

/* "a/b" from parts into a fresh string (the caller frees); file_base points at what follows the last '/'. */
status file_join(const char *folder, const char *name, char **out);
const char *file_base(const char *path);

#endif
