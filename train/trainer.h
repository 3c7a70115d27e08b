/* Everything a training holds, opened from the options and closed at the end.
 *
 *     trainer t; TRY(trainer_open(&train_given, &t));            // inputs read and checked; nothing large allocated
 *     TRY(trainer_build_state(&t));                              // parameters, optimizer, back end
 *     TRY(trainer_load_initial(&t));                             // or checkpoint_load_newest
 *     TRY(trainer_build_step(&t));                               // network, gradients: after loading, so that the two peaks do not add up
 *     ... train/loop.c ...
 *     trainer_close(&t);
 *
 * Collective. Errors are agreed on: every rank gets them. After an error that one rank alone has met there is nothing to close: the job ends.
 */
#ifndef FRETSAW_TRAIN_TRAINER_H
#define FRETSAW_TRAIN_TRAINER_H

#include "common/threads.h"
#include "model/bert.h"
#include "model/placement.h"
#include "train/adamw.h"
#include "train/checkpoint.h"
#include "train/events.h"
#include "train/feeder.h"
#include "train/initial.h"
#include "train/options.h"
#include "train/records.h"

typedef struct trainer {
    const train_options *o;
    initial_model initial;
    /* data */
    dataset *train, *valid; /* valid NULL: none */
    sampler order;
    char order_hash[HASH_HEX]; /* of --order; "" without it */
    int64_t schedule_rows;     /* usable rows of the training data */
    input_format input;
    feeder *feeder;
    /* network */
    threads *pool;
    backend *be;
    tensor_table *table;
    placement where;                       /* CPU or device */
    int64_t micro_tokens;              /* M */
    char device_identity[DEVICE_NAME]; /* what bits depend on there; "" on the CPU */
    float *weights;                    /* parameters in the back end's memory; on the CPU the same as: */
    float *parameters;                 /* in the host's, shared by the ranks of a node */
    bool parameters_shared;
    bert *net;
    bert_dropout dropout;
    /* one step */
    int64_t first_lane, end_lane;
    sums *sums;
    reduce *reduce;
    optimizer *optimizer;
    double *row_loss;            /* rows of a micro-batch */
    struct step_report *reports; /* of all ranks (train/step.h) */
    float factor;                /* 1 / (lanes batch C) */
    adamw_options adamw;
    schedule schedule;
    int64_t total; /* steps of the whole run */
    /* where it stands */
    checkpoint_place place;
    checkpoint_state state;
    char *run_text, *recipe_text; /* rank 0: what run.json and recipe.conf hold */
    records *records;   /* rank 0 */
    events *events;     /* rank 0 */
    double last_auc;    /* of the newest validation in this start; 0: none */
    phase_timer *timer; /* the network's: every phase of a step goes there */
    int64_t moved_first; /* bytes this rank sent in the first step of this start */
    double saved_at;    /* clock of the last checkpoint */
    int64_t saved_step; /* its step; -1: none yet */
} trainer;

/* Data, model and options fit together, or STATUS_INPUT, STATUS_USAGE says what does not. */
status trainer_open(const train_options *o, trainer *t);
status trainer_build_state(trainer *t);
status trainer_build_step(trainer *t);
/* Initial weights into the parameters of every node. */
status trainer_load_initial(trainer *t);
void trainer_close(trainer *t);

/* The largest micro-batch, and room for it. */
bert_limits trainer_limits(const trainer *t);
feeder_setting trainer_feeder_setting(const trainer *t);
int64_t trainer_lane_tokens(const trainer *t);
/* "avx2" or "NVIDIA H200, 139.8 GiB, sm_90, 0000:1b:00.0". */
const char *trainer_kernels(const trainer *t);

#endif
