/* Memory of the device and the ways to and from it. */
#include <stdlib.h>
#include <string.h>

#include "model/cuda/cuda_internal.h"

/* ---- allocation ---- */

status cuda_take(cuda_backend *c, size_t bytes, const char *what, void **out)
{
    TRY(gpu_allocate(c->gpu, bytes, what, out));
    c->used += cuda_round(bytes);
    return STATUS_OK;
}

status cuda_allocate(backend *be, size_t bytes, const char *what, void **out)
{
    return cuda_take(cuda_of(be), bytes, what, out);
}

void cuda_release(backend *be, void *p)
{
    gpu_release(cuda_of(be)->gpu, p);
}

status cuda_mirror_create(cuda_backend *c, size_t bytes, const char *what, cuda_mirror *m)
{
    void *p;
    m->bytes = cuda_round(bytes);
    TRY(gpu_pin(c->gpu, m->bytes, what, &p));
    m->host = p;
    TRY(cuda_take(c, m->bytes, what, &p));
    m->there = p;
    return gpu_mark_create(c->gpu, &m->mark);
}

void cuda_mirror_free(cuda_backend *c, cuda_mirror *m)
{
    if (m->host)
        gpu_unpin(c->gpu, m->host);
    if (m->there)
        gpu_release(c->gpu, m->there);
    gpu_mark_free(c->gpu, m->mark);
}

status cuda_memory_open(cuda_backend *c)
{
    void *p;
    for (int i = 0; i < 2; i++) {
        TRY(gpu_pin(c->gpu, CUDA_STAGE, "copies to and from the device", &p));
        c->stage[i] = p;
        TRY(gpu_mark_create(c->gpu, &c->stage_mark[i]));
    }
    for (int i = 0; i < CUDA_LISTS; i++)
        TRY(cuda_mirror_create(c, CUDA_LIST, "lists of rows", &c->list[i]));
    return gpu_mark_create(c->gpu, &c->copies);
}

void cuda_memory_close(cuda_backend *c)
{
    for (int i = 0; i < 2; i++) {
        if (c->stage[i])
            gpu_unpin(c->gpu, c->stage[i]);
        gpu_mark_free(c->gpu, c->stage_mark[i]);
    }
    for (int i = 0; i < CUDA_LISTS; i++)
        cuda_mirror_free(c, &c->list[i]);
    gpu_mark_free(c->gpu, c->copies);
}

/* ---- lists: handed out one after another from one mirror, then from the next, whose last readers must be done ---- */

void *cuda_list_take(cuda_backend *c, size_t bytes, void **there)
{
    cuda_mirror *m = &c->list[c->list_at];
    bytes = cuda_round(bytes);
    if (c->list_used + bytes > m->bytes) {
        gpu_mark_set(c->gpu, m->mark);
        c->list_at = (c->list_at + 1) % CUDA_LISTS;
        c->list_used = 0;
        m = &c->list[c->list_at];
        gpu_mark_wait(c->gpu, m->mark);
    }
    void *host = m->host + c->list_used;
    *there = m->there + c->list_used;
    c->list_used += bytes;
    return host;
}

void cuda_list_send(cuda_backend *c, void *host, size_t bytes)
{
    cuda_mirror *m = &c->list[c->list_at];
    gpu_upload(c->gpu, m->there + ((char *)host - m->host), host, bytes);
}

/* ---- pageable memory: through two page-locked pieces in turn ---- */

void cuda_upload(backend *be, void *to, const void *from, size_t bytes)
{
    cuda_backend *c = cuda_of(be);
    int turn = 0;
    for (size_t at = 0; at < bytes; at += CUDA_STAGE, turn ^= 1) {
        size_t n = bytes - at < CUDA_STAGE ? bytes - at : CUDA_STAGE;
        gpu_mark_wait(c->gpu, c->stage_mark[turn]);
        memcpy(c->stage[turn], (const char *)from + at, n);
        gpu_upload(c->gpu, (char *)to + at, c->stage[turn], n);
        gpu_mark_set(c->gpu, c->stage_mark[turn]);
    }
}

static void start_piece(cuda_backend *c, const void *from, size_t at, size_t bytes, int turn)
{
    size_t n = bytes - at < CUDA_STAGE ? bytes - at : CUDA_STAGE;
    gpu_mark_wait(c->gpu, c->stage_mark[turn]);
    gpu_download(c->gpu, c->stage[turn], (const char *)from + at, n);
    gpu_mark_set(c->gpu, c->stage_mark[turn]);
}

void cuda_download(backend *be, void *to, const void *from, size_t bytes)
{
    cuda_backend *c = cuda_of(be);
    int turn = 0;
    if (bytes)
        start_piece(c, from, 0, bytes, 0);
    for (size_t at = 0; at < bytes; at += CUDA_STAGE, turn ^= 1) {
        size_t n = bytes - at < CUDA_STAGE ? bytes - at : CUDA_STAGE;
        if (at + CUDA_STAGE < bytes)
            start_piece(c, from, at + CUDA_STAGE, bytes, turn ^ 1);
        gpu_mark_wait(c->gpu, c->stage_mark[turn]);
        memcpy((char *)to + at, c->stage[turn], n);
    }
}

void cuda_zero_op(backend *be, void *p, size_t bytes)
{
    gpu_zero(cuda_of(be)->gpu, p, bytes);
}

/* ---- what a device has besides (model/device.h) ---- */

static const char *describe(const backend *be)
{
    return cuda_of_const(be)->about;
}

static const char *identity(const backend *be)
{
    return cuda_of_const(be)->identity;
}

static size_t used(const backend *be)
{
    return cuda_of_const(be)->used;
}

static status pin(backend *be, size_t bytes, const char *what, void **out)
{
    return gpu_pin(cuda_of(be)->gpu, bytes, what, out);
}

static void unpin(backend *be, void *p)
{
    gpu_unpin(cuda_of(be)->gpu, p);
}

static void start_download(backend *be, void *pinned, const void *from, size_t bytes)
{
    gpu_download(cuda_of(be)->gpu, pinned, from, bytes);
    gpu_mark_set(cuda_of(be)->gpu, cuda_of(be)->copies);
}

static void start_upload(backend *be, void *to, const void *pinned, size_t bytes)
{
    gpu_upload(cuda_of(be)->gpu, to, pinned, bytes);
    gpu_mark_set(cuda_of(be)->gpu, cuda_of(be)->copies);
}

static void wait_copies(backend *be)
{
    gpu_mark_wait(cuda_of(be)->gpu, cuda_of(be)->copies);
}

static void copy(backend *be, void *to, const void *from, size_t bytes)
{
    gpu_copy(cuda_of(be)->gpu, to, from, bytes);
}

static bool can_link(const backend *be)
{
    (void)be;
    return link_available();
}

static status make_link_id(backend *be, unsigned char id[DEVICE_LINK_ID])
{
    (void)be;
    return link_make_id(id);
}

static status open_link(backend *be, const unsigned char id[DEVICE_LINK_ID], int rank, int ranks)
{
    return link_open(cuda_of(be)->gpu, id, rank, ranks, &cuda_of(be)->link);
}

static void close_link(backend *be)
{
    link_close(cuda_of(be)->link);
    cuda_of(be)->link = NULL;
}

static void begin_link(backend *be)
{
    link_begin(cuda_of(be)->link);
}

static void send(backend *be, const float *p, int64_t n, int to)
{
    link_send(cuda_of(be)->link, p, n, to);
}

static void receive(backend *be, float *p, int64_t n, int from)
{
    link_receive(cuda_of(be)->link, p, n, from);
}

static void end_link(backend *be)
{
    link_end(cuda_of(be)->link);
}

static void wait_link(backend *be)
{
    link_wait(cuda_of(be)->link);
}

static void sum_link(backend *be, float *p, int64_t n)
{
    link_sum(cuda_of(be)->link, p, n);
}

static void set_scale(backend *be, float scale)
{
    cuda_of(be)->scale = scale;
}

const device cuda_device = {
    .describe = describe,
    .identity = identity,
    .used = used,
    .pin = pin,
    .unpin = unpin,
    .start_download = start_download,
    .start_upload = start_upload,
    .wait_copies = wait_copies,
    .copy = copy,
    .can_link = can_link,
    .make_link_id = make_link_id,
    .open_link = open_link,
    .close_link = close_link,
    .link_begin = begin_link,
    .link_send = send,
    .link_receive = receive,
    .link_end = end_link,
    .link_wait = wait_link,
    .link_sum = sum_link,
    .set_scale = set_scale,
    .look_for_overflow = cuda_look_for_overflow,
};
