#include "report/recipe.h"

#include <stdlib.h>
#include <string.h>

#include "train/options.h"

status recipe_read(const char *text, recipe *r)
{
    size_t lines = 1;
    *r = (recipe){0};
    for (const char *c = text; c && *c; c++)
        lines += *c == '\n';
    TRY(memory_new(&r->line, lines * sizeof *r->line, "a recipe"));
    r->text = strdup(text ? text : "");
    if (!r->text) {
        recipe_free(r);
        return fail(STATUS_RESOURCE, "out of memory for a recipe");
    }
    for (char *at = r->text; *at;) {
        char *end = at + strcspn(at, "\n"), *next = *end ? end + 1 : end, *equals;
        *end = 0;
        equals = strstr(at, " = ");
        if (equals && *at != '[') {
            *equals = 0;
            r->line[r->count++] = (recipe_line){at, equals + 3};
        }
        at = next;
    }
    return STATUS_OK;
}

void recipe_free(recipe *r)
{
    free(r->text);
    free(r->line);
    *r = (recipe){0};
}

const char *recipe_value(const recipe *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->line[i].name, name) == 0)
            return r->line[i].value;
    return NULL;
}

const char *recipe_default(const char *name)
{
    for (const option *o = train_table; o->name; o++)
        if (strcmp(o->name, name) == 0)
            return o->fallback;
    return NULL;
}

bool recipe_same(const char *a, const char *b)
{
    char *end_a, *end_b;
    if (!a || !b)
        return a == b;
    if (strcmp(a, b) == 0)
        return true;
    double x = strtod(a, &end_a), y = strtod(b, &end_b);
    return end_a != a && end_b != b && !*end_a && !*end_b && x == y;
}
