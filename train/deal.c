#include "train/deal.h"

#include <stdlib.h>

struct deal {
    deal_kind kind;
    int64_t lanes, batch;
    int32_t *order; /* slots by (length descending, position ascending) */
    int32_t *start; /* counting sort: first place of each length */
    int64_t start_room;
    int32_t *lane_of; /* of each slot */
    int64_t *tokens;  /* dealt to each lane */
    int32_t *rows;    /* dealt to each lane */
    int32_t *slot;    /* the result */
};

enum { LONGEST = 1 << 16 };

status deal_create(deal_kind kind, int64_t lanes, int64_t batch, deal **out)
{
    size_t n = (size_t)(lanes * batch);
    deal *d;
    *out = NULL;
    TRY(memory_new(&d, sizeof *d, "the deal"));
    *out = d;
    *d = (deal){.kind = kind, .lanes = lanes, .batch = batch, .start_room = LONGEST + 2};
    TRY(memory_new(&d->order, n * sizeof *d->order, "the deal"));
    TRY(memory_new(&d->lane_of, n * sizeof *d->lane_of, "the deal"));
    TRY(memory_new(&d->slot, n * sizeof *d->slot, "the deal"));
    TRY(memory_new(&d->start, (size_t)d->start_room * sizeof *d->start, "the deal"));
    TRY(memory_new(&d->tokens, (size_t)lanes * sizeof *d->tokens, "the deal"));
    return memory_new(&d->rows, (size_t)lanes * sizeof *d->rows, "the deal");
}

void deal_free(deal *d)
{
    if (!d)
        return;
    free(d->order);
    free(d->start);
    free(d->lane_of);
    free(d->tokens);
    free(d->rows);
    free(d->slot);
    free(d);
}

static int32_t capped(int32_t length)
{
    return length < LONGEST ? length : LONGEST;
}

/* Counting sort, longest first; stable, so equal lengths stay in order of position. */
static void sort_by_length(deal *d, const int32_t *length)
{
    int64_t n = d->lanes * d->batch;
    for (int64_t i = 0; i < d->start_room; i++)
        d->start[i] = 0;
    for (int64_t i = 0; i < n; i++)
        d->start[LONGEST - capped(length[i]) + 1]++;
    for (int64_t i = 1; i < d->start_room; i++)
        d->start[i] += d->start[i - 1];
    for (int64_t i = 0; i < n; i++)
        d->order[d->start[LONGEST - capped(length[i])]++] = (int32_t)i;
}

static void deal_balanced(deal *d, const int32_t *length)
{
    int64_t n = d->lanes * d->batch;
    sort_by_length(d, length);
    for (int64_t lane = 0; lane < d->lanes; lane++) {
        d->tokens[lane] = 0;
        d->rows[lane] = 0;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t best = -1;
        for (int64_t lane = 0; lane < d->lanes; lane++)
            if (d->rows[lane] < d->batch && (best < 0 || d->tokens[lane] < d->tokens[best]))
                best = lane;
        d->lane_of[d->order[i]] = (int32_t)best;
        d->tokens[best] += length[d->order[i]];
        d->rows[best]++;
    }
}

const int32_t *deal_rows(deal *d, const int32_t *length)
{
    int64_t n = d->lanes * d->batch;
    if (d->kind == DEAL_BALANCED)
        deal_balanced(d, length);
    else
        for (int64_t i = 0; i < n; i++)
            d->lane_of[i] = (int32_t)(i % d->lanes);
    for (int64_t lane = 0; lane < d->lanes; lane++)
        d->rows[lane] = 0;
    for (int64_t i = 0; i < n; i++) /* ascending positions, so each lane's rows come out ascending */
        d->slot[d->lane_of[i] * d->batch + d->rows[d->lane_of[i]]++] = (int32_t)i;
    return d->slot;
}

int64_t deal_micro_end(const int32_t *length, const int32_t *slots, int64_t count, int64_t from, int64_t max_tokens, int64_t padded)
{
    int64_t tokens = 0, end = from;
    while (end < count) {
        tokens += padded > 0 ? padded : length[slots[end]];
        if (tokens > max_tokens)
            break;
        end++;
    }
    return end;
}

static int64_t count_micro(const int32_t *length, const int32_t *slots, int64_t count, int64_t max_tokens, int64_t padded)
{
    int64_t pieces = 0;
    for (int64_t from = 0; from < count; pieces++)
        from = deal_micro_end(length, slots, count, from, max_tokens, padded);
    return pieces;
}

int64_t deal_micro_even(const int32_t *length, const int32_t *slots, int64_t count, int64_t max_tokens, int64_t padded)
{
    int64_t pieces = count_micro(length, slots, count, max_tokens, padded), low = padded > 0 ? padded : 1, high = max_tokens;
    for (int64_t i = 0; padded == 0 && i < count; i++)
        low = length[slots[i]] > low ? length[slots[i]] : low;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (count_micro(length, slots, count, middle, padded) > pieces)
            low = middle + 1;
        else
            high = middle;
    }
    return high;
}

int64_t deal_first_lane(int64_t rank, int64_t ranks, int64_t lanes)
{
    return rank * lanes / ranks;
}
