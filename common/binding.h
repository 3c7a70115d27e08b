/* How many threads a rank should have, given what its launcher has bound it to, and a warning where the binding wastes cores.
 *
 *     int64_t threads;
 *     TRY(binding_threads(options.threads, &threads));      // 0: a fair share
 *
 * A rank's share: each core that it may use, divided by the ranks of its node that may use it too, and no more than the control group's quota shared
 * among them. Two processors of one core count as one core: a product keeps its units busy with one thread.
 */
#ifndef FRETSAW_COMMON_BINDING_H
#define FRETSAW_COMMON_BINDING_H

#include <sched.h>
#include <stdint.h>

#include "common/status.h"

/* Collective. `wanted` above 0 is kept. Warns once for each node, by its first rank, when ranks are bound to one core or to fewer cores than there are. */
status binding_threads(int64_t wanted, int64_t *threads);

/* The ranks of one node as they are bound. */
typedef struct binding_view {
    int ranks;
    const cpu_set_t *mask;    /* of each */
    const int *rank;          /* number of each in the job */
    const cpu_set_t *allowed; /* what the launcher itself may use */
    const int *core_of;       /* CPU_SETSIZE entries: the core of each processor */
    double quota;             /* cores' worth of time for all of them; INFINITY: none */
    const char *host;
} binding_view;

/* Threads for rank `mine` of the view; `warning` is empty or says what is wrong and which flag mends it. Local. */
int64_t binding_judge(const binding_view *v, int mine, char *warning, size_t room);

#endif
