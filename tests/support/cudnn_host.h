/* What the stand-in for cuDNN has seen, for the test of fused_cudnn.c: the symbol stand_cudnn of the library that was opened. */
#ifndef FRETSAW_TESTS_SUPPORT_CUDNN_HOST_H
#define FRETSAW_TESTS_SUPPORT_CUDNN_HOST_H

#include <stdint.h>

/* The engines that it offers, in this order: of the first the same call gives other bits, the second wants a gigabyte, the third cannot be built. */
enum { STAND_CUDNN_RANDOM = 1, STAND_CUDNN_LARGE, STAND_CUDNN_BROKEN, STAND_CUDNN_GOOD };

typedef struct stand_cudnn_record {
    int64_t engine; /* of the last call */
    int64_t calls, faults, descriptors; /* descriptors: that live now */
    int64_t heads, longest, head_size, type; /* of the last call */
} stand_cudnn_record;

#endif
