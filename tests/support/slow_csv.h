/* The strict CSV dialect by the shortest obvious code, one byte at a time: what the tests hold the fast reader against.
 *
 *     slow_csv s;
 *     slow_csv_read(bytes, n, limit, &s);      // limit: longest field, a record twice that; 0: none
 *     slow_csv_free(&s);
 */
#ifndef FRETSAW_TESTS_SLOW_CSV_H
#define FRETSAW_TESTS_SLOW_CSV_H

#include "preprocess/csv.h"

typedef struct slow_field {
    size_t from, bytes; /* its text, unquoted, in slow_csv.text */
    uint64_t at;        /* where it starts in the file */
} slow_field;

typedef struct slow_csv {
    char *text;
    size_t text_used;
    slow_field *field; /* records x width, the header first */
    size_t fields;
    int64_t records, width; /* whole records before the fault */
    csv_fault_kind kind; /* CSV_FINE: none. CSV_NO_RECORDS only when the structure is right */
    int64_t record;      /* of the fault; -1: the whole file */
    uint64_t byte;
} slow_csv;

void slow_csv_read(const uint8_t *p, size_t n, size_t limit, slow_csv *out);
void slow_csv_free(slow_csv *s);

#endif
