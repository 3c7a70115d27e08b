#include "model/weights_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "model/safetensors.h"
#include "model/torchbin.h"

static bool starts_with(const weights_file *file, const void *text, size_t n)
{
    return file->bytes >= n && memcmp(file->map, text, n) == 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

static status read_tensors(weights_file *file)
{
    static const char pointer[] = "version https://git-lfs";
    if (starts_with(file, pointer, sizeof pointer - 1))
        return fail(STATUS_INPUT, "%s: a Git LFS pointer of %zu bytes, not the weights; fetch them with \"git lfs pull\" or download the file itself",
                    file->path, file->bytes);
    if (ends_with(file->path, ".safetensors"))
        return safetensors_read(file);
    return torchbin_read(file);
}

status weights_file_open(const char *path, weights_file **out)
{
    status st;
    weights_file *file = NULL;
    TRY(memory_new(&file, sizeof *file, "weights"));
    file->path = strdup(path);
    if (!file->path) {
        free(file);
        return fail(STATUS_RESOURCE, "out of memory: weights");
    }
    TRY_DONE(file_map(path, &file->map, &file->bytes));
    TRY_DONE(read_tensors(file));
    TRY_DONE(weights_file_sort(file));
    *out = file;
    return STATUS_OK;
done:
    weights_file_close(file);
    return st;
}

void weights_file_close(weights_file *file)
{
    if (!file)
        return;
    for (size_t i = 0; i < file->count; i++)
        free(file->entries[i].name);
    free(file->entries);
    free(file->blocks);
    if (file->map)
        file_unmap(file->map, file->bytes);
    free(file->path);
    free(file);
}

status weights_file_append(weights_file *file, size_t *capacity, const char *name, size_t name_bytes, weights_entry **out)
{
    if (file->count == *capacity) {
        size_t more = *capacity ? 2 * *capacity : 64;
        TRY(memory_grow(&file->entries, more * sizeof *file->entries, "the names of weights"));
        *capacity = more;
    }
    weights_entry *e = &file->entries[file->count];
    *e = (weights_entry){0};
    TRY(memory_new(&e->name, name_bytes + 1, "the names of weights"));
    memcpy(e->name, name, name_bytes);
    file->count++;
    *out = e;
    return STATUS_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const weights_entry *)a)->name, ((const weights_entry *)b)->name);
}

status weights_file_sort(weights_file *file)
{
    if (file->count)
        qsort(file->entries, file->count, sizeof *file->entries, compare_names);
    for (size_t i = 1; i < file->count; i++)
        if (compare_names(&file->entries[i - 1], &file->entries[i]) == 0)
            return fail(STATUS_INPUT, "%s: two tensors named %s", file->path, file->entries[i].name);
    return STATUS_OK;
}

const weights_entry *weights_file_find(const weights_file *file, const char *name)
{
    weights_entry key = {.name = (char *)(uintptr_t)name};
    return file->count ? bsearch(&key, file->entries, file->count, sizeof key, compare_names) : NULL;
}

int64_t weights_shape_count(int dims, const int64_t *shape, int64_t bytes_each)
{
    int64_t n = 1, bytes;
    for (int i = 0; i < dims; i++)
        if (shape[i] < 0 || __builtin_mul_overflow(n, shape[i], &n))
            return -1;
    return __builtin_mul_overflow(n, bytes_each, &bytes) ? -1 : n;
}

void weights_set_row_major(weights_entry *e)
{
    int64_t step = 1;
    for (int i = e->dims - 1; i >= 0 && e->count > 0; i--) { /* no overflow: the product of all is `count` */
        e->stride[i] = step;
        step *= e->shape[i];
    }
}

void weights_shape_text(int dims, const int64_t *shape, char *text, size_t bytes)
{
    size_t used = 0;
    snprintf(text, bytes, "[");
    for (int i = 0; i < dims; i++) {
        used = strlen(text);
        snprintf(text + used, bytes - used, "%s%lld", i ? ", " : "", (long long)shape[i]);
    }
    used = strlen(text);
    snprintf(text + used, bytes - used, "]");
}

/* ---- elements to float32 ---- */

static float half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 0x3ff, bits;
    if (exponent == 31) {
        bits = sign | 0x7f800000u | fraction << 13;
    } else if (exponent) {
        bits = sign | (exponent + 112) << 23 | fraction << 13;
    } else { /* zero or subnormal: fraction * 2^-24 is exact */
        float small = (float)fraction * 0x1p-24f;
        return sign ? -small : small;
    }
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static size_t element_bytes(weights_type type)
{
    return type == WEIGHTS_F64 ? 8 : type == WEIGHTS_F32 ? 4 : 2;
}

/* One run of n elements, `stride` elements apart. */
static void convert_run(weights_type type, const unsigned char *from, int64_t n, int64_t stride, float *out)
{
    const size_t step = (size_t)stride * element_bytes(type);
    if (type == WEIGHTS_F32 && stride == 1) {
        memcpy(out, from, (size_t)n * sizeof *out);
        return;
    }
    for (int64_t i = 0; i < n; i++, from += step) {
        uint16_t two;
        uint32_t four;
        double eight;
        switch (type) {
        case WEIGHTS_F32: memcpy(&out[i], from, sizeof out[i]); break;
        case WEIGHTS_F16:
            memcpy(&two, from, sizeof two);
            out[i] = half_to_float(two);
            break;
        case WEIGHTS_BF16:
            memcpy(&two, from, sizeof two);
            four = (uint32_t)two << 16;
            memcpy(&out[i], &four, sizeof four);
            break;
        default: memcpy(&eight, from, sizeof eight); out[i] = (float)eight;
        }
    }
}

/* Row-major without gaps, so that all elements are one run. */
bool weights_entry_in_order(const weights_entry *e)
{
    int64_t expect = 1;
    for (int i = e->dims - 1; i >= 0; i--) {
        if (e->shape[i] != 1 && e->stride[i] != expect)
            return false;
        expect *= e->shape[i];
    }
    return true;
}

status weights_entry_read_part(const weights_file *file, const weights_entry *e, int64_t first, int64_t n, float *out)
{
    if (e->type == WEIGHTS_OTHER)
        return fail(STATUS_INPUT, "%s: tensor %s has type %s; float32, float16, bfloat16 and float64 can be read", file->path, e->name, e->type_name);
    if (n > 0)
        convert_run(e->type, e->data + (size_t)first * element_bytes(e->type), n, 1, out);
    return STATUS_OK;
}

void weights_entry_forget(const weights_entry *e, int64_t first, int64_t n)
{
    file_forget(e->data + (size_t)first * element_bytes(e->type), (size_t)n * element_bytes(e->type));
}

status weights_entry_read(const weights_file *file, const weights_entry *e, float *out)
{
    if (e->type == WEIGHTS_OTHER || e->count == 0 || weights_entry_in_order(e))
        return weights_entry_read_part(file, e, 0, e->count, out);
    int64_t index[WEIGHTS_MAX_DIMS] = {0};
    const int last = e->dims - 1; /* not contiguous: at least one dimension */
    for (int64_t done = 0; done < e->count; done += e->shape[last]) {
        int64_t offset = 0;
        for (int i = 0; i < last; i++)
            offset += index[i] * e->stride[i];
        convert_run(e->type, e->data + (size_t)offset * element_bytes(e->type), e->shape[last], e->stride[last], out + done);
        for (int i = last - 1; i >= 0 && ++index[i] == e->shape[i]; i--)
            index[i] = 0;
    }
    return STATUS_OK;
}
