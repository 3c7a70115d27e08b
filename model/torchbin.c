#include "model/torchbin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/torchbin_pickle.h"
#include "model/torchbin_zip.h"

enum { MAX_DEPTH = 8, MAX_VISITS = 1 << 22, NAME_BYTES = 512 };

/* The bytes of one storage. */
typedef struct place {
    const char *key;
    size_t key_length;
    const unsigned char *data;
    size_t bytes;
} place;

/* All storages of a file, sorted by key. */
typedef struct places {
    place *list;
    size_t count;
} places;

static int compare_places(const void *a, const void *b)
{
    const place *x = a, *y = b;
    size_t n = x->key_length < y->key_length ? x->key_length : y->key_length;
    int c = memcmp(x->key, y->key, n);
    return c ? c : (x->key_length > y->key_length) - (x->key_length < y->key_length);
}

static void sort_places(places *p)
{
    if (p->count)
        qsort(p->list, p->count, sizeof *p->list, compare_places);
}

static place *find_place(const places *p, const char *key, size_t length)
{
    place wanted = {.key = key, .key_length = length};
    return p->count ? bsearch(&wanted, p->list, p->count, sizeof wanted, compare_places) : NULL;
}

/* ---- from values to entries ---- */

typedef struct walk {
    weights_file *file;
    const pickle_machine *machine;
    const places *storages;
    size_t capacity;
    int64_t visits; /* shared lists could be walked exponentially often */
    char name[NAME_BYTES];
} walk;

static status add_entry(walk *w, const pickle_tensor *t)
{
    const place *p = find_place(w->storages, t->key.text, t->key.length);
    if (!p)
        return fail(STATUS_INPUT, "%s: tensor %s: its storage \"%.*s\" is not in the file", w->file->path, w->name, (int)t->key.length, t->key.text);
    if ((size_t)(t->elements * t->element_bytes) > p->bytes)
        return fail(STATUS_INPUT, "%s: tensor %s: its storage \"%.*s\" has %zu bytes instead of %lld", w->file->path, w->name, (int)t->key.length,
                    t->key.text, p->bytes, (long long)(t->elements * t->element_bytes));
    weights_entry *e;
    TRY(weights_file_append(w->file, &w->capacity, w->name, strlen(w->name), &e));
    e->type = t->type;
    e->type_name = t->type_name;
    e->dims = t->dims;
    memcpy(e->shape, t->shape, sizeof e->shape);
    memcpy(e->stride, t->stride, sizeof e->stride);
    e->count = weights_shape_count(t->dims, t->shape, t->element_bytes);
    e->data = p->data + t->offset * t->element_bytes;
    return STATUS_OK;
}

static status walk_value(walk *w, pickle_value v, int depth);

/* The value of `key` in a container: its name is the container's, a dot, the key. */
static status walk_child(walk *w, pickle_value key, pickle_value v, int depth)
{
    size_t before = strlen(w->name);
    const char *dot = before ? "." : "";
    int n;
    if (key.kind == PICKLE_STRING && !memchr(key.text, 0, key.length) && key.length < NAME_BYTES)
        n = snprintf(w->name + before, NAME_BYTES - before, "%s%.*s", dot, (int)key.length, key.text);
    else if (key.kind == PICKLE_INT)
        n = snprintf(w->name + before, NAME_BYTES - before, "%s%lld", dot, (long long)key.number);
    else
        return STATUS_OK; /* nothing that could be a tensor's name */
    if (n < 0 || (size_t)n >= NAME_BYTES - before)
        return fail(STATUS_INPUT, "%s: a tensor's name is longer than %d bytes", w->file->path, NAME_BYTES);
    status st = walk_value(w, v, depth + 1);
    w->name[before] = 0;
    return st;
}

static status walk_value(walk *w, pickle_value v, int depth)
{
    if (depth > MAX_DEPTH || ++w->visits > MAX_VISITS)
        return fail(STATUS_INPUT, "%s: containers are nested too deeply for a file of weights", w->file->path);
    if (v.kind == PICKLE_TENSOR)
        return add_entry(w, &w->machine->tensors[v.node]);
    if (v.kind != PICKLE_DICT && v.kind != PICKLE_LIST && v.kind != PICKLE_TUPLE)
        return STATUS_OK;
    const pickle_node *node = &w->machine->nodes[v.node];
    for (size_t i = 0; i < node->count; i++) {
        if (v.kind != PICKLE_DICT) {
            TRY(walk_child(w, (pickle_value){.kind = PICKLE_INT, .number = (int64_t)i}, node->items[i], depth));
        } else if (i % 2 == 0) {
            TRY(walk_child(w, node->items[i], node->items[i + 1], depth));
        }
    }
    return STATUS_OK;
}

static status walk_top(weights_file *file, const pickle_machine *m, pickle_value top, const places *storages)
{
    walk w = {.file = file, .machine = m, .storages = storages};
    return walk_value(&w, top, 0);
}

/* ---- the zip archive ---- */

/* The entry `name` under the archive's own folder. */
static const zip_entry *find_zip_entry(const zip_entry *list, size_t count, const char *prefix, size_t prefix_length, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < count; i++)
        if (list[i].name_length == prefix_length + n && memcmp(list[i].name, prefix, prefix_length) == 0 &&
            memcmp(list[i].name + prefix_length, name, n) == 0)
            return &list[i];
    return NULL;
}

/* The shortest name that ends with data.pkl tells the archive's folder. */
static const zip_entry *find_pickle(const zip_entry *list, size_t count)
{
    static const char name[] = "data.pkl";
    const size_t n = sizeof name - 1;
    const zip_entry *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const zip_entry *e = &list[i];
        bool is_one = e->name_length >= n && memcmp(e->name + e->name_length - n, name, n) == 0 &&
                      (e->name_length == n || e->name[e->name_length - n - 1] == '/');
        if (is_one && (!best || e->name_length < best->name_length))
            best = e;
    }
    return best;
}

static status list_zip_storages(const zip_entry *list, size_t count, const char *prefix, size_t prefix_length, places *out)
{
    static const char folder[] = "data/";
    const size_t n = sizeof folder - 1;
    TRY(memory_new(&out->list, (count + 1) * sizeof *out->list, "the storages of weights"));
    for (size_t i = 0; i < count; i++)
        if (list[i].name_length > prefix_length + n && memcmp(list[i].name, prefix, prefix_length) == 0 &&
            memcmp(list[i].name + prefix_length, folder, n) == 0)
            out->list[out->count++] = (place){list[i].name + prefix_length + n, list[i].name_length - prefix_length - n, list[i].data, list[i].bytes};
    sort_places(out);
    return STATUS_OK;
}

/* All entries have a checksum, the object's description too. */
static status list_blocks(weights_file *file, const zip_entry *list, size_t count)
{
    TRY(memory_new(&file->blocks, (count + 1) * sizeof *file->blocks, "the checksums of weights"));
    for (size_t i = 0; i < count; i++)
        file->blocks[i] = (weights_block){list[i].name, list[i].name_length, list[i].data, list[i].bytes, list[i].crc};
    file->block_count = count;
    return STATUS_OK;
}

static status read_zip(weights_file *file)
{
    status st;
    zip_entry *list = NULL;
    size_t count = 0;
    places storages = {0};
    pickle_machine m = {.path = file->path, .data = file->map};
    TRY(zip_read_directory(file->path, file->map, file->bytes, &list, &count));
    const zip_entry *pickle = find_pickle(list, count);
    if (!pickle) {
        st = fail(STATUS_INPUT, "%s: a zip archive without data.pkl; not written by torch.save", file->path);
        goto done;
    }
    const char *prefix = pickle->name;
    const size_t prefix_length = pickle->name_length - strlen("data.pkl");
    const zip_entry *order = find_zip_entry(list, count, prefix, prefix_length, "byteorder");
    if (order && (order->bytes != 6 || memcmp(order->data, "little", 6) != 0)) {
        st = fail(STATUS_INPUT, "%s: written by a big-endian machine; convert the weights to safetensors", file->path);
        goto done;
    }
    TRY_DONE(list_zip_storages(list, count, prefix, prefix_length, &storages));
    size_t at = (size_t)(pickle->data - m.data);
    m.size = at + pickle->bytes;
    TRY_DONE(pickle_run(&m, &at));
    TRY_DONE(walk_top(file, &m, m.top, &storages));
    TRY_DONE(list_blocks(file, list, count));
done:
    pickle_free(&m);
    free(storages.list);
    free(list);
    return st;
}

/* ---- the older format: magic number, protocol, machine, object, storage keys, storages ---- */

static bool is_magic(pickle_value v)
{
    static const unsigned char magic[10] = {0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};
    return v.kind == PICKLE_INT && v.length == sizeof magic && memcmp(v.text, magic, sizeof magic) == 0;
}

/* The three pickles before the object. */
static status read_preamble(pickle_machine *m, size_t *at)
{
    TRY(pickle_run(m, at));
    if (!is_magic(m->top))
        return fail(STATUS_INPUT, "%s: byte 0: neither safetensors nor a file of torch.save", m->path);
    TRY(pickle_run(m, at));
    if (m->top.kind != PICKLE_INT || m->top.number != 1001)
        return fail(STATUS_INPUT, "%s: byte %zu: an unknown version of torch.save", m->path, *at);
    TRY(pickle_run(m, at));
    const pickle_value *little = pickle_dict_get(m, m->top, "little_endian");
    if (!little || little->kind != PICKLE_BOOL || !little->number)
        return fail(STATUS_INPUT, "%s: byte %zu: not written by a little-endian machine; convert the weights to safetensors", m->path, *at);
    return STATUS_OK;
}

/* Storages as the object names them, each once, with their sizes and no bytes yet. */
static status list_named_storages(const pickle_machine *m, places *out)
{
    TRY(memory_new(&out->list, (m->tensor_count + 1) * sizeof *out->list, "the storages of weights"));
    for (size_t i = 0; i < m->tensor_count; i++) {
        const pickle_tensor *t = &m->tensors[i];
        out->list[out->count++] = (place){t->key.text, t->key.length, NULL, (size_t)(t->elements * t->element_bytes)};
    }
    sort_places(out);
    size_t kept = 0;
    for (size_t i = 0; i < out->count; i++) {
        if (kept && compare_places(&out->list[kept - 1], &out->list[i]) == 0) {
            if (out->list[kept - 1].bytes != out->list[i].bytes)
                return fail(STATUS_INPUT, "%s: storage \"%.*s\" is given two sizes", m->path, (int)out->list[i].key_length, out->list[i].key);
            continue;
        }
        out->list[kept++] = out->list[i];
    }
    out->count = kept;
    return STATUS_OK;
}

/* Walks over the storages' bytes in the order of the list of keys. */
static status place_storages(const weights_file *file, const pickle_machine *m, size_t at, places *storages)
{
    if (m->top.kind != PICKLE_LIST)
        return fail(STATUS_INPUT, "%s: byte %zu: no list of storages", file->path, at);
    const pickle_node *keys = &m->nodes[m->top.node];
    const unsigned char *bytes = file->map;
    for (size_t i = 0; i < keys->count; i++) {
        place *p = keys->items[i].kind == PICKLE_STRING ? find_place(storages, keys->items[i].text, keys->items[i].length) : NULL;
        if (!p || p->data)
            return fail(STATUS_INPUT, "%s: byte %zu: a storage that no tensor uses, or one that comes twice", file->path, at);
        if (file->bytes - at < 8 || file->bytes - at - 8 < p->bytes)
            return fail(STATUS_INPUT, "%s: byte %zu: storage \"%.*s\" is cut short", file->path, at, (int)p->key_length, p->key);
        p->data = bytes + at + 8; /* behind its number of elements, which the object has given already */
        at += 8 + p->bytes;
    }
    for (size_t i = 0; i < storages->count; i++)
        if (!storages->list[i].data)
            return fail(STATUS_INPUT, "%s: storage \"%.*s\" is not in the file", file->path, (int)storages->list[i].key_length,
                        storages->list[i].key);
    return STATUS_OK;
}

static status read_legacy(weights_file *file)
{
    status st;
    places storages = {0};
    pickle_machine m = {.path = file->path, .data = file->map, .size = file->bytes};
    size_t at = 0;
    TRY_DONE(read_preamble(&m, &at));
    TRY_DONE(pickle_run(&m, &at));
    const pickle_value object = m.top;
    TRY_DONE(list_named_storages(&m, &storages));
    TRY_DONE(pickle_run(&m, &at));
    TRY_DONE(place_storages(file, &m, at, &storages));
    TRY_DONE(walk_top(file, &m, object, &storages));
done:
    pickle_free(&m);
    free(storages.list);
    return st;
}

status torchbin_read(weights_file *file)
{
    const unsigned char *p = file->map;
    if (file->bytes >= 4 && p[0] == 'P' && p[1] == 'K' && p[2] == 3 && p[3] == 4)
        return read_zip(file);
    return read_legacy(file);
}
