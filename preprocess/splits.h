/* The canonical splits of the inputs: pieces of --split bytes, each owner of the records that start in it. What they are depends on the
 * inputs alone; ranks only decide who reads which.
 *
 *     splits s;
 *     TRY(splits_open(&(splits_request){.path = paths, .count = count, .split_bytes = 64 << 20}, &s));          // collective
 *     TRY(splits_count(&s));                                 // collective; or check_inputs, which does it by the way
 *     splits_deal(&s, NULL, NULL, ranks, first);             // runs of pieces for the ranks: [first[r], first[r + 1])
 *     splits_close(&s);
 *
 * Counting reads every byte once, shared over the ranks, in pieces of at most 128 KiB that nest in the splits: each piece is counted for both
 * states that it can be entered in, and the counts are composed in file order, so every rank knows of every piece and split where its first
 * record starts and which number it has. So work can be dealt evenly, whatever the splits are.
 */
#ifndef FRETSAW_PREPROCESS_SPLITS_H
#define FRETSAW_PREPROCESS_SPLITS_H

#include "preprocess/csv.h"

/* A split, or a piece of one. */
typedef struct csv_split {
    int64_t input, number; /* number: from 0 within the input */
    uint64_t from, to;     /* bytes */
    uint64_t first;        /* where its first record starts; CSV_NOWHERE: it owns none */
    int64_t record;        /* the number of that record, 0 the header */
    int64_t records;       /* header included */
    int64_t first_piece, pieces; /* of a split */
} csv_split;

typedef struct csv_input {
    csv_file file;
    uint64_t header;       /* where its first record starts; CSV_NOWHERE */
    int64_t first_split, splits;
    int64_t records;       /* header included */
} csv_input;

typedef struct csv_splits {
    int64_t inputs, count;
    csv_input *input;
    csv_split *split; /* in order of input, then place */
    int64_t pieces;
    csv_split *piece; /* likewise */
    bool counted;     /* what is said of records, and of the header, is known */
} csv_splits;

typedef struct splits_request {
    char *const *path;  /* `count` of them; the caller's, must live on */
    char *const *plain; /* where the bytes of each lie: csv_file_open; NULL: all in `path` */
    int64_t count, split_bytes;
    char delimiter;     /* 0: a comma */
    csv_dialect dialect;
} splits_request;
/* Collective. Opens the inputs and lays out the splits. Errors: STATUS_INPUT, STATUS_IO, STATUS_USAGE for more splits than can be named. */
status splits_open(const splits_request *request, csv_splits *out);
/* Collective. Errors: STATUS_IO, STATUS_RESOURCE. */
status splits_count(csv_splits *s);
/* Collective. The same from what the ranks know already of pieces of the strict dialect, each of its run [first, end); the runs follow each other
 * from the first piece to the last. */
status splits_take_counts(csv_splits *s, const csv_piece *mine, int64_t first, int64_t end);
void splits_close(csv_splits *s);
/* Rows of a split: its records without the header. Local. */
int64_t splits_rows(const csv_split *s);
/* Rows of all inputs before this one. Local. */
int64_t splits_rows_before(const csv_splits *s, int64_t input);
/* Local. Deals the pieces to `ranks` ranks in runs so that each has about as much to do: a piece counts its bytes, or none where `skip` (pieces
 * of them; may be NULL) is true; rank r has busy[r] bytes' worth to do besides (NULL: none has). first has ranks + 1 entries. */
void splits_deal(const csv_splits *s, const bool *skip, const uint64_t *busy, int64_t ranks, int64_t *first);
/* The range for a reader of a split, of pieces [first, end) of one input, or of an input's header (width 0), behind which the pandas dialect
 * gives the first record too. Local. */
csv_range splits_range(const csv_split *s, int64_t width);
csv_range splits_run(const csv_splits *s, int64_t first, int64_t end, int64_t width);
csv_range splits_header(const csv_input *in);

#endif
