/* Rows of one or more folders (shards or parts) as one table in global order: what train and infer read.
 *
 *     dataset *d;
 *     TRY(dataset_open(folders, count, &(dataset_limits){.memory = 2 << 30}, &d));     // collective
 *     int64_t n = dataset_rows(d); int32_t len = dataset_length(d, row);
 *     TRY(dataset_tokens_part(d, row, 0, capacity, ids, &count));
 *     dataset_free(d);                                                                 // collective
 *
 * Lengths, labels and languages of all rows are kept once a node; tokens decompressed once a node up to `memory` bytes, else read through
 * a cache of chunks. Same bits either way. Folders must agree in tokenizer identity (STATUS_INPUT names the line that differs) and label count.
 */
#ifndef FRETSAW_STORE_DATASET_H
#define FRETSAW_STORE_DATASET_H

#include "store/rowfile.h"

typedef struct dataset dataset;
typedef struct dataset_limits {
    int64_t memory; /* bytes a node for decompressed tokens */
} dataset_limits;

/* Collective. Each folder must have a manifest whose files are there and whole. */
status dataset_open(char *const *folders, int64_t count, const dataset_limits *limits, dataset **out);
void dataset_free(dataset *d);
/* Local from here on. */
int64_t dataset_rows(const dataset *d);
int64_t dataset_tokens_total(const dataset *d);
int dataset_labels(const dataset *d);                       /* C */
const char *dataset_label_name(const dataset *d, int label);
const char *dataset_tokenizer(const dataset *d);            /* identity text */
const char *dataset_read_with(const dataset *d);            /* how the CSVs behind it were read (manifest.h): of the first folder that knows; NULL: none */
const rowfile_meta *dataset_meta(const dataset *d);         /* of all folders together: their sources, each once */
const char *dataset_identity(const dataset *d);             /* hex SHA-256 over row hashes in global order, the folders in order */
int64_t dataset_folders(const dataset *d);
const char *dataset_folder_identity(const dataset *d, int64_t folder);
int32_t dataset_length(const dataset *d, int64_t row);      /* ids, without specials, uncut */
const float *dataset_label(const dataset *d, int64_t row);  /* C floats */
const char *dataset_lang(const dataset *d, int64_t row);    /* "" where none */
/* First `capacity` ids at most of the row from index `from`; *count is how many were copied. */
status dataset_tokens_part(dataset *d, int64_t row, int64_t from, int64_t capacity, uint32_t *ids, int64_t *count);
/* CSV id of a row: copied with a NUL into `to` (capacity bytes); *bytes is its length. Read on demand. */
status dataset_id(dataset *d, int64_t row, char *to, size_t capacity, size_t *bytes);
/* The files behind the rows, in global order, and the texts' hashes of rows [first, first + rows) of one of them. */
int64_t dataset_files(const dataset *d);
int64_t dataset_file_rows(const dataset *d, int64_t file);
status dataset_text_hashes(dataset *d, int64_t file, int64_t first, int64_t rows, uint64_t *hash);

#endif
