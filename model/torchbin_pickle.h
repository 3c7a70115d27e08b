/* The part of Python's pickle that tensors need, interpreted without executing anything.
 *
 *     pickle_machine m = {.path = path, .data = bytes, .size = n};
 *     status st = pickle_run(&m, &at);               // `at` is behind the pickle's STOP afterwards
 *     if (st == STATUS_OK && m.top.kind == PICKLE_DICT) ... m.nodes[m.top.node] ...
 *     pickle_free(&m);
 *
 * Values are small and copied; containers live in m.nodes and are named by index, so that a list that contains itself is harmless.
 * Memory is bounded by the pickle's length. Local.
 */
#ifndef FRETSAW_MODEL_TORCHBIN_PICKLE_H
#define FRETSAW_MODEL_TORCHBIN_PICKLE_H

#include <stddef.h>
#include <stdint.h>

#include "model/weights_file.h"

typedef enum pickle_kind {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INT,
    PICKLE_FLOAT,
    PICKLE_STRING,
    PICKLE_TUPLE,
    PICKLE_LIST,
    PICKLE_DICT, /* a dict's node holds key, value, key, value, ... */
    PICKLE_GLOBAL,
    PICKLE_STORAGE,
    PICKLE_TENSOR,
    PICKLE_MARK
} pickle_kind;

typedef struct pickle_value {
    pickle_kind kind;
    uint32_t node;    /* TUPLE, LIST, DICT: index into nodes; STORAGE, TENSOR: into tensors; GLOBAL: which */
    int64_t number;   /* BOOL, INT (the low 64 bits of a longer one) */
    const char *text; /* STRING: bytes in the file, not NUL-terminated; LONG1: its bytes */
    size_t length;
} pickle_value;

typedef struct pickle_node {
    pickle_value *items;
    size_t count, capacity;
} pickle_node;

/* A storage, and with the fields below it a tensor on it. */
typedef struct pickle_tensor {
    pickle_value key; /* STRING: the storage's name in the file */
    weights_type type;
    const char *type_name;
    int64_t element_bytes;
    int64_t elements; /* of the storage */
    int64_t offset;   /* first element in the storage, a view's own offset included */
    int dims;
    int64_t shape[WEIGHTS_MAX_DIMS], stride[WEIGHTS_MAX_DIMS];
} pickle_tensor;

typedef struct pickle_machine {
    const char *path;          /* for messages */
    const unsigned char *data; /* the whole of the bytes that messages count in */
    size_t size;
    size_t at;        /* the next byte */
    pickle_value top; /* what the pickle made */
    pickle_value *stack;
    size_t depth, stack_capacity;
    pickle_value *memo;
    size_t memo_count, memo_capacity; /* picklers number their puts 0, 1, 2, ...: slots below memo_count are set */
    pickle_node *nodes;
    size_t node_count, node_capacity;
    pickle_tensor *tensors;
    size_t tensor_count, tensor_capacity;
} pickle_machine;

/* Runs one pickle from byte *at. STATUS_INPUT with path and byte: an unknown instruction, a global that is not allowed, a cut file. */
status pickle_run(pickle_machine *m, size_t *at);
void pickle_free(pickle_machine *m);
/* The value of the entry `key` of a dict, or NULL. */
const pickle_value *pickle_dict_get(const pickle_machine *m, pickle_value dict, const char *key);

#endif
