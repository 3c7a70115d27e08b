/* Finished predictions on disk: the rows cut into blocks of a fixed size, one small file each, so that a stopped job loses only the block it was in.
 *
 *     blocks b;
 *     TRY(blocks_open(".../predictions", key_text, rows, 256, outputs, &b));
 *     for (i = 0; i < b.count; i++) { TRY(blocks_read(&b, i, score, &there)); if (!there) { ...; TRY(blocks_write(&b, i, score)); } }
 *     blocks_close(&b);
 *
 * The key is the SHA-256 of a text that names everything the scores depend on (data, weights, how rows are read): files of another
 * key lie in another folder and are never taken. A file is the magic "FSSCORE1", the key's 64 hex digits, int64 first row, int64 rows, int64 outputs
 * (little-endian), the float32 scores row by row, and XXH3-64 of all that. One that is cut, damaged or foreign counts as not there, with a warning,
 * and is made again. Local.
 */
#ifndef FRETSAW_INFER_BLOCKS_H
#define FRETSAW_INFER_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/hash.h"

typedef struct blocks {
    char *folder; /* <folder>/<first 16 digits of the key> */
    char key[HASH_HEX];
    int64_t rows, block_rows, outputs;
    int64_t count; /* of blocks */
} blocks;

/* Makes nothing on disk yet. */
status blocks_open(const char *folder, const char *key_text, int64_t rows, int64_t block_rows, int64_t outputs, blocks *out);
void blocks_close(blocks *b);
/* Rows [first, end) of a block. */
void blocks_range(const blocks *b, int64_t block, int64_t *first, int64_t *end);
/* score: (end - first) x outputs. *there false: untouched. */
status blocks_read(const blocks *b, int64_t block, float *score, bool *there);
status blocks_write(const blocks *b, int64_t block, const float *score);

#endif
