/* Where there is no NCCL to build with: no links, and gradients go through the host and MPI. */
#include "model/cuda/link.h"

bool link_available(void)
{
    return false;
}

status link_make_id(unsigned char id[DEVICE_LINK_ID])
{
    (void)id;
    return fail(STATUS_RESOURCE, "this build has no NCCL");
}

status link_open(gpu *g, const unsigned char id[DEVICE_LINK_ID], int rank, int ranks, link_ranks **out)
{
    (void)g, (void)id, (void)rank, (void)ranks;
    *out = NULL;
    return fail(STATUS_RESOURCE, "this build has no NCCL");
}

void link_close(link_ranks *l)
{
    (void)l;
}

void link_begin(link_ranks *l)
{
    (void)l;
}

void link_send(link_ranks *l, const float *p, int64_t n, int to)
{
    (void)l, (void)p, (void)n, (void)to;
}

void link_receive(link_ranks *l, float *p, int64_t n, int from)
{
    (void)l, (void)p, (void)n, (void)from;
}

void link_end(link_ranks *l)
{
    (void)l;
}

void link_wait(link_ranks *l)
{
    (void)l;
}

void link_sum(link_ranks *l, float *p, int64_t n)
{
    (void)l, (void)p, (void)n;
}
