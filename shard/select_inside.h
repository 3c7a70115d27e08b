/* The inside of a selection, between what reads the inputs' descriptions (select_inputs.c) and what goes over their rows (select.c). */
#ifndef FRETSAW_SHARD_SELECT_INSIDE_H
#define FRETSAW_SHARD_SELECT_INSIDE_H

#include "shard/fold.h"
#include "shard/order.h"
#include "shard/select.h"

typedef struct part {
    char *path;
    int64_t rows, tokens;
} part;

typedef struct unit {
    int64_t part, first, rows; /* rows [first, first + rows) of the part */
    int64_t at;                /* of its first row among those of all inputs */
    int64_t kept, before;      /* rows that pass the filters: in this unit, in all units before it */
} unit;

struct selection {
    const shard_options *o;
    int64_t parts, units, rows, kept, visited;
    part *part;
    unit *unit;
    rowfile_meta meta;
    char *inputs, *read_with;
    bool *lang_fits, *source_fits; /* by index in the merged lists */
    bool filters, repeats, folds;
    fold fold, without_fold;
    uint8_t *dropped; /* a bit for each row of this rank's units: out because of its text; NULL while that is not known */
    int64_t first_row;
    row_order order;
    /* the part that is open, and the block of it in hand */
    int64_t open_part;
    rowfile *file;
    uint16_t *source_map, *lang_map, *source, *lang;
    float *label;
    uint64_t *text;
    bool *keep;
};

/* Collective. Manifests and descriptions of all folders, the options' filters by them, and memory for a block of rows. */
status selection_open_inputs(selection *s, char *const *folders, int64_t count);

#endif
