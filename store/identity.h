/* Identity of a data set: SHA-256 over the tokenizer's identity text, the number of rows (u64) and the row hashes (u64) in global order.
 * The same rows in another number of files have the same identity.
 *
 *     data_identity *d;
 *     TRY(data_identity_begin(tokenizer, rows, &d));
 *     TRY(data_identity_add_file(d, rowfile)); ...
 *     char hex[HASH_HEX]; data_identity_end(d, hex);
 *
 * Local.
 */
#ifndef FRETSAW_STORE_IDENTITY_H
#define FRETSAW_STORE_IDENTITY_H

#include "common/hash.h"
#include "store/rowfile.h"

typedef struct data_identity data_identity;
status data_identity_begin(const char *tokenizer, int64_t rows, data_identity **out);
void data_identity_add(data_identity *d, const uint64_t *hashes, int64_t count);
/* All rows of a file, a chunk at a time. */
status data_identity_add_file(data_identity *d, rowfile *f);
/* Frees d; hex may be NULL. Fine with d NULL and hex NULL. */
void data_identity_end(data_identity *d, char hex[HASH_HEX]);
/* Identity over these files in order. Reads all they hold. */
status data_identity_of_files(const char *tokenizer, int64_t rows, char *const *paths, int64_t count, char hex[HASH_HEX]);
/* The same of files that this run has written: takes, and removes, the hashes left beside them (rowfile_leave_hashes) where there are any. The caller
 * has removed what earlier runs left. */
status data_identity_of_written(const char *tokenizer, int64_t rows, char *const *paths, int64_t count, char hex[HASH_HEX]);

#endif
