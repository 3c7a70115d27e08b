/* The twin of gpu_cuda.c: a device in this machine's memory, on which the kernels' host build runs. Copies are put off until something must see them,
 * as a device may, so that page-locked memory that is changed or read too early shows. What a test wants of the device comes by the environment:
 *   FRETSAW_TWIN_DEVICES=N  how many there are (8)      FRETSAW_TWIN_MEMORY=BYTES  how much each has (8 GiB)
 *   FRETSAW_TWIN_LOST=N     the device is lost at its Nth launch     FRETSAW_TWIN_SM=75  its compute capability (90) */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/gpu_host.h"

enum { PENDING = 256, ALIGNMENT = 256, HEADER = 256 };

typedef struct pending {
    void *to;
    const void *from; /* NULL: zeros */
    size_t bytes;
} pending;

struct gpu {
    gpu_properties about;
    pending list[PENDING];
    int count;
    int64_t launches, lost_at;
    size_t taken;
    bool failed;
    char error[512];
};

struct gpu_mark {
    int set;
};

static int64_t wish(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoll(text, NULL, 10) : otherwise;
}

status gpu_count(int *count)
{
    *count = (int)wish("FRETSAW_TWIN_DEVICES", 8);
    return *count > 0 ? STATUS_OK : fail(STATUS_RESOURCE, "looking for devices: no CUDA device is visible here");
}

status gpu_describe(int index, gpu_properties *p)
{
    *p = (gpu_properties){.sm = (int)wish("FRETSAW_TWIN_SM", 90), .processors = 4, .driver = 13000, .runtime = 13000};
    p->memory = (size_t)wish("FRETSAW_TWIN_MEMORY", (int64_t)8 << 30);
    p->free = p->memory;
    snprintf(p->name, sizeof p->name, "twin");
    snprintf(p->bus, sizeof p->bus, "0000:%02x:00.0", (unsigned)index);
    return STATUS_OK;
}

status gpu_open(int index, gpu **out)
{
    TRY(memory_new(out, sizeof **out, "a device"));
    (*out)->lost_at = wish("FRETSAW_TWIN_LOST", 0);
    return gpu_describe(index, &(*out)->about);
}

void gpu_close(gpu *g)
{
    free(g);
}

static void flush(gpu *g)
{
    for (int i = 0; i < g->count; i++) {
        const pending *p = &g->list[i];
        if (p->from)
            memcpy(p->to, p->from, p->bytes);
        else
            memset(p->to, 0, p->bytes);
    }
    g->count = 0;
}

static void later(gpu *g, void *to, const void *from, size_t bytes)
{
    if (bytes == 0)
        return;
    if (g->count == PENDING)
        flush(g);
    g->list[g->count++] = (pending){to, from, bytes};
}

/* Every launch asks for the stream. */
struct CUstream_st *gpu_stream(const gpu *g)
{
    gpu *mine = (gpu *)g;
    flush(mine);
    if (++mine->launches == mine->lost_at)
        gpu_fail(mine, "a kernel: unspecified launch failure (the twin was told to be lost)");
    return NULL;
}

void (*gpu_twin_releases)(const void *p, size_t bytes);

int64_t gpu_twin_launches(const gpu *g)
{
    return g->launches;
}

const gpu_properties *gpu_about(const gpu *g)
{
    return &g->about;
}

status gpu_allocate(gpu *g, size_t bytes, const char *what, void **out)
{
    size_t rounded = (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    if (g->taken + rounded > g->about.memory)
        return fail(STATUS_RESOURCE, "%s: no room for %.3f GB on the device; --plan says how much is needed", what, (double)bytes * 1e-9);
    char *p = aligned_alloc(ALIGNMENT, rounded + HEADER);
    if (!p)
        return fail(STATUS_RESOURCE, "out of memory: %s", what);
    memcpy(p, &rounded, sizeof rounded);
    memset(p + HEADER, 0, rounded);
    g->taken += rounded;
    *out = p + HEADER;
    return STATUS_OK;
}

void gpu_release(gpu *g, void *p)
{
    size_t rounded;
    flush(g);
    memcpy(&rounded, (char *)p - HEADER, sizeof rounded);
    if (gpu_twin_releases)
        gpu_twin_releases(p, rounded);
    g->taken -= rounded;
    free((char *)p - HEADER);
}

status gpu_pin(gpu *g, size_t bytes, const char *what, void **out)
{
    (void)g;
    return memory_new(out, bytes ? bytes : 1, what);
}

void gpu_unpin(gpu *g, void *p)
{
    flush(g);
    free(p);
}

void gpu_upload(gpu *g, void *to, const void *pinned, size_t bytes)
{
    later(g, to, pinned, bytes);
}

void gpu_download(gpu *g, void *pinned, const void *from, size_t bytes)
{
    later(g, pinned, from, bytes);
}

void gpu_copy(gpu *g, void *to, const void *from, size_t bytes)
{
    later(g, to, from, bytes);
}

void gpu_zero(gpu *g, void *p, size_t bytes)
{
    later(g, p, NULL, bytes);
}

status gpu_mark_create(gpu *g, gpu_mark **out)
{
    (void)g;
    return memory_new(out, sizeof **out, "a mark");
}

void gpu_mark_free(gpu *g, gpu_mark *m)
{
    (void)g;
    free(m);
}

void gpu_mark_set(gpu *g, gpu_mark *m)
{
    m->set = g->count > 0;
}

void gpu_mark_wait(gpu *g, gpu_mark *m)
{
    if (m->set)
        flush(g);
    m->set = 0;
}

void gpu_wait(gpu *g)
{
    flush(g);
}

struct CUstream_st *gpu_side_stream(const gpu *g)
{
    (void)g;
    return NULL;
}

void gpu_side_follows(gpu *g)
{
    flush(g);
}

void gpu_follow_side(gpu *g)
{
    flush(g);
}

void gpu_fail(gpu *g, const char *format, ...)
{
    va_list list;
    if (g->failed)
        return;
    g->failed = true;
    va_start(list, format);
    vsnprintf(g->error, sizeof g->error, format, list);
    va_end(list);
}

status gpu_check(gpu *g)
{
    if (!g->failed)
        return STATUS_OK;
    g->failed = false;
    return fail(STATUS_RESOURCE, "device (%s, %s): %s", g->about.name, g->about.bus, g->error);
}
