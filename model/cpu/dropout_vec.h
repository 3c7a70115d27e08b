/* Dropout of consecutive elements, inside a kernel.
 *
 *     dropout_stream s = dropout_begin(drop, batch, row);
 *     const uint32_t *w = dropout_words(&s, first_element, n, scratch);     // n words in scratch->words, which holds n + 80
 *     y = dropout_apply(&s, x, w + j, left);                                       // 16 elements from j on
 */
#ifndef FRETSAW_MODEL_CPU_DROPOUT_VEC_H
#define FRETSAW_MODEL_CPU_DROPOUT_VEC_H

#include "model/backend.h"
#include "model/cpu/math_vec.h"

#include "model/cpu/kernels.h"

typedef struct dropout_stream {
    philox_keys key;
    uint32_t c1, c2, c3;
    uint32_t threshold;
    float scale;
} dropout_stream;

VEC dropout_stream dropout_begin(const dropout *d, const batch *b, int64_t row)
{
    uint64_t sample = b->sample[row];
    return (dropout_stream){philox_keys_of(d->seed), (uint32_t)DROPOUT_PURPOSE << 24 | d->layer << 12 | d->site, (uint32_t)sample,
                            b->epoch << 16 | (uint32_t)(sample >> 32), d->threshold, d->scale};
}

/* Whole counters are computed: the first word wanted may lie up to 3 after the start, the last up to 63 before the end. */
VEC const uint32_t *dropout_words(const dropout_stream *s, uint32_t first, int64_t n, cpu_scratch *scratch)
{
    uint64_t start = scratch->timed ? __builtin_ia32_rdtsc() : 0;
    uint32_t *words = scratch->words;
    uint32_t skip = first % 4, block = first / 4;
    for (int64_t j = 0; j < n + skip; j += 64) {
        veci w[4];
        vec_philox(&s->key, block + (uint32_t)(j / 4), s->c1, s->c2, s->c3, w);
        for (int k = 0; k < 4; k++)
            veci_store_full(words + j + 16 * k, w[k]);
    }
    if (scratch->timed)
        scratch->dropout_ticks += __builtin_ia32_rdtsc() - start;
    return words + skip;
}

VEC vecm dropout_kept(const dropout_stream *s, const uint32_t *w)
{
    return veci_not_below(veci_load_full(w), veci_set(s->threshold));
}

VEC vec16 dropout_scaled(const dropout_stream *s, vec16 x, vecm kept)
{
    return vec_select(kept, vec_mul(x, vec_set(s->scale)), vec_zero());
}

#endif
