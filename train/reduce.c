#include "train/reduce.h"

#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/search.h"
#include "train/deal.h"
#include "train/exchange.h"

/* A sum that some rank brings: a whole aligned subtree of lanes. */
typedef struct piece {
    int rank;
    int index; /* among its rank's pieces: also the message's tag */
    int64_t lanes;
    int64_t count;     /* word rows that meet this rank's parameters */
    int32_t *ids;      /* their ids, ascending; own pieces point into the gradient */
    const float *rows; /* own pieces: the row of ids[0] */
    float *dense;      /* own pieces: the dense gradient */
    float *window[2];  /* of other ranks: what has come in for an even or odd round */
    float *early;      /* of other ranks, with links: all dense parameters of this rank, as reduce_early brings them */
} piece;

struct reduce {
    backend *be;
    const tensor_table *table;
    int64_t stripe, window_size;
    reduce_kind kind;
    int rank, ranks;
    int pieces; /* of all ranks, in lane order */
    piece *piece;
    int64_t *first;        /* ranks + 1: first parameter of each rank */
    int64_t rounds, round; /* of the current exchange */
    sums *mine;
    float *sum;           /* a window of the word table, made dense */
    row_piece *rows;      /* pieces: what each has for the word window at hand */
    int64_t *counts_out;  /* pieces of mine x ranks */
    comm_request *lists;  /* messages about ids */
    exchange *flight[2];  /* gradients of even and odd rounds */
    exchange *ahead;      /* with links: what sets out early */
    int64_t ahead_from;   /* dense gradients from this index on have set out */
};

int64_t reduce_stripes(const tensor_table *table, int64_t stripe)
{
    return (table->trainable + stripe - 1) / stripe;
}

int64_t reduce_first_stripe(int64_t rank, int64_t ranks, int64_t stripes)
{
    return rank * stripes / ranks;
}

int64_t reduce_first_parameter(const tensor_table *table, int64_t stripe, int64_t rank, int64_t ranks)
{
    int64_t first = reduce_first_stripe(rank, ranks, reduce_stripes(table, stripe)) * stripe;
    return first < table->trainable ? first : table->trainable;
}

/* ---- windows: cut at multiples of window_size from a rank's first parameter, and at the end of the word table ---- */

typedef struct window {
    int64_t first, end;
    bool word; /* in the word table */
} window;

static int64_t word_windows(const reduce *r, int64_t first, int64_t end)
{
    int64_t last = end < r->table->word ? end : r->table->word;
    return last > first ? (last - first + r->window_size - 1) / r->window_size : 0;
}

static int64_t count_windows(const reduce *r, int owner)
{
    int64_t first = r->first[owner], end = r->first[owner + 1], words = word_windows(r, first, end);
    int64_t dense = first > r->table->word ? first : r->table->word;
    return words + (end > dense ? (end - dense + r->window_size - 1) / r->window_size : 0);
}

/* False when `owner` has fewer windows. */
static bool window_at(const reduce *r, int owner, int64_t round, window *w)
{
    int64_t first = r->first[owner], end = r->first[owner + 1], words = word_windows(r, first, end);
    if (round >= count_windows(r, owner))
        return false;
    w->word = round < words;
    if (w->word) {
        w->first = first + round * r->window_size;
        end = end < r->table->word ? end : r->table->word;
    } else {
        w->first = (first > r->table->word ? first : r->table->word) + (round - words) * r->window_size;
    }
    w->end = end - w->first < r->window_size ? end : w->first + r->window_size;
    return true;
}

/* Rows of an ascending list that meet parameters [first, end): [*from, *to), and the run of floats within rows end to end that lies inside. */
static void rows_within(const int32_t *ids, int64_t count, int64_t width, int64_t first, int64_t end, int64_t *from, int64_t *to, int64_t *start,
                        int64_t *floats)
{
    *from = search_first(ids, count, first / width);
    *to = search_first(ids, count, (end + width - 1) / width);
    *start = *from * width;
    *floats = 0;
    if (*from == *to)
        return;
    int64_t stop = *to * width, last = (ids[*to - 1] + 1) * width;
    if (ids[*from] * width < first)
        *start += first - ids[*from] * width;
    if (last > end)
        stop -= last - end;
    *floats = stop - *start;
}

/* ---- making one ---- */

static int count_pieces(int64_t lanes, int ranks)
{
    int64_t start[2 * TREE_DEPTH], count[2 * TREE_DEPTH];
    int pieces = 0;
    for (int q = 0; q < ranks; q++)
        pieces += tree_pieces(deal_first_lane(q, ranks, lanes), deal_first_lane(q + 1, ranks, lanes), start, count);
    return pieces;
}

/* The most rows of a piece that can meet parameters [first, end) of the word table. */
static int64_t most_rows(const tensor_table *table, int64_t first, int64_t end, int64_t tokens)
{
    int64_t last = end < table->word ? end : table->word, rows = first < last ? (last - first) / table->config.hidden + 2 : 0;
    rows = rows < tokens ? rows : tokens;
    return rows < table->config.vocab_size ? rows : table->config.vocab_size;
}

static status create_pieces(reduce *r, int64_t lanes, int64_t lane_tokens)
{
    int64_t start[2 * TREE_DEPTH], count[2 * TREE_DEPTH];
    r->pieces = count_pieces(lanes, r->ranks);
    TRY(memory_new(&r->piece, (size_t)r->pieces * sizeof *r->piece, "the reduction"));
    piece *p = r->piece;
    for (int q = 0; q < r->ranks; q++) {
        int n = tree_pieces(deal_first_lane(q, r->ranks, lanes), deal_first_lane(q + 1, r->ranks, lanes), start, count);
        for (int i = 0; i < n; i++, p++) {
            *p = (piece){.rank = q, .index = i, .lanes = count[i]};
            if (q == r->rank || r->first[r->rank] == r->first[r->rank + 1])
                continue;
            int64_t rows = most_rows(r->table, r->first[r->rank], r->first[r->rank + 1], lane_tokens * count[i]);
            TRY(memory_new(&p->ids, (size_t)rows * sizeof *p->ids, "word rows of other ranks"));
            for (int odd = 0; odd < 2; odd++) {
                void *room;
                TRY(r->be->ops->allocate(r->be, (size_t)r->window_size * sizeof(float), "gradients of other ranks", &room));
                p->window[odd] = room;
            }
        }
    }
    return STATUS_OK;
}

/* Dense gradients that this rank owns: their first index and how many. */
static int64_t own_dense(const tensor_table *table, int64_t first, int64_t end, int64_t *begin)
{
    *begin = first > table->word ? first - table->word : 0;
    return end > table->word ? end - table->word - *begin : 0;
}

static status create_early(reduce *r)
{
    int64_t begin, floats = own_dense(r->table, r->first[r->rank], r->first[r->rank + 1], &begin);
    void *room;
    r->ahead_from = r->table->dense;
    if (r->kind != REDUCE_EXACT || !exchange_is_linked())
        return STATUS_OK;
    for (int i = 0; i < r->pieces && floats > 0; i++) {
        if (r->piece[i].rank == r->rank)
            continue;
        TRY(r->be->ops->allocate(r->be, (size_t)floats * sizeof(float), "gradients of other ranks", &room));
        r->piece[i].early = room;
    }
    return exchange_create(r->be, r->pieces + 2 * TREE_DEPTH * r->ranks, 0, 0, &r->ahead);
}

/* Room for the most messages and floats of one round. */
static status create_messages(reduce *r)
{
    int most = r->pieces + 2 * TREE_DEPTH * r->ranks;
    int64_t own = 0, others = 0;
    for (int i = 0; i < r->pieces; i++)
        *(r->piece[i].rank == r->rank ? &own : &others) += r->window_size;
    TRY(comm_requests_create(most, &r->lists));
    TRY(exchange_create(r->be, most, own * (r->ranks - 1), others, &r->flight[0]));
    return exchange_create(r->be, most, own * (r->ranks - 1), others, &r->flight[1]);
}

status reduce_create(backend *be, const tensor_table *table, int64_t lanes, int64_t lane_tokens, int64_t stripe, reduce_kind kind, reduce **out)
{
    reduce *r;
    void *room;
    *out = NULL;
    TRY(memory_new(&r, sizeof *r, "the reduction"));
    *out = r;
    *r = (reduce){.be = be,
                  .table = table,
                  .stripe = stripe,
                  .kind = kind,
                  .window_size = stripe < REDUCE_WINDOW ? stripe : REDUCE_WINDOW,
                  .rank = comm_rank(),
                  .ranks = comm_size()};
    TRY(memory_new(&r->first, (size_t)(r->ranks + 1) * sizeof *r->first, "the reduction"));
    for (int q = 0; q <= r->ranks; q++)
        r->first[q] = reduce_first_parameter(table, stripe, q, r->ranks);
    TRY(create_pieces(r, lanes, lane_tokens));
    for (int q = 0; q < r->ranks; q++)
        r->rounds = count_windows(r, q) > r->rounds ? count_windows(r, q) : r->rounds;
    TRY(be->ops->allocate(be, (size_t)r->window_size * sizeof(float), "a window of gradients", &room));
    r->sum = room;
    TRY(memory_new(&r->counts_out, 2 * TREE_DEPTH * (size_t)r->ranks * sizeof *r->counts_out, "the reduction"));
    TRY(memory_new(&r->rows, (size_t)r->pieces * sizeof *r->rows, "the reduction"));
    TRY(create_early(r));
    return create_messages(r);
}

void reduce_free(reduce *r)
{
    if (!r)
        return;
    for (int i = 0; r->piece && i < r->pieces; i++) {
        piece *p = &r->piece[i];
        if (p->rank == r->rank)
            continue;
        free(p->ids);
        if (p->early)
            r->be->ops->release(r->be, p->early);
        for (int odd = 0; odd < 2; odd++)
            if (p->window[odd])
                r->be->ops->release(r->be, p->window[odd]);
    }
    if (r->sum)
        r->be->ops->release(r->be, r->sum);
    comm_requests_free(r->lists);
    exchange_free(r->flight[0]);
    exchange_free(r->flight[1]);
    exchange_free(r->ahead);
    free(r->rows);
    free(r->piece);
    free(r->first);
    free(r->counts_out);
    free(r);
}

size_t reduce_bytes(const tensor_table *table, int64_t lanes, int64_t lane_tokens, int64_t stripe)
{
    int ranks = comm_size(), others = count_pieces(lanes, ranks);
    int64_t start[2 * TREE_DEPTH], count[2 * TREE_DEPTH];
    others -= tree_pieces(deal_first_lane(comm_rank(), ranks, lanes), deal_first_lane(comm_rank() + 1, ranks, lanes), start, count);
    int64_t first = reduce_first_parameter(table, stripe, comm_rank(), ranks), end = reduce_first_parameter(table, stripe, comm_rank() + 1, ranks);
    size_t room = (size_t)(stripe < REDUCE_WINDOW ? stripe : REDUCE_WINDOW) * sizeof(float);
    if (first == end)
        return room;
    return room + (size_t)others * (2 * room + (size_t)most_rows(table, first, end, lanes * lane_tokens) * sizeof(int32_t));
}

size_t reduce_early_bytes(const tensor_table *table, int64_t lanes, int64_t stripe)
{
    int ranks = comm_size(), rank = comm_rank();
    int64_t start[2 * TREE_DEPTH], count[2 * TREE_DEPTH], begin;
    int own = tree_pieces(deal_first_lane(rank, ranks, lanes), deal_first_lane(rank + 1, ranks, lanes), start, count);
    int64_t floats = own_dense(table, reduce_first_parameter(table, stripe, rank, ranks), reduce_first_parameter(table, stripe, rank + 1, ranks), &begin);
    return (size_t)(count_pieces(lanes, ranks) - own) * (size_t)floats * sizeof(float);
}

/* ---- what sets out early ---- */

bool reduce_is_early(const reduce *r)
{
    return r->ahead != NULL;
}

void reduce_early(reduce *r, sums *mine, int64_t first)
{
    int64_t begin, floats = own_dense(r->table, r->first[r->rank], r->first[r->rank + 1], &begin);
    const int64_t end = r->ahead_from;
    int64_t from = begin > first ? begin : first, to = begin + floats < end ? begin + floats : end;
    for (int i = 0; i < r->pieces && from < to; i++)
        if (r->piece[i].rank != r->rank)
            exchange_receive(r->ahead, r->piece[i].early + (from - begin), to - from, r->piece[i].rank, r->piece[i].index);
    for (int step = 1; step < r->ranks; step++) {
        int k = (r->rank + step) % r->ranks;
        floats = own_dense(r->table, r->first[k], r->first[k + 1], &begin);
        from = begin > first ? begin : first;
        to = begin + floats < end ? begin + floats : end;
        for (int i = 0; i < r->pieces && from < to; i++)
            if (r->piece[i].rank == r->rank)
                exchange_send(r->ahead, mine->slot[r->piece[i].index]->dense + from, to - from, k, r->piece[i].index);
    }
    exchange_start(r->ahead);
    r->ahead_from = first;
}

/* ---- one exchange ---- */

/* How many of my word rows meet each owner's parameters, then their ids: an owner knows from them the size of every later message. */
static void exchange_ids(reduce *r)
{
    comm_request *q = r->lists;
    int64_t width = r->table->config.hidden, from, to, start, floats;
    bool owner = r->first[r->rank] < r->first[r->rank + 1];
    for (int i = 0; i < r->pieces; i++)
        if (owner && r->piece[i].rank != r->rank)
            comm_start_receive(q, &r->piece[i].count, sizeof r->piece[i].count, r->piece[i].rank, r->piece[i].index);
    for (int i = 0; i < r->mine->pieces; i++) {
        const gradient *g = r->mine->slot[i];
        for (int k = 0; k < r->ranks; k++) {
            int64_t *count = &r->counts_out[i * r->ranks + k];
            rows_within(g->ids, g->count, width, r->first[k], r->first[k + 1], &from, &to, &start, &floats);
            *count = to - from;
            if (k != r->rank && r->first[k] < r->first[k + 1])
                comm_start_send(q, count, sizeof *count, k, i);
        }
    }
    comm_wait_all(q);
    for (int i = 0; i < r->pieces; i++)
        if (owner && r->piece[i].rank != r->rank)
            comm_start_receive(q, r->piece[i].ids, (size_t)r->piece[i].count * sizeof(int32_t), r->piece[i].rank, r->piece[i].index);
    for (int i = 0; i < r->mine->pieces; i++) {
        const gradient *g = r->mine->slot[i];
        for (int k = 0; k < r->ranks; k++) {
            if (k == r->rank || r->first[k] == r->first[k + 1])
                continue;
            rows_within(g->ids, g->count, width, r->first[k], r->first[k + 1], &from, &to, &start, &floats);
            comm_start_send(q, g->ids + from, (size_t)(to - from) * sizeof(int32_t), k, i);
        }
    }
    comm_wait_all(q);
}

/* REDUCE_FAST: the sum of all lanes of all ranks in the dense part of my first piece. */
static void sum_dense(reduce *r)
{
    gradient *sum = r->mine->slot[0];
    for (int i = 1; i < r->mine->pieces; i++)
        r->be->ops->add(r->be, sum->dense, r->mine->slot[i]->dense, sum->dense_count);
    if (r->ranks > 1)
        exchange_sum_any_order(r->be, sum->dense, sum->dense_count);
}

/* Whether dense windows travel in rounds: else all-reduce has summed them, or they have set out early. */
static bool travels(const reduce *r)
{
    return r->kind == REDUCE_EXACT && r->ahead_from > 0;
}

static void start_round(reduce *r, int64_t round)
{
    exchange *x = r->flight[round & 1];
    int64_t width = r->table->config.hidden, from, to, start, floats;
    window w;
    if (window_at(r, r->rank, round, &w) && (w.word || travels(r)))
        for (int i = 0; i < r->pieces; i++) {
            piece *p = &r->piece[i];
            if (p->rank == r->rank)
                continue;
            floats = w.end - w.first;
            if (w.word)
                rows_within(p->ids, p->count, width, w.first, w.end, &from, &to, &start, &floats);
            exchange_receive(x, p->window[round & 1], floats, p->rank, p->index);
        }
    for (int step = 1; step < r->ranks; step++) { /* each rank begins with another owner */
        int k = (r->rank + step) % r->ranks;
        if (!window_at(r, k, round, &w) || (!w.word && !travels(r)))
            continue;
        for (int i = 0; i < r->mine->pieces; i++) {
            const gradient *g = r->mine->slot[i];
            if (w.word) {
                rows_within(g->ids, g->count, width, w.first, w.end, &from, &to, &start, &floats);
                exchange_send(x, g->rows + start, floats, k, i);
            } else {
                exchange_send(x, g->dense + (w.first - r->table->word), w.end - w.first, k, i);
            }
        }
    }
    if (r->ranks > 1)
        exchange_start(x);
}

void reduce_begin(reduce *r, sums *mine)
{
    int64_t width = r->table->config.hidden, from, to, start, floats;
    r->mine = mine;
    r->round = 0;
    for (int i = 0; i < r->pieces; i++) {
        piece *p = &r->piece[i];
        if (p->rank != r->rank)
            continue;
        const gradient *g = mine->slot[p->index];
        rows_within(g->ids, g->count, width, r->first[r->rank], r->first[r->rank + 1], &from, &to, &start, &floats);
        p->ids = g->ids + from;
        p->count = to - from;
        p->rows = g->rows + from * width;
        p->dense = g->dense;
    }
    if (r->kind == REDUCE_FAST)
        sum_dense(r);
    if (r->ranks > 1)
        exchange_ids(r);
    if (r->rounds > 0)
        start_round(r, 0);
}

/* Folds the dense parts in place: the result lies where the first piece's part was. */
static const float *fold_dense(reduce *r, const window *w, int odd)
{
    const int64_t at = w->first - r->table->word;
    float *part[TREE_DEPTH];
    tree order;
    int older, newer;
    int64_t begin;
    if (r->kind == REDUCE_FAST)
        return r->mine->slot[0]->dense + at;
    own_dense(r->table, r->first[r->rank], r->first[r->rank + 1], &begin);
    tree_begin(&order, 0);
    for (int i = 0; i < r->pieces; i++) {
        piece *p = &r->piece[i];
        int slot = tree_push(&order, p->lanes);
        part[slot] = p->rank == r->rank ? p->dense + at : r->ahead_from == 0 ? p->early + (at - begin) : p->window[odd];
        while (tree_fold(&order, &older, &newer))
            r->be->ops->add(r->be, part[older], part[newer], w->end - w->first);
    }
    while (tree_finish(&order, &older, &newer))
        r->be->ops->add(r->be, part[older], part[newer], w->end - w->first);
    return part[0];
}

/* Word rows of the window, folded into a dense one; NULL when there are none. */
static const float *fold_words(reduce *r, const window *w, int odd)
{
    int64_t width = r->table->config.hidden;
    bool any = false;
    for (int i = 0; i < r->pieces; i++) {
        const piece *p = &r->piece[i];
        int64_t from, to, start, floats;
        rows_within(p->ids, p->count, width, w->first, w->end, &from, &to, &start, &floats);
        /* Own rows lie end to end from the first id's; what others sent begins where the window does, which may be within a row. */
        bool own = p->rank == r->rank;
        r->rows[i] = (row_piece){.ids = p->ids + from,
                                 .count = to - from,
                                 .rows = own ? p->rows + from * width : p->window[odd],
                                 .skip = own ? 0 : start - from * width,
                                 .lanes = p->lanes};
        any = any || from < to;
    }
    if (!any)
        return NULL;
    r->be->ops->fold_rows(r->be, width, w->first, w->end, r->rows, r->pieces, r->sum);
    return r->sum;
}

bool reduce_next(reduce *r, reduce_slice *slice)
{
    while (r->round < r->rounds) {
        int64_t round = r->round++;
        window w;
        if (r->round < r->rounds)
            start_round(r, r->round);
        if (r->ranks > 1)
            exchange_wait(r->flight[round & 1]);
        if (!window_at(r, r->rank, round, &w))
            continue;
        const float *folded = w.word ? fold_words(r, &w, round & 1) : fold_dense(r, &w, round & 1);
        *slice = (reduce_slice){w.first, w.end - w.first, folded};
        return true;
    }
    r->ahead_from = r->table->dense;
    return false;
}
