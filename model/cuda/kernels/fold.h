/* The second half of a sum over tokens: pieces that blocks wrote are added up, ascending. Used by norm.cu and linear.cu.
 *
 *     fold_columns(stream, pieces, columns, part, split, first, second);
 *     // first[c] += sum of part[p][c] for c < split, second[c - split] += the same for the rest
 */
#ifndef FRETSAW_MODEL_CUDA_KERNELS_FOLD_H
#define FRETSAW_MODEL_CUDA_KERNELS_FOLD_H

#include <stdint.h>

#include "model/cuda/kernels.h"

void fold_columns(cuda_stream stream, int64_t pieces, int64_t columns, const float *part, int64_t split, float *first, float *second);

#endif
