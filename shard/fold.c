#include "shard/fold.h"

#include <errno.h>
#include <stdlib.h>

enum { MOST_FOLDS = 1000, UNSTORED_BITS = 8 }; /* row files keep the upper 56 bits of a text's hash */

status fold_read(const char *option_name, const char *text, fold *out)
{
    *out = (fold){0};
    if (!text)
        return STATUS_OK;
    char *slash, *end;
    errno = 0;
    uint64_t number = strtoull(text, &slash, 10), of = *slash == '/' ? strtoull(slash + 1, &end, 10) : 0;
    if (errno || *text < '0' || *text > '9' || *slash != '/' || slash[1] < '0' || slash[1] > '9' || *end || number < 1 || of < 2 ||
        of > MOST_FOLDS || number > of)
        return fail(STATUS_USAGE, "--%s %s: a fold is K/N, such as 2/5, with N from 2 to %d and K from 1 to N", option_name, text, MOST_FOLDS);
    *out = (fold){number, of};
    return STATUS_OK;
}

bool fold_has(const fold *f, uint64_t text_hash)
{
    return f->of == 0 || (text_hash >> UNSTORED_BITS) % f->of == f->number - 1;
}
