/* Which texts count as missing, and what stands in for them.
 *
 *     if (missing_is_word(field.text, field.bytes)) ...
 *
 * Local; cannot fail.
 */
#ifndef FRETSAW_PREPROCESS_MISSING_H
#define FRETSAW_PREPROCESS_MISSING_H

#include <stdbool.h>
#include <stddef.h>

/* What pandas takes as missing by default: 19 words, the empty one among them; case counts and nothing is trimmed. */
bool missing_is_word(const char *text, size_t n);
/* The same before pandas 2.0: all of them but "None". */
bool missing_is_old_word(const char *text, size_t n);

#endif
