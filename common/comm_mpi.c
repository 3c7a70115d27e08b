/* The one door to MPI. A program started bare (by no launcher) is one rank and never enters MPI: it starts at once and needs no daemon. */
#include "common/comm.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/launcher.h"
#include "common/log.h"
#include "common/shared_memory.h"

enum { PIECE = 1 << 30 }; /* bytes of one MPI message: its counts are ints */
enum { TAG_EXCHANGE = 32000 };

static struct {
    bool mpi; /* entered */
    int rank, size, node_rank, node_size, node, nodes;
    MPI_Comm all, in_node, leaders; /* leaders: first ranks of the nodes, MPI_COMM_NULL elsewhere */
    MPI_Comm flags;                 /* a world of its own for the flag, so that its messages meet no others */
    MPI_Request arrival;            /* of comm_arrive */
    bool flag;
    int *node_of;                   /* size entries */
    uint64_t sent;
    char host[256];
    char agreed[4200];
} me = {.size = 1, .node_size = 1, .nodes = 1};

typedef struct tally_message {
    int64_t round, count;
} tally_message;

static struct {
    tally_message mine, sent;
    MPI_Request request;
    bool on_the_way;
    int64_t *of; /* rank 0: of each rank */
} tally;
enum { TAG_TALLY = 1 };

struct comm_request {
    int capacity, used;
    MPI_Request *request;
};

static void find_nodes(void)
{
    MPI_Comm_split_type(me.all, MPI_COMM_TYPE_SHARED, me.rank, MPI_INFO_NULL, &me.in_node);
    MPI_Comm_rank(me.in_node, &me.node_rank);
    MPI_Comm_size(me.in_node, &me.node_size);
    int leader = me.rank;
    MPI_Bcast(&leader, 1, MPI_INT, 0, me.in_node);
    MPI_Allgather(&leader, 1, MPI_INT, me.node_of, 1, MPI_INT, me.all);
    /* The leaders' ranks, ascending, become node numbers. */
    me.nodes = 0;
    for (int r = 0; r < me.size; r++)
        if (me.node_of[r] == r)
            me.nodes++;
    int *number = malloc(sizeof *number * (size_t)me.size);
    if (!number)
        comm_abort(STATUS_RESOURCE);
    for (int r = 0, n = 0; r < me.size; r++)
        number[r] = me.node_of[r] == r ? n++ : -1;
    for (int r = 0; r < me.size; r++)
        me.node_of[r] = number[me.node_of[r]];
    free(number);
    me.node = me.node_of[me.rank];
    MPI_Comm_split(me.all, me.node_rank == 0 ? 0 : MPI_UNDEFINED, me.rank, &me.leaders);
}

status comm_open(int *argc, char ***argv)
{
    if (gethostname(me.host, sizeof me.host - 1) != 0)
        memcpy(me.host, "localhost", sizeof "localhost");
    int tasks = launcher_tasks();
    if (tasks == 1 && !getenv("OMPI_COMM_WORLD_SIZE") && !getenv("PMIX_RANK") && !getenv("PMI_RANK"))
        return STATUS_OK;
    int level;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level);
    me.mpi = true;
    MPI_Comm_dup(MPI_COMM_WORLD, &me.all);
    MPI_Comm_dup(MPI_COMM_WORLD, &me.flags);
    MPI_Comm_rank(me.all, &me.rank);
    MPI_Comm_size(me.all, &me.size);
    if (tasks > 1 && me.size == 1) {
        MPI_Finalize();
        me.mpi = false;
        return fail(STATUS_USAGE, "%s started %d tasks, but MPI sees only one: this would be %d copies of the same job. Under Slurm start with "
                    "srun --mpi=pmix, elsewhere with the mpirun of the Open MPI that this program was built with", launcher_name(), tasks, tasks);
    }
    TRY(memory_new(&me.node_of, sizeof *me.node_of * (size_t)me.size, "the map of nodes"));
    find_nodes();
    return STATUS_OK;
}

void comm_close(void)
{
    if (!me.mpi)
        return;
    MPI_Barrier(me.flags); /* every flag is on its way: take in what nobody has looked at */
    comm_flag_seen();
    comm_tally_total();
    free(tally.of);
    tally.of = NULL;
    if (tally.on_the_way) /* so small a message has left at once */
        MPI_Wait(&tally.request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&me.flags);
    if (me.leaders != MPI_COMM_NULL)
        MPI_Comm_free(&me.leaders);
    MPI_Comm_free(&me.in_node);
    MPI_Comm_free(&me.all);
    free(me.node_of);
    me.node_of = NULL;
    MPI_Finalize();
    me.mpi = false;
}

int comm_rank(void)
{
    return me.rank;
}

int comm_size(void)
{
    return me.size;
}

const char *comm_host(void)
{
    return me.host;
}

void comm_abort(int code)
{
    fflush(NULL);
    if (me.size > 1)
        MPI_Abort(MPI_COMM_WORLD, code);
    if (me.mpi)
        MPI_Finalize();
    exit(code);
}

/* ---- collective ---- */

void comm_barrier(void)
{
    if (me.size > 1)
        MPI_Barrier(me.all);
}

static void broadcast(void *p, size_t bytes, int root, MPI_Comm comm)
{
    int size, rank;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    if (size < 2)
        return;
    for (size_t done = 0; done < bytes; done += PIECE)
        MPI_Bcast((char *)p + done, (int)(bytes - done < PIECE ? bytes - done : PIECE), MPI_BYTE, root, comm);
    if (rank == root)
        me.sent += bytes;
}

void comm_broadcast(void *p, size_t bytes, int root)
{
    if (me.size > 1)
        broadcast(p, bytes, root, me.all);
}

void comm_all_gather(const void *mine, size_t bytes, void *all)
{
    memmove((char *)all + bytes * (size_t)me.rank, mine, bytes);
    for (int r = 0; r < me.size; r++)
        comm_broadcast((char *)all + bytes * (size_t)r, bytes, r);
}

void comm_gather_parts(const void *mine, const size_t *bytes_of, void *all, int root)
{
    if (me.rank != root) {
        for (size_t done = 0; done < bytes_of[me.rank]; done += PIECE) {
            size_t n = bytes_of[me.rank] - done < PIECE ? bytes_of[me.rank] - done : PIECE;
            MPI_Send((const char *)mine + done, (int)n, MPI_BYTE, root, TAG_EXCHANGE, me.all);
            me.sent += n;
        }
        return;
    }
    char *at = all;
    for (int r = 0; r < me.size; at += bytes_of[r], r++) {
        if (r == root) {
            if (bytes_of[r] > 0) /* a rank without a part may have no memory for one */
                memmove(at, mine, bytes_of[r]);
            continue;
        }
        for (size_t done = 0; done < bytes_of[r]; done += PIECE)
            MPI_Recv(at + done, (int)(bytes_of[r] - done < PIECE ? bytes_of[r] - done : PIECE), MPI_BYTE, r, TAG_EXCHANGE, me.all, MPI_STATUS_IGNORE);
    }
}

void comm_all_gather_parts(const void *mine, const size_t *bytes_of, void *all)
{
    char *at = all;
    for (int r = 0; r < me.size; at += bytes_of[r], r++) {
        if (r == me.rank && bytes_of[r] > 0)
            memmove(at, mine, bytes_of[r]);
        comm_broadcast(at, bytes_of[r], r);
    }
}

static void reduce(void *values, size_t count, size_t width, MPI_Datatype type, MPI_Op op)
{
    const size_t block = PIECE / 8;
    for (size_t done = 0; me.size > 1 && done < count; done += block) {
        size_t n = count - done < block ? count - done : block;
        MPI_Allreduce(MPI_IN_PLACE, (char *)values + done * width, (int)n, type, op, me.all);
        me.sent += n * width;
    }
}

void comm_sum_int64(int64_t *values, size_t count)
{
    reduce(values, count, sizeof *values, MPI_INT64_T, MPI_SUM);
}

void comm_sum_uint64(uint64_t *values, size_t count)
{
    reduce(values, count, sizeof *values, MPI_UINT64_T, MPI_SUM);
}

void comm_max_int64(int64_t *values, size_t count)
{
    reduce(values, count, sizeof *values, MPI_INT64_T, MPI_MAX);
}

void comm_min_int64(int64_t *values, size_t count)
{
    reduce(values, count, sizeof *values, MPI_INT64_T, MPI_MIN);
}

void comm_sum_float_any_order(float *values, size_t count)
{
    reduce(values, count, sizeof *values, MPI_FLOAT, MPI_SUM);
}

bool comm_any(bool mine)
{
    int64_t any = mine;
    comm_max_int64(&any, 1);
    return any != 0;
}

void comm_exchange(const void *send, const size_t *bytes_to, void *receive, const size_t *bytes_from)
{
    comm_request *q;
    int pieces = 0;
    for (int r = 0; r < me.size; r++)
        pieces += (int)((bytes_to[r] + PIECE - 1) / PIECE + (bytes_from[r] + PIECE - 1) / PIECE);
    if (comm_requests_create(pieces + 1, &q) != STATUS_OK)
        comm_abort(STATUS_RESOURCE);
    const char *out = send;
    char *in = receive;
    const char *own = NULL;
    for (int r = 0; r < me.size; out += bytes_to[r], r++) {
        if (r == me.rank)
            own = out;
        else
            comm_start_send(q, out, bytes_to[r], r, TAG_EXCHANGE);
    }
    for (int r = 0; r < me.size; in += bytes_from[r], r++) {
        if (r == me.rank)
            memmove(in, own, bytes_from[r]);
        else
            comm_start_receive(q, in, bytes_from[r], r, TAG_EXCHANGE);
    }
    comm_wait_all(q);
    comm_requests_free(q);
}

status comm_agree(status mine)
{
    if (me.size == 1)
        return mine;
    /* One word finds the lowest rank in trouble: rank in the high part, its status in the low. */
    int64_t first = mine == STATUS_OK ? INT64_MAX : (int64_t)me.rank << 8 | mine;
    comm_min_int64(&first, 1);
    if (first == INT64_MAX)
        return STATUS_OK;
    int root = (int)(first >> 8);
    if (me.rank == root && strcmp(me.agreed, status_message()) != 0) /* agreed on further in: it has its rank already */
        snprintf(me.agreed, sizeof me.agreed, "rank %d on %s: %.3800s", root, me.host, status_message());
    comm_broadcast(me.agreed, sizeof me.agreed, root);
    status_set_message(me.agreed);
    return (status)(first & 255);
}

const char *comm_agreed_message(void)
{
    return me.agreed[0] ? me.agreed : NULL;
}

/* ---- point to point ---- */

status comm_requests_create(int capacity, comm_request **out)
{
    comm_request *q;
    TRY(memory_new(&q, sizeof *q, "message requests"));
    q->capacity = capacity > 0 ? capacity : 1;
    status st = memory_new(&q->request, sizeof *q->request * (size_t)q->capacity, "message requests");
    if (st != STATUS_OK)
        free(q);
    else
        *out = q;
    return st;
}

void comm_requests_free(comm_request *q)
{
    if (q)
        free(q->request);
    free(q);
}

static MPI_Request *next_request(comm_request *q)
{
    if (q->used == q->capacity) { /* a message over 2 GiB takes several: grow rather than make each caller count */
        q->capacity *= 2;
        if (memory_grow(&q->request, sizeof *q->request * (size_t)q->capacity, "message requests") != STATUS_OK)
            comm_abort(STATUS_RESOURCE);
    }
    return &q->request[q->used++];
}

void comm_start_send(comm_request *q, const void *p, size_t bytes, int to, int tag)
{
    for (size_t done = 0; done < bytes; done += PIECE)
        MPI_Isend((const char *)p + done, (int)(bytes - done < PIECE ? bytes - done : PIECE), MPI_BYTE, to, tag, me.all, next_request(q));
    me.sent += bytes;
}

void comm_start_receive(comm_request *q, void *p, size_t bytes, int from, int tag)
{
    for (size_t done = 0; done < bytes; done += PIECE)
        MPI_Irecv((char *)p + done, (int)(bytes - done < PIECE ? bytes - done : PIECE), MPI_BYTE, from, tag, me.all, next_request(q));
}

void comm_wait_all(comm_request *q)
{
    if (q->used > 0) /* a process started bare has no MPI, and no messages */
        MPI_Waitall(q->used, q->request, MPI_STATUSES_IGNORE);
    q->used = 0;
}

/* ---- flag ---- */

void comm_flag_raise(void)
{
    if (me.flag)
        return;
    me.flag = true;
    for (int r = 0; r < me.size; r++) {
        if (r == me.rank)
            continue;
        MPI_Request sent; /* an empty message is complete for the sender at once; nobody need wait for it */
        MPI_Isend(NULL, 0, MPI_BYTE, r, 0, me.flags, &sent);
        MPI_Request_free(&sent);
    }
}

bool comm_flag_seen(void)
{
    int come = 1;
    while (me.size > 1 && come) {
        MPI_Iprobe(MPI_ANY_SOURCE, 0, me.flags, &come, MPI_STATUS_IGNORE);
        if (come) {
            MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, 0, me.flags, MPI_STATUS_IGNORE);
            me.flag = true;
        }
    }
    return me.flag;
}

void comm_arrive(void)
{
    if (me.size > 1)
        MPI_Ibarrier(me.all, &me.arrival);
}

bool comm_arrived(void)
{
    int done = 1;
    if (me.size > 1)
        MPI_Test(&me.arrival, &done, MPI_STATUS_IGNORE);
    return done != 0;
}

/* ---- tally: every rank sends its count so far, when the last such message has gone; rank 0 keeps the newest of each ---- */

void comm_tally_begin(void)
{
    tally.mine = (tally_message){.round = tally.mine.round + 1};
    if (me.rank == 0 && me.size > 1 && !tally.of)
        tally.of = malloc((size_t)me.size * sizeof *tally.of);
    if (tally.of)
        memset(tally.of, 0, (size_t)me.size * sizeof *tally.of);
}

static bool tally_has_gone(bool must)
{
    int gone = 1;
    if (tally.on_the_way && must)
        MPI_Wait(&tally.request, MPI_STATUS_IGNORE);
    else if (tally.on_the_way)
        MPI_Test(&tally.request, &gone, MPI_STATUS_IGNORE);
    tally.on_the_way = !gone;
    return gone;
}

void comm_tally_add(int64_t n)
{
    tally.mine.count += n;
    if (me.rank == 0 || !tally_has_gone(n == 0))
        return;
    tally.sent = tally.mine;
    MPI_Isend(&tally.sent, sizeof tally.sent, MPI_BYTE, 0, TAG_TALLY, me.flags, &tally.request);
    tally.on_the_way = true;
}

int64_t comm_tally_total(void)
{
    int64_t total = tally.mine.count;
    int come = 1;
    while (me.rank == 0 && me.size > 1 && come) {
        MPI_Status from;
        tally_message m;
        MPI_Iprobe(MPI_ANY_SOURCE, TAG_TALLY, me.flags, &come, &from);
        if (!come)
            break;
        MPI_Recv(&m, sizeof m, MPI_BYTE, from.MPI_SOURCE, TAG_TALLY, me.flags, MPI_STATUS_IGNORE);
        if (tally.of && m.round == tally.mine.round)
            tally.of[from.MPI_SOURCE] = m.count;
    }
    for (int r = 1; tally.of && r < me.size; r++)
        total += tally.of[r];
    return total;
}

/* ---- nodes and shared memory ---- */

int comm_node_rank(void)
{
    return me.node_rank;
}

int comm_node_size(void)
{
    return me.node_size;
}

int comm_node(void)
{
    return me.node;
}

int comm_nodes(void)
{
    return me.nodes;
}

/* All ranks must take the same way: shared everywhere, or a copy a rank everywhere. */
static bool sharing_works = true;

status comm_shared_create(size_t bytes, const char *what, void **p, bool *shared)
{
    *shared = true;
    *p = NULL;
    if (me.size == 1)
        return shared_memory_private(bytes, what, p);
    bool alone = me.node_size == 1;
    shared_memory_name name = {0};
    status st = STATUS_OK;
    if (sharing_works) {
        if (alone)
            st = shared_memory_private(bytes, what, p);
        else if (me.node_rank == 0)
            st = shared_memory_create(bytes, what, p, &name);
        broadcast(&name, sizeof name, 0, me.in_node);
        if (!alone && me.node_rank > 0)
            st = name.process ? shared_memory_attach(&name, bytes, p) : fail(STATUS_RESOURCE, "the node's first rank had no memory to share");
        bool failed = comm_any(st != STATUS_OK);
        if (!alone && me.node_rank == 0 && name.process)
            shared_memory_close_name(&name);
        if (!failed)
            return STATUS_OK;
        if (st != STATUS_OK)
            log_always("rank %d on %s: %s; every rank keeps a copy of its own from here on", me.rank, me.host, status_message());
        shared_memory_free(*p);
        sharing_works = false;
    }
    *shared = false;
    return comm_agree(shared_memory_private(bytes, what, p));
}

void comm_shared_free(void *p)
{
    if (!p)
        return;
    comm_node_barrier(); /* nobody still reads */
    shared_memory_free(p);
}

void comm_node_barrier(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (me.node_size > 1)
        MPI_Barrier(me.in_node);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void comm_shared_spread(void *p, const size_t *first)
{
    if (me.size == 1)
        return;
    comm_node_barrier();
    if (!sharing_works) {
        for (int r = 0; r < me.size; r++)
            comm_broadcast((char *)p + first[r], first[r + 1] - first[r], r);
        return;
    }
    if (me.nodes > 1 && me.leaders != MPI_COMM_NULL)
        for (int r = 0; r < me.size; r++)
            broadcast((char *)p + first[r], first[r + 1] - first[r], me.node_of[r], me.leaders);
    comm_node_barrier();
}

void comm_shared_broadcast(void *p, size_t bytes)
{
    if (me.size == 1)
        return;
    if (!sharing_works) {
        comm_broadcast(p, bytes, 0);
        return;
    }
    comm_node_barrier();
    if (me.nodes > 1 && me.leaders != MPI_COMM_NULL)
        broadcast(p, bytes, 0, me.leaders);
    comm_node_barrier();
}

uint64_t comm_bytes_sent(void)
{
    return me.sent;
}
