/* manifest.json: written last beside parts and shards; says what the folder holds and what it was made of.
 *
 *     manifest m;
 *     TRY(manifest_read("shards/train", &m)); ... manifest_free(&m);
 *
 * Local. A missing one is STATUS_INPUT ("not finished: run the stage again").
 */
#ifndef FRETSAW_STORE_MANIFEST_H
#define FRETSAW_STORE_MANIFEST_H

#include <stdbool.h>

#include "store/rowfile.h"

typedef struct manifest_file {
    char *name;
    int64_t rows, tokens;
    uint64_t bytes;
    char sha256[65];
} manifest_file;

typedef struct manifest {
    char *stage;          /* "preprocess" or "shard" */
    char *inputs;         /* canonical text of input hashes: equal text = same inputs */
    char *identity;       /* the stage's identity options as recipe lines */
    char *tokenizer;      /* identity of the tokens */
    char *read_with;      /* how the CSVs behind the rows were read: preprocess's options about columns and form, as recipe lines; NULL: not known */
    int64_t files;
    manifest_file *file;  /* in global order */
    int64_t rows, tokens;
    char data_identity[65]; /* SHA-256(tokenizer identity, u64 rows, row hashes in order) */
} manifest;

/* STATUS_INPUT also when any byte of it is other than it was written: it ends with the SHA-256 of all that comes before. */
status manifest_read(const char *folder, manifest *m);
/* Atomic; the caller wrote the files before. */
status manifest_write(const char *folder, const manifest *m);
void manifest_free(manifest *m);
/* Of preprocess's own options, as recipe lines, those that say how a CSV is to be read: a fresh string, NULL where there is none. */
status manifest_reading(const char *identity, char **read_with);
/* Whether the folder holds what this work would make: STATUS_USAGE says what differs (options by name) and what to do. Of `wanted` stage, inputs,
 * tokenizer and identity count. */
status manifest_check_same(const char *folder, const manifest *m, const manifest *wanted);
/* Whether each named file is there with its size (fast) or also its SHA-256 (`deep`): STATUS_INPUT names the first that is not. */
status manifest_check(const char *folder, const manifest *m, bool deep);
/* The same for file `index` alone. */
status manifest_check_file(const char *folder, const manifest *m, int64_t index, bool deep);

#endif
