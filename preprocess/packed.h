/* Packed CSVs: gzip (members end to end) and zstd (frames end to end), known by their first bytes, never by a name.
 *
 *     packed_kind kind;
 *     TRY(packed_look(path, &kind));
 *     if (kind != PACKED_NOT)
 *         TRY(packed_unpack(path, kind, &(packed_target){.fd = fd, .path = plain, .memory = memory}, &bytes));
 *
 * Memory: a buffer on either side and the decoder's window, which is 32 KiB for gzip, and for zstd what the frame says. Local.
 */
#ifndef FRETSAW_PREPROCESS_PACKED_H
#define FRETSAW_PREPROCESS_PACKED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/status.h"

typedef enum packed_kind { PACKED_NOT, PACKED_GZIP, PACKED_ZSTD } packed_kind;
/* "gzip", "zstd". */
const char *packed_name(packed_kind kind);
/* STATUS_INPUT when the file is missing, STATUS_IO when it can't be read. What is not a plain file is not packed. */
status packed_look(const char *path, packed_kind *out);

typedef struct packed_target {
    int fd;            /* open for writing, empty; stays the caller's */
    const char *path;  /* of it, for messages */
    int64_t memory;    /* half of it is the largest window that a zstd frame may ask for */
    bool (*stop)(void); /* asked now and then; may be NULL */
} packed_target;
/* *bytes: written. STATUS_INPUT names the file and the byte where its data end too early, are damaged, or are followed by something else;
 * STATUS_IO where the target cannot be written; STATUS_STOPPED when asked to stop. */
status packed_unpack(const char *path, packed_kind kind, const packed_target *to, uint64_t *bytes);

/* For files that one process reads whole, such as submissions: a packed one is unpacked into a nameless file in /tmp. */
typedef struct packed_copy {
    FILE *file;      /* NULL: the file is not packed */
    char name[40];   /* opens the copy in this process; "" where there is none */
} packed_copy;
status packed_open_copy(const char *path, packed_copy *out);
void packed_close_copy(packed_copy *c); /* fine without one */

#endif
