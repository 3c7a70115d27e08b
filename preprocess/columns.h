/* Which columns of an input hold the id, the text, the language and the labels, by the names in its header.
 *
 *     columns c;
 *     TRY(columns_find(&wanted, reader, &c, &fault));       // the reader stands at the header
 *     if (fault.kind != CSV_FINE) ...
 *     columns_free(&c);
 *
 * Each wanted column may have several names; the first of them that the header has counts. Local.
 */
#ifndef FRETSAW_PREPROCESS_COLUMNS_H
#define FRETSAW_PREPROCESS_COLUMNS_H

#include "common/options.h"
#include "preprocess/csv.h"

/* Stands for the id column where there is none: the id is the row's number, from 0, over all inputs. */
#define COLUMNS_NUMBER ":number"
enum { COLUMNS_NUMBERED = -2 };

typedef struct columns_wanted {
    option_list id, text; /* id may end with COLUMNS_NUMBER */
    option_list lang;   /* may be absent from an input unless lang_given */
    option_list labels; /* each item: names with | between; the first is the label's own */
    bool lang_given;    /* the user named the column: an input without it is faulty */
    bool labels_given;  /* the user named the labels: an input has all of them or none, and one input has them */
    bool first_counts;  /* of columns of one name the first is meant, as pandas renames the others; else they are a fault */
} columns_wanted;

enum { COLUMNS_HEADER = 280 };
typedef struct csv_columns {
    int64_t width;
    int64_t id, text, lang; /* numbers of columns from 0; lang -1: none; id COLUMNS_NUMBERED: the row's number */
    int64_t labels;         /* as wanted */
    int64_t *label;         /* -1: the input has none */
    char **heading;         /* of each label's column; NULL: the input has none */
    char header[COLUMNS_HEADER]; /* the names that the header has, for a message */
} csv_columns;

/* Reads the names from the reader's record. A fault is not an error: *fault says CSV_NO_ID and so on, or CSV_EQUAL_NAMES at the last
 * of them. Errors: STATUS_RESOURCE. */
status columns_find(const columns_wanted *wanted, csv_reader *header, csv_columns *out, csv_fault *fault);
/* The records have `more` fields than the header: pandas takes the first ones for the names of rows, and the header for the rest. */
void columns_shift(csv_columns *c, int64_t more);
void columns_free(csv_columns *c);
bool columns_labelled(const csv_columns *c); /* has a label column */
/* The label's own name: what stands before the first |. A fresh string in *out. */
status columns_label_name(const columns_wanted *wanted, int64_t label, char **out);

#endif
