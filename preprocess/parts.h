/* Writing the parts: which there are, which are whole already, and the rows of those that are not.
 *
 *     parts p;
 *     TRY(parts_plan(&job, &p));          // local; job and what it points at must live on
 *     TRY(parts_write(&p));               // collective
 *     ... p.part[i].path, p.part[i].summary ...
 *     parts_free(&p);
 *
 * Part i is written by rank i mod size.
 */
#ifndef FRETSAW_PREPROCESS_PARTS_H
#define FRETSAW_PREPROCESS_PARTS_H

#include "preprocess/check.h"
#include "preprocess/tokenizer.h"
#include "store/rowfile.h"

typedef struct parts_job {
    const csv_splits *splits;
    const check_rules *rules;
    check_result *checked;
    const tokenizer *tokenizer;
    const rowfile_meta *meta;
    const option_list *fill;
    const char *out;
} parts_job;

typedef struct token_part {
    int64_t split;           /* number of its split */
    char *name, *path;
    bool kept;               /* whole from an earlier run */
    rowfile_summary summary; /* after parts_write, on every rank */
} token_part;

typedef struct token_parts {
    const parts_job *job;
    int64_t count;
    token_part *part;
} token_parts;

/* Local. Names of all parts, no file touched. */
status parts_plan(const parts_job *job, token_parts *out);
/* Collective. Keeps what is whole, removes what is of no part, writes the rest. Errors are the same on every rank. */
status parts_write(token_parts *p);
void parts_free(token_parts *p);

#endif
