#include "model/safetensors.h"

#include "common/files.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEADER = 100000000 }; /* the reference's own bound */

/* Types with a whole number of bytes, as the header names them. */
static const struct {
    const char *name;
    int64_t bytes;
    weights_type type;
} types[] = {{"F32", 4, WEIGHTS_F32},    {"F16", 2, WEIGHTS_F16},       {"BF16", 2, WEIGHTS_BF16},     {"F64", 8, WEIGHTS_F64},
             {"I64", 8, WEIGHTS_OTHER},  {"I32", 4, WEIGHTS_OTHER},     {"I16", 2, WEIGHTS_OTHER},     {"I8", 1, WEIGHTS_OTHER},
             {"U64", 8, WEIGHTS_OTHER},  {"U32", 4, WEIGHTS_OTHER},     {"U16", 2, WEIGHTS_OTHER},     {"U8", 1, WEIGHTS_OTHER},
             {"BOOL", 1, WEIGHTS_OTHER}, {"F8_E4M3", 1, WEIGHTS_OTHER}, {"F8_E5M2", 1, WEIGHTS_OTHER}, {"F8_E8M0", 1, WEIGHTS_OTHER},
             {"C64", 8, WEIGHTS_OTHER}};

/* The bytes of one tensor, counted from the end of the header. */
typedef struct span {
    int64_t begin, end;
    size_t entry;
} span;

static status read_shape(const weights_file *file, const char *name, const json_t *shape, weights_entry *e)
{
    if (!json_is_array(shape) || json_array_size(shape) > WEIGHTS_MAX_DIMS)
        return fail(STATUS_INPUT, "%s: tensor %s: \"shape\" is no list of at most %d sizes", file->path, name, WEIGHTS_MAX_DIMS);
    e->dims = (int)json_array_size(shape);
    for (int i = 0; i < e->dims; i++) {
        const json_t *n = json_array_get(shape, (size_t)i);
        if (!json_is_integer(n) || json_integer_value(n) < 0)
            return fail(STATUS_INPUT, "%s: tensor %s: a size in \"shape\" is no whole number from 0", file->path, name);
        e->shape[i] = (int64_t)json_integer_value(n);
    }
    return STATUS_OK;
}

static status read_type(const weights_file *file, const char *name, const json_t *dtype, weights_entry *e, int64_t *bytes_each)
{
    if (!json_is_string(dtype))
        return fail(STATUS_INPUT, "%s: tensor %s: no \"dtype\"", file->path, name);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, json_string_value(dtype)) == 0) {
            e->type = types[i].type;
            e->type_name = types[i].name;
            *bytes_each = types[i].bytes;
            return STATUS_OK;
        }
    }
    return fail(STATUS_INPUT, "%s: tensor %s: unknown type \"%s\"", file->path, name, json_string_value(dtype));
}

static status read_tensor(weights_file *file, size_t *capacity, const char *name, const json_t *info, int64_t data_bytes, span *out)
{
    weights_entry *e;
    TRY(weights_file_append(file, capacity, name, strlen(name), &e));
    if (!json_is_object(info))
        return fail(STATUS_INPUT, "%s: tensor %s: its header entry is no object", file->path, name);
    int64_t bytes_each = 0;
    TRY(read_type(file, name, json_object_get(info, "dtype"), e, &bytes_each));
    TRY(read_shape(file, name, json_object_get(info, "shape"), e));
    const json_t *offsets = json_object_get(info, "data_offsets"), *a = json_array_get(offsets, 0), *b = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(a) || !json_is_integer(b))
        return fail(STATUS_INPUT, "%s: tensor %s: no \"data_offsets\" of two numbers", file->path, name);
    *out = (span){(int64_t)json_integer_value(a), (int64_t)json_integer_value(b), file->count - 1};
    e->count = weights_shape_count(e->dims, e->shape, bytes_each);
    if (e->count < 0)
        return fail(STATUS_INPUT, "%s: tensor %s: the product of its shape is too large", file->path, name);
    weights_set_row_major(e);
    if (out->begin < 0 || out->end < out->begin)
        return fail(STATUS_INPUT, "%s: tensor %s: bad offsets %" PRId64 " to %" PRId64, file->path, name, out->begin, out->end);
    if (out->end - out->begin != e->count * bytes_each)
        return fail(STATUS_INPUT, "%s: tensor %s: %" PRId64 " bytes by its offsets, %" PRId64 " by its shape and type", file->path, name,
                    out->end - out->begin, e->count * bytes_each);
    if (out->end > data_bytes)
        return fail(STATUS_INPUT, "%s: tensor %s ends at byte %" PRId64 " of the data, which has %" PRId64 "; the file is cut short", file->path,
                    name, out->end, data_bytes);
    return STATUS_OK;
}

static int compare_spans(const void *a, const void *b)
{
    const span *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

/* The tensors must cover the data exactly, one behind the other. */
static status check_cover(const weights_file *file, span *spans, size_t count, int64_t data_bytes)
{
    if (count)
        qsort(spans, count, sizeof *spans, compare_spans);
    int64_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const char *name = file->entries[spans[i].entry].name;
        if (spans[i].begin != at)
            return fail(STATUS_INPUT, "%s: tensor %s starts at byte %" PRId64 " of the data and not at %" PRId64 ": tensors %s", file->path, name,
                        spans[i].begin, at, spans[i].begin < at ? "overlap" : "leave a gap");
        at = spans[i].end;
    }
    if (at != data_bytes)
        return fail(STATUS_INPUT, "%s: %" PRId64 " bytes behind the last tensor", file->path, data_bytes - at);
    return STATUS_OK;
}

static status check_metadata(const weights_file *file, const json_t *metadata)
{
    const char *key;
    json_t *value;
    if (!json_is_object(metadata))
        return fail(STATUS_INPUT, "%s: \"__metadata__\" is no object", file->path);
    json_object_foreach((json_t *)(uintptr_t)metadata, key, value)
    {
        if (!json_is_string(value))
            return fail(STATUS_INPUT, "%s: \"__metadata__\": \"%s\" is no string", file->path, key);
    }
    return STATUS_OK;
}

static status read_header(weights_file *file, json_t *header, const unsigned char *data, int64_t data_bytes)
{
    status st = STATUS_OK;
    span *spans = NULL;
    size_t capacity = 0, count = 0;
    const char *name;
    json_t *info;
    TRY(memory_new(&spans, (json_object_size(header) + 1) * sizeof *spans, "a safetensors header"));
    json_object_foreach(header, name, info)
    {
        if (strcmp(name, "__metadata__") == 0)
            TRY_DONE(check_metadata(file, info));
        else
            TRY_DONE(read_tensor(file, &capacity, name, info, data_bytes, &spans[count++]));
    }
    for (size_t i = 0; i < count; i++) /* entries have stopped moving */
        file->entries[spans[i].entry].data = data + spans[i].begin;
    TRY_DONE(check_cover(file, spans, count, data_bytes));
done:
    free(spans);
    return st;
}

status safetensors_read(weights_file *file)
{
    const unsigned char *p = file->map;
    if (file->bytes < 8)
        return fail(STATUS_INPUT, "%s: %zu bytes are too few for a safetensors file", file->path, file->bytes);
    uint64_t length = 0;
    for (int i = 7; i >= 0; i--)
        length = length << 8 | p[i];
    if (length > MAX_HEADER)
        return fail(STATUS_INPUT, "%s: a header of %" PRIu64 " bytes (at most %d): not a safetensors file, or damaged", file->path, length,
                    MAX_HEADER);
    if (length > file->bytes - 8)
        return fail(STATUS_INPUT, "%s: a header of %" PRIu64 " bytes, but the file has only %zu; it is cut short", file->path, length, file->bytes);
    json_error_t error;
    json_t *header = json_loadb((const char *)p + 8, (size_t)length, JSON_REJECT_DUPLICATES, &error);
    if (!header)
        return fail(STATUS_INPUT, "%s: the header is not JSON at byte %d: %s", file->path, error.position + 8, error.text);
    status st = json_is_object(header) ? read_header(file, header, p + 8 + length, (int64_t)(file->bytes - 8 - length))
                                       : fail(STATUS_INPUT, "%s: the header is no JSON object", file->path);
    json_decref(header);
    return st;
}

/* ---- writing ---- */

static int64_t item_bytes(const safetensors_item *item)
{
    int64_t n = (int64_t)sizeof(float);
    for (int i = 0; i < item->dims; i++)
        n *= item->shape[i];
    return n;
}

/* The header's text with spaces behind it up to a multiple of 8; the caller frees. Keys are in the order of the items. */
static status header_text(const safetensors_item *items, size_t count, char **out, size_t *bytes)
{
    json_t *header = json_pack("{s:{s:s}}", "__metadata__", "format", "pt");
    int64_t at = 0;
    int bad = !header;
    for (size_t i = 0; i < count && !bad; i++) {
        json_t *shape = json_array();
        for (int d = 0; d < items[i].dims; d++)
            bad |= json_array_append_new(shape, json_integer(items[i].shape[d]));
        int64_t end = at + item_bytes(&items[i]);
        json_t *info = json_pack("{s:s, s:o, s:[I, I]}", "dtype", "F32", "shape", shape, "data_offsets", (json_int_t)at, (json_int_t)end);
        bad |= json_object_set_new(header, items[i].name, info);
        at = end;
    }
    char *text = bad ? NULL : json_dumps(header, JSON_COMPACT);
    json_decref(header);
    if (!text)
        return fail(STATUS_RESOURCE, "out of memory: the header of a safetensors file");
    size_t n = strlen(text), padded = (n + 7) / 8 * 8;
    status st = memory_grow(&text, padded + 1, "the header of a safetensors file");
    if (st != STATUS_OK) {
        free(text);
        return st;
    }
    memset(text + n, ' ', padded - n);
    *out = text;
    *bytes = padded;
    return STATUS_OK;
}

status safetensors_write(large_file *file, const safetensors_item *items, size_t count)
{
    char *text = NULL;
    size_t n = 0;
    TRY(header_text(items, count, &text, &n));
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)n >> 8 * i);
    status st = large_file_add(file, length, sizeof length);
    if (st == STATUS_OK)
        st = large_file_add(file, text, n);
    free(text);
    for (size_t i = 0; i < count && st == STATUS_OK; i++)
        st = large_file_add(file, items[i].data, (size_t)item_bytes(&items[i]));
    return st;
}
