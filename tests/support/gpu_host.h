/* What the twin of a device tells the other twins besides gpu.h. */
#ifndef FRETSAW_TESTS_SUPPORT_GPU_HOST_H
#define FRETSAW_TESTS_SUPPORT_GPU_HOST_H

#include "model/cuda/gpu.h"

/* Launches so far: the device's clock. */
int64_t gpu_twin_launches(const gpu *g);

#endif
