#include <nccl.h>
#include <stdlib.h>
#include <string.h>

#include "model/cuda/link.h"
#include "model/cuda/symbols.h"

struct link {
    gpu *gpu;
    ncclComm_t ranks; /* NULL: not joined, or given up */
};

/* What is called of the library, by the names it has there. */
static struct {
    ncclResult_t (*GetUniqueId)(ncclUniqueId *);
    ncclResult_t (*CommInitRank)(ncclComm_t *, int, ncclUniqueId, int);
    ncclResult_t (*CommAbort)(ncclComm_t);
    ncclResult_t (*CommGetAsyncError)(ncclComm_t, ncclResult_t *);
    ncclResult_t (*GroupStart)(void);
    ncclResult_t (*GroupEnd)(void);
    ncclResult_t (*Send)(const void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
    ncclResult_t (*Recv)(void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
    ncclResult_t (*AllReduce)(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t);
    const char *(*GetErrorString)(ncclResult_t);
    const char *(*GetLastError)(ncclComm_t);
} nccl;

bool link_available(void)
{
    static const library_symbol wanted[] = {
        {"ncclGetUniqueId", &nccl.GetUniqueId},
        {"ncclCommInitRank", &nccl.CommInitRank},
        {"ncclCommAbort", &nccl.CommAbort},
        {"ncclCommGetAsyncError", &nccl.CommGetAsyncError},
        {"ncclGroupStart", &nccl.GroupStart},
        {"ncclGroupEnd", &nccl.GroupEnd},
        {"ncclSend", &nccl.Send},
        {"ncclRecv", &nccl.Recv},
        {"ncclAllReduce", &nccl.AllReduce},
        {"ncclGetErrorString", &nccl.GetErrorString},
        {"ncclGetLastError", &nccl.GetLastError},
    };
    static int known; /* 0: not looked for yet */
    _Static_assert(sizeof(ncclUniqueId) == DEVICE_LINK_ID, "an id of NCCL");
    if (!known)
        known = library_find("libnccl.so.2", wanted, sizeof wanted / sizeof *wanted) ? 1 : -1;
    return known > 0;
}

status link_make_id(unsigned char id[DEVICE_LINK_ID])
{
    ncclUniqueId made;
    ncclResult_t r = nccl.GetUniqueId(&made);
    if (r != ncclSuccess)
        return fail(STATUS_RESOURCE, "NCCL, an id: %s (%s)", nccl.GetErrorString(r), nccl.GetLastError(NULL));
    memcpy(id, &made, sizeof made);
    return STATUS_OK;
}

/* A rank that is gone, or the way to it, as far as the library finds out: messages that come over a network; the launcher ends the ranks of a machine. */
static bool broken(void *arg)
{
    link_ranks *l = arg;
    ncclResult_t r, asked;
    if (!l->ranks)
        return true;
    asked = nccl.CommGetAsyncError(l->ranks, &r);
    if (asked == ncclSuccess && (r == ncclSuccess || r == ncclInProgress))
        return false;
    gpu_fail(l->gpu, "NCCL, messages between ranks: %s (%s): another rank, its device or the way to it is lost",
             nccl.GetErrorString(asked == ncclSuccess ? r : asked), nccl.GetLastError(l->ranks));
    nccl.CommAbort(l->ranks);
    l->ranks = NULL;
    return true;
}

status link_open(gpu *g, const unsigned char id[DEVICE_LINK_ID], int rank, int ranks, link_ranks **out)
{
    link_ranks *l;
    ncclUniqueId given;
    *out = NULL;
    TRY(memory_new(&l, sizeof *l, "links between devices"));
    *out = l;
    l->gpu = g;
    memcpy(&given, id, sizeof given);
    ncclResult_t r = nccl.CommInitRank(&l->ranks, ranks, given, rank);
    if (r != ncclSuccess)
        return fail(STATUS_RESOURCE, "NCCL, joining %d ranks: %s (%s)", ranks, nccl.GetErrorString(r), nccl.GetLastError(NULL));
    gpu_watch(g, broken, l);
    return STATUS_OK;
}

void link_close(link_ranks *l)
{
    if (!l)
        return;
    gpu_watch(l->gpu, NULL, NULL);
    if (l->ranks)
        nccl.CommAbort(l->ranks); /* destroying waits for the others, which may be gone */
    free(l);
}

static void keep(link_ranks *l, const char *what, ncclResult_t r)
{
    if (r != ncclSuccess)
        gpu_fail(l->gpu, "NCCL, %s: %s (%s)", what, nccl.GetErrorString(r), nccl.GetLastError(l->ranks));
}

/* Once given up nothing more is asked of the library: the step's end tells why. */
void link_begin(link_ranks *l)
{
    gpu_side_follows(l->gpu);
    if (l->ranks)
        keep(l, "a group", nccl.GroupStart());
}

void link_send(link_ranks *l, const float *p, int64_t n, int to)
{
    if (l->ranks)
        keep(l, "sending", nccl.Send(p, (size_t)n, ncclFloat, to, l->ranks, gpu_side_stream(l->gpu)));
}

void link_receive(link_ranks *l, float *p, int64_t n, int from)
{
    if (l->ranks)
        keep(l, "receiving", nccl.Recv(p, (size_t)n, ncclFloat, from, l->ranks, gpu_side_stream(l->gpu)));
}

void link_end(link_ranks *l)
{
    if (l->ranks)
        keep(l, "a group", nccl.GroupEnd());
}

void link_wait(link_ranks *l)
{
    gpu_follow_side(l->gpu);
}

void link_sum(link_ranks *l, float *p, int64_t n)
{
    gpu_side_follows(l->gpu);
    if (l->ranks)
        keep(l, "a sum", nccl.AllReduce(p, p, (size_t)n, ncclFloat, ncclSum, l->ranks, gpu_side_stream(l->gpu)));
}
