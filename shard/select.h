/* Which rows go on: the inputs as one table, its filters, and the place of each kept row in the final order.
 *
 *     selection *s;
 *     TRY(selection_open(o, folders, count, &s));           // collective: manifests and descriptions
 *     TRY(selection_count(s));                              // collective: one pass over the columns that the filters ask for
 *     for (u = first; u < end; u++) TRY(selection_visit(s, u, wanted, send, job));     // local: every chosen row of unit u with its position
 *     selection_free(s);
 *
 * A unit is at most ROWFILE_CHUNK rows of one part; units are dealt to ranks in runs.
 */
#ifndef FRETSAW_SHARD_SELECT_H
#define FRETSAW_SHARD_SELECT_H

#include "shard/place.h"

typedef struct selection selection;

status selection_open(const shard_options *o, char *const *folders, int64_t count, selection **out);
void selection_free(selection *s);

/* After open, the same at every rank. */
const rowfile_meta *selection_meta(const selection *s);   /* merged over all parts */
int64_t selection_rows(const selection *s);               /* before the filters */
const char *selection_inputs(const selection *s);         /* a line for each folder: base name, rows, identities */
const char *selection_read_with(const selection *s);      /* of the first folder that knows: see manifest.h */

/* STATUS_INPUT with the counts when no row is left. */
status selection_count(selection *s);
/* After count: rows that pass the filters; rows that go to shards (the sample). */
int64_t selection_kept(const selection *s);
int64_t selection_chosen(const selection *s);
int64_t selection_bytes(const selection *s); /* what the chosen rows take in memory, about */
/* Units of this rank: [*first, *end). */
void selection_units(const selection *s, int64_t *first, int64_t *end);

status selection_visit(selection *s, int64_t unit, row_wanted wanted, row_send send, void *job);
/* Rows that visit has passed over or handed out so far, for progress. */
int64_t selection_visited(const selection *s);

#endif
