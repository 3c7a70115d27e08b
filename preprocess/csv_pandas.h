/* CSVs as pandas.read_csv takes them with its default (C) engine: what its automaton does to any run of bytes, in whatever state the run is
 * entered, so that ranks can share a file. csv.h reads the records.
 *
 *     pandas_rules rules;
 *     pandas_set_rules(',', &rules);
 *     pandas_count(&rules, bytes, n, 0, &piece);                // any run of bytes
 *     pandas_walk w = pandas_begin(body);
 *     pandas_pass(&w, &piece, from);                            // the runs in their order: w says where each one's records start
 *
 * What it forgives: text after a closing quote, quotes inside an unquoted field, lone CRs as line ends, lines of blanks (skipped), short records
 * (filled up). Odd corners: in a line that begins with blanks these are text, and so is a quote behind them; a delimiter right behind a skipped line
 * that a lone CR ends is eaten, unless blanks follow it. A record starts where the first byte stands that makes it one. The *region* before it
 * begins behind the last LF, or behind the CR that ended the record before, and holds the lines that are skipped.
 * All local; nothing fails.
 */
#ifndef FRETSAW_PREPROCESS_CSV_PANDAS_H
#define FRETSAW_PREPROCESS_CSV_PANDAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum pandas_state {
    PANDAS_FRESH,  /* a region begins here */
    PANDAS_EMPTY,  /* in a region, behind the CR of a skipped line, */
    PANDAS_EATEN,  /* and behind a delimiter after it */
    PANDAS_BLANK,  /* in a region, behind a blank of a line that begins with one, */
    PANDAS_BLANKS, /* or with a delimiter that would have been eaten */
    PANDAS_START,  /* a field begins here, not the first */
    PANDAS_FIELD,
    PANDAS_QUOTED,
    PANDAS_QUOTE,  /* behind a quote in a quoted field */
    PANDAS_CR,     /* behind the CR that ends a record */
    PANDAS_STATES
} pandas_state;

typedef enum pandas_class { PANDAS_OTHER, PANDAS_DELIMITER, PANDAS_MARK, PANDAS_LF, PANDAS_RETURN, PANDAS_SPACE, PANDAS_CLASSES } pandas_class;

typedef struct pandas_rules {
    uint8_t class_of[256];
} pandas_rules;
void pandas_set_rules(char delimiter, pandas_rules *out);
pandas_state pandas_next(pandas_state s, pandas_class c);

/* What a run of bytes does when it is entered in one state. Places are offsets from the piece's start. */
typedef struct pandas_run {
    uint32_t records; /* that start in it */
    uint32_t first;   /* where one begins to read for the first of them; PANDAS_NOWHERE: none; PANDAS_BEFORE: at the region of its entry */
    uint32_t region;  /* where that of its exit begins */
    uint8_t exit;     /* state */
    bool keeps;       /* the region of its entry goes on at its exit: its start stands */
} pandas_run;
#define PANDAS_NOWHERE UINT32_MAX
#define PANDAS_BEFORE (UINT32_MAX - 1)

typedef struct pandas_piece {
    pandas_run run[PANDAS_STATES];
} pandas_piece;
/* n < 2^31 bytes that begin `offset` behind the piece's start (behind a byte-order mark, say). */
void pandas_count(const pandas_rules *rules, const uint8_t *p, size_t n, uint32_t offset, pandas_piece *out);

/* A file from its body on. */
typedef struct pandas_walk {
    pandas_state state;
    uint64_t region;
    uint64_t first;   /* of the run passed last: where one begins to read for its records; CSV_NOWHERE: none start in it */
    int64_t records;  /* likewise: how many */
} pandas_walk;
pandas_walk pandas_begin(uint64_t body);
/* The next run, whose piece starts at byte `from` of the file. */
void pandas_pass(pandas_walk *w, const pandas_piece *piece, uint64_t from);

#endif
