#include "model/torchbin_rebuild.h"

#include <stdlib.h>
#include <string.h>

typedef enum global_kind { GLOBAL_DICT, GLOBAL_TENSOR, GLOBAL_PARAMETER, GLOBAL_STORAGE } global_kind;

/* pickle_value.node of a GLOBAL is the index into this list. */
static const struct {
    const char *module, *name;
    global_kind kind;
    weights_type type;
    int64_t element_bytes;
} globals[] = {
    {"collections", "OrderedDict", GLOBAL_DICT, WEIGHTS_OTHER, 0},
    {"torch._utils", "_rebuild_tensor_v2", GLOBAL_TENSOR, WEIGHTS_OTHER, 0},
    {"torch._utils", "_rebuild_tensor", GLOBAL_TENSOR, WEIGHTS_OTHER, 0},
    {"torch._utils", "_rebuild_parameter", GLOBAL_PARAMETER, WEIGHTS_OTHER, 0},
    {"torch", "FloatStorage", GLOBAL_STORAGE, WEIGHTS_F32, 4},
    {"torch", "HalfStorage", GLOBAL_STORAGE, WEIGHTS_F16, 2},
    {"torch", "BFloat16Storage", GLOBAL_STORAGE, WEIGHTS_BF16, 2},
    {"torch", "DoubleStorage", GLOBAL_STORAGE, WEIGHTS_F64, 8},
    {"torch", "LongStorage", GLOBAL_STORAGE, WEIGHTS_OTHER, 8},
    {"torch", "IntStorage", GLOBAL_STORAGE, WEIGHTS_OTHER, 4},
    {"torch", "ShortStorage", GLOBAL_STORAGE, WEIGHTS_OTHER, 2},
    {"torch", "CharStorage", GLOBAL_STORAGE, WEIGHTS_OTHER, 1},
    {"torch", "ByteStorage", GLOBAL_STORAGE, WEIGHTS_OTHER, 1},
    {"torch", "BoolStorage", GLOBAL_STORAGE, WEIGHTS_OTHER, 1},
    {"torch", "ComplexFloatStorage", GLOBAL_STORAGE, WEIGHTS_OTHER, 8},
    {"torch", "ComplexDoubleStorage", GLOBAL_STORAGE, WEIGHTS_OTHER, 16},
};

static bool same_text(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(text, word, length) == 0;
}

/* Bytes of the file as a message may show them. */
static void printable(char *to, size_t room, const char *text, size_t length)
{
    size_t n = length < room - 1 ? length : room - 1;
    for (size_t i = 0; i < n; i++)
        to[i] = text[i] >= 32 && text[i] < 127 ? text[i] : '?';
    to[n] = 0;
}

status rebuild_find_global(pickle_machine *m, const char *module, size_t module_length, const char *name, size_t name_length, pickle_value *out)
{
    for (size_t i = 0; i < sizeof globals / sizeof *globals; i++) {
        if (same_text(module, module_length, globals[i].module) && same_text(name, name_length, globals[i].name)) {
            *out = (pickle_value){.kind = PICKLE_GLOBAL, .node = (uint32_t)i};
            return STATUS_OK;
        }
    }
    char module_text[80], name_text[80];
    printable(module_text, sizeof module_text, module, module_length);
    printable(name_text, sizeof name_text, name, name_length);
    return fail(STATUS_INPUT,
                "%s: byte %zu: the pickle wants %s.%s, which no file of plain tensors needs; refused (convert the weights to safetensors)", m->path,
                m->at, module_text, name_text);
}

static status bad_arguments(const pickle_machine *m, const char *what)
{
    return fail(STATUS_INPUT, "%s: byte %zu: %s is not as PyTorch writes it; the file is damaged", m->path, m->at, what);
}

/* The items of a tuple, or NULL when it is none or has fewer than `least`. */
static const pickle_value *tuple_items(const pickle_machine *m, pickle_value v, size_t least, size_t *count)
{
    if (v.kind != PICKLE_TUPLE || m->nodes[v.node].count < least)
        return NULL;
    *count = m->nodes[v.node].count;
    return m->nodes[v.node].items;
}

static status add_tensor(pickle_machine *m, const pickle_tensor *t, pickle_kind kind, pickle_value *out)
{
    if (m->tensor_count == m->tensor_capacity) {
        size_t more = m->tensor_capacity ? 2 * m->tensor_capacity : 256;
        TRY(memory_grow(&m->tensors, more * sizeof *m->tensors, "reading a pickle"));
        m->tensor_capacity = more;
    }
    m->tensors[m->tensor_count] = *t;
    *out = (pickle_value){.kind = kind, .node = (uint32_t)m->tensor_count++};
    return STATUS_OK;
}

status rebuild_storage(pickle_machine *m, pickle_value id, pickle_value *out)
{
    size_t count = 0, view_count = 0;
    const pickle_value *v = tuple_items(m, id, 5, &count);
    if (!v || v[0].kind != PICKLE_STRING || !same_text(v[0].text, v[0].length, "storage") || v[1].kind != PICKLE_GLOBAL ||
        globals[v[1].node].kind != GLOBAL_STORAGE || v[2].kind != PICKLE_STRING || v[4].kind != PICKLE_INT || v[4].number < 0)
        return bad_arguments(m, "a storage");
    pickle_tensor t = {.key = v[2],
                       .type = globals[v[1].node].type,
                       .type_name = globals[v[1].node].name,
                       .element_bytes = globals[v[1].node].element_bytes,
                       .elements = v[4].number};
    if (t.elements > INT64_MAX / 16)
        return bad_arguments(m, "a storage's size");
    if (count > 5 && v[5].kind != PICKLE_NONE) { /* a view on a part of the storage: (key, offset, elements) */
        const pickle_value *view = tuple_items(m, v[5], 3, &view_count);
        if (!view || view[1].kind != PICKLE_INT || view[2].kind != PICKLE_INT || view[1].number < 0 || view[1].number > t.elements ||
            view[2].number < 0 || view[2].number > t.elements - view[1].number)
            return bad_arguments(m, "a storage's view");
        t.offset = view[1].number;
    }
    return add_tensor(m, &t, PICKLE_STORAGE, out);
}

/* A tuple of sizes or strides into `out`. */
static status read_sizes(const pickle_machine *m, pickle_value v, int64_t *out, int *dims)
{
    size_t count = 0;
    const pickle_value *items = tuple_items(m, v, 0, &count);
    if (v.kind != PICKLE_TUPLE || count > WEIGHTS_MAX_DIMS)
        return bad_arguments(m, "a tensor's shape");
    for (size_t i = 0; i < count; i++) {
        if (items[i].kind != PICKLE_INT || items[i].number < 0)
            return bad_arguments(m, "a tensor's shape");
        out[i] = items[i].number;
    }
    *dims = (int)count;
    return STATUS_OK;
}

/* The tensor's last element must lie in its storage. */
static status check_extent(const pickle_machine *m, const pickle_tensor *t)
{
    int64_t count = weights_shape_count(t->dims, t->shape, t->element_bytes), last = t->offset;
    if (count < 0)
        return bad_arguments(m, "a tensor's shape (its product is too large)");
    for (int i = 0; i < t->dims && count > 0; i++) {
        int64_t reach;
        if (__builtin_mul_overflow(t->shape[i] - 1, t->stride[i], &reach) || __builtin_add_overflow(last, reach, &last))
            return bad_arguments(m, "a tensor's strides");
    }
    if (count > 0 ? last >= t->elements : t->offset > t->elements)
        return bad_arguments(m, "a tensor that reaches beyond its storage");
    return STATUS_OK;
}

static status make_tensor(pickle_machine *m, pickle_value arguments, pickle_value *out)
{
    size_t count = 0;
    const pickle_value *v = tuple_items(m, arguments, 4, &count); /* storage, offset, shape, strides; what follows is for autograd */
    if (!v || v[0].kind != PICKLE_STORAGE || v[1].kind != PICKLE_INT || v[1].number < 0)
        return bad_arguments(m, "a tensor");
    pickle_tensor t = m->tensors[v[0].node];
    int strides = 0;
    if (__builtin_add_overflow(t.offset, v[1].number, &t.offset))
        return bad_arguments(m, "a tensor's offset");
    TRY(read_sizes(m, v[2], t.shape, &t.dims));
    TRY(read_sizes(m, v[3], t.stride, &strides));
    if (strides != t.dims)
        return bad_arguments(m, "a tensor's strides");
    TRY(check_extent(m, &t));
    return add_tensor(m, &t, PICKLE_TENSOR, out);
}

status rebuild_call(pickle_machine *m, pickle_value callable, pickle_value arguments, pickle_value *out)
{
    size_t count = 0;
    if (callable.kind == PICKLE_GLOBAL && globals[callable.node].kind == GLOBAL_TENSOR)
        return make_tensor(m, arguments, out);
    if (callable.kind == PICKLE_GLOBAL && globals[callable.node].kind == GLOBAL_PARAMETER) {
        const pickle_value *v = tuple_items(m, arguments, 1, &count);
        if (!v || v[0].kind != PICKLE_TENSOR)
            return bad_arguments(m, "a parameter");
        *out = v[0];
        return STATUS_OK;
    }
    return fail(STATUS_INPUT, "%s: byte %zu: the pickle calls something that doesn't rebuild a tensor; refused", m->path, m->at);
}

bool rebuild_is_dict(pickle_value callable)
{
    return globals[callable.node].kind == GLOBAL_DICT;
}

/* A pair is a tuple or list of two. */
static const pickle_value *pair_items(const pickle_machine *m, pickle_value v)
{
    if ((v.kind != PICKLE_TUPLE && v.kind != PICKLE_LIST) || m->nodes[v.node].count != 2)
        return NULL;
    return m->nodes[v.node].items;
}

status rebuild_fill_dict(pickle_machine *m, pickle_value arguments)
{
    size_t count = 0;
    const pickle_value *v = tuple_items(m, arguments, 0, &count);
    if (arguments.kind != PICKLE_TUPLE || count > 1 || (count == 1 && v[0].kind != PICKLE_LIST))
        return bad_arguments(m, "an OrderedDict");
    if (count == 0)
        return STATUS_OK;
    const pickle_node *list = &m->nodes[v[0].node];
    pickle_node *dict = &m->nodes[m->stack[m->depth - 1].node];
    TRY(memory_new(&dict->items, 2 * list->count * sizeof *dict->items, "reading a pickle"));
    dict->capacity = 2 * list->count;
    for (size_t i = 0; i < list->count; i++) {
        const pickle_value *pair = pair_items(m, list->items[i]);
        if (!pair)
            return bad_arguments(m, "an OrderedDict");
        dict->items[dict->count++] = pair[0];
        dict->items[dict->count++] = pair[1];
    }
    return STATUS_OK;
}
