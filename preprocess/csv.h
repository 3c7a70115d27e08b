/* Records of a CSV from a byte range of a file: quotes only around a whole field and doubled inside, records that end with LF or
 * CRLF, empty lines skipped, every record as many fields as the header; anything else is a fault with its record and byte. That is the strict
 * dialect; what the other one takes is in csv_pandas.h.
 *
 *     csv_reader *r;
 *     TRY(csv_reader_create(memory, &r));
 *     TRY(csv_reader_begin(r, &file, &(csv_range){.first = piece.first[CSV_OUTSIDE], .to = to, .record = 1, .width = 4}));
 *     while (TRY_NEXT: csv_reader_next(r, &event) == STATUS_OK && event == CSV_RECORD)
 *         csv_reader_field(r, 2, &field);
 *     csv_reader_free(r);
 *
 * A range owns the records that start in it, and a reader reads on behind it until the last of them ends. So over any cutting of a file
 * into ranges every record is read once, and the first fault in file order is the one of the lowest range that has one.
 * All functions are local.
 */
#ifndef FRETSAW_PREPROCESS_CSV_H
#define FRETSAW_PREPROCESS_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "preprocess/csv_pandas.h"
#include "preprocess/csv_scan.h"

typedef enum csv_dialect { CSV_STRICT, CSV_PANDAS } csv_dialect; /* pandas: csv_pandas.h */

/* Delimiters, as options name them, and in the same order. */
#define CSV_DELIMITER_NAMES "comma|tab|semicolon"
extern const char csv_delimiters[3];

/* An open CSV. The body is what follows a byte-order mark. */
typedef struct csv_file {
    const char *path; /* the caller's */
    int fd;
    uint64_t bytes, body;
    bool utf16;       /* starts with a UTF-16 mark */
    bool unpacked;    /* places in it are not those in `path`: messages say so */
    char delimiter;   /* between fields: csv_file_open says a comma, */
    csv_dialect dialect; /* and strict; the caller changes them before anything is counted or read */
} csv_file;
/* STATUS_INPUT when it is missing or not a plain file, STATUS_IO when it can't be read. `plain`: where the bytes lie that `path` unpacks to
 * (packed.h); NULL: in `path`. */
status csv_file_open(const char *path, const char *plain, csv_file *out);
void csv_file_close(csv_file *f);
/* For the strict dialect: counts the bytes [from, to) (cut to the body) in any state that they are entered in. `buffer` has `room` > 1 bytes. */
status csv_file_count(const csv_file *f, uint64_t from, uint64_t to, uint8_t *buffer, size_t room, csv_piece *out);
/* For pandas's: the same; `buffer` has room for to - from bytes. */
status csv_file_count_pandas(const csv_file *f, uint64_t from, uint64_t to, uint8_t *buffer, pandas_piece *out);

typedef enum csv_fault_kind {
    CSV_FINE,
    CSV_LONE_CR,
    CSV_QUOTE_INSIDE,   /* a quote in an unquoted field */
    CSV_TEXT_AFTER,     /* text after a closing quote */
    CSV_UNCLOSED,       /* an unclosed quote */
    CSV_SPACES,         /* a line of spaces */
    CSV_RAGGED,
    CSV_FIELD_TOO_LONG, /* these two by the reader's memory */
    CSV_RECORD_TOO_LONG,
    CSV_TOO_WIDE,       /* a header of more than CSV_WIDEST columns */
    CSV_UTF16,
    CSV_NO_RECORDS,
    CSV_NO_ID,          /* these by columns.h and what reads values */
    CSV_NO_TEXT,
    CSV_NO_LANG,
    CSV_NO_LABEL,
    CSV_EQUAL_NAMES,
    CSV_LABEL,
    CSV_LABEL_WORD,     /* a label that says yes or no by a word */
    CSV_LANG,
} csv_fault_kind;

enum { CSV_WIDEST = 65536 };

typedef struct csv_fault {
    csv_fault_kind kind;
    int64_t record;   /* 0 = header, 1 = first after it; -1: the whole file */
    uint64_t byte;    /* from the start of the file; CSV_NOWHERE: the whole file */
    int64_t found, wanted; /* fields of a ragged record, bytes of a too long one */
    bool cut;         /* of a ragged record: it is the file's last, and fields are missing */
    char column[64];  /* the heading of a faulty label's column, as `detail` */
    char detail[440]; /* names or text for the message; NUL-terminated valid UTF-8, may be empty */
} csv_fault;
/* "ragged record" and so on. */
const char *csv_fault_name(csv_fault_kind kind);
/* Keeps 'PATH: record N, byte B: what is wrong; what to do' as this thread's message. Returns STATUS_INPUT. */
status csv_fault_fail(const csv_file *f, const csv_fault *fault);
/* Copies text for a message into to[room]: valid UTF-8, control characters escaped, cut with "..." where it is long. */
void csv_quote_text(const char *text, size_t n, char *to, size_t room);

typedef struct csv_reader csv_reader;
/* A field may fill half of `memory` bytes and a record all of it. */
status csv_reader_create(int64_t memory, csv_reader **out);
void csv_reader_free(csv_reader *r);

typedef struct csv_range {
    uint64_t first; /* where its first record starts (CSV_NOWHERE: it owns none) */
    uint64_t to;    /* records that start from here on are others' */
    int64_t record; /* number of the first record: 0 is the header */
    int64_t width;  /* fields of a record; 0: the first record says */
} csv_range;
/* `f` stays the caller's and open while the reader is used. */
status csv_reader_begin(csv_reader *r, const csv_file *f, const csv_range *range);

typedef enum csv_event { CSV_END, CSV_RECORD, CSV_FAULT } csv_event;
/* The next record, or the end, or the range's first fault (csv_reader_fault). Errors: STATUS_IO, STATUS_RESOURCE. */
status csv_reader_next(csv_reader *r, csv_event *event);
const csv_fault *csv_reader_fault(const csv_reader *r);
/* Of the record of the last csv_reader_next. */
int64_t csv_reader_record(const csv_reader *r); /* number */
int64_t csv_reader_width(const csv_reader *r);  /* fields */
uint64_t csv_reader_byte(const csv_reader *r);  /* where the record starts */

typedef struct csv_field {
    const char *text; /* unquoted; any bytes; valid until the next csv_reader_next */
    size_t bytes;
    uint64_t at;      /* offset of its first byte in the file, the quote where it has one */
} csv_field;
/* Field k of the record. A quoted one is unquoted where it stands: ask once for each field. */
void csv_reader_field(csv_reader *r, int64_t k, csv_field *out);

#endif
