/* Random rows of a row file for the tests of store and shard, in memory, with the texts they need.
 *
 *     test_rows t;
 *     rows_make(&t, 1000, 2, 40);                  // 1000 rows, 2 labels, up to 40 tokens
 *     rows_write(&t, 0, t.rows, "a.h5");
 *     rows_free(&t);
 */
#ifndef FRETSAW_TESTS_ROWS_H
#define FRETSAW_TESTS_ROWS_H

#include "store/rowfile.h"

typedef struct test_rows {
    rowfile_meta meta;
    int64_t rows;
    rowfile_row *row; /* with hash */
} test_rows;

/* Random ids (also empty and with NUL, quotes and line ends), labels with NaN, languages, sources, tokens. Draws from support_random. */
void rows_make(test_rows *t, int64_t rows, int64_t labels, int64_t most_tokens);
void rows_free(test_rows *t);
/* Rows [first, end) as one row file. */
void rows_write(const test_rows *t, int64_t first, int64_t end, const char *path, rowfile_summary *summary);
/* A folder as preprocess leaves it: rows dealt to `parts` files in order, and a manifest. */
void rows_write_folder(const test_rows *t, int64_t parts, const char *folder);
/* All fields equal, or the test fails naming `what`. The languages and sources are compared by their texts. */
void rows_same(const rowfile_row *a, const rowfile_meta *am, const rowfile_row *b, const rowfile_meta *bm, const char *what);

#endif
