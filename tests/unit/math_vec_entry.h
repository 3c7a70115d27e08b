/* model/cpu/math_vec.h behind function pointers, one table for each instruction set. */
#ifndef FRETSAW_TESTS_UNIT_MATH_VEC_ENTRY_H
#define FRETSAW_TESTS_UNIT_MATH_VEC_ENTRY_H

#include <stdint.h>

typedef struct math_vec_entry {
    void (*exp)(int64_t n, const float *x, float *y);
    void (*gelu)(int64_t n, const float *x, float *y);
    void (*slope)(int64_t n, const float *x, float *y);
    float (*sum)(int64_t n, const float *x);
    void (*philox)(uint64_t seed, const uint32_t counter[4], uint32_t words[64]);
    uint32_t (*bits)(uint32_t bits); /* to a mask and back */
} math_vec_entry;

extern const math_vec_entry math_vec_entry_plain, math_vec_entry_avx2, math_vec_entry_avx512;

#endif
