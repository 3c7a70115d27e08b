#include "preprocess/langs.h"

#include <stdlib.h>
#include <string.h>

#include "common/comm.h"

/* As strcmp of the text with the set's entry. */
static int compare(const char *text, size_t n, const char *entry)
{
    int order = strncmp(text, entry, n);
    return order ? order : entry[n] ? -1 : 0;
}

/* The place of the text, or where it would go. */
static int64_t place_of(const lang_set *l, const char *text, size_t n, int *order)
{
    int64_t low = 0, high = l->count;
    *order = 1;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        *order = compare(text, n, l->text[middle]);
        if (*order == 0)
            return middle;
        if (*order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Where the number of such a text was noted. */
static int32_t *seen_of(lang_set *l, const char *text, size_t n)
{
    unsigned mix = (unsigned)n * 61;
    if (n)
        mix += (unsigned char)text[0] * 7u + (unsigned char)text[n - 1] * 29u;
    return &l->seen[mix % LANGS_SEEN];
}

int64_t langs_find(lang_set *l, const char *text, size_t n)
{
    int32_t *seen = seen_of(l, text, n);
    int64_t at = (int64_t)*seen - 1;
    if (at >= 0 && l->bytes[at] == n && memcmp(text, l->text[at], n) == 0)
        return at;
    int order;
    at = place_of(l, text, n, &order);
    if (at >= l->count || order != 0)
        return -1;
    *seen = (int32_t)at + 1;
    return at;
}

static status make_room(lang_set *l)
{
    if (l->count < l->room)
        return STATUS_OK;
    int64_t room = l->room ? 2 * l->room : 16;
    TRY(memory_grow(&l->text, (size_t)room * sizeof *l->text, "the languages"));
    TRY(memory_grow(&l->bytes, (size_t)room * sizeof *l->bytes, "the languages"));
    l->room = room;
    return STATUS_OK;
}

status langs_add(lang_set *l, const char *text, size_t n)
{
    int order;
    if (langs_find(l, text, n) >= 0)
        return STATUS_OK;
    if (l->count == LANGS_MOST)
        return fail(STATUS_INPUT, "more than %d languages: --lang-column names a column that does not hold languages", LANGS_MOST);
    TRY(make_room(l));
    char *copy;
    TRY(memory_new(&copy, n + 1, "a language"));
    memcpy(copy, text, n);
    int64_t at = place_of(l, text, n, &order);
    memmove(l->text + at + 1, l->text + at, (size_t)(l->count - at) * sizeof *l->text);
    memmove(l->bytes + at + 1, l->bytes + at, (size_t)(l->count - at) * sizeof *l->bytes);
    l->text[at] = copy;
    l->bytes[at] = (uint8_t)n;
    l->count++;
    memset(l->seen, 0, sizeof l->seen); /* the numbers behind it have changed */
    return STATUS_OK;
}

/* The texts one behind the other, each with its NUL. */
static status pack(const lang_set *l, char **out, size_t *bytes)
{
    *bytes = 0;
    for (int64_t i = 0; i < l->count; i++)
        *bytes += strlen(l->text[i]) + 1;
    TRY(memory_new(out, *bytes, "the languages"));
    char *p = *out;
    for (int64_t i = 0; i < l->count; i++) {
        size_t n = strlen(l->text[i]) + 1;
        memcpy(p, l->text[i], n);
        p += n;
    }
    return STATUS_OK;
}

status langs_unite(lang_set *l)
{
    char *mine = NULL, *all = NULL;
    size_t own = 0, *bytes = NULL, whole = 0;
    status st = pack(l, &mine, &own);
    if (st == STATUS_OK)
        st = memory_new(&bytes, (size_t)comm_size() * sizeof *bytes, "the languages");
    TRY_DONE(comm_agree(st));
    comm_all_gather(&own, sizeof own, bytes);
    for (int r = 0; r < comm_size(); r++)
        whole += bytes[r];
    TRY_DONE(comm_agree(memory_new(&all, whole, "the languages")));
    comm_all_gather_parts(mine, bytes, all);
    for (const char *p = all; p < all + whole && st == STATUS_OK; p += strlen(p) + 1)
        st = langs_add(l, p, strlen(p));
    st = comm_agree(st);
done:
    free(mine);
    free(all);
    free(bytes);
    return st;
}

void langs_free(lang_set *l)
{
    for (int64_t i = 0; i < l->count; i++)
        free(l->text[i]);
    free(l->text);
    free(l->bytes);
    *l = (lang_set){0};
}
