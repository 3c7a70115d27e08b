/* The directory of a zip archive in memory, as torch.save writes it: entries stored without compression. Local.
 *
 *     zip_entry *list; size_t n;
 *     TRY(zip_read_directory(path, bytes, size, &list, &n));     // the caller frees list
 */
#ifndef FRETSAW_MODEL_TORCHBIN_ZIP_H
#define FRETSAW_MODEL_TORCHBIN_ZIP_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

typedef struct zip_entry {
    const char *name; /* in the archive's bytes, not NUL-terminated */
    size_t name_length;
    const unsigned char *data;
    size_t bytes;
    uint32_t crc; /* of the data, as the directory gives it; not checked here */
} zip_entry;

/* STATUS_INPUT with path and byte: no directory, compressed or encrypted entries, anything that reaches beyond the file. */
status zip_read_directory(const char *path, const unsigned char *bytes, size_t size, zip_entry **out, size_t *count);

#endif
