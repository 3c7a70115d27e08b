/* The one door to HDF5: a lock (the library is not thread-safe), its own error printing off, its errors turned into ours.
 *
 *     h5_enter();
 *     hid_t file = H5Fopen(...);
 *     status st = file < 0 ? h5_fail(STATUS_INPUT, "%s: not a row file", path) : STATUS_OK;
 *     h5_leave();
 *
 * Local. Only files of store/ include this.
 */
#ifndef FRETSAW_STORE_H5_H
#define FRETSAW_STORE_H5_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"

/* Takes the lock; the first call prepares the library and registers filter 32015. Every H5 call stands between these two. */
void h5_enter(void);
void h5_leave(void);
/* Inside the lock, after a failed H5 call: our message, then HDF5's innermost reason. A system error (no space, I/O) makes the kind STATUS_IO. */
status h5_fail(status kind, const char *format, ...) __attribute__((format(printf, 2, 3), warn_unused_result));
/* Inside the lock. Access list of every file we open: format of HDF5 1.10 for new objects (all metadata carries checksums), no file locks. */
hid_t h5_access_list(void);
/* Inside the lock. Creation list of a file or group (class H5P_FILE_CREATE, H5P_GROUP_CREATE) without times. */
hid_t h5_creation_list(hid_t class_id);

/* Attributes of an object, inside the lock; `path` is for messages. Texts are fixed-length UTF-8, padded with NUL. */
status h5_write_number(hid_t object, const char *path, const char *name, uint64_t value);
status h5_read_number(hid_t object, const char *path, const char *name, uint64_t *value);
/* count texts in `columns` columns (count / columns rows); columns 0 writes one scalar. */
status h5_write_texts(hid_t object, const char *path, const char *name, char *const *text, int64_t count, int64_t columns);
/* Fresh array of fresh texts, freed by h5_free_texts. `columns` must be as written. */
status h5_read_texts(hid_t object, const char *path, const char *name, int64_t columns, char ***text, int64_t *count);
void h5_free_texts(char **text, int64_t count);
bool h5_has_attribute(hid_t object, const char *name);

#endif
