/* A file of weights, mapped, with its tensors named and checked: what safetensors.c and torchbin.c make and weights.c reads.
 *
 *     weights_file *file;
 *     TRY(weights_file_open("mbert/model.safetensors", &file));     // the kind of file is told by its first bytes and its name
 *     const weights_entry *e = weights_file_find(file, "embeddings.word_embeddings.weight");
 *     TRY(weights_entry_read(file, e, arena));                      // as float32, row-major
 *     weights_file_close(file);
 *
 * Nothing in the file is trusted: every offset, size and name is checked while opening. Local.
 */
#ifndef FRETSAW_MODEL_WEIGHTS_FILE_H
#define FRETSAW_MODEL_WEIGHTS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "common/threads.h"

enum { WEIGHTS_MAX_DIMS = 8 };

typedef enum weights_type { WEIGHTS_F32, WEIGHTS_F16, WEIGHTS_BF16, WEIGHTS_F64, WEIGHTS_OTHER } weights_type;

typedef struct weights_entry {
    char *name;
    weights_type type;
    const char *type_name; /* as the file says it, for messages; static text */
    int dims;
    int64_t shape[WEIGHTS_MAX_DIMS];
    int64_t stride[WEIGHTS_MAX_DIMS]; /* elements */
    int64_t count;                    /* product of the shape */
    const unsigned char *data;        /* first element, inside the mapping */
} weights_entry;

/* Bytes whose CRC-32 the file gives: an entry of a zip archive. */
typedef struct weights_block {
    const char *name; /* inside the mapping, not NUL-terminated */
    size_t name_length;
    const unsigned char *data;
    size_t bytes;
    uint32_t crc;
} weights_block;

typedef struct weights_file {
    char *path;
    const void *map;
    size_t bytes;
    weights_entry *entries; /* sorted by name, names differ */
    size_t count;
    weights_block *blocks; /* weights_file_check; none in formats without checksums */
    size_t block_count;
} weights_file;

/* STATUS_INPUT when the file is absent, damaged, foreign or a Git LFS pointer: the message names file and byte or tensor. */
status weights_file_open(const char *path, weights_file **out);
void weights_file_close(weights_file *file);
/* Every block against its CRC-32, spread over a pool (NULL: the caller alone). STATUS_INPUT names the file and the block. */
status weights_file_check(const weights_file *file, threads *pool);
/* NULL when there is none of that name. */
const weights_entry *weights_file_find(const weights_file *file, const char *name);
/* All elements as float32 in row-major order to `out` (count floats). F16, BF16 and F64 are converted, F64 rounded to nearest;
 * other types are STATUS_INPUT. */
status weights_entry_read(const weights_file *file, const weights_entry *e, float *out);
/* Elements first .. first+n-1 of it, for an entry whose elements lie in order (weights_entry_in_order). */
status weights_entry_read_part(const weights_file *file, const weights_entry *e, int64_t first, int64_t n, float *out);
bool weights_entry_in_order(const weights_entry *e);
/* These elements (of an entry in order) will not be read again: their pages of the file leave this process's memory. */
void weights_entry_forget(const weights_entry *e, int64_t first, int64_t n);
/* "[768, 3072]" into `text`. */
void weights_shape_text(int dims, const int64_t *shape, char *text, size_t bytes);

/* For the readers: appends an empty entry with a copy of the name. *capacity starts at 0. Earlier entries may move. */
status weights_file_append(weights_file *file, size_t *capacity, const char *name, size_t name_bytes, weights_entry **out);
/* Sorts by name; STATUS_INPUT naming a name that is there twice. */
status weights_file_sort(weights_file *file);
/* Product of the shape, or -1 when it or `bytes_each` times it passes INT64_MAX or a size is negative. */
int64_t weights_shape_count(int dims, const int64_t *shape, int64_t bytes_each);

/* Strides of an entry whose shape and count are set and whose elements lie in order. */
void weights_set_row_major(weights_entry *e);

#endif
