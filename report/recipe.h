/* A recipe as recorded ("[train]" and lines "name = value"), and what each option is when nobody asks.
 *
 *     recipe r; TRY(recipe_read(text, &r));
 *     const char *lr = recipe_value(&r, "lr");
 *     if (recipe_is_default("lr", lr)) ...
 *     recipe_free(&r);
 *
 * Local.
 */
#ifndef FRETSAW_REPORT_RECIPE_H
#define FRETSAW_REPORT_RECIPE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"

typedef struct recipe_line {
    const char *name, *value;
} recipe_line;

typedef struct recipe {
    char *text; /* cut into names and values */
    size_t count;
    recipe_line *line;
} recipe;

/* `text` may be NULL: an empty recipe. */
status recipe_read(const char *text, recipe *r);
void recipe_free(recipe *r);
const char *recipe_value(const recipe *r, const char *name); /* NULL: not there */
/* The default of an option of train as text; NULL: none, or no such option. */
const char *recipe_default(const char *name);
/* The same value, also where numbers are written otherwise. */
bool recipe_same(const char *a, const char *b);

#endif
