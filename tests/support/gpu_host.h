/* What the twin of a device gives the libraries' stand-ins besides gpu.h: streams that they can put work into.
 *
 *     stream->put(stream, &(gpu_twin_task){.run = carry_on, .names = uses, .arg = group});
 *
 * A task is run when something must see what it does, as late as can be: then again and again until it says that it is done.
 */
#ifndef FRETSAW_TESTS_SUPPORT_GPU_HOST_H
#define FRETSAW_TESTS_SUPPORT_GPU_HOST_H

#include "model/cuda/gpu.h"

typedef enum gpu_twin_progress { TWIN_WAITS, TWIN_DONE, TWIN_OPEN /* the caller has not finished asking: it will never be done */ } gpu_twin_progress;

typedef struct gpu_twin_task {
    gpu_twin_progress (*run)(void *arg); /* after TWIN_DONE `arg` is the task's no more */
    bool (*names)(void *arg, const void *p, size_t bytes); /* whether it still uses some of this memory, which then cannot be released */
    void *arg;
} gpu_twin_task;

typedef struct CUstream_st gpu_twin_stream;
struct CUstream_st {
    void (*put)(gpu_twin_stream *s, const gpu_twin_task *t);
    /* A line "DEVICE LAUNCHES text" in the file that FRETSAW_TWIN_LOG names; launches so far are the device's clock. */
    void (*tell)(gpu_twin_stream *s, const char *text);
    gpu *gpu;
};

#endif
