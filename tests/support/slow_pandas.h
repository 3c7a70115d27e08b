/* What pandas.read_csv makes of a file, by the shortest obvious code: its automaton a byte at a time over the whole file, going back where it goes
 * back. What the tests hold the reader that works in pieces against; csv_pandas.py holds that one against pandas.
 *
 *     slow_pandas s;
 *     slow_pandas_read(bytes, n, ',', &s);
 *     slow_pandas_free(&s);
 */
#ifndef FRETSAW_TESTS_SLOW_PANDAS_H
#define FRETSAW_TESTS_SLOW_PANDAS_H

#include "preprocess/csv.h"

typedef struct slow_cell {
    size_t from, bytes; /* in slow_pandas.text */
} slow_cell;

typedef struct slow_pandas {
    char *text;
    size_t text_used, text_room;
    slow_cell *cell;
    size_t cells, cell_room;
    size_t *first;       /* of each record: its first cell; records + 1 of them */
    int64_t records, record_room;
    int64_t header, width; /* fields of the header; of all other records once short ones are filled up */
    csv_fault_kind kind; /* CSV_FINE, CSV_RAGGED, CSV_UNCLOSED */
} slow_pandas;

void slow_pandas_read(const uint8_t *p, size_t n, char delimiter, slow_pandas *out);
void slow_pandas_free(slow_pandas *s);

#endif
