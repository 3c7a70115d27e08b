/* Kernels with one bug each, and the twins of ptx.h run by one warp. Pointers are launch memory (launch_memory_new).
 *
 *     planted(PLANTED_SUM, 0, x, y);                   // without its barriers
 *     ck_assert_ptr_nonnull(launch_fault());
 */
#ifndef FRETSAW_TESTS_UNIT_CUDA_PLANTED_H
#define FRETSAW_TESTS_UNIT_CUDA_PLANTED_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum planted_bug {
    PLANTED_SUM,    /* option 0: barriers missing; x: 5 x 128 */
    PLANTED_WARP,   /* option 0: warp barrier missing */
    PLANTED_SHUFFLE,
    PLANTED_RANGE,  /* option: how far past the shared array */
    PLANTED_MEMORY, /* option: how far past y's 128 floats */
    PLANTED_UNWRITTEN,
    PLANTED_BLOCKS,
    PLANTED_NEIGHBOUR,
    PLANTED_BRANCH,
    PLANTED_LEAVES,
    PLANTED_HALF_WARP,
    PLANTED_TWO_SHUFFLES,
    PLANTED_MASK,
    PLANTED_TOO_MUCH,
    PLANTED_SOUND, /* no bug: y (2 x 128) from votes and shuffles */
} planted_bug;
void planted(planted_bug bug, int option, const float *x, float *y);

/* c (16 x 16 floats) = a (16 x 16) b (16 x 16), float16 or bfloat16 bits, by ldmatrix's and mma's twins. */
void planted_multiply(int half, const uint16_t *a, const uint16_t *b, float *c);

#ifdef __cplusplus
}
#endif
#endif
