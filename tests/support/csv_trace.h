/* What a reader says of a whole CSV, as bytes to compare: every record with its number and place, every field with its text and place,
 * then the end or the first fault.
 *
 *     csv_trace fast = {0}, slow = {0};
 *     trace_read(path, split_bytes, memory, &fast);         // the readers of all splits in order
 *     trace_slow(bytes, n, limit, &slow);
 *     trace_compare(&fast, &slow, bytes, n, "split 7");     // fails the test where they differ
 */
#ifndef FRETSAW_TESTS_CSV_TRACE_H
#define FRETSAW_TESTS_CSV_TRACE_H

#include "preprocess/splits.h"

typedef struct csv_trace {
    uint8_t *bytes;
    size_t used, room;
    int64_t records;     /* without the header */
    csv_fault_kind kind;
    int64_t record;
    uint64_t byte;
    int64_t found;       /* fields of a ragged record; the slow reader does not say */
} csv_trace;

void trace_read(const char *path, int64_t split_bytes, int64_t memory, csv_trace *out);
void trace_slow(const uint8_t *p, size_t n, size_t limit, csv_trace *out);
void trace_compare(const csv_trace *fast, const csv_trace *slow, const uint8_t *p, size_t n, const char *what);
void trace_clear(csv_trace *t); /* for another use */
void trace_free(csv_trace *t);
/* A reader with so much memory, kept from call to call: there are thousands, and a reader's buffers are large. 0 frees it, as trace_free does. */
csv_reader *trace_reader(int64_t memory);
/* Writes the bytes to a file in the scratch folder that the test made (support_scratch). */
void trace_write_file(const char *path, const void *p, size_t n);

#endif
