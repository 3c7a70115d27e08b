/* Texts as people wrote them: of a few rows, by their ids, from the CSVs that the rows came from.
 *
 *     originals o; TRY(originals_read(&csv, &how, ids, count, &o));     // reads each CSV once from end to end
 *     const char *text = originals_find(&o, "17");                      // NULL: no CSV has that id
 *     originals_free(&o);
 *
 * Local. A text is valid UTF-8, cut to ORIGINALS_MOST bytes ("…" stands for the rest).
 */
#ifndef FRETSAW_REPORT_ORIGINALS_H
#define FRETSAW_REPORT_ORIGINALS_H

#include <stdint.h>

#include "common/options.h"

enum { ORIGINALS_MOST = 1200 };

typedef struct original {
    char *id, *text; /* text NULL: not found */
} original;

typedef struct originals {
    int64_t count, found, passed; /* ids; texts found; records read so far */
    original *row; /* by id */
} originals;

typedef struct originals_columns {
    option_list id, text; /* headings; the first that a CSV has counts */
    char delimiter;       /* between the fields */
} originals_columns;

/* Of an id that stands in the CSVs twice, the first text. STATUS_INPUT: a CSV is faulty or lacks a column, or none of the ids is in them. */
status originals_read(const option_list *csv, const originals_columns *headings, const char *const *id, int64_t count, originals *out);
const char *originals_find(const originals *o, const char *id);
void originals_free(originals *o);

#endif
