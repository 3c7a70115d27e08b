/* Softmax over the keys with its dropout, forward and back, on the scores of some queries in the worker's scratch. */
#include "model/cpu/dropout_vec.h"
#include "model/cpu/kernels.h"

/* Words of query i: element = head << 18 | query << 9 | key, so four neighbouring keys share a counter. */
static const uint32_t *query_words(const softmax_job *j, const dropout_stream *s, int64_t i, cpu_scratch *scratch)
{
    uint32_t first = (uint32_t)j->head << 18 | (uint32_t)(j->first_query + i) << 9;
    return dropout_words(s, first, j->keys, scratch);
}

/* Rows of scores lie in the worker's scratch, whole registers apart: these may be loaded and stored beyond the keys. What lies there is left out of
 * maxima and sums, and no product reads it. Three sweeps over the queries: in each a query's chain of operations is short, so that several
 * queries are under way at once; in one sweep each waited for its maximum, its exponentials, its sum and its division in turn. */
static void find_maxima(const softmax_job *j, int64_t from, int64_t to, const cpu_scratch *scratch)
{
    const int64_t n = j->keys;
    for (int64_t i = from; i < to; i++) {
        const float *x = scratch->scores + i * scratch->width;
        vec16 best = vec_set(-INFINITY);
        for (int64_t k = 0; k < n; k += 16) {
            vec16 v = vec_load_full(x + k);
            best = vec_max(n - k >= 16 ? v : vec_select(vecm_first(n - k), v, best), best);
        }
        j->row_max[i * j->stride] = vec_greatest(best);
    }
}

static void take_exponentials(const softmax_job *j, int64_t from, int64_t to, const cpu_scratch *scratch)
{
    const int64_t n = j->keys;
    for (int64_t i = from; i < to; i++) {
        float *x = scratch->scores + i * scratch->width;
        vec16 greatest = vec_set(j->row_max[i * j->stride]), sum = vec_zero();
        for (int64_t k = 0; k < n; k += 16) {
            vec16 v = vec_load_full(x + k);
            if (n - k < 16) /* leftovers of other rows could be slow denormals */
                v = vec_select(vecm_first(n - k), v, greatest);
            vec16 e = vec_keep(vec_exp(vec_sub(v, greatest)), n - k);
            sum = vec_add(sum, e);
            vec_store_full(x + k, e);
        }
        j->row_sum[i * j->stride] = vec_sum(sum);
    }
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
    find_maxima(j, from, to, scratch);
    take_exponentials(j, from, to, scratch);
    for (int64_t i = from; i < to; i++) {
        float *x = scratch->scores + i * scratch->width;
        vec16 inverse = vec_set(1.0f / j->row_sum[i * j->stride]);
        const uint32_t *w = drops ? query_words(j, &s, i, scratch) : NULL;
        for (int64_t k = 0; k < n; k += 16) {
            vec16 p = vec_mul(vec_load_full(x + k), inverse);
            vec_store_full(x + k, w ? dropout_scaled(&s, p, dropout_kept(&s, w + k)) : p);
        }
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
            vec16 v = vec_load_full(x + k);
            if (n - k < 16)
                v = vec_select(vecm_first(n - k), v, greatest);
            vec16 p = vec_mul(vec_exp(vec_sub(v, greatest)), inverse);
            vec_store_full(x + k, p);
            if (w) {
                vecm keep = dropout_kept(&s, w + k);
                kept[k / 16] = (uint16_t)vecm_bits(keep);
                p = dropout_scaled(&s, p, keep);
            }
            vec_store_full(dropped + k, p);
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
            vec16 dp = vec_load_full(d + k);
            if (drops) {
                dp = vec_select(vecm_from_bits(kept[k / 16]), vec_mul(dp, keep_scale), vec_zero());
                vec_store_full(d + k, dp);
            }
            sum = vec_fma(vec_keep(vec_load_full(p + k), n - k), vec_keep(dp, n - k), sum);
        }
        vec16 total = vec_set(vec_sum(sum));
        for (int64_t k = 0; k < n; k += 16) {
            vec16 ds = vec_mul(vec_load_full(p + k), vec_sub(vec_load_full(d + k), total));
            vec_store_full(d + k, vec_mul(ds, scale));
        }
    }
}
