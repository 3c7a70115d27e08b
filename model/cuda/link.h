/* The one door to NCCL: messages between the ranks' devices on the side stream. The library is opened at run time, since many machines with a device
 * lack it; without it gradients go through the host.
 *
 *     if (link_available()) { link_make_id(id); ... to all ranks ...; TRY(link_open(g, id, rank, ranks, &l)); }
 *     link_begin(l); link_receive(l, p, n, from); link_send(l, q, n, to); link_end(l); link_wait(l);
 */
#ifndef FRETSAW_MODEL_CUDA_LINK_H
#define FRETSAW_MODEL_CUDA_LINK_H

#include "model/cuda/gpu.h"
#include "model/device.h"

typedef struct link link_ranks;

bool link_available(void);
status link_make_id(unsigned char id[DEVICE_LINK_ID]);
/* Collective over the ranks that share the id. */
status link_open(gpu *g, const unsigned char id[DEVICE_LINK_ID], int rank, int ranks, link_ranks **out);
void link_close(link_ranks *l); /* NULL is fine */
/* As in model/device.h. Errors are kept in the gpu. */
void link_begin(link_ranks *l);
void link_send(link_ranks *l, const float *p, int64_t n, int to);
void link_receive(link_ranks *l, float *p, int64_t n, int from);
void link_end(link_ranks *l);
void link_wait(link_ranks *l);
void link_sum(link_ranks *l, float *p, int64_t n);

#endif
