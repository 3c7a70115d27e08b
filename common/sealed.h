/* JSON files that notice their own damage: the last key, "check", is the XXH3-64 of all bytes before it.
 *
 *     TRY(sealed_text(object, &text));                    // pretty, in the object's order, a newline at the end; the caller frees
 *     TRY(file_write_atomic(path, text, strlen(text)));
 *     TRY(sealed_read(path, &object, NULL));              // STATUS_INPUT: cut, changed or no such file; the caller decrefs
 *
 * Any changed byte is found, one between the values too. Local.
 */
#ifndef FRETSAW_COMMON_SEALED_H
#define FRETSAW_COMMON_SEALED_H

#include <jansson.h>

#include "common/hash.h"

/* `object` has at least one key, and none called "check". The same object gives the same bytes. */
status sealed_text(const json_t *object, char **text);
/* *object is without "check". `sha256` (may be NULL): of the whole file. The message names the file and says that it is damaged; what to do is the caller's to add. */
status sealed_read(const char *path, json_t **object, char sha256[HASH_HEX]);

#endif
