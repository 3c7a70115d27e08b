#include "preprocess/turns.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "common/comm.h"

/* Most pieces of a turn, a megabyte of CSV, since ranks end a turn apart; shorter where a rank would have fewer than so many turns. */
enum { MOST = 8, TURNS = 64 };

/* The rank's place when those of a node stand behind each other. Collective. */
static status find_place(int *place)
{
    int node = comm_node(), *all;
    TRY(comm_agree(memory_new(&all, (size_t)comm_size() * sizeof *all, "the nodes of the ranks")));
    comm_all_gather(&node, sizeof node, all);
    *place = comm_node_rank();
    for (int r = 0; r < comm_size(); r++)
        *place += all[r] < node;
    free(all);
    return STATUS_OK;
}

static int64_t step_of(int64_t pieces, int64_t ranks)
{
    if (ranks == 1)
        return pieces > 0 ? pieces : 1;
    int64_t step = pieces / ranks / TURNS;
    return step < 1 ? 1 : step < MOST ? step : MOST;
}

status turns_open(const csv_splits *s, turns *out)
{
    int64_t *first;
    int place;
    void *taken;
    bool shared;
    *out = (turns){0};
    TRY(comm_agree(memory_new(&first, (size_t)(comm_size() + 1) * sizeof *first, "the shares of the ranks")));
    status st = find_place(&place);
    if (st == STATUS_OK)
        st = comm_shared_create(sizeof *out->taken, "whose turn it is", &taken, &shared);
    if (st == STATUS_OK) {
        int node = place - comm_node_rank();
        splits_deal(s, NULL, NULL, comm_size(), first);
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
