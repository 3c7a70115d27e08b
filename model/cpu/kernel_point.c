/* What is done element by element or column by column: GELU's way back, sums, bias gradients, AdamW, pooling. */
#include "common/hash.h"
#include "model/cpu/dropout_vec.h"
#include "model/cpu/kernels.h"

void ISA(cpu_gelu)(int64_t n, const float *x, float *y)
{
    for (int64_t i = 0; i < n; i += 16)
        vec_store(y + i, vec_gelu(vec_load(x + i, n - i)), n - i);
}

void ISA(cpu_gelu_join)(int64_t n, const float *pre, const float *dy, float *y)
{
    for (int64_t i = 0; i < n; i += 16)
        vec_store(y + i, vec_mul(vec_load(dy + i, n - i), vec_gelu_slope(vec_load(pre + i, n - i))), n - i);
}

void ISA(cpu_gelu_backward)(const void *job, int64_t from, int64_t to, cpu_scratch *scratch)
{
    const point_job *j = job;
    (void)scratch;
    for (int64_t i = from; i < to; i += 16)
        vec_store(j->y + i, vec_mul(vec_load(j->dy + i, to - i), vec_gelu_slope(vec_load(j->x + i, to - i))), to - i);
}

void ISA(cpu_add)(const void *job, int64_t from, int64_t to, cpu_scratch *scratch)
{
    const point_job *j = job;
    (void)scratch;
    for (int64_t i = from; i < to; i += 16)
        vec_store(j->y + i, vec_add(vec_load(j->y + i, to - i), vec_load(j->x + i, to - i)), to - i);
}

/* Sum of the state hash over n elements. Plain integers: the order of a sum mod 2^64 does not matter, so the compiler may choose it. */
static uint64_t state_hash(uint64_t first, const float *p, int64_t n)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, p + i, sizeof bits);
        sum += hash_mix64(first + (uint64_t)i, bits);
    }
    return sum;
}

/* Moments that have faded below 2^-120 are set to zero: they would soon be denormal (that of a word not seen for 650 steps), on which processors
 * are ten times slower, and what they would move a weight by is far below its last bit. */
VEC vec16 faded_to_zero(vec16 moment)
{
    return vec_select(vec_gt(vec_set(0x1p-120f), vec_absolute(moment)), vec_zero(), moment);
}

/* In blocks that stay in the first-level cache until they are hashed. */
void ISA(cpu_adamw)(const void *job, int64_t from, int64_t to, cpu_scratch *scratch)
{
    enum { BLOCK = 512 };
    const adamw_job *j = job;
    const adamw_step *s = j->step;
    const vec16 b1 = vec_set(s->beta1), rest1 = vec_set(s->one_minus_beta1), b2 = vec_set(s->beta2), rest2 = vec_set(s->one_minus_beta2);
    const vec16 epsilon = vec_set(s->epsilon), step = vec_set(-s->step_size), decay = vec_set(-s->decay);
    const int decayed = j->decayed && s->decay != 0.0f; /* p - 0 p would turn -0 into +0 */
    for (int64_t block = from; block < to; block += BLOCK) {
        int64_t end = block + BLOCK < to ? block + BLOCK : to;
        for (int64_t i = block; i < end; i += 16) {
            int64_t n = end - i;
            vec16 g = j->grad ? vec_load(j->grad + i, n) : vec_zero();
            vec16 m = faded_to_zero(vec_fma(rest1, g, vec_mul(b1, vec_load(j->m + i, n))));
            vec16 v = faded_to_zero(vec_fma(vec_mul(rest2, g), g, vec_mul(b2, vec_load(j->v + i, n))));
            vec16 p = vec_fma(step, vec_div(m, vec_add(vec_sqrt(v), epsilon)), vec_load(j->p + i, n));
            if (decayed)
                p = vec_fma(decay, p, p);
            vec_store(j->m + i, m, n);
            vec_store(j->v + i, v, n);
            vec_store(j->p + i, p, n);
        }
        scratch->hash += state_hash((uint64_t)(j->first_index + block), j->p + block, end - block);
    }
}

/* Mean and maximum over a row's tokens, 16 columns at a time. A later token wins only if it is greater: ties go to the lowest. */
void ISA(cpu_pool_forward)(const void *job, int64_t from, int64_t to, cpu_scratch *scratch)
{
    const pool_job *j = job;
    const int64_t H = j->H;
    (void)scratch;
    for (int64_t r = from; r < to; r++) {
        int64_t first = j->b->offset[r], end = j->b->offset[r + 1];
        float *pooled = j->pooled + r * 2 * H;
        for (int64_t c = 0; c < H; c += 16) {
            vec16 sum = vec_load(j->x + first * H + c, H - c), best = sum;
            veci where = veci_set((uint32_t)first);
            for (int64_t t = first + 1; t < end; t++) {
                vec16 x = vec_load(j->x + t * H + c, H - c);
                vecm greater = vec_gt(x, best);
                sum = vec_add(sum, x);
                best = vec_select(greater, x, best);
                where = veci_select(greater, veci_set((uint32_t)t), where);
            }
            vec_store(pooled + c, vec_div(sum, vec_set((float)(end - first))), H - c);
            vec_store(pooled + H + c, best, H - c);
            veci_store(j->argmax + r * H + c, where, H - c);
        }
    }
}

void ISA(cpu_pool_backward)(const void *job, int64_t from, int64_t to, cpu_scratch *scratch)
{
    const pool_job *j = job;
    const int64_t H = j->H;
    (void)scratch;
    for (int64_t r = from; r < to; r++) {
        int64_t first = j->b->offset[r], end = j->b->offset[r + 1];
        const float *d = j->dpooled + r * 2 * H;
        for (int64_t c = 0; c < H; c += 16) {
            vec16 mean = vec_div(vec_load(d + c, H - c), vec_set((float)(end - first))), greatest = vec_load(d + H + c, H - c);
            veci where = veci_load(j->saved_argmax + r * H + c, H - c);
            for (int64_t t = first; t < end; t++) {
                vec16 both = vec_select(veci_equal(where, veci_set((uint32_t)t)), vec_add(mean, greatest), mean);
                vec_store(j->dx + t * H + c, both, H - c);
            }
        }
    }
}

/* The head's dropout: element = column of the pooled row. */
void ISA(cpu_drop_rows)(const void *job, int64_t from, int64_t to, cpu_scratch *scratch)
{
    const pool_job *j = job;
    const int64_t n = 2 * j->H;
    for (int64_t r = from; r < to; r++) {
        dropout_stream s = dropout_begin(j->drop, j->b, r);
        const uint32_t *w = dropout_words(&s, 0, n, scratch);
        for (int64_t c = 0; c < n; c += 16)
            vec_store(j->pooled + r * n + c, dropout_scaled(&s, vec_load(j->x + r * n + c, n - c), dropout_kept(&s, w + c)), n - c);
    }
}
