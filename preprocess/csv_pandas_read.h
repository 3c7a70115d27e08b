/* The records of a CSV as pandas takes them (csv_pandas.h), from a byte range: what csv_reader hands out for a file of that dialect.
 *
 *     pandas_reader *r;
 *     TRY(pandas_reader_create(memory, &r));
 *     TRY(pandas_reader_begin(r, &file, &range));
 *     while (pandas_reader_next(r, &event) == STATUS_OK && event == CSV_RECORD)
 *         pandas_reader_field(r, 2, &field);
 *     pandas_reader_free(r);
 *
 * range.width: fields of a record, to which short ones are filled up and beyond which a record is ragged, except for the header, which has what
 * it has; 0: every record has what it has. A field may fill half of `memory`, a record all of it. Local; functions as in csv.h.
 */
#ifndef FRETSAW_PREPROCESS_CSV_PANDAS_READ_H
#define FRETSAW_PREPROCESS_CSV_PANDAS_READ_H

#include "preprocess/csv.h"

typedef struct pandas_reader pandas_reader;
status pandas_reader_create(int64_t memory, pandas_reader **out);
void pandas_reader_free(pandas_reader *r);
status pandas_reader_begin(pandas_reader *r, const csv_file *f, const csv_range *range);
status pandas_reader_next(pandas_reader *r, csv_event *event);
const csv_fault *pandas_reader_fault(const pandas_reader *r);
int64_t pandas_reader_record(const pandas_reader *r);
int64_t pandas_reader_width(const pandas_reader *r);
uint64_t pandas_reader_byte(const pandas_reader *r);
void pandas_reader_field(pandas_reader *r, int64_t k, csv_field *out);

#endif
