/* Sums of lanes on ranks and their reduction, bit by bit against the rule carried out on one rank with all lanes at once. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/comm.h"
#include "common/rng.h"
#include "model/cpu/cpu.h"
#include "model/device_library.h"
#include "support/support.h"
#include "train/deal.h"
#include "train/exchange.h"
#include "train/reduce.h"

enum { HIDDEN = 24, VOCABULARY = 203, LANE_TOKENS = 150 };

static uint64_t seed;
static backend *be;
static tensor_table *table;

static float value_of(int64_t lane, int64_t parameter)
{
    uint32_t w[4];
    rng_philox(seed, (uint32_t[4]){(uint32_t)parameter, 77, (uint32_t)lane, 0}, w);
    if (w[2] % 8 == 0)
        return -0.0f;                                                         /* stays so where nothing is added to it */
    return ((float)w[0] - 2147483648.0f) * ldexpf(1, -31 - (int)(w[1] % 20)); /* sizes apart, so that the order of additions shows */
}

static uint32_t pick(int64_t lane, int64_t what)
{
    uint32_t w[4];
    rng_philox(seed, (uint32_t[4]){(uint32_t)what, 78, (uint32_t)lane, 0}, w);
    return w[0];
}

/* The ids of a lane: some in all lanes, some in one, none in a lane now and then. */
static int64_t lane_ids(int64_t lane, int32_t *ids)
{
    int64_t n = pick(lane, 0) % 7 == 0 ? 0 : (int64_t)(pick(lane, 1) % LANE_TOKENS);
    for (int64_t i = 0; i < n; i++)
        ids[i] = (int32_t)(pick(lane, 2 + i) % (pick(lane, 1000 + i) % 3 ? VOCABULARY : 9));
    return n;
}

static void fill(gradient *g, int64_t lane)
{
    int32_t ids[LANE_TOKENS];
    float *dense = calloc((size_t)table->dense, sizeof *dense), *rows;
    gradient_begin(g, ids, lane_ids(lane, ids));
    rows = calloc((size_t)(g->count * HIDDEN) + 1, sizeof *rows);
    for (int64_t i = 0; i < table->dense; i++)
        dense[i] = value_of(lane, table->word + i);
    for (int64_t i = 0; i < g->count; i++)
        for (int64_t k = 0; k < HIDDEN; k++)
            rows[i * HIDDEN + k] = value_of(lane, (int64_t)g->ids[i] * HIDDEN + k);
    be->ops->upload(be, g->dense, dense, (size_t)table->dense * sizeof *dense);
    be->ops->upload(be, g->rows, rows, (size_t)(g->count * HIDDEN) * sizeof *rows);
    free(dense);
    free(rows);
}

/* One parameter over all lanes as the rule has it: a stack, and an absent row is not added. */
static float folded(int64_t lanes, int64_t parameter, const char *there)
{
    float sum[64];
    bool has[64];
    int depth = 0;
    for (int64_t i = 0; i < lanes; i++) {
        has[depth] = there[i];
        sum[depth++] = there[i] ? value_of(i, parameter) : 0;
        for (int64_t k = i + 1; k % 2 == 0; k /= 2, depth--) {
            sum[depth - 2] = has[depth - 2] && has[depth - 1] ? sum[depth - 2] + sum[depth - 1] : has[depth - 1] ? sum[depth - 1] : sum[depth - 2];
            has[depth - 2] = has[depth - 2] || has[depth - 1];
        }
    }
    for (; depth > 1; depth--) {
        sum[depth - 2] = has[depth - 2] && has[depth - 1] ? sum[depth - 2] + sum[depth - 1] : has[depth - 1] ? sum[depth - 1] : sum[depth - 2];
        has[depth - 2] = has[depth - 2] || has[depth - 1];
    }
    return has[0] ? sum[0] : 0;
}

static float *reference(int64_t lanes)
{
    float *out = calloc((size_t)table->trainable, sizeof *out);
    char *there = calloc((size_t)lanes, 1), *all = malloc((size_t)lanes);
    memset(all, 1, (size_t)lanes);
    for (int64_t id = 1; id < VOCABULARY; id++) { /* 0 is [PAD]: no gradient */
        bool any = false;
        for (int64_t lane = 0; lane < lanes; lane++) {
            int32_t ids[LANE_TOKENS];
            int64_t n = lane_ids(lane, ids);
            there[lane] = 0;
            for (int64_t i = 0; i < n; i++)
                there[lane] |= ids[i] == id;
            any = any || there[lane];
        }
        for (int64_t k = 0; any && k < HIDDEN; k++)
            out[id * HIDDEN + k] = folded(lanes, id * HIDDEN + k, there);
    }
    for (int64_t i = table->word; i < table->trainable; i++)
        out[i] = folded(lanes, i, all);
    free(there);
    free(all);
    return out;
}

static void check(int64_t lanes, int64_t stripe)
{
    int ranks = comm_size(), rank = comm_rank();
    int64_t first = deal_first_lane(rank, ranks, lanes), end = deal_first_lane(rank + 1, ranks, lanes),
            at = reduce_first_parameter(table, stripe, rank, ranks);
    sums *s;
    reduce *r;
    reduce_slice slice;
    float *want = reference(lanes);
    ck_ok(sums_create(be, table, first, end, LANE_TOKENS, &s));
    ck_ok(reduce_create(be, table, lanes, LANE_TOKENS, stripe, REDUCE_EXACT, &r));
    /* Every parameter has one owner. */
    ck_assert_int_eq(reduce_first_parameter(table, stripe, 0, ranks), 0);
    ck_assert_int_eq(reduce_first_parameter(table, stripe, ranks, ranks), table->trainable);
    for (int k = 0; k < ranks; k++)
        ck_assert_int_le(reduce_first_parameter(table, stripe, k, ranks), reduce_first_parameter(table, stripe, k + 1, ranks));
    for (int again = 0; again < 2; again++) { /* nothing may be left over from the step before */
        at = reduce_first_parameter(table, stripe, rank, ranks);
        sums_begin(s);
        for (int64_t lane = first; lane < end; lane++) {
            fill(sums_next(s), lane);
            for (int64_t from = table->dense; lane == end - 1 && again == 0 && reduce_is_early(r) && from > 0;) {
                from = from < 40 ? 0 : (int64_t)(pick(lanes, from) % (uint64_t)from); /* the same for all ranks */
                sums_fold_dense(s, from);
                reduce_early(r, s, from);
            }
            sums_fold(s, (double)lane);
        }
        reduce_begin(r, s);
        while (reduce_next(r, &slice)) {
            float *host = calloc((size_t)slice.count, sizeof *host);
            ck_assert_int_eq(slice.first, at);
            if (slice.gradient)
                be->ops->download(be, host, slice.gradient, (size_t)slice.count * sizeof *host);
            for (int64_t i = 0; i < slice.count; i++) {
                float got = host[i];
                ck_assert_msg(memcmp(&got, &want[at + i], sizeof got) == 0, "lanes %lld, stripe %lld, parameter %lld: %.9g, not %.9g",
                              (long long)lanes, (long long)stripe, (long long)(at + i), (double)got, (double)want[at + i]);
            }
            at += slice.count;
            free(host);
        }
        ck_ok(be->ops->check(be));
        ck_assert_int_eq(at, reduce_first_parameter(table, stripe, rank + 1, ranks));
    }
    reduce_free(r);
    sums_free(s);
    free(want);
}

START_TEST(reduction_is_the_tree)
{
    const int64_t lanes[] = {1, 2, 5, 6, 8, 13};
    const int64_t stripes[] = {64, 336, 4096, 1 << 22};
    for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++)
        for (size_t k = 0; k < sizeof stripes / sizeof *stripes && comm_size() <= lanes[i]; k++)
            check(lanes[i], stripes[k]);
}
END_TEST

START_TEST(rows_merge_by_id)
{
    gradient *a, *b;
    static float rows[VOCABULARY * HIDDEN];
    int32_t x[LANE_TOKENS], y[LANE_TOKENS];
    ck_ok(gradient_create(be, table, 2 * LANE_TOKENS, &a));
    ck_ok(gradient_create(be, table, LANE_TOKENS, &b));
    for (int64_t round = 0; round < 30; round++) {
        gradient_begin(a, x, lane_ids(2 * round, x));
        gradient_begin(b, y, lane_ids(2 * round + 1, y));
        for (int64_t i = 0; i < a->count * HIDDEN; i++)
            rows[i] = (float)a->ids[i / HIDDEN];
        be->ops->upload(be, a->rows, rows, (size_t)(a->count * HIDDEN) * sizeof *rows);
        for (int64_t i = 0; i < b->count * HIDDEN; i++)
            rows[i] = 1000.0f + (float)b->ids[i / HIDDEN];
        be->ops->upload(be, b->rows, rows, (size_t)(b->count * HIDDEN) * sizeof *rows);
        char in_a[VOCABULARY] = {0}, in_b[VOCABULARY] = {0};
        for (int64_t i = 0; i < a->count; i++)
            in_a[a->ids[i]] = 1;
        for (int64_t i = 0; i < b->count; i++)
            in_b[b->ids[i]] = 1;
        sums_add_rows(a, b);
        be->ops->download(be, rows, a->rows, (size_t)(a->count * HIDDEN) * sizeof *rows);
        int64_t n = 0;
        for (int32_t id = 0; id < VOCABULARY; id++) {
            if (!in_a[id] && !in_b[id])
                continue;
            ck_assert_int_eq(a->ids[n], id);
            for (int64_t k = 0; k < HIDDEN; k++)
                ck_assert(rows[n * HIDDEN + k] == (float)(in_a[id] * id) + (float)(in_b[id] * (1000 + id)));
            n++;
        }
        ck_assert_int_eq(a->count, n);
    }
    gradient_free(a);
    gradient_free(b);
}
END_TEST

/* The CPU's, or with any argument the device's (its twin, by FRETSAW_DEVICE_LIBRARY); with links that is over those, once early and once not. */
static status open_backend(bool on_device)
{
    const backend_limits limits = {
        .tokens = 16, .rows = 1, .longest = 16, .hidden = HIDDEN, .heads = 3, .feed_forward = 24, .vocabulary = VOCABULARY, .outputs = 1};
    const device_library *library;
    if (!on_device)
        return backend_open_cpu(&limits, NULL, CPU_ISA_AUTO, &be);
    TRY(device_library_open(&library));
    return library->open(comm_rank(), TYPE_FLOAT32, &limits, &be);
}

int main(int argc, char **argv)
{
    const model_config config = {.vocab_size = VOCABULARY,
                                 .hidden = HIDDEN,
                                 .layers = 1,
                                 .heads = 3,
                                 .feed_forward = 24,
                                 .positions = 16,
                                 .type_vocab = 2,
                                 .layer_norm_epsilon = 1e-12,
                                 .initializer_range = 0.02};
    if (comm_open(&argc, &argv) != STATUS_OK)
        return 1;
    seed = comm_rank() == 0 ? support_seed() : 0;
    comm_broadcast(&seed, sizeof seed, 0);
    status st = tensor_table_create(&config, 1, true, &table);
    if (st == STATUS_OK)
        st = open_backend(argc > 1);
    if (st == STATUS_OK)
        st = exchange_link(be);
    if (st != STATUS_OK) {
        fprintf(stderr, "%s\n", status_message());
        comm_abort(st);
    }
    int failed = support_run("train_reduce", (const TTest *[]){rows_merge_by_id, reduction_is_the_tree, NULL});
    be->ops->close(be);
    tensor_table_free(table);
    comm_close();
    return failed;
}
