#define XXH_STATIC_LINKING_ONLY /* a state on the stack: hashing a row needs no memory and so cannot fail */
#include <xxhash.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "store/rowfile.h"

/* The canonical bytes of a row come in many small pieces, for which the streaming hash is slow: those of nearly every row are put together on the
 * stack and hashed at once. What does not fit is streamed. Both give the same hash. */
typedef struct canonical {
    uint8_t bytes[4096];
    size_t used;
    bool streams;
    XXH3_state_t state;
} canonical;

static void add_bytes(canonical *c, const void *from, size_t n)
{
    if (n > sizeof c->bytes - c->used) {
        if (!c->streams) {
            XXH3_INITSTATE(&c->state);
            XXH3_64bits_reset(&c->state);
            c->streams = true;
        }
        XXH3_64bits_update(&c->state, c->bytes, c->used);
        c->used = 0;
        if (n > sizeof c->bytes) {
            XXH3_64bits_update(&c->state, from, n);
            return;
        }
    }
    if (n > 0)
        memcpy(c->bytes + c->used, from, n);
    c->used += n;
}

static void add_count(canonical *c, size_t n)
{
    uint32_t count = (uint32_t)n;
    add_bytes(c, &count, sizeof count);
}

static uint64_t digest(canonical *c)
{
    if (!c->streams)
        return XXH3_64bits(c->bytes, c->used);
    XXH3_64bits_update(&c->state, c->bytes, c->used);
    return XXH3_64bits_digest(&c->state);
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
    canonical c;
    size_t lang_bytes = strlen(lang);
    c.used = 0;
    c.streams = false;
    add_count(&c, r->id_bytes);
    add_bytes(&c, r->id, r->id_bytes);
    add_count(&c, lang_bytes);
    add_bytes(&c, lang, lang_bytes);
    add_count(&c, (size_t)labels);
    for (int64_t i = 0; i < labels; i++)
        add_bytes(&c, &(float){rowfile_canonical_label(r->label[i])}, sizeof(float));
    add_count(&c, (size_t)r->tokens);
    add_bytes(&c, r->token, (size_t)r->tokens * sizeof *r->token);
    return digest(&c);
}

/* ---- of rows in a file ---- */

enum { STRETCH = 1 << 18 }; /* tokens held at once, or those of one row */

/* What the rows of a call hold, but for their tokens. */
typedef struct hashed_rows {
    int64_t count, labels;
    int64_t *offset, *id_offset;
    uint16_t *lang;
    float *label;
    char *id;
    uint32_t *token;
    size_t room;
} hashed_rows;

static status read_rows(rowfile *f, int64_t first, hashed_rows *r)
{
    size_t n = (size_t)r->count;
    TRY(memory_new(&r->offset, (n + 1) * sizeof *r->offset, "rows to hash"));
    TRY(memory_new(&r->id_offset, (n + 1) * sizeof *r->id_offset, "rows to hash"));
    TRY(memory_new(&r->lang, n * sizeof *r->lang, "rows to hash"));
    TRY(memory_new(&r->label, n * (size_t)r->labels * sizeof *r->label, "rows to hash"));
    TRY(rowfile_read_offsets(f, first, r->count + 1, r->offset));
    TRY(rowfile_read_langs(f, first, r->count, r->lang));
    TRY(rowfile_read_labels(f, first, r->count, r->label));
    return rowfile_read_ids(f, first, r->count, &r->id, r->id_offset);
}

static status read_stretch(rowfile *f, hashed_rows *r, int64_t from, int64_t end)
{
    size_t tokens = (size_t)(r->offset[end] - r->offset[from]);
    if (tokens > r->room) {
        TRY(memory_grow(&r->token, tokens * sizeof *r->token, "rows to hash"));
        r->room = tokens;
    }
    return rowfile_read_tokens(f, r->offset[from], (int64_t)tokens, r->token);
}

static status hash_rows(rowfile *f, hashed_rows *r, uint64_t *hashes)
{
    const rowfile_meta *m = rowfile_get_meta(f);
    for (int64_t from = 0, end; from < r->count; from = end) {
        for (end = from + 1; end < r->count && r->offset[end + 1] - r->offset[from] <= STRETCH; end++) {
        }
        TRY(read_stretch(f, r, from, end));
        for (int64_t i = from; i < end; i++) {
            rowfile_row row = {.id = r->id + r->id_offset[i], .id_bytes = (size_t)(r->id_offset[i + 1] - r->id_offset[i]),
                               .label = r->label + i * r->labels, .tokens = r->offset[i + 1] - r->offset[i]};
            row.token = row.tokens ? r->token + (r->offset[i] - r->offset[from]) : NULL;
            hashes[i] = rowfile_row_hash(&row, m->lang[r->lang[i]], r->labels);
        }
    }
    return STATUS_OK;
}

status rowfile_read_hashes(rowfile *f, int64_t first_row, int64_t count, uint64_t *hashes)
{
    hashed_rows r = {.count = count, .labels = rowfile_get_meta(f)->labels};
    status st = read_rows(f, first_row, &r);
    if (st == STATUS_OK)
        st = hash_rows(f, &r, hashes);
    free(r.offset);
    free(r.id_offset);
    free(r.lang);
    free(r.label);
    free(r.id);
    free(r.token);
    return st;
}
