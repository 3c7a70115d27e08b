#include "shard/inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"

#define BLANK "\1" /* no name of a file that anybody gives has it */

/* A path's last name, whatever slashes it ends with. */
static void base_name(const char *folder, char *to, size_t bytes)
{
    size_t n = strlen(folder);
    while (n > 1 && folder[n - 1] == '/')
        n--;
    size_t from = n;
    while (from > 0 && folder[from - 1] != '/')
        from--;
    snprintf(to, bytes, "%.*s", (int)(n - from), folder + from);
}

/* The rows' identity leaves out their numbers and sources: these follow from what the folder was made of, which is hashed beside it. */
status inputs_add(char **list, const char *what, const char *folder, const manifest *m)
{
    char name[256], hex[HASH_HEX], rows[24] = BLANK, *text;
    bool known = m->data_identity[0] != 0;
    hash_sha256 *h;
    TRY(hash_sha256_begin(&h));
    hash_sha256_add(h, m->inputs, strlen(m->inputs) + 1);
    hash_sha256_add(h, m->identity, strlen(m->identity));
    hash_sha256_end(h, hex);
    base_name(folder, name, sizeof name);
    if (known)
        snprintf(rows, sizeof rows, "%lld", (long long)m->rows);
    if (asprintf(&text, "%s%s%s%s rows=%s data=%s made=%s", *list ? *list : "", *list ? "\n" : "", what, name, rows, known ? m->data_identity : BLANK, hex) < 0)
        return fail(STATUS_RESOURCE, "out of memory: the list of inputs");
    free(*list);
    *list = text;
    return STATUS_OK;
}

bool inputs_have_blanks(const char *list)
{
    return strstr(list, BLANK) != NULL;
}

bool inputs_fit(const char *wanted, const char *text)
{
    for (; *wanted; wanted++) {
        size_t n = strspn(text, "0123456789abcdef");
        bool blank = *wanted == BLANK[0];
        if (blank ? n == 0 : *wanted != *text)
            return false;
        text += blank ? n : 1;
    }
    return *text == 0;
}
