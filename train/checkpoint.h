/* Checkpoints of a run: written beside under a temporary name and renamed, so that one that is there is whole; read back at any number of ranks.
 *
 *     TRY(checkpoint_save(&place, &state, optimizer));                         // RUN/step-000812, then RUN/last
 *     TRY(checkpoint_load_newest(&place, INT64_MAX, &expected, &state, optimizer, &found));   // on start; found false: nothing saved yet
 *     TRY(checkpoint_keep_epoch(&place, 1, step));                             // RUN/epoch-1: the same weights without optimizer
 *
 * A checkpoint is a model folder (config.json, vocab.txt, model.safetensors) with state.json and one file of moments a stripe, written by the ranks
 * that own them. Everything read back is held against hashes: a damaged checkpoint is named and the one before it is taken.
 * All collective.
 */
#ifndef FRETSAW_TRAIN_CHECKPOINT_H
#define FRETSAW_TRAIN_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/hash.h"
#include "common/threads.h"
#include "train/optimizer.h"

/* What does not change during a run. */
typedef struct checkpoint_place {
    const char *run;        /* folder */
    const char *vocabulary; /* the text of every model folder's vocab.txt */
    size_t vocabulary_bytes;
    const tensor_table *table;
    float *parameters; /* shared by the ranks of a node */
    int64_t keep;      /* checkpoints with optimizer state that stay */
    threads *pool;     /* NULL: the caller alone */
} checkpoint_place;

/* Loss scaling of --type float16 (train/step.c): gradients are made `value` times as large, a power of two, so that small ones do not vanish. */
enum { LOSS_SCALE_FIRST = 1 << 16, LOSS_SCALE_MOST = 1 << 24, LOSS_SCALE_PATIENCE = 2000 };
typedef struct loss_scale {
    double value;       /* 0: no scaling */
    int64_t good_steps; /* since it last changed */
} loss_scale;

/* The files of a checkpoint that state.json has a hash of; the stripes have their own. */
enum { CHECKPOINT_CONFIG, CHECKPOINT_VOCABULARY, CHECKPOINT_WEIGHTS, CHECKPOINT_FILES };
extern const char *const checkpoint_file[CHECKPOINT_FILES];

/* What state.json says. */
typedef struct checkpoint_state {
    int64_t step;       /* finished steps */
    char run[HASH_HEX]; /* SHA-256 of run.json: recipe, data, initial weights */
    uint64_t probe;     /* of the arithmetic (train/probe.h) */
    int64_t best;       /* epoch (from 1) with the highest area so far; 0: none */
    double best_auc;
    loss_scale scale;
    uint64_t file[CHECKPOINT_FILES]; /* XXH3-64 */
} checkpoint_state;

/* The optimizer's tensor hashes are those of the parameters. Errors (agreed): STATUS_IO, and nothing half written stays. */
status checkpoint_save(const checkpoint_place *place, const checkpoint_state *state, optimizer *o);
/* Parameters, moments and *state from the newest whole checkpoint of at most `last` steps; the parameters reach every node. `expected` gives run and probe: another run's
 * checkpoint is STATUS_INPUT, another arithmetic STATUS_CHECK. STATUS_INPUT when there are checkpoints but none is whole. */
status checkpoint_load_newest(const checkpoint_place *place, int64_t last, const checkpoint_state *expected, checkpoint_state *state,
                              optimizer *o, bool *found);
/* Once the checkpoint of `step` has been loaded to go on from: a kill may have come before `last` named it, and newer ones are damaged, so that they
 * must not count among those that stay. */
status checkpoint_settle(const checkpoint_place *place, int64_t step);
/* Removes what a killed run has left half written or half removed in its folder. Only for who has claimed the folder and knows that it is this run's:
 * a run that goes on writes under such names. Local. */
status checkpoint_clear(const char *run);
/* Weights of the checkpoint of `step` as RUN/epoch-N. */
status checkpoint_keep_epoch(const checkpoint_place *place, int64_t epoch, int64_t step);
/* The hash of a folder's file checkpoint_file[i], as it is on the disk. Local. */
status checkpoint_hash_file(const char *folder, int i, uint64_t *hash);
/* The folder's files against those hashes: STATUS_INPUT names the one that differs. Local. */
status checkpoint_check_files(const char *folder, const checkpoint_state *state);
/* A checkpoint or an epoch's weights, by its state.json: STATUS_INPUT names the file that is not as it was written. Local. */
status checkpoint_check_folder(const char *folder, const tensor_table *table);
/* Points RUN/`name` at a folder beside it. Rank 0 writes. */
status checkpoint_point(const checkpoint_place *place, const char *name, const char *folder);
/* Bytes of one checkpoint; of one epoch's weights. Local. */
uint64_t checkpoint_bytes(const tensor_table *table, bool optimizer_too);
/* Checkpoints that are in the run's folder. Local. */
status checkpoint_count(const char *run, int64_t *count);
void checkpoint_name(int64_t step, char name[32]);

#endif
