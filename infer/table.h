/* Ids with numbers: what submissions, predictions, samples and truths are. Read from a CSV or filled row by row; looked up by id.
 *
 *     table t;
 *     TRY(table_read("sample_submission.csv", &(table_request){.numbers = TABLE_IGNORE}, &t));
 *     int64_t row = table_find(&t, "17", 2);              // -1: none; needs table_index
 *     table_free(&t);
 *
 * An id is any bytes; the column of ids is the one named "id", or else the first. Local.
 */
#ifndef FRETSAW_INFER_TABLE_H
#define FRETSAW_INFER_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hash.h"
#include "common/options.h"
#include "infer/number.h"
#include "preprocess/label.h"

/* The first cell of a kind of fault, and how many there are. */
typedef struct table_fault {
    int64_t count, row, column;
    char text[40]; /* of the cell, as table_show_text has it */
} table_fault;

typedef struct table {
    char *path;       /* for messages; NULL when filled by hand */
    char *id_name;    /* heading of the ids */
    int64_t id_place; /* their column in the file */
    int64_t columns;  /* of numbers */
    char **column;
    int64_t rows;
    char *ids;                                /* all ids end to end */
    int64_t *first;                           /* rows + 1 offsets into ids */
    double *value;                            /* rows x columns, each a float32; NaN where a cell is no finite number; NULL with TABLE_IGNORE */
    int64_t *line;                            /* line of the file where each record begins, from 1; NULL when filled by hand */
    table_fault fault[NUMBER_NOT_FINITE + 1]; /* by number_fault; [NUMBER_FINE] is unused */
    char sha256[HASH_HEX];                    /* of the file; "" when filled by hand */
    int64_t row_room, id_room;
    int64_t *slot, slots; /* of the index */
} table;

typedef enum table_numbers { TABLE_VALUES, TABLE_IGNORE, TABLE_HEADER } table_numbers; /* header: no record at all */
typedef struct table_request {
    table_numbers numbers;     /* whether the cells beside the id are read */
    const char *const *wanted; /* read these columns alone, in this order (several names: | between them); NULL: all but the id */
    int64_t wanted_count;
    const option_list *id; /* headings that the ids may have, the first that is there; NULL: "id" or else the first column */
    bool id_needed;        /* none of them there is an error; else "id" or else the first column is taken */
    char delimiter;        /* 0: a comma */
    const label_rule *labels; /* the cells are labels: NaN where unlabelled, a fault (NUMBER_FOREIGN) where neither that nor in 0..1 */
} table_request;

/* Strict CSV (docs/formats.md). STATUS_INPUT names file, record and byte, or the column that is missing and those that are there. Cells that are no
 * numbers are counted in t->fault, not refused. */
status table_read(const char *path, const table_request *request, table *t);
/* By hand: names are copied. */
status table_begin(const char *id_name, const char *const *column, int64_t columns, table *t);
/* `value` has `columns` numbers, or is NULL: zeros. */
status table_append(table *t, const char *id, size_t bytes, const double *value);
void table_free(table *t);

/* Prepares table_find. *duplicate is the first row whose id an earlier row has (that one in *earlier), or -1. *duplicates counts them. */
typedef struct table_repeats {
    int64_t row, earlier, count;
} table_repeats;
status table_index(table *t, table_repeats *repeats);
/* The first row with this id, or -1. */
int64_t table_find(const table *t, const char *id, size_t bytes);
const char *table_id(const table *t, int64_t row, size_t *bytes);
/* Place of a column of numbers by its name, or -1. */
int64_t table_column(const table *t, const char *name);
/* Text for a message: as it is where it is UTF-8, control characters and other bytes as '?', cut to `room` with its NUL, between code points. Returns
 * how many bytes of it are shown. */
size_t table_show_text(const char *from, size_t bytes, char *to, size_t room);
/* An id for a message: quoted, cut, shown as above. */
void table_show_id(const table *t, int64_t row, char text[64]);

#endif
