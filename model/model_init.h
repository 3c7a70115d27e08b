/* Initial weights: BERT normal(0, initializer_range), layer norms 1 and 0, biases 0, the [PAD] word row 0, the head uniform in
 * +-1/sqrt(2H), its bias too, as torch's Linear with 2H inputs.
 *
 *     model_init_range(table, seed, 0, table->parameters, arena);
 *
 * Element i of the arena is a function of (seed, i) alone: any slice, on any rank and thread, gives the same bits. Two elements share
 * one call of Philox4x32-10 (common/rng.h) with counter (i/2 low 32, RNG_INITIAL_WEIGHT << 24, i/2 high, 0) and Box-Muller in double.
 * Local, cannot fail.
 */
#ifndef FRETSAW_MODEL_MODEL_INIT_H
#define FRETSAW_MODEL_MODEL_INIT_H

#include <stdint.h>

#include "common/threads.h"
#include "model/tensors.h"

/* Parameters first .. first+count-1 of the arena, to out[0 .. count-1] on the host; what lies between tensors is zero. */
void model_init_range(const tensor_table *table, uint64_t seed, int64_t first, int64_t count, float *out);
/* The same, spread over a pool (NULL: the caller alone). */
void model_init_threads(const tensor_table *table, uint64_t seed, int64_t first, int64_t count, float *out, threads *pool);

#endif
