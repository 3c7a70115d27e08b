/* What the stand-in for cuBLASLt has seen, for the test of product_cublas.c. */
#ifndef FRETSAW_TESTS_SUPPORT_CUBLASLT_HOST_H
#define FRETSAW_TESTS_SUPPORT_CUBLASLT_HOST_H

#include <stdint.h>

/* The algorithms that it offers, in this order. */
enum { STAND_SPLITS = 1, STAND_ALIGNED = 2, STAND_LARGE = 3, STAND_GOOD = 4 };

typedef struct stand_record {
    int algorithm; /* of the last product */
    int products, faults;
    char fault[200]; /* the first */
} stand_record;

extern stand_record stand;

#endif
