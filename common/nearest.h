/* What a mistyped name may have been meant for.
 *
 *     nearest n = nearest_of("bach");
 *     for (each name) nearest_add(&n, name);
 *     if (nearest_found(&n)) ... "did you mean batch?"
 *
 * Local.
 */
#ifndef FRETSAW_COMMON_NEAREST_H
#define FRETSAW_COMMON_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

enum { NEAREST_LONGEST = 63 };

typedef struct nearest {
    char word[NEAREST_LONGEST + 1]; /* "" where it is too long for a name */
    const char *best;               /* one of the names that were added, by pointer */
    int distance;                   /* of it: letters put in, left out, replaced, or two that changed places */
    bool tie;                       /* another one is as near */
} nearest;

nearest nearest_of(const char *word, size_t bytes);
void nearest_add(nearest *n, const char *name);
/* The one that is nearest and near enough: one slip in a short word, two in one of six letters or more. NULL: none. */
const char *nearest_found(const nearest *n);

#endif
