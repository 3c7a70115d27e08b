/* A pool of threads for the panels of one operation. Results never depend on the number of threads: tasks own their outputs.
 *
 *     threads *pool;
 *     threads_create(2, &pool);
 *     threads_run(pool, panels, do_panel, &job);      // do_panel(&job, task, worker) for task = 0 .. panels-1, any order
 *     threads_free(pool);
 *
 * Every thread runs with rounding to nearest and with denormals kept, whatever the caller's libraries have set.
 */
#ifndef FRETSAW_COMMON_THREADS_H
#define FRETSAW_COMMON_THREADS_H

#include <stdint.h>

#include "common/status.h"

typedef struct threads threads;
typedef void (*threads_task)(void *job, int64_t task, int worker);

/* Local. `count` >= 1 workers, the caller among them (count 1 starts no thread). Errors: STATUS_RESOURCE. */
status threads_create(int count, threads **out);
void threads_free(threads *pool);
int threads_count(const threads *pool); /* NULL counts as 1 */
/* Runs all tasks and returns when the last is done. `worker` is 0 .. count-1, for scratch memory. Not reentrant; one caller at a time.
 * pool NULL runs them in the caller. */
void threads_run(threads *pool, int64_t tasks, threads_task task, void *job);
/* Sets rounding to nearest, flush-to-zero and denormals-are-zero off for the calling thread. main does it first of all. */
void threads_set_rounding(void);

#endif
