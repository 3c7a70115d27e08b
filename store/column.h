/* One set of a row file: a column of numbers (rows x across), chunked by ROWFILE_CHUNK rows, written and read chunk by chunk.
 *
 *     column_writer w;
 *     TRY(column_create(file, path, "rows/number", COLUMN_I64, 1, &w));
 *     TRY(column_append(&w, codec, values, count)); ... TRY(column_finish(&w, codec));
 *     column_writer_clear(&w);
 *
 *     column c;
 *     TRY(column_open(file, path, file_bytes, "rows/number", COLUMN_I64, 1, &c));
 *     TRY(column_read(&c, codec, first, count, values));
 *     column_clear(&c);
 *
 * Local. These take the HDF5 lock themselves; `path` and `name` are kept by pointer and name the fault in every message.
 */
#ifndef FRETSAW_STORE_COLUMN_H
#define FRETSAW_STORE_COLUMN_H

#include <stdbool.h>
#include <string.h>

#include "store/chunk.h"
#include "store/h5.h"
#include "store/rowfile.h"

typedef enum column_type { COLUMN_U8, COLUMN_U16, COLUMN_U32, COLUMN_U64, COLUMN_I64, COLUMN_F32 } column_type;

typedef struct column_writer {
    hid_t set;
    const char *path, *name;
    size_t width;    /* bytes of an element */
    int64_t across;  /* elements of a row */
    int64_t count;   /* rows appended */
    bool ids;        /* vocabulary ids: the 32-bit numbers of a row file */
    uint8_t *buffer; /* one chunk; rows count % ROWFILE_CHUNK of it are filled */
} column_writer;

status column_create(hid_t file, const char *path, const char *name, column_type type, int64_t across, column_writer *w);
status column_append(column_writer *w, chunk_codec *codec, const void *values, int64_t count);
/* Writes the chunk that has just become full. */
status column_flush(column_writer *w, chunk_codec *codec);
/* One row of a set of one element across, whose width the caller knows: what appending row by row mostly is. */
static inline status column_put(column_writer *w, chunk_codec *codec, const void *value, size_t width)
{
    memcpy(w->buffer + (size_t)(w->count % ROWFILE_CHUNK) * width, value, width);
    return ++w->count % ROWFILE_CHUNK == 0 ? column_flush(w, codec) : STATUS_OK;
}
/* Writes the last chunk, filled up with zeros, and closes the set. */
status column_finish(column_writer *w, chunk_codec *codec);
void column_writer_clear(column_writer *w); /* fine after finish and on a zeroed struct whose set is 0 */

typedef struct column {
    hid_t set;
    const char *path, *name;
    size_t width;
    int64_t across, count;
    int64_t cached;  /* number of the chunk in `buffer`, -1: none */
    uint8_t *buffer; /* one chunk, made at first need */
} column;

/* Refuses a set of another type, shape, chunk or filter, and one that claims more chunks than a file of `file_bytes` can hold. */
status column_open(hid_t file, const char *path, uint64_t file_bytes, const char *name, column_type type, int64_t across, column *c);
void column_clear(column *c);
/* rows [first, first + count), which must lie inside. */
status column_read(column *c, chunk_codec *codec, int64_t first, int64_t count, void *values);
/* Makes the chunk with row `first` the one in `buffer`; the row must lie inside. */
status column_load(column *c, chunk_codec *codec, int64_t first);
/* Where row `first` lies in `buffer`, with the rows of its chunk behind it; until another chunk is read. first >= 0. */
static inline status column_at(column *c, chunk_codec *codec, int64_t first, const void **row)
{
    if (first / ROWFILE_CHUNK != c->cached || first >= c->count)
        TRY(column_load(c, codec, first));
    *row = c->buffer + (size_t)(first % ROWFILE_CHUNK) * c->width * (size_t)c->across;
    return STATUS_OK;
}
/* STATUS_INPUT when the rest of the last chunk is not zeros. */
status column_check_end(column *c, chunk_codec *codec);

#endif
