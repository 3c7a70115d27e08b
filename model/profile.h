/* A table of where the time went, from the phases' timers of all ranks (model/phases.h).
 *
 *     profile p = {0};
 *     ... for each step: profile_add(&p, seconds, &before, timer);
 *     p.gelu = ..., p.words = ...;                             // backend_cpu_inside
 *     profile_gather(&p);                                        // collective: the mean over ranks
 *     if (comm_rank() == 0) profile_print(stdout, &p);
 *
 * GFLOP/s are those of one rank with all its threads. Nothing here reaches a result.
 */
#ifndef FRETSAW_MODEL_PROFILE_H
#define FRETSAW_MODEL_PROFILE_H

#include <stdint.h>
#include <stdio.h>

#include "common/status.h"
#include "model/phases.h"

typedef struct profile {
    int64_t steps;  /* of training; micro-batches of scoring */
    double seconds; /* on the wall, of those steps */
    phase_timer phases;
    double gelu, words; /* inside other phases: GELU forward, dropout's random words */
} profile;

/* Local. One more step: its seconds on the wall, and what the timer gained in it. */
void profile_add(profile *p, double seconds, const phase_timer *before, const phase_timer *after);
/* Collective. Replaces every number by its mean over the ranks, and keeps the steps. */
void profile_gather(profile *p);
/* Local. Phases that took no time are left out. */
void profile_print(FILE *out, const profile *p);
/* Local. One line of JSON without its newline, {"profile":{...}}; the caller frees it. Errors: STATUS_RESOURCE. */
status profile_json(const profile *p, char **text);

#endif
