/* Softmax over the keys with its dropout, forward and back, on the scores of some queries in the worker's scratch. */
#include "model/cpu/dropout_vec.h"
#include "model/cpu/kernels.h"

/* Words of query i: element = head << 18 | query << 9 | key, so four neighbouring keys share a counter. */
static const uint32_t *query_words(const softmax_job *j, const dropout_stream *s, int64_t i, cpu_scratch *scratch)
{
    uint32_t first = (uint32_t)j->head << 18 | (uint32_t)(j->first_query + i) << 9;
    return dropout_words(s, first, j->keys, scratch->words);
}

static float greatest_score(const float *x, int64_t n)
{
    vec16 best = vec_set(-INFINITY);
    for (int64_t k = 0; k < n; k += 16) {
        vec16 v = vec_load(x + k, n - k);
        best = vec_max(n - k >= 16 ? v : vec_select(vecm_first(n - k), v, best), best);
    }
    return vec_greatest(best);
}

/* Scores become probabilities, and these go through dropout. */
void ISA(cpu_softmax_forward)(const void *job, int64_t from, int64_t to, cpu_scratch *scratch)
{
    const softmax_job *j = job;
    const int64_t n = j->keys;
    const int drops = j->drop && j->drop->threshold != 0;
    dropout_stream s = {0};
    if (drops)
        s = dropout_begin(j->drop, j->b, j->row);
    for (int64_t i = from; i < to; i++) {
        float *x = scratch->scores + i * scratch->width;
        float greatest = greatest_score(x, n);
        vec16 sum = vec_zero();
        for (int64_t k = 0; k < n; k += 16) {
            vec16 e = vec_keep(vec_exp(vec_sub(vec_load(x + k, n - k), vec_set(greatest))), n - k);
            sum = vec_add(sum, e);
            vec_store(x + k, e, n - k);
        }
        float total = vec_sum(sum);
        vec16 inverse = vec_set(1.0f / total);
        const uint32_t *w = drops ? query_words(j, &s, i, scratch) : NULL;
        for (int64_t k = 0; k < n; k += 16) {
            vec16 p = vec_mul(vec_load(x + k, n - k), inverse);
            vec_store(x + k, w ? dropout_scaled(&s, p, dropout_kept(&s, w + k)) : p, n - k);
        }
        j->row_max[i * j->stride] = greatest;
        j->row_sum[i * j->stride] = total;
    }
}

/* The same probabilities from the kept maximum and sum: before dropout in scores, after it in gradients, its decisions in kept. */
void ISA(cpu_softmax_again)(const void *job, int64_t from, int64_t to, cpu_scratch *scratch)
{
    const softmax_job *j = job;
    const int64_t n = j->keys;
    const int drops = j->drop && j->drop->threshold != 0;
    dropout_stream s = {0};
    if (drops)
        s = dropout_begin(j->drop, j->b, j->row);
    for (int64_t i = from; i < to; i++) {
        float *x = scratch->scores + i * scratch->width, *dropped = scratch->gradients + i * scratch->width;
        uint16_t *kept = scratch->kept + i * (scratch->width / 16);
        vec16 greatest = vec_set(j->saved_max[i * j->stride]), inverse = vec_set(1.0f / j->saved_sum[i * j->stride]);
        const uint32_t *w = drops ? query_words(j, &s, i, scratch) : NULL;
        for (int64_t k = 0; k < n; k += 16) {
            vec16 p = vec_mul(vec_exp(vec_sub(vec_load(x + k, n - k), greatest)), inverse);
            vec_store(x + k, p, n - k);
            if (w) {
                vecm keep = dropout_kept(&s, w + k);
                kept[k / 16] = (uint16_t)vecm_bits(keep);
                p = dropout_scaled(&s, p, keep);
            }
            vec_store(dropped + k, p, n - k);
        }
    }
}

/* gradients: in the gradient of the dropped probabilities, out that of the unscaled scores: scale P (dP - sum over keys of P dP).
 * The sum is taken over the keys, not as out . dout, so that it belongs to the very numbers it is subtracted from. */
void ISA(cpu_softmax_backward)(const void *job, int64_t from, int64_t to, cpu_scratch *scratch)
{
    const softmax_job *j = job;
    const int64_t n = j->keys;
    const int drops = j->drop && j->drop->threshold != 0;
    const vec16 keep_scale = vec_set(drops ? j->drop->scale : 1.0f), scale = vec_set(j->scale);
    for (int64_t i = from; i < to; i++) {
        const float *p = scratch->scores + i * scratch->width;
        float *d = scratch->gradients + i * scratch->width;
        const uint16_t *kept = scratch->kept + i * (scratch->width / 16);
        vec16 sum = vec_zero();
        for (int64_t k = 0; k < n; k += 16) {
            vec16 dp = vec_load(d + k, n - k);
            if (drops) {
                dp = vec_select(vecm_from_bits(kept[k / 16]), vec_mul(dp, keep_scale), vec_zero());
                vec_store(d + k, dp, n - k);
            }
            sum = vec_fma(vec_load(p + k, n - k), dp, sum);
        }
        vec16 total = vec_set(vec_sum(sum));
        for (int64_t k = 0; k < n; k += 16) {
            vec16 ds = vec_mul(vec_load(p + k, n - k), vec_sub(vec_load(d + k, n - k), total));
            vec_store(d + k, vec_mul(ds, scale), n - k);
        }
    }
}
