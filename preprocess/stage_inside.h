/* The inside of the stage, between its way to parts (stage.c) and its way to shards (direct.c). */
#ifndef FRETSAW_PREPROCESS_STAGE_INSIDE_H
#define FRETSAW_PREPROCESS_STAGE_INSIDE_H

#include "preprocess/rows.h"
#include "preprocess/sources.h"
#include "preprocess/stage.h"

typedef struct stage_state {
    const stage_options *o;
    csv_sources sources;
    csv_splits splits;
    check_result checked;
    tokenizer *tokenizer;
    rowfile_meta meta;  /* freed as a whole: see describe() */
    char *inputs;       /* name, space, SHA-256, LF for each; NULL: not hashed yet */
    parts_job job;
    survey counts;
} stage_state;

/* Collective. Whether the folder of the output has a manifest; then the inputs are hashed, since it is to be held against them. */
status stage_look(stage_state *s, bool *there);
/* Collective, by who has claimed the folder where an input is packed. Unpacks, hashes where that is still to do, counts, checks; then the job and an empty
 * survey. */
status stage_check(stage_state *s);
/* Collective. They are not read any more, and what was unpacked goes; fine when they are closed. */
void stage_close_inputs(stage_state *s);

/* Collective. The rows of the inputs straight to shards. Errors: those of the stage and of place_rows. */
status direct_run(stage_state *s, FILE *report);

#endif
