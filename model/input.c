#include "model/input.h"

#include <inttypes.h>
#include <string.h>

int64_t input_length(const input_format *f, int64_t ids)
{
    int64_t room = f->max_length - 2;
    return (ids < room ? ids : room) + 2;
}

/* The two runs of a row's ids that stay: `front` from its start, `back` up to its end. */
static void kept_runs(const input_format *f, int64_t ids, int64_t *front, int64_t *back)
{
    int64_t room = f->max_length - 2;
    *front = ids;
    *back = 0;
    if (ids <= room)
        return;
    switch (f->truncate) {
    case TRUNCATE_HEAD: *front = room; break;
    case TRUNCATE_TAIL: *front = 0; break;
    case TRUNCATE_HEAD_TAIL: *front = room / 4; break;
    }
    *back = room - *front;
}

status input_read(const input_format *f, dataset *d, int64_t row, int32_t *out, int64_t *n)
{
    int64_t ids = dataset_length(d, row), front, back, count;
    kept_runs(f, ids, &front, &back);
    /* ids and inputs are both 32 bits wide and never negative: they are read straight into place */
    TRY(dataset_tokens_part(d, row, 0, front, (uint32_t *)out + 1, &count));
    TRY(dataset_tokens_part(d, row, ids - back, back, (uint32_t *)out + 1 + front, &count));
    out[0] = f->cls;
    out[1 + front + back] = f->sep;
    *n = front + back + 2;
    return STATUS_OK;
}

int64_t input_make(const input_format *f, const uint32_t *ids, int64_t count, int32_t *out)
{
    int64_t front, back;
    kept_runs(f, count, &front, &back);
    out[0] = f->cls;
    if (front > 0)
        memcpy(out + 1, ids, (size_t)front * sizeof *out);
    if (back > 0)
        memcpy(out + 1 + front, ids + count - back, (size_t)back * sizeof *out);
    out[1 + front + back] = f->sep;
    return front + back + 2;
}

status input_check_ids(const int32_t *ids, int64_t n, int64_t entries, const char *what, int64_t row)
{
    for (int64_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= entries) /* a file's ids are unsigned: above 2^31 they look negative */
            return fail(STATUS_INPUT,
                        "%s %" PRId64 " has token id %" PRIu32 ", the model's vocabulary has %" PRId64
                        " entries: tokens and model do not belong together; run preprocess with the model's vocabulary",
                        what, row, (uint32_t)ids[i], entries);
    return STATUS_OK;
}
