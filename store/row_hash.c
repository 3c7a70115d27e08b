#define XXH_STATIC_LINKING_ONLY /* a state on the stack: hashing a row needs no memory and so cannot fail */
#include <xxhash.h>

#include <string.h>

#include "store/rowfile.h"

static void add_count(XXH3_state_t *state, size_t n)
{
    uint32_t count = (uint32_t)n;
    XXH3_64bits_update(state, &count, sizeof count);
}

/* XXH3 takes no NULL, which an empty id or row may have. */
static void add_bytes(XXH3_state_t *state, const void *from, size_t n)
{
    if (n > 0)
        XXH3_64bits_update(state, from, n);
}

float rowfile_canonical_label(float label)
{
    const uint32_t bits = 0x7fc00000u;
    if (label != label)
        memcpy(&label, &bits, sizeof label);
    return label;
}

uint64_t rowfile_row_hash(const rowfile_row *r, const char *lang, int64_t labels)
{
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset(&state);
    add_count(&state, r->id_bytes);
    add_bytes(&state, r->id, r->id_bytes);
    add_count(&state, strlen(lang));
    add_bytes(&state, lang, strlen(lang));
    add_count(&state, (size_t)labels);
    for (int64_t i = 0; i < labels; i++)
        add_bytes(&state, &(float){rowfile_canonical_label(r->label[i])}, sizeof(float));
    add_count(&state, (size_t)r->tokens);
    add_bytes(&state, r->token, (size_t)r->tokens * sizeof *r->token);
    return XXH3_64bits_digest(&state);
}
