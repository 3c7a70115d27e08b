/* The state hash of parameters: for each tensor the sum of mix64(parameter index, bits) mod 2^64 (common/hash.h), so that order and slicing do not
 * matter; then XXH3-64 over the tensors' sums.
 *
 *     state_hash_add(table, arena, 0, table->parameters, sums, pool);      // sums: table->count, zero at first
 *     uint64_t state = state_hash_all(table, sums);
 *
 * Local, cannot fail.
 */
#ifndef FRETSAW_MODEL_STATE_HASH_H
#define FRETSAW_MODEL_STATE_HASH_H

#include "common/threads.h"
#include "model/tensors.h"

/* Adds parameters [first, end) of the arena to the sums of their tensors, spread over a pool (NULL: the caller alone). */
void state_hash_add(const tensor_table *table, const float *arena, int64_t first, int64_t end, uint64_t *sums, threads *pool);
uint64_t state_hash_all(const tensor_table *table, const uint64_t *sums);

#endif
