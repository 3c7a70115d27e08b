#include "train/traffic.h"

#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "train/step.h"

/* The words of lanes, as bits. */
typedef struct words {
    int64_t count; /* entries of the vocabulary */
    uint64_t *bits;
} words;

static int64_t overlap(int64_t a, int64_t a_end, int64_t b, int64_t b_end)
{
    int64_t from = a > b ? a : b, end = a_end < b_end ? a_end : b_end;
    return end > from ? end - from : 0;
}

static status mark_lanes(feeder *f, int64_t first, int64_t end, int64_t pad, words *w)
{
    memset(w->bits, 0, (size_t)(w->count / 64 + 1) * sizeof *w->bits);
    for (int64_t lane = first; lane < end; lane++) {
        const int32_t *ids;
        int64_t n;
        TRY(feeder_begin_lane(f, lane, &ids, &n));
        for (int64_t i = 0; i < n; i++)
            if (ids[i] != pad) /* row [PAD] has no gradient */
                w->bits[ids[i] / 64] |= (uint64_t)1 << ids[i] % 64;
    }
    return STATUS_OK;
}

/* One piece to all other owners. */
static void send_piece(const trainer *t, const words *w, traffic *m)
{
    const tensor_table *table = t->table;
    int64_t width = table->config.hidden;
    for (int k = 0; k < comm_size(); k++) {
        int64_t first = reduce_first_parameter(table, REDUCE_STRIPE, k, comm_size()), end = reduce_first_parameter(table, REDUCE_STRIPE, k + 1, comm_size());
        if (k == comm_rank() || first == end)
            continue;
        m->dense += overlap(first, end, table->word, table->trainable) * (int64_t)sizeof(float);
        m->words += (int64_t)sizeof(int64_t); /* how many rows */
        for (int64_t id = 0; id < w->count; id++)
            if (w->bits[id / 64] >> id % 64 & 1) {
                int64_t floats = overlap(id * width, (id + 1) * width, first, end);
                m->words += floats ? (int64_t)sizeof(int32_t) + floats * (int64_t)sizeof(float) : 0;
            }
    }
}

static int64_t count_bits(const words *w)
{
    int64_t n = 0;
    for (int64_t i = 0; i <= w->count / 64; i++)
        n += __builtin_popcountll(w->bits[i]);
    return n;
}

/* Word rows of the rank's sums: each is the union of as many lanes as it comes to hold. */
static status count_rows(const trainer *t, feeder *f, words *w, traffic *m)
{
    int64_t most[TREE_DEPTH];
    int slots = sums_slot_lanes(t->first_lane, t->end_lane, most);
    for (int i = 0; i < slots; i++) {
        TRY(mark_lanes(f, t->first_lane, t->first_lane + most[i], t->table->config.pad_id, w));
        m->rows[i] = count_bits(w);
    }
    return STATUS_OK;
}

static status count_tokens(const trainer *t, feeder *f, traffic *m)
{
    const int32_t *ids;
    int64_t n;
    m->whole = true;
    for (int64_t lane = t->first_lane; lane < t->end_lane; lane++) {
        TRY(feeder_begin_lane(f, lane, &ids, &n));
        for (const batch *b; (b = feeder_next(f));) {
            m->tokens = b->tokens > m->tokens ? b->tokens : m->tokens;
            m->whole = m->whole && feeder_lane_ends(f);
        }
    }
    return STATUS_OK;
}

static status count_pieces(const trainer *t, feeder *f, words *w, traffic *m)
{
    int64_t start[2 * TREE_DEPTH], count[2 * TREE_DEPTH];
    int pieces = comm_size() > 1 ? tree_pieces(t->first_lane, t->end_lane, start, count) : 0;
    for (int i = 0; i < pieces; i++) {
        TRY(mark_lanes(f, start[i], start[i] + count[i], t->table->config.pad_id, w));
        send_piece(t, w, m);
    }
    return STATUS_OK;
}

/* Small and constant, and the parameters' way between nodes. */
static void count_rest(const trainer *t, traffic *m)
{
    int64_t own = reduce_first_parameter(t->table, REDUCE_STRIPE, comm_rank() + 1, comm_size()) -
                  reduce_first_parameter(t->table, REDUCE_STRIPE, comm_rank(), comm_size());
    if (comm_size() == 1)
        return;
    m->agreed = (int64_t)sizeof(step_report);
    for (int i = 0; i < t->table->count; i++)
        m->agreed += t->table->tensors[i].frozen ? 0 : (int64_t)sizeof(uint64_t);
    m->parameters = comm_nodes() > 1 ? own * (int64_t)sizeof(float) : 0;
}

static status count(const trainer *t, traffic *m)
{
    status st;
    feeder *f = NULL;
    feeder_setting setting = trainer_feeder_setting(t);
    words w = {.count = t->table->config.vocab_size};
    TRY_DONE(memory_new(&w.bits, (size_t)(w.count / 64 + 1) * sizeof *w.bits, "the words of a step"));
    TRY_DONE(feeder_create(&setting, &f));
    TRY_DONE(feeder_begin_step(f, 0));
    TRY_DONE(count_rows(t, f, &w, m));
    TRY_DONE(count_tokens(t, f, m));
    TRY_DONE(count_pieces(t, f, &w, m));
    count_rest(t, m);
    m->sent = m->dense + m->words + m->agreed + m->parameters;
done:
    feeder_free(f);
    free(w.bits);
    return st;
}

status traffic_count(const trainer *t, traffic *m)
{
    *m = (traffic){0};
    return comm_agree(count(t, m));
}
