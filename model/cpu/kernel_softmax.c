/* Softmax over the keys with its dropout, forward and back, on the scores of some queries in the worker's scratch. */
#include "model/cpu/dropout_vec.h"
#include "model/cpu/kernels.h"

/* Random words of neighbouring queries, drawn together: a query's own counters seldom fill a register. */
typedef struct query_words {
    dropout_stream stream;
    int on;
    int64_t blocks; /* counters a query: four neighbouring keys share one */
    int64_t group;  /* queries drawn at once */
} query_words;

/* First words of the counters of a group's queries, less the first query's, in the order that vec_philox_each wants. They are the same for all heads
 * and queries of rows with as many keys. */
static void list_counters(const query_words *q, int64_t keys, cpu_scratch *scratch)
{
    if (scratch->counters_keys == keys)
        return;
    scratch->counters_keys = keys;
    uint32_t query = 0, block = 0;
    for (int64_t i = 0; i < q->group * q->blocks; i++) {
        scratch->counters[(i & ~(int64_t)15) + philox_order[i & 15]] = query * 128 + block; /* element = head << 18 | query << 9 | key */
        if (++block == (uint32_t)q->blocks)
            query++, block = 0;
    }
}

static query_words query_words_begin(const softmax_job *j, cpu_scratch *scratch)
{
    query_words q = {.on = j->drop && j->drop->threshold != 0, .group = ATTENTION_TILE};
    if (!q.on)
        return q;
    q.stream = dropout_begin(j->drop, j->b, j->row);
    q.blocks = (j->keys + 3) / 4;
    q.group = scratch->most / (4 * q.blocks);
    list_counters(&q, j->keys, scratch);
    return q;
}

/* Words of `count` queries from `first` on (at most q->group): query i's begin at scratch->words + (i - first) * 4 * q->blocks. */
static void query_words_draw(const query_words *q, const softmax_job *j, int64_t first, int64_t count, cpu_scratch *scratch)
{
    if (!q->on)
        return;
    uint64_t start = scratch->timed ? __builtin_ia32_rdtsc() : 0;
    const veci from = veci_set(((uint32_t)j->head << 18 | (uint32_t)(j->first_query + first) << 9) / 4);
    for (int64_t i = 0; i < count * q->blocks; i += 16) {
        veci w[4];
        vec_philox_each(&q->stream.key, veci_add(from, veci_load_full(scratch->counters + i)), q->stream.c1, q->stream.c2, q->stream.c3, w);
        for (int k = 0; k < 4; k++)
            veci_store_full(scratch->words + 4 * i + 16 * k, w[k]);
    }
    if (scratch->timed)
        scratch->dropout_ticks += __builtin_ia32_rdtsc() - start;
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

/* Exponentials of queries first .. end-1, whose words are drawn, become probabilities, and these go through dropout. */
static void drop_probabilities(const softmax_job *j, const query_words *q, int64_t first, int64_t end, const cpu_scratch *scratch)
{
    const int64_t n = j->keys;
    for (int64_t i = first; i < end; i++) {
        float *x = scratch->scores + i * scratch->width;
        vec16 inverse = vec_set(1.0f / j->row_sum[i * j->stride]);
        const uint32_t *w = scratch->words + (i - first) * 4 * q->blocks;
        for (int64_t k = 0; k < n; k += 16) {
            vec16 p = vec_mul(vec_load_full(x + k), inverse);
            vec_store_full(x + k, q->on ? dropout_scaled(&q->stream, p, dropout_kept(&q->stream, w + k)) : p);
        }
    }
}

void ISA(cpu_softmax_forward)(const void *job, int64_t from, int64_t to, cpu_scratch *scratch)
{
    const softmax_job *j = job;
    const query_words q = query_words_begin(j, scratch);
    find_maxima(j, from, to, scratch);
    take_exponentials(j, from, to, scratch);
    for (int64_t i = from; i < to; i += q.group) {
        int64_t end = i + q.group < to ? i + q.group : to;
        query_words_draw(&q, j, i, end - i, scratch);
        drop_probabilities(j, &q, i, end, scratch);
    }
}

static void probabilities_again(const softmax_job *j, const query_words *q, int64_t first, int64_t end, const cpu_scratch *scratch)
{
    const int64_t n = j->keys;
    for (int64_t i = first; i < end; i++) {
        float *x = scratch->scores + i * scratch->width, *dropped = scratch->gradients + i * scratch->width;
        uint16_t *kept = scratch->kept + i * (scratch->width / 16);
        vec16 greatest = vec_set(j->saved_max[i * j->stride]), inverse = vec_set(1.0f / j->saved_sum[i * j->stride]);
        const uint32_t *w = scratch->words + (i - first) * 4 * q->blocks;
        for (int64_t k = 0; k < n; k += 16) {
            vec16 v = vec_load_full(x + k);
            if (n - k < 16)
                v = vec_select(vecm_first(n - k), v, greatest);
            vec16 p = vec_mul(vec_exp(vec_sub(v, greatest)), inverse);
            vec_store_full(x + k, p);
            if (q->on) {
                vecm keep = dropout_kept(&q->stream, w + k);
                kept[k / 16] = (uint16_t)vecm_bits(keep);
                p = dropout_scaled(&q->stream, p, keep);
            }
            vec_store_full(dropped + k, p);
        }
    }
}

/* The same probabilities from the kept maximum and sum: before dropout in scores, after it in gradients, its decisions in kept. */
void ISA(cpu_softmax_again)(const void *job, int64_t from, int64_t to, cpu_scratch *scratch)
{
    const softmax_job *j = job;
    const query_words q = query_words_begin(j, scratch);
    for (int64_t i = from; i < to; i += q.group) {
        int64_t end = i + q.group < to ? i + q.group : to;
        query_words_draw(&q, j, i, end - i, scratch);
        probabilities_again(j, &q, i, end, scratch);
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
