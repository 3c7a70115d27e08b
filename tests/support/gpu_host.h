/* What the twin of a device tells the other twins besides gpu.h. */
#ifndef FRETSAW_TESTS_SUPPORT_GPU_HOST_H
#define FRETSAW_TESTS_SUPPORT_GPU_HOST_H

#include "model/cuda/gpu.h"

/* Launches so far: the device's clock. */
int64_t gpu_twin_launches(const gpu *g);
/* Called with memory that is about to be released. The twin of the links sets it: on a device, memory of a message under way is never given back, the
 * call that would do so waits for ever. */
extern void (*gpu_twin_releases)(const void *p, size_t bytes);

#endif
