#include "train/stripe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/files.h"
#include "common/hash.h"

typedef struct header {
    char magic[8];
    int64_t version, index, first, count, step;
    uint64_t hash_m, hash_v, hash_header; /* XXH3-64; the last over all before it */
} header;

static const char magic[8] = "FRETOPT";

void stripe_name(int64_t index, char name[32])
{
    snprintf(name, 32, "optimizer-%05" PRId64 ".bin", index);
}

uint64_t stripe_bytes(int64_t count)
{
    return sizeof(header) + (uint64_t)count * 2 * sizeof(float);
}

static header make_header(const stripe *s)
{
    header h = {.version = 1, .index = s->index, .first = s->first, .count = s->count, .step = s->step};
    memcpy(h.magic, magic, sizeof magic);
    return h;
}

status stripe_write(const char *path, const stripe *s, const float *m, const float *v, large_file *file)
{
    size_t bytes = (size_t)s->count * sizeof *m;
    header h = make_header(s);
    h.hash_m = hash_xxh3(m, bytes);
    h.hash_v = hash_xxh3(v, bytes);
    h.hash_header = hash_xxh3(&h, offsetof(header, hash_header));
    TRY(large_file_begin(path, stripe_bytes(s->count), LARGE_FILE_PLAIN, file));
    status st = large_file_add(file, &h, sizeof h);
    if (st == STATUS_OK)
        st = large_file_add(file, m, bytes);
    if (st == STATUS_OK)
        st = large_file_add(file, v, bytes);
    if (st != STATUS_OK)
        large_file_abandon(file);
    return st;
}

status stripe_read(const char *path, const stripe *expected, float *m, float *v)
{
    header h, want = make_header(expected);
    uint64_t bytes;
    size_t n = (size_t)expected->count;
    TRY(file_size(path, &bytes));
    if (bytes != stripe_bytes(expected->count))
        return fail(STATUS_INPUT, "%s: %" PRIu64 " bytes, not %" PRIu64 ": the file is cut or of another model", path, bytes,
                    stripe_bytes(expected->count));
    TRY(file_read_at(path, 0, &h, sizeof h));
    if (memcmp(&h, &want, offsetof(header, hash_m)) != 0 || h.hash_header != hash_xxh3(&h, offsetof(header, hash_header)))
        return fail(STATUS_INPUT, "%s: its header is not that of stripe %" PRId64 " at step %" PRId64 ": the file is damaged", path, expected->index,
                    expected->step);
    TRY(file_read_at(path, sizeof h, m, n * sizeof *m));
    TRY(file_read_at(path, sizeof h + n * sizeof *m, v, n * sizeof *v));
    if (hash_xxh3(m, n * sizeof *m) != h.hash_m)
        return fail(STATUS_INPUT, "%s: the first moments are damaged (their hash differs)", path);
    if (hash_xxh3(v, n * sizeof *v) != h.hash_v)
        return fail(STATUS_INPUT, "%s: the second moments are damaged (their hash differs)", path);
    return STATUS_OK;
}
