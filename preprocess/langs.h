/* The languages of the inputs: a set of short texts, sorted by bytes; a row holds the number of its own.
 *
 *     langs l = {0};
 *     TRY(langs_add(&l, text, n));            // local, while reading
 *     TRY(langs_unite(&l));                   // collective: those of all ranks
 *     number = langs_find(&l, text, n);
 *     langs_free(&l);
 */
#ifndef FRETSAW_PREPROCESS_LANGS_H
#define FRETSAW_PREPROCESS_LANGS_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

enum { LANGS_MOST = 65536, LANGS_LONGEST = 255, LANGS_SEEN = 256 };

typedef struct lang_set {
    int64_t count, room;
    char **text;
    uint8_t *bytes;                  /* of each text */
    int32_t seen[LANGS_SEEN];        /* by a mix of a text's length and ends: 1 + the number of the one found last */
} lang_set;

/* Local. text holds no NUL and at most LANGS_LONGEST bytes. Errors: STATUS_INPUT beyond LANGS_MOST; STATUS_RESOURCE. */
status langs_add(lang_set *l, const char *text, size_t n);
/* Local. The number of a language of the set; -1 when it is not in it. */
int64_t langs_find(lang_set *l, const char *text, size_t n);
/* Collective. Every rank gets the union. */
status langs_unite(lang_set *l);
void langs_free(lang_set *l);

#endif
