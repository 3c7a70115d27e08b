/* Watches every load and store of kernels that run on the host: races and accesses out of range, in shared and in other memory.
 *
 *     // CMake: kernels compiled with -fsanitize=thread (only compiled: not linked with it), and launch_watch.c beside them
 *     float *x = launch_memory_new(bytes);             // launch_host.h
 *     cuda_add(NULL, n, from, x);
 *     ck_assert_str_eq(launch_fault(), "add: ...");
 *
 * The compiler puts a call before every access for its thread sanitizer; here those calls are ours (__tsan_read4 and so on). For each
 * two bytes it is kept who wrote and who read last, and when: two accesses meet in a race when one of them writes, they come from
 * different threads, and nothing orders them: no __syncthreads between them in one block, no __syncwarp between lanes of one warp, and
 * nothing at all between blocks of one launch. Reading shared memory that nobody wrote is a fault too. Accesses to memory that
 * launch_memory_new did not give (the fiber's stack, constants) are let pass, but for the guards around what it gave.
 */
#ifndef FRETSAW_TESTS_SUPPORT_LAUNCH_WATCH_H
#define FRETSAW_TESTS_SUPPORT_LAUNCH_WATCH_H

#include <stdint.h>

/* Accesses looked at since the start: a test demands that it grows, or nothing was watched. */
uint64_t launch_watch_count(void);

#endif
