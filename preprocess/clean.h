/* Cleaning of texts before they are tokenized: off unless asked for. What each step does, to the letter, with the regular expression of Python
 * that does the same: docs/cleaning.md.
 *
 *     unsigned steps;
 *     TRY(clean_read("urls,mentions", &steps));
 *     clean_buffer b = {0};
 *     TRY(clean_text(steps, &b, text, bytes, &cleaned, &cleaned_bytes));  // valid until the next call with b
 *     clean_free(&b);
 *
 * All functions are local.
 */
#ifndef FRETSAW_PREPROCESS_CLEAN_H
#define FRETSAW_PREPROCESS_CLEAN_H

#include <stddef.h>

#include "common/options.h"
#include "common/status.h"

/* In the order in which they are done, whatever the order in which they were named. */
enum clean_step { CLEAN_ENTITIES = 1, CLEAN_URLS = 2, CLEAN_MENTIONS = 4, CLEAN_IPS = 8, CLEAN_REPEATS = 16, CLEAN_ALL = 31 };
enum { CLEAN_NAME = 48 }; /* bytes of all names with commas and the NUL */

/* From names with commas between them, as clean_name() writes them ("none" or "": no step), or from the words of an option.
 * Errors: STATUS_USAGE names the unknown one and those there are. */
status clean_read(const char *names, unsigned *steps);
status clean_read_list(const option_list *names, unsigned *steps);
/* "none", or the names in the order of the steps. */
void clean_name(unsigned steps, char name[CLEAN_NAME]);

typedef struct clean_buffer {
    char *text[2];
    size_t room[2];
} clean_buffer;
void clean_free(clean_buffer *b);
/* text[0..n-1] is valid UTF-8, and so is *out: `text` itself where nothing changed, else in b. Errors: STATUS_RESOURCE. */
status clean_text(unsigned steps, clean_buffer *b, const char *text, size_t n, const char **out, size_t *bytes);

#endif
