/* The one door to the CUDA runtime: devices, memory, one stream of work and one of copies, marks on them. gpu_cuda.c is the door; the tests have a
 * twin on the host's memory (tests/support/gpu_host.c), where a stream is the order of the calls.
 *
 *     gpu *g; TRY(gpu_open(0, &g));
 *     void *p; TRY(gpu_allocate(g, 1 << 20, "a buffer", &p));
 *     gpu_upload(g, p, pinned, bytes);              // on the stream of work: in order with the kernels launched on gpu_stream(g)
 *     gpu_mark *m; TRY(gpu_mark_create(g, &m)); gpu_mark_set(g, m); ... gpu_mark_wait(g, m);   // the host waits for what lay before
 *     TRY(gpu_check(g));                            // the first error since the last check
 *
 * Local. Calls that return nothing keep their error for gpu_check. A lost device is STATUS_RESOURCE like any other error of it.
 */
#ifndef FRETSAW_MODEL_CUDA_GPU_H
#define FRETSAW_MODEL_CUDA_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

typedef struct gpu gpu;
typedef struct gpu_mark gpu_mark;
struct CUstream_st;

typedef struct gpu_properties {
    char name[128];
    int sm;               /* compute capability, 75, 80, ... */
    int processors;       /* streaming multiprocessors */
    size_t memory, free;  /* bytes, in all and not taken by anyone now */
    char bus[32];         /* PCI address: tells devices apart that have other numbers in other processes */
    int driver, runtime;  /* CUDA versions, as 13000 */
} gpu_properties;

/* How many devices this process may see (CUDA_VISIBLE_DEVICES and the job's own limits are the driver's business). STATUS_RESOURCE says why there is
 * none: no driver, a driver too old for this build, no device. */
status gpu_count(int *count);
status gpu_describe(int index, gpu_properties *p);

status gpu_open(int index, gpu **out);
void gpu_close(gpu *g); /* NULL is fine */
/* Of work; asked for anew at every launch: that is where the twin does what has been put off. */
struct CUstream_st *gpu_stream(const gpu *g);
const gpu_properties *gpu_about(const gpu *g);

/* 256-byte aligned, zeroed. `what` and the size are named when there is no room. */
status gpu_allocate(gpu *g, size_t bytes, const char *what, void **out);
void gpu_release(gpu *g, void *p);
/* Page-locked memory of the host, zeroed. */
status gpu_pin(gpu *g, size_t bytes, const char *what, void **out);
void gpu_unpin(gpu *g, void *p);

/* All four on the stream of work; `pinned` stays as it is until a mark set afterwards has been waited for. */
void gpu_upload(gpu *g, void *to, const void *pinned, size_t bytes);
void gpu_download(gpu *g, void *pinned, const void *from, size_t bytes);
void gpu_copy(gpu *g, void *to, const void *from, size_t bytes);
void gpu_zero(gpu *g, void *p, size_t bytes);

status gpu_mark_create(gpu *g, gpu_mark **out);
void gpu_mark_free(gpu *g, gpu_mark *m);
void gpu_mark_set(gpu *g, gpu_mark *m);  /* on the stream of work */
void gpu_mark_wait(gpu *g, gpu_mark *m); /* the host; at once when it was never set */
void gpu_wait(gpu *g);                   /* the host waits for all work */
/* Another stream of the same device (links'), which waits for the work so far; and the work waits for what that stream has so far. */
struct CUstream_st *gpu_side_stream(const gpu *g);
void gpu_side_follows(gpu *g);
void gpu_follow_side(gpu *g);
/* What the device works on may wait for other ranks, and for ever where one is gone: while the host waits, `broken` is asked again and again. It gives up
 * what cannot end and says so (true), with its reason in gpu_fail. NULL: nobody is asked. */
void gpu_watch(gpu *g, bool (*broken)(void *arg), void *arg);

/* The first error since the last check; also those of kernels' launches and of the libraries (gpu_fail). */
status gpu_check(gpu *g);
/* Keeps an error that another door has met, unless there is one already. */
void gpu_fail(gpu *g, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
