/* The inside of an open row file, for the verifier (rowfile_verify.c) alone. */
#ifndef FRETSAW_STORE_ROWFILE_READ_H
#define FRETSAW_STORE_ROWFILE_READ_H

#include "store/rowfile.h"
#include "store/sets.h"

typedef struct held {
    uint8_t *bytes;
    size_t capacity;
} held;

struct rowfile {
    char *path;
    hid_t file;
    rowfile_meta meta;
    column set[SETS];
    chunk_codec codec;
    int64_t rows, tokens, id_bytes;
    held token, id; /* of the row that rowfile_read_row gave out last, where it crosses the end of a chunk */
};

#endif
