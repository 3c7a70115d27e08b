/* The stage: CSVs in, parts and a manifest out, on all ranks; a report at the end. Or, with `shards`, the shards that shard makes of such parts.
 *
 *     stage_options o = {.inputs = paths, .input_count = 2, .vocab = "mbert/", .out = "tokens/train", .split_bytes = 64 << 20, ...};
 *     TRY(stage_run(&o, stdout));
 *
 * Files are part-SS-NNNNN.h5 (input, split); they depend on the inputs and on the identity options, never on the ranks. Inputs are
 * checked to the end before the first part is written. Parts that an earlier run of the same command left whole are kept, so that the
 * cure for any interruption is the same command again. Shards are as shard makes them, byte for byte (direct.c); of an interrupted run of those what is
 * whole is kept too, but there is nothing whole before all rows are read.
 */
#ifndef FRETSAW_PREPROCESS_STAGE_H
#define FRETSAW_PREPROCESS_STAGE_H

#include <stdio.h>

#include "preprocess/check.h"
#include "preprocess/tokenizer.h"
#include "shard/shard.h"

typedef struct stage_options {
    char *const *inputs; /* paths of CSVs */
    int64_t input_count;
    const char *vocab, *out;
    tokenizer_settings tokenizer;
    int64_t split_bytes;
    char delimiter;         /* between the fields of the inputs; 0: a comma */
    csv_dialect dialect;    /* of the inputs; CSV_PANDAS wants rules.columns.first_counts too */
    check_rules rules;      /* columns, labels, missing words, memory a rank */
    option_list fill;       /* in place of a missing text: one for all inputs, or one each; unused with rules.na_keep */
    const char *identity;   /* the identity options as recipe lines */
    const shard_options *shards; /* NULL: parts. Of it count shards, sample, seed and shuffle */
    const char *shards_identity; /* the identity options of shard as recipe lines */
    int64_t report_length;  /* the maximum length, specials included, that the report tells the share of longer rows for */
} stage_options;

/* Collective. The report goes to `report` at rank 0 (NULL: none). Errors: STATUS_USAGE, STATUS_INPUT (the first fault of the inputs),
 * STATUS_IO, STATUS_RESOURCE; STATUS_STOPPED on every rank when any was asked to stop (common/stop.h). */
status stage_run(const stage_options *o, FILE *report);

#endif
