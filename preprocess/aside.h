/* Rows of a part that another rank writes: the rank that reads them sets them aside in a file beside the part, the part's own rank takes
 * them from there behind its own.
 *
 *     aside *a;
 *     TRY(aside_create(part_path, rank, labels, &a));    // the rank that reads them
 *     TRY(aside_add(a, &row, unknown)); ...
 *     TRY(aside_close(a));
 *
 *     TRY(aside_take(part_path, rank, labels, take, job)); // the rank that writes the part; removes the file
 *
 * Local. The file's name is one of the part's temporary names, so that the next run removes what a killed one leaves.
 */
#ifndef FRETSAW_PREPROCESS_ASIDE_H
#define FRETSAW_PREPROCESS_ASIDE_H

#include "store/rowfile.h"

typedef struct aside aside;
status aside_create(const char *part, int rank, int64_t labels, aside **out);
status aside_add(aside *a, const rowfile_row *r, int64_t unknown);
/* Frees a in every case. */
status aside_close(aside *a);
/* Frees a and removes the file; NULL is fine. */
void aside_abandon(aside *a);

typedef status (*aside_row)(void *job, const rowfile_row *r, int64_t unknown);
status aside_take(const char *part, int rank, int64_t labels, aside_row take, void *job);
/* Removes the file of rows that nobody takes any more. */
void aside_remove(const char *part, int rank);

#endif
