#include "preprocess/turns.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "common/comm.h"

enum { MOST = 8, TURNS = 64 }; /* of pieces in a turn, a megabyte of CSV; of turns of each rank where that makes them shorter. Ranks end a turn apart at most */

/* The runs of pieces of all ranks, those of a node behind each other: first[place] to first[place + 1] with the rank's place in that order. */
static status deal(const csv_splits *s, int64_t *first, int *place)
{
    int64_t ranks = comm_size();
    int mine[2] = {comm_node(), comm_node_rank()}, *all = NULL;
    uint64_t *busy = NULL;
    status st = memory_new(&all, (size_t)ranks * sizeof mine, "the shares of the ranks");
    if (st == STATUS_OK)
        st = memory_new(&busy, (size_t)ranks * sizeof *busy, "the shares of the ranks");
    TRY_DONE(comm_agree(st));
    comm_all_gather(mine, sizeof mine, all);
    *place = mine[1];
    for (int64_t r = 0; r < ranks; r++)
        *place += all[2 * r] < mine[0];
    splits_deal(s, NULL, busy, ranks, first);
done:
    free(all);
    free(busy);
    return st;
}

static int64_t step_of(int64_t pieces, int64_t ranks)
{
    int64_t step = ranks == 1 ? pieces : pieces / ranks / TURNS < MOST ? pieces / ranks / TURNS : MOST;
    return step > 0 ? step : 1;
}

status turns_open(const csv_splits *s, turns *out)
{
    int64_t *first;
    int place;
    void *taken;
    bool shared;
    *out = (turns){0};
    TRY(comm_agree(memory_new(&first, (size_t)(comm_size() + 1) * sizeof *first, "the shares of the ranks")));
    status st = deal(s, first, &place);
    if (st == STATUS_OK)
        st = comm_shared_create(sizeof *out->taken, "whose turn it is", &taken, &shared);
    if (st == STATUS_OK) {
        int node = place - comm_node_rank();
        *out = (turns){.node_first = first[node], .first = first[place], .end = first[place + 1], .taken = taken};
        if (shared) {
            out->first = first[node];
            out->end = first[node + comm_node_size()];
        }
        out->step = step_of(out->end - out->first, shared ? comm_node_size() : 1);
    }
    free(first);
    return st;
}

bool turns_next(turns *t, int64_t *first, int64_t *end)
{
    *first = t->first + atomic_fetch_add_explicit(t->taken, t->step, memory_order_relaxed);
    *end = *first + t->step < t->end ? *first + t->step : t->end;
    return *first < t->end;
}

void turns_close(turns *t)
{
    comm_shared_free((void *)t->taken);
    *t = (turns){0};
}
