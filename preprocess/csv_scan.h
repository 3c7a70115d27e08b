/* The bytes of a CSV, 64 at a time as bit masks: what a run of bytes does to the reader's state at a cut, and where its fields end.
 *
 *     const csv_scan *scan = csv_scan_best();
 *     csv_count c = csv_count_begin(from, previous);               // pass one: any range of bytes, whatever state it begins in
 *     scan->count(&c, bytes, n, next);
 *     whole = csv_piece_join(&left, &c.piece);
 *
 *     csv_index x = csv_index_begin();                             // pass two: from the first byte of a record on
 *     used = scan->index(&x, bytes, n, base, entries, ends);
 *
 * In the strict dialect a cut can be in two states: outside or inside quotes. A doubled quote leaves and enters again, so the state is
 * the parity of the quotes before it; this holds up to the first fault of a file, and nothing after that one matters. All local.
 */
#ifndef FRETSAW_PREPROCESS_CSV_SCAN_H
#define FRETSAW_PREPROCESS_CSV_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CSV_NOWHERE UINT64_MAX

enum { CSV_OUTSIDE, CSV_INSIDE, CSV_STATES };

/* What a run of bytes is for each state that it can be entered in. */
typedef struct csv_piece {
    uint64_t first[CSV_STATES];  /* offset of the first record that starts in it; CSV_NOWHERE: none */
    int64_t records[CSV_STATES]; /* how many start in it */
    int64_t flips;               /* 1: it is left in the other state than it was entered in */
} csv_piece;
/* The run a followed by the run b. */
csv_piece csv_piece_join(const csv_piece *a, const csv_piece *b);

typedef struct csv_count {
    csv_piece piece;             /* of the bytes seen so far */
    uint64_t at;                 /* offset of the next byte */
    uint64_t inside;             /* all ones: inside quotes, when entered outside */
    uint64_t fresh[CSV_STATES];  /* 1: the next byte begins a line */
} csv_count;
/* `previous`: the byte before offset `at`, '\n' at the start of the file's body. */
csv_count csv_count_begin(uint64_t at, int previous);

/* Why an index ends early; the byte is the fault's. */
typedef enum csv_break { CSV_NO_BREAK, CSV_BREAK_LONE_CR, CSV_BREAK_QUOTE, CSV_BREAK_TEXT } csv_break;

typedef struct csv_index {
    size_t entries, ends;              /* filled so far: the caller moves them back when it drops some */
    uint64_t inside;                   /* all ones: inside quotes */
    char delimiter;                    /* between fields; a comma unless the caller says another */
    uint64_t may_open, closed, cr;     /* 1: the byte before lets a quote open a field, was a closing quote, was a CR outside quotes */
    csv_break broken;
    size_t broken_at;                  /* its place, as those of the entries */
} csv_index;
csv_index csv_index_begin(void);

typedef struct csv_scan {
    const char *name;
    /* Adds n bytes. `next` is the byte behind them, -1 at the end of the file. */
    void (*count)(csv_count *c, const uint8_t *p, size_t n, int next);
    /* Appends to entries[] the place (base + offset) of every delimiter and LF outside quotes and to ends[] the number of each entry that is an LF.
     * Both have room for n + 8 more. Handles whole blocks of 64 bytes, and the rest too when `last`; returns the bytes handled. Stops at
     * the first break, with only what lies before it appended. */
    size_t (*index)(csv_index *x, const uint8_t *p, size_t n, bool last, uint32_t base, uint32_t *entries, uint32_t *ends);
} csv_scan;

/* The fastest that this processor runs. */
const csv_scan *csv_scan_best(void);
/* "sse2" or "avx2"; NULL where the processor lacks it. */
const csv_scan *csv_scan_named(const char *name);

#endif
