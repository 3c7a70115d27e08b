/* Initial weights in bulk: normal numbers by Box-Muller in double, from counters (model/model_init.h says which), as vectors.
 *
 *     normal_fill(isa, seed, RNG_INITIAL_WEIGHT, 0.02, first, count, out);
 *
 * Element i is a function of (seed, purpose, i) alone, the same bits for every instruction set. Local, cannot fail.
 */
#ifndef FRETSAW_MODEL_CPU_NORMAL_H
#define FRETSAW_MODEL_CPU_NORMAL_H

#include <stdint.h>

#include "model/cpu/isa.h"

/* Elements first .. first+count-1 of the sequence to out[0 .. count-1]. `isa` must be supported here; CPU_ISA_AUTO takes the best. */
void normal_fill(cpu_isa isa, uint64_t seed, uint32_t purpose, double deviation, int64_t first, int64_t count, float *out);

/* Thirty-two elements from `first` on, a multiple of 32. */
typedef void normal_block(uint64_t seed, uint32_t purpose, double deviation, int64_t first, float *out);
enum { NORMAL_BLOCK = 32 };
normal_block normal_block_plain, normal_block_avx2, normal_block_avx512;

#endif
