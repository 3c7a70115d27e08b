/* One rank, no MPI: the twin of comm_mpi.c for builds on one machine. */
#include "common/comm.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/launcher.h"
#include "common/shared_memory.h"

struct comm_request {
    int unused;
};

status comm_open(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    if (launcher_tasks() > 1)
        return fail(STATUS_USAGE, "%s started %d tasks, but this build has no MPI and runs as one: start one task, or use the build with MPI",
                    launcher_name(), launcher_tasks());
    return STATUS_OK;
}

void comm_close(void)
{
}

int comm_rank(void)
{
    return 0;
}

int comm_size(void)
{
    return 1;
}

const char *comm_host(void)
{
    static char name[256];
    if (!name[0] && gethostname(name, sizeof name - 1) != 0)
        memcpy(name, "localhost", sizeof "localhost");
    return name;
}

void comm_abort(int code)
{
    exit(code);
}

void comm_barrier(void)
{
}

void comm_broadcast(void *p, size_t bytes, int root)
{
    (void)p, (void)bytes, (void)root;
}

void comm_all_gather(const void *mine, size_t bytes, void *all)
{
    memmove(all, mine, bytes);
}

void comm_gather_parts(const void *mine, const size_t *bytes_of, void *all, int root)
{
    (void)root;
    if (bytes_of[0] > 0) /* a rank without a part may have no memory for one */
        memmove(all, mine, bytes_of[0]);
}

void comm_all_gather_parts(const void *mine, const size_t *bytes_of, void *all)
{
    if (bytes_of[0] > 0) /* a rank without a part may have no memory for one */
        memmove(all, mine, bytes_of[0]);
}

void comm_sum_int64(int64_t *values, size_t count)
{
    (void)values, (void)count;
}

void comm_sum_uint64(uint64_t *values, size_t count)
{
    (void)values, (void)count;
}

void comm_max_int64(int64_t *values, size_t count)
{
    (void)values, (void)count;
}

void comm_min_int64(int64_t *values, size_t count)
{
    (void)values, (void)count;
}

bool comm_any(bool mine)
{
    return mine;
}

void comm_exchange(const void *send, const size_t *bytes_to, void *receive, const size_t *bytes_from)
{
    (void)bytes_from;
    if (bytes_to[0] > 0)
        memmove(receive, send, bytes_to[0]);
}

status comm_agree(status mine)
{
    return mine;
}

const char *comm_agreed_message(void)
{
    return NULL;
}

void comm_sum_float_any_order(float *values, size_t count)
{
    (void)values, (void)count;
}

/* One rank has nobody to write to: a plan that sends or receives here is a fault of the caller. */
status comm_requests_create(int capacity, comm_request **out)
{
    (void)capacity;
    return memory_new(out, sizeof **out, "message requests");
}

void comm_requests_free(comm_request *q)
{
    free(q);
}

void comm_start_send(comm_request *q, const void *p, size_t bytes, int to, int tag)
{
    (void)q, (void)p, (void)bytes, (void)to, (void)tag;
    abort();
}

void comm_start_receive(comm_request *q, void *p, size_t bytes, int from, int tag)
{
    (void)q, (void)p, (void)bytes, (void)from, (void)tag;
    abort();
}

void comm_wait_all(comm_request *q)
{
    (void)q;
}

static int64_t tally;

void comm_tally_begin(void)
{
    tally = 0;
}

void comm_tally_add(int64_t n)
{
    tally += n;
}

int64_t comm_tally_total(void)
{
    return tally;
}

int comm_node_rank(void)
{
    return 0;
}

int comm_node_size(void)
{
    return 1;
}

int comm_node(void)
{
    return 0;
}

int comm_nodes(void)
{
    return 1;
}

status comm_shared_create(size_t bytes, const char *what, void **p, bool *shared)
{
    *shared = true; /* by all one rank of the node */
    return shared_memory_private(bytes, what, p);
}

void comm_shared_free(void *p)
{
    shared_memory_free(p);
}

void comm_node_barrier(void)
{
}

void comm_shared_spread(void *p, const size_t *first)
{
    (void)p, (void)first;
}

void comm_shared_broadcast(void *p, size_t bytes)
{
    (void)p, (void)bytes;
}

uint64_t comm_bytes_sent(void)
{
    return 0;
}

static bool flag;

void comm_flag_raise(void)
{
    flag = true;
}

bool comm_flag_seen(void)
{
    return flag;
}

void comm_arrive(void)
{
}

bool comm_arrived(void)
{
    return true;
}
