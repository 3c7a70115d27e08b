/* The options of train: one table, the struct it fills, and what follows from them.
 *
 *     return program_main(&(program){.options = &train_about, .table = train_table, .run = run}, argc, argv);
 *     ... TRY(train_options_check(words)); use(train_given.lanes);
 *
 * Identity options can change results: they go to recipe.conf and must be the same when a run is resumed.
 */
#ifndef FRETSAW_TRAIN_OPTIONS_H
#define FRETSAW_TRAIN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/options.h"

enum { INIT_PRETRAINED, INIT_RANDOM };
enum { POOLING_REAL, POOLING_PADDED };
enum { RESHUFFLE_YES, RESHUFFLE_NO };
enum { SCHEDULE_STEPS_RUN, SCHEDULE_STEPS_ROWS };

typedef struct train_options {
    /* inputs */
    const char *model, *config, *vocab, *init_from;
    int init;
    option_list train, valid;
    bool drop_unlabelled;
    /* output */
    const char *out;
    int64_t checkpoint_every, checkpoint_minutes, keep;
    /* recipe */
    int64_t lanes, batch, epochs, max_steps, max_length, seed;
    int truncate, pooling, deal, reshuffle, reduce;
    const char *order;
    double dropout, attention_dropout, head_dropout;
    double lr, beta1, beta2, epsilon, weight_decay;
    const char *scale_lr;
    int schedule, schedule_steps;
    int64_t warmup;
    /* execution */
    int device, type, attention;
    bool share_device;
    int64_t micro_tokens, threads, data_memory, time_limit, grace;
    int cpu;
    bool plan, profile;
    /* checks */
    const char *diff;
    int64_t replay;
    /* derived by train_options_check */
    double peak_rate; /* lr times scale-lr */
} train_options;

extern train_options train_given;
extern const option train_table[];
extern const option_program train_about;

/* What the table cannot check by itself: STATUS_USAGE names the options. Settles --threads. Collective, the same on every rank. */
status train_options_check(const option_list *words);

#endif
