#include "model/torchbin_pickle.h"

#include <stdlib.h>
#include <string.h>

#include "model/torchbin_rebuild.h"

/* An instruction that is cut short, or that wants more on the stack than there is. */
static status broken(const pickle_machine *m, const char *what)
{
    return fail(STATUS_INPUT, "%s: byte %zu: %s; the file is damaged or no torch.save file", m->path, m->at, what);
}

static status push(pickle_machine *m, pickle_value v)
{
    if (m->depth == m->stack_capacity) {
        size_t more = m->stack_capacity ? 2 * m->stack_capacity : 256;
        TRY(memory_grow(&m->stack, more * sizeof *m->stack, "reading a pickle"));
        m->stack_capacity = more;
    }
    m->stack[m->depth++] = v;
    return STATUS_OK;
}

/* The top value, which must not be a mark. */
static status pop(pickle_machine *m, pickle_value *out)
{
    if (m->depth == 0 || m->stack[m->depth - 1].kind == PICKLE_MARK)
        return broken(m, "an instruction finds nothing on the stack");
    *out = m->stack[--m->depth];
    return STATUS_OK;
}

static status take(pickle_machine *m, size_t n, const unsigned char **out)
{
    if (n > m->size - m->at)
        return broken(m, "the pickle is cut short");
    *out = m->data + m->at;
    m->at += n;
    return STATUS_OK;
}

static status take_number(pickle_machine *m, size_t bytes, uint64_t *out)
{
    const unsigned char *p = NULL;
    TRY(take(m, bytes, &p));
    *out = 0;
    for (size_t i = bytes; i-- > 0;)
        *out = *out << 8 | p[i];
    return STATUS_OK;
}

/* A line of text up to the newline, which is passed. */
static status take_line(pickle_machine *m, const char **text, size_t *length)
{
    const unsigned char *p = m->data + m->at, *end = memchr(p, '\n', m->size - m->at);
    if (!end)
        return broken(m, "a line without its end");
    *text = (const char *)p;
    *length = (size_t)(end - p);
    m->at += *length + 1;
    return STATUS_OK;
}

static status new_node(pickle_machine *m, pickle_kind kind, const pickle_value *items, size_t count, pickle_value *out)
{
    if (m->node_count == m->node_capacity) {
        size_t more = m->node_capacity ? 2 * m->node_capacity : 64;
        TRY(memory_grow(&m->nodes, more * sizeof *m->nodes, "reading a pickle"));
        m->node_capacity = more;
    }
    pickle_node *node = &m->nodes[m->node_count];
    *node = (pickle_node){.count = count, .capacity = count};
    if (count) {
        TRY(memory_new(&node->items, count * sizeof *items, "reading a pickle"));
        memcpy(node->items, items, count * sizeof *items);
    }
    *out = (pickle_value){.kind = kind, .node = (uint32_t)m->node_count++};
    return STATUS_OK;
}

static status push_node(pickle_machine *m, pickle_kind kind, const pickle_value *items, size_t count)
{
    pickle_value v = {0};
    TRY(new_node(m, kind, items, count, &v));
    return push(m, v);
}

/* The index just above the topmost mark. */
static status find_mark(pickle_machine *m, size_t *first)
{
    size_t i = m->depth;
    while (i > 0 && m->stack[i - 1].kind != PICKLE_MARK)
        i--;
    if (i == 0)
        return broken(m, "an instruction finds no mark on the stack");
    *first = i;
    return STATUS_OK;
}

/* Puts `count` values from the stack's end into the container below them (`below`: its index). */
static status extend(pickle_machine *m, pickle_kind kind, size_t below, size_t first)
{
    size_t count = m->depth - first;
    pickle_value target = m->stack[below];
    if (target.kind != kind || (kind == PICKLE_DICT && count % 2))
        return broken(m, "items for something that is no such container");
    pickle_node *node = &m->nodes[target.node];
    if (node->count + count > node->capacity) {
        size_t more = 2 * node->capacity + count;
        TRY(memory_grow(&node->items, more * sizeof *node->items, "reading a pickle"));
        node->capacity = more;
    }
    if (count)
        memcpy(node->items + node->count, m->stack + first, count * sizeof *node->items);
    node->count += count;
    m->depth = below + 1;
    return STATUS_OK;
}

/* One (key, value) or (value) straight above its container. */
static status extend_top(pickle_machine *m, pickle_kind kind, size_t items)
{
    if (m->depth < items + 1)
        return broken(m, "an instruction finds nothing on the stack");
    return extend(m, kind, m->depth - items - 1, m->depth - items);
}

/* All above the mark into the container below it. */
static status extend_marked(pickle_machine *m, pickle_kind kind)
{
    size_t first = 0;
    TRY(find_mark(m, &first));
    if (first < 2)
        return broken(m, "an instruction finds nothing on the stack");
    return extend(m, kind, first - 2, first);
}

static status make_tuple(pickle_machine *m, size_t count)
{
    if (m->depth < count)
        return broken(m, "an instruction finds nothing on the stack");
    pickle_value v = {0};
    TRY(new_node(m, PICKLE_TUPLE, m->stack + m->depth - count, count, &v));
    m->depth -= count;
    return push(m, v);
}

static status make_marked_tuple(pickle_machine *m)
{
    size_t first = 0;
    TRY(find_mark(m, &first));
    size_t count = m->depth - first;
    TRY(make_tuple(m, count));
    m->stack[m->depth - 2] = m->stack[m->depth - 1]; /* over the mark */
    m->depth--;
    return STATUS_OK;
}

/* ---- memo ---- */

static status memo_put(pickle_machine *m, uint64_t slot)
{
    if (m->depth == 0 || m->stack[m->depth - 1].kind == PICKLE_MARK)
        return broken(m, "nothing to remember");
    if (slot > m->memo_count)
        return broken(m, "a memo number out of order");
    if (slot == m->memo_capacity) {
        size_t more = m->memo_capacity ? 2 * m->memo_capacity : 256;
        TRY(memory_grow(&m->memo, more * sizeof *m->memo, "reading a pickle"));
        m->memo_capacity = more;
    }
    m->memo[slot] = m->stack[m->depth - 1];
    if (slot == m->memo_count)
        m->memo_count++;
    return STATUS_OK;
}

static status memo_get(pickle_machine *m, uint64_t slot)
{
    if (slot >= m->memo_count)
        return broken(m, "a memo number that was never set");
    return push(m, m->memo[slot]);
}

/* ---- instructions ---- */

static status push_string(pickle_machine *m, size_t length_bytes)
{
    uint64_t n = 0;
    const unsigned char *p = NULL;
    TRY(take_number(m, length_bytes, &n));
    if (n > m->size)
        return broken(m, "a string longer than the file");
    TRY(take(m, (size_t)n, &p));
    return push(m, (pickle_value){.kind = PICKLE_STRING, .text = (const char *)p, .length = (size_t)n});
}

static status push_integer(pickle_machine *m, size_t bytes)
{
    uint64_t n = 0;
    TRY(take_number(m, bytes, &n));
    return push(m, (pickle_value){.kind = PICKLE_INT, .number = bytes == 4 ? (int32_t)(uint32_t)n : (int64_t)n});
}

/* LONG1: a two's complement number of any length; more than 8 bytes are kept as text alone. */
static status push_long(pickle_machine *m)
{
    uint64_t n = 0, low = 0;
    const unsigned char *p = NULL;
    TRY(take_number(m, 1, &n));
    TRY(take(m, (size_t)n, &p));
    for (size_t i = n < 8 ? (size_t)n : 8; i-- > 0;)
        low = low << 8 | p[i];
    if (n > 0 && n < 8 && p[n - 1] & 0x80)
        low |= ~(uint64_t)0 << 8 * n;
    return push(m, (pickle_value){.kind = PICKLE_INT, .number = (int64_t)low, .text = (const char *)p, .length = (size_t)n});
}

static status push_global(pickle_machine *m)
{
    const char *module = NULL, *name = NULL;
    size_t module_length = 0, name_length = 0;
    TRY(take_line(m, &module, &module_length));
    TRY(take_line(m, &name, &name_length));
    pickle_value v = {0};
    TRY(rebuild_find_global(m, module, module_length, name, name_length, &v));
    return push(m, v);
}

static status push_stack_global(pickle_machine *m)
{
    pickle_value module = {0}, name = {0}, v = {0};
    TRY(pop(m, &name));
    TRY(pop(m, &module));
    if (name.kind != PICKLE_STRING || module.kind != PICKLE_STRING)
        return broken(m, "a global whose name is no string");
    TRY(rebuild_find_global(m, module.text, module.length, name.text, name.length, &v));
    return push(m, v);
}

static status run_persistent(pickle_machine *m)
{
    pickle_value id = {0}, v = {0};
    TRY(pop(m, &id));
    TRY(rebuild_storage(m, id, &v));
    return push(m, v);
}

static status run_reduce(pickle_machine *m)
{
    pickle_value arguments = {0}, callable = {0}, v = {0};
    TRY(pop(m, &arguments));
    TRY(pop(m, &callable));
    if (callable.kind == PICKLE_GLOBAL && rebuild_is_dict(callable)) { /* OrderedDict(), or OrderedDict of pairs */
        TRY(new_node(m, PICKLE_DICT, NULL, 0, &v));
        TRY(push(m, v));
        return rebuild_fill_dict(m, arguments);
    }
    TRY(rebuild_call(m, callable, arguments, &v));
    return push(m, v);
}

/* BUILD sets attributes: state dicts carry a `_metadata` that way, which means nothing here. On anything else it is refused. */
static status run_build(pickle_machine *m)
{
    pickle_value attributes = {0};
    TRY(pop(m, &attributes));
    if (m->depth == 0 || m->stack[m->depth - 1].kind != PICKLE_DICT || attributes.kind != PICKLE_DICT)
        return broken(m, "attributes are set on something that is no dictionary, which is refused");
    return STATUS_OK;
}

static status skip(pickle_machine *m, size_t bytes)
{
    const unsigned char *p = NULL;
    return take(m, bytes, &p);
}

static status run_pop(pickle_machine *m)
{
    pickle_value dropped = {0};
    return pop(m, &dropped);
}

static status run_memo(pickle_machine *m, size_t bytes, status (*what)(pickle_machine *, uint64_t))
{
    uint64_t slot = 0;
    TRY(take_number(m, bytes, &slot));
    return what(m, slot);
}

static status run_protocol(pickle_machine *m)
{
    uint64_t protocol = 0;
    TRY(take_number(m, 1, &protocol));
    return protocol >= 2 && protocol <= 5 ? STATUS_OK : broken(m, "an unknown pickle protocol");
}

static status run_float(pickle_machine *m)
{
    TRY(skip(m, 8)); /* no real number means anything to a tensor */
    return push(m, (pickle_value){.kind = PICKLE_FLOAT});
}

static status run_one(pickle_machine *m, unsigned char code)
{
    switch (code) {
    case 0x80: return run_protocol(m);
    case 0x95: return skip(m, 8); /* FRAME */
    case 'c': return push_global(m);
    case 0x93: return push_stack_global(m);
    case 'X': return push_string(m, 4);
    case 0x8c: return push_string(m, 1);
    case 0x8d: return push_string(m, 8);
    case 'U': return push_string(m, 1);
    case 'T': return push_string(m, 4);
    case 'N': return push(m, (pickle_value){.kind = PICKLE_NONE});
    case 0x88: return push(m, (pickle_value){.kind = PICKLE_BOOL, .number = 1});
    case 0x89: return push(m, (pickle_value){.kind = PICKLE_BOOL});
    case 'J': return push_integer(m, 4);
    case 'K': return push_integer(m, 1);
    case 'M': return push_integer(m, 2);
    case 0x8a: return push_long(m);
    case 'G': return run_float(m);
    case '(': return push(m, (pickle_value){.kind = PICKLE_MARK});
    case '}': return push_node(m, PICKLE_DICT, NULL, 0);
    case ']': return push_node(m, PICKLE_LIST, NULL, 0);
    case ')': return push_node(m, PICKLE_TUPLE, NULL, 0);
    case 't': return make_marked_tuple(m);
    case 0x85: return make_tuple(m, 1);
    case 0x86: return make_tuple(m, 2);
    case 0x87: return make_tuple(m, 3);
    case 's': return extend_top(m, PICKLE_DICT, 2);
    case 'a': return extend_top(m, PICKLE_LIST, 1);
    case 'u': return extend_marked(m, PICKLE_DICT);
    case 'e': return extend_marked(m, PICKLE_LIST);
    case 'q': return run_memo(m, 1, memo_put);
    case 'r': return run_memo(m, 4, memo_put);
    case 0x94: return memo_put(m, m->memo_count);
    case 'h': return run_memo(m, 1, memo_get);
    case 'j': return run_memo(m, 4, memo_get);
    case 'Q': return run_persistent(m);
    case 'R': return run_reduce(m);
    case 'b': return run_build(m);
    case '0': return run_pop(m);
    default: return fail(STATUS_INPUT, "%s: byte %zu: pickle instruction 0x%02x, which no file of tensors has; refused", m->path, m->at - 1, code);
    }
}

status pickle_run(pickle_machine *m, size_t *at)
{
    m->at = *at;
    m->depth = 0;
    m->memo_count = 0;
    for (;;) {
        const unsigned char *code = NULL;
        TRY(take(m, 1, &code));
        if (*code == '.')
            break;
        TRY(run_one(m, *code));
    }
    TRY(pop(m, &m->top));
    *at = m->at;
    return STATUS_OK;
}

void pickle_free(pickle_machine *m)
{
    for (size_t i = 0; i < m->node_count; i++)
        free(m->nodes[i].items);
    free(m->nodes);
    free(m->tensors);
    free(m->stack);
    free(m->memo);
    *m = (pickle_machine){0};
}

const pickle_value *pickle_dict_get(const pickle_machine *m, pickle_value dict, const char *key)
{
    if (dict.kind != PICKLE_DICT)
        return NULL;
    const pickle_node *node = &m->nodes[dict.node];
    for (size_t i = 0; i + 1 < node->count; i += 2)
        if (node->items[i].kind == PICKLE_STRING && node->items[i].length == strlen(key) && memcmp(node->items[i].text, key, strlen(key)) == 0)
            return &node->items[i + 1];
    return NULL;
}
