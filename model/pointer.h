/* The files `last` and `best` of a run: the name of a folder beside them, and on a second line the XXH3-64 of the name, so that a changed digit is
 * noticed. The second line may be missing: a person may write the name alone.
 *
 *     char text[POINTER_BYTES];
 *     pointer_text("step-000812", text);                 // what the file holds
 *     if (!pointer_name(read, bytes)) ... damaged ...    // cuts what was read down to the name
 *
 * Local.
 */
#ifndef FRETSAW_MODEL_POINTER_H
#define FRETSAW_MODEL_POINTER_H

#include <stdbool.h>
#include <stddef.h>

enum { POINTER_BYTES = 96 };

void pointer_text(const char *name, char text[POINTER_BYTES]);
/* `text` has a NUL behind its bytes. False, and no name, where it is none or does not agree with its second line. */
bool pointer_name(char *text, size_t bytes);

#endif
