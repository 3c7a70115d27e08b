/* The door to MPI: every collective against what it must give, at any number of ranks; shared memory; agreement on errors. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/comm.h"
#include "support/support.h"

static int rank, size;

START_TEST(collectives)
{
    int64_t v[3] = {rank, -rank, 1};
    comm_sum_int64(v, 3);
    ck_assert_int_eq(v[0], (int64_t)size * (size - 1) / 2);
    ck_assert_int_eq(v[2], size);
    int64_t low = rank + 5, high = rank;
    comm_min_int64(&low, 1);
    comm_max_int64(&high, 1);
    ck_assert(low == 5 && high == size - 1);
    ck_assert(comm_any(rank == size - 1) && !comm_any(false));
    int *all = malloc(sizeof *all * (size_t)size), mine = 100 + rank;
    comm_all_gather(&mine, sizeof mine, all);
    for (int r = 0; r < size; r++)
        ck_assert_int_eq(all[r], 100 + r);
    free(all);
    int word = rank == size - 1 ? 77 : 0;
    comm_broadcast(&word, sizeof word, size - 1);
    ck_assert_int_eq(word, 77);
}
END_TEST

START_TEST(parts_and_exchange)
{
    /* rank r gives r + q bytes of value 16 r + q to rank q */
    size_t to[64], from[64], gives = 0, gets = 0, parts[64], total = 0;
    ck_assert_int_le(size, 64);
    for (int q = 0; q < size; q++) {
        gives += to[q] = (size_t)(rank + q);
        gets += from[q] = (size_t)(q + rank);
        total += parts[q] = (size_t)(3 * q);
    }
    unsigned char *out = malloc(gives + 1), *in = malloc(gets + 1), *at = out;
    for (int q = 0; q < size; at += to[q], q++)
        memset(at, 16 * rank + q, to[q]);
    comm_exchange(out, to, in, from);
    at = in;
    for (int q = 0; q < size; q++)
        for (size_t i = 0; i < from[q]; i++)
            ck_assert_int_eq(*at++, 16 * q + rank);
    free(out);
    free(in);
    unsigned char mine[192], *all = malloc(total + 1);
    memset(mine, rank, sizeof mine);
    comm_all_gather_parts(mine, parts, all);
    at = all;
    for (int q = 0; q < size; q++)
        for (size_t i = 0; i < parts[q]; i++)
            ck_assert_int_eq(*at++, q);
    memset(all, 255, total);
    comm_gather_parts(mine, parts, all, size - 1);
    if (rank == size - 1)
        for (size_t i = total; i-- > total - parts[size - 1];)
            ck_assert_int_eq(all[i], size - 1);
    free(all);
}
END_TEST

START_TEST(requests)
{
    if (size == 1)
        return; /* nobody to write to */
    comm_request *q;
    ck_ok(comm_requests_create(1, &q)); /* it grows */
    int next = (rank + 1) % size, before = (rank + size - 1) % size, got[2] = {0}, give[2] = {rank, 1000 + rank};
    comm_start_receive(q, &got[1], sizeof(int), before, 2);
    comm_start_receive(q, &got[0], sizeof(int), before, 1);
    comm_start_send(q, &give[0], sizeof(int), next, 1);
    comm_start_send(q, &give[1], sizeof(int), next, 2);
    comm_wait_all(q);
    ck_assert(got[0] == before && got[1] == 1000 + before);
    comm_requests_free(q);
    ck_assert_uint_ge(comm_bytes_sent(), 2 * sizeof(int));
}
END_TEST

START_TEST(shared_memory)
{
    bool shared;
    void *p;
    size_t bytes = 4096 * 3 + 17, first[65];
    ck_ok(comm_shared_create(bytes, "a test", &p, &shared));
    unsigned char *c = p;
    for (int r = 0; r <= size; r++)
        first[r] = bytes * (size_t)r / (size_t)size;
    if (rank == size - 1)
        usleep(100000); /* a late rank shows whether the others wait for it */
    memset(c + first[rank], rank + 1, first[rank + 1] - first[rank]);
    comm_shared_spread(p, first);
    for (int r = 0; r < size; r++)
        for (size_t i = first[r]; i < first[r + 1]; i++)
            ck_assert_int_eq(c[i], r + 1);
    comm_barrier();
    if (rank == 0)
        memset(c, 9, bytes);
    comm_shared_broadcast(p, bytes);
    ck_assert(c[0] == 9 && c[bytes - 1] == 9);
    comm_shared_free(p);
    ck_assert(comm_node_rank() < comm_node_size() && comm_node() < comm_nodes());
}
END_TEST

START_TEST(agreement)
{
    ck_ok(comm_agree(STATUS_OK));
    status mine = rank == size - 1 ? fail(STATUS_INPUT, "bad file") : STATUS_OK;
    ck_fails(comm_agree(mine), STATUS_INPUT, "bad file");
    if (size > 1) {
        char who[32];
        snprintf(who, sizeof who, "rank %d on ", size - 1);
        ck_assert_msg(strstr(status_message(), who) != NULL, "%s", status_message());
        ck_assert_str_eq(status_message(), comm_agreed_message());
    }
    /* several in trouble: the lowest one's error wins everywhere */
    mine = rank == 0 ? fail(STATUS_IO, "first") : fail(STATUS_CHECK, "later");
    ck_fails(comm_agree(mine), STATUS_IO, "first");
}
END_TEST

int main(int argc, char **argv)
{
    if (comm_open(&argc, &argv) != STATUS_OK)
        return 1;
    rank = comm_rank();
    size = comm_size();
    int failed = support_run("comm", (const TTest *[]){collectives, parts_and_exchange, requests, shared_memory, agreement, NULL});
    failed = comm_any(failed);
    comm_close();
    return failed;
}
