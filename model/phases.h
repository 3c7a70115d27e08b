/* Where a step's time goes: seconds by phase, cheap enough to be always on (one clock reading an operation).
 *
 *     phase_timer timer = {0};
 *     double start = phase_clock();
 *     ... the work ...
 *     phase_count(&timer, PHASE_ATTENTION, flop, 0);
 *     start = phase_add(&timer, PHASE_ATTENTION, start);      // returns now: the next phase's start
 *     printf("%s %.3f s\n", phase_name(PHASE_ATTENTION), timer.seconds[PHASE_ATTENTION]);
 *
 * For one thread (the rank's main one). Times never reach a result. model/profile.h makes a table of it.
 */
#ifndef FRETSAW_MODEL_PHASES_H
#define FRETSAW_MODEL_PHASES_H

#include <time.h>

typedef enum phase {
    PHASE_DATA,
    PHASE_CLEAR,
    PHASE_EMBED,
    PHASE_QKV,
    PHASE_ATTENTION,
    PHASE_PROJECT,
    PHASE_UP,
    PHASE_DOWN,
    PHASE_NORM,
    PHASE_HEAD,
    PHASE_BACK_EMBED,
    PHASE_BACK_QKV,
    PHASE_BACK_QKV_WEIGHT,
    PHASE_BACK_ATTENTION,
    PHASE_BACK_PROJECT,
    PHASE_BACK_PROJECT_WEIGHT,
    PHASE_BACK_UP,
    PHASE_BACK_UP_WEIGHT,
    PHASE_BACK_GELU,
    PHASE_BACK_DOWN,
    PHASE_BACK_DOWN_WEIGHT,
    PHASE_BACK_NORM,
    PHASE_BACK_HEAD,
    PHASE_WAIT,
    PHASE_REDUCE,
    PHASE_UPDATE,
    PHASE_EVALUATE,
    PHASE_SAVE,
    PHASES
} phase;

typedef struct phase_timer {
    double seconds[PHASES];
    double flop[PHASES];  /* of products, attention's among them: a multiply-add is two */
    double bytes[PHASES]; /* of what is bound by memory: every operand once from memory, every result once to it */
} phase_timer;

static inline double phase_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline double phase_add(phase_timer *timer, phase which, double start)
{
    double now = phase_clock();
    timer->seconds[which] += now - start;
    return now;
}

static inline void phase_count(phase_timer *timer, phase which, double flop, double bytes)
{
    timer->flop[which] += flop;
    timer->bytes[which] += bytes;
}

static inline const char *phase_name(phase which)
{
    static const char *const names[PHASES] = {
        "data",         "clear",    "embed",          "qkv",       "attention",        "project",     "up",
        "down",         "norm",     "head",           "back_embed", "back_qkv",        "back_qkv_weight", "back_attention",
        "back_project", "back_project_weight", "back_up", "back_up_weight", "back_gelu", "back_down", "back_down_weight",
        "back_norm",    "back_head", "wait",          "reduce",    "update",           "evaluate",    "save"};
    return names[which];
}

#endif
