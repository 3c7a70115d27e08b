/* What it costs to move gradients between the ranks of one machine: all ranks exchange windows of 4 MiB with each other, as the reduction does, out
 * of memory that no cache holds.
 *
 *     mpirun -np 2 message_bench [rounds]      nanoseconds that pass for each byte a rank sends or receives; rounds 40, the best of three
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/comm.h"

enum { WINDOW = 4 << 20, WINDOWS = 40, TRIES = 3 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double exchange(comm_request *q, const char *out, char *in, int rounds)
{
    comm_barrier();
    double start = now();
    for (int i = 0; i < rounds; i++) {
        for (int step = 1; step < comm_size(); step++) {
            int from = (comm_rank() + comm_size() - step) % comm_size();
            comm_start_receive(q, in + (size_t)(2 * from + i % 2) * WINDOW, WINDOW, from, 0);
        }
        for (int step = 1; step < comm_size(); step++)
            comm_start_send(q, out + (size_t)(i * (comm_size() - 1) + step) % WINDOWS * WINDOW, WINDOW, (comm_rank() + step) % comm_size(), 0);
        comm_wait_all(q);
    }
    comm_barrier();
    return now() - start;
}

static status measure(int rounds)
{
    comm_request *q;
    char *out, *in;
    double best = 1e9;
    TRY(comm_requests_create(2 * comm_size(), &q));
    TRY(memory_new(&out, (size_t)WINDOWS * WINDOW, "messages"));
    TRY(memory_new(&in, (size_t)comm_size() * 2 * WINDOW, "messages"));
    memset(out, 1, (size_t)WINDOWS * WINDOW);
    exchange(q, out, in, 2); /* pages and buffers are there then */
    for (int i = 0; i < TRIES; i++) {
        double seconds = exchange(q, out, in, rounds);
        best = seconds < best ? seconds : best;
    }
    if (comm_rank() == 0)
        printf("%.4f\n", best * 1e9 / ((double)rounds * 2 * (comm_size() - 1) * WINDOW));
    free(in);
    free(out);
    comm_requests_free(q);
    return STATUS_OK;
}

int main(int argc, char **argv)
{
    status st = comm_open(&argc, &argv);
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 40;
    if (st == STATUS_OK && (comm_size() < 2 || rounds < 1))
        st = fail(STATUS_USAGE, "mpirun -np N message_bench [rounds]: needs at least two ranks and one round");
    if (st == STATUS_OK)
        st = measure(rounds);
    if (st != STATUS_OK) {
        fprintf(stderr, "%s\n", status_message());
        comm_abort(st);
    }
    comm_close();
    return STATUS_OK;
}
