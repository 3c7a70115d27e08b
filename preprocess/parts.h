/* Writing the parts: which there are, which are whole already, and the rows of those that are not.
 *
 *     parts p;
 *     TRY(parts_plan(&job, &p));          // local; job and what it points at must live on
 *     TRY(parts_write(&p, &survey));      // collective
 *     ... p.part[i].path, p.part[i].summary ...
 *     parts_free(&p);
 *
 * The pieces of what is to be written are dealt to the ranks in runs of equal bytes. A part belongs to the rank with its first piece; rows of
 * it that other ranks read are set aside by them first of all, and the part's rank takes them from there last of all: nobody waits long.
 */
#ifndef FRETSAW_PREPROCESS_PARTS_H
#define FRETSAW_PREPROCESS_PARTS_H

#include "preprocess/rows.h"

typedef struct token_part {
    int64_t split;           /* number of its split */
    char *name, *path;
    bool kept, told;         /* whole from an earlier run; every rank knows its summary */
    rowfile_summary summary; /* after parts_write, on every rank */
} token_part;

typedef struct token_parts {
    const parts_job *job;
    int64_t count;
    token_part *part;
} token_parts;

/* Local. Names of all parts, no file touched. */
status parts_plan(const parts_job *job, token_parts *out);
/* Collective. Keeps what is whole, removes what is of no part, writes the rest; sums over all rows go to *counts (of each rank: survey_unite
 * is the caller's). Errors are the same on every rank; STATUS_STOPPED at all when any was asked to stop. */
status parts_write(token_parts *p, survey *counts);
void parts_free(token_parts *p);

#endif
