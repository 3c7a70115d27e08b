/* Runs a kernel's blocks on this machine: each thread of a block is a fiber, a block runs to its end before the next begins, and what
 * the device leaves open (the order of blocks, of warps, of threads between two barriers) is drawn at random.
 *
 *     launch_set_order(seed);                          // 0: ascending order throughout
 *     void *x = launch_memory_new(bytes);              // memory the watcher knows the bounds of (launch_watch.h)
 *     cuda_add(NULL, n, from, x);                      // any kernel: LAUNCH comes here
 *     const char *fault = launch_fault();              // NULL, or the first rule that was broken since the last call
 *
 * A broken rule (different barriers at once, lanes missing from a warp operation, a thread that left while others wait, too much
 * shared memory) ends the launch and is kept for launch_fault. One launch at a time in a process; x86-64 only. Nothing here is used
 * where kernels run on a device.
 */
#ifndef FRETSAW_MODEL_CUDA_LAUNCH_HOST_H
#define FRETSAW_MODEL_CUDA_LAUNCH_HOST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LAUNCH_THREADS = 1024, LAUNCH_WARPS = LAUNCH_THREADS / 32, LAUNCH_SHARED = 48 << 10, LAUNCH_GUARD = 256 };

typedef struct launch_point {
    uint32_t x, y, z;
} launch_point;

/* Where the running fiber is. `thread.y` and `.z` are 0. */
typedef struct launch_place {
    launch_point thread, block, block_size, grid_size;
} launch_place;
extern launch_place launch_now;

/* What a lane puts before its warp. */
typedef struct launch_words {
    uint32_t word[16];
} launch_words;

/* ---- for tests and stand-ins ---- */

void launch_set_order(uint64_t seed);
/* The message is valid until the next launch; asking clears it. */
const char *launch_fault(void);
/* 64-byte aligned, filled with 0xff (NaN), with guards at both ends; NULL when memory is short. The caller frees it with launch_memory_free. */
void *launch_memory_new(size_t bytes);
void launch_memory_free(void *p);

/* ---- for launch.h ---- */

void launch_run(const char *kernel, launch_point grid, launch_point block, void (*body)(void *), void *context);
void *launch_shared(size_t bytes, const char *name, const char *file, int line);
void launch_barrier(const char *file, int line);
void launch_warp_barrier(const char *file, int line);
/* Puts this lane's `bytes` (at most those of launch_words) before its warp; returns the 32 lanes' words, valid until the warp's next exchange. */
const launch_words *launch_exchange(const char *kind, uint32_t mask, const void *mine, size_t bytes, const char *file, int line);

/* ---- for the watcher ---- */

/* Time as races see it: what lies in one launch, block, stretch between barriers, and stretch between a warp's barriers. */
typedef struct launch_clock {
    uint32_t launch, block; /* counted over all launches of the process */
    uint32_t stretch;       /* barriers passed by this block */
    uint16_t warp_stretch[LAUNCH_WARPS];
    int running; /* nonzero while a fiber runs */
} launch_clock;
extern launch_clock launch_time;

typedef struct launch_watcher {
    void (*block_begins)(void);
    void (*shared_is)(void *p, size_t bytes, const char *name);
    void (*memory_is)(void *p, size_t bytes);
    void (*memory_goes)(void *p);
} launch_watcher;
extern const launch_watcher *launch_watched; /* NULL without one */
/* Keeps the first fault; `format` as printf's. The kernel's name is put before it. */
void launch_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#ifdef __cplusplus
}
#endif
#endif
