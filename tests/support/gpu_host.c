/* The twin of gpu_cuda.c: a device in this machine's memory, on which the kernels' host build runs. Copies are put off until something must see them,
 * as a device may, so that page-locked memory that is changed or read too early shows. What a test wants of the device comes by the environment:
 *   FRETSAW_TWIN_DEVICES=N  how many there are (8)      FRETSAW_TWIN_MEMORY=BYTES  how much each has (8 GiB)
 *   FRETSAW_TWIN_LOST=N     the device is lost at its Nth launch     FRETSAW_TWIN_LOST_COPY=N  or at its Nth copy to the host: from there on
 *                           nothing comes back from it, and every use of it is an error
 *   FRETSAW_TWIN_SM=75      its compute capability (90)
 *   FRETSAW_TWIN_LOG=FILE   what is put into the side stream, when the work waits for that, and every allocation, a line each */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/gpu_host.h"

enum { PENDING = 256, ALIGNMENT = 256, HEADER = 256, TASKS = 512 };

typedef struct pending {
    void *to;
    const void *from; /* NULL: zeros */
    size_t bytes;
} pending;

struct gpu {
    gpu_properties about;
    int index;
    pending list[PENDING];
    int count;
    gpu_twin_stream side;
    gpu_twin_task task[TASKS]; /* of the side stream */
    int tasks, awaited;        /* of these the work waits for the first `awaited` */
    bool (*broken)(void *arg);
    void *broken_arg;
    int64_t launches, lost_at, copies, lost_copy;
    size_t taken;
    bool failed, lost;
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

/* ---- the side stream ---- */

static void stop_at(const char *why)
{
    fprintf(stderr, "the twin: %s\n", why);
    abort();
}

static void put(gpu_twin_stream *s, const gpu_twin_task *t)
{
    gpu *g = s->gpu;
    if (g->tasks == TASKS)
        stop_at("more groups of messages than it has room for are under way");
    g->task[g->tasks++] = *t;
}

static void tell(gpu_twin_stream *s, const char *text)
{
    const char *path = getenv("FRETSAW_TWIN_LOG");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (!f)
        return;
    fprintf(f, "%d %lld %s\n", s->gpu->index, (long long)s->gpu->launches, text);
    fclose(f);
}

/* The first task of the stream is done, whatever it takes: a device waits for ever where nobody ends it. */
static void finish_first(gpu *g)
{
    const struct timespec nap = {.tv_nsec = 200000};
    gpu_twin_progress p;
    bool told = false;
    while ((p = g->task[0].run(g->task[0].arg)) == TWIN_WAITS) {
        if (g->broken && !told)
            told = g->broken(g->broken_arg);
        nanosleep(&nap, NULL);
    }
    if (p == TWIN_OPEN)
        stop_at("the work waits for messages whose group was never ended");
    memmove(g->task, g->task + 1, (size_t)--g->tasks * sizeof *g->task);
}

static void drain(gpu *g)
{
    for (; g->awaited > 0; g->awaited--)
        finish_first(g);
}

status gpu_open(int index, gpu **out)
{
    TRY(memory_new(out, sizeof **out, "a device"));
    (*out)->lost_at = wish("FRETSAW_TWIN_LOST", 0);
    (*out)->lost_copy = wish("FRETSAW_TWIN_LOST_COPY", 0);
    (*out)->index = index;
    (*out)->side = (gpu_twin_stream){.put = put, .tell = tell, .gpu = *out};
    return gpu_describe(index, &(*out)->about);
}

void gpu_close(gpu *g)
{
    while (g && g->tasks > 0)
        finish_first(g);
    free(g);
}

static void flush(gpu *g)
{
    drain(g);
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

/* A device that is lost fails at every use. */
static bool use(gpu *g)
{
    if (g->lost)
        gpu_fail(g, "a kernel: unspecified launch failure (the twin was told to be lost)");
    return !g->lost;
}

/* Every launch asks for the stream. */
struct CUstream_st *gpu_stream(const gpu *g)
{
    gpu *mine = (gpu *)g;
    flush(mine);
    mine->lost = mine->lost || ++mine->launches == mine->lost_at;
    use(mine);
    return NULL;
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
    tell(&g->side, "allocated");
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
    for (int i = 0; i < g->tasks; i++)
        if (g->task[i].names(g->task[i].arg, p, rounded))
            stop_at("memory of a message under way is given back, for which a device would wait for ever");
    g->taken -= rounded;
    free((char *)p - HEADER);
}

status gpu_pin(gpu *g, size_t bytes, const char *what, void **out)
{
    tell(&g->side, "allocated");
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
    g->lost = g->lost || ++g->copies == g->lost_copy;
    if (use(g))
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
    m->set = g->count > 0 || g->awaited > 0;
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
    return &((gpu *)g)->side;
}

void gpu_side_follows(gpu *g)
{
    flush(g);
}

/* What was asked for so far is done before, and what is asked for from here on after it: the next call that does anything waits. */
void gpu_follow_side(gpu *g)
{
    flush(g);
    g->awaited = g->tasks;
    tell(&g->side, "wait");
}

void gpu_watch(gpu *g, bool (*broken)(void *arg), void *arg)
{
    g->broken = broken;
    g->broken_arg = arg;
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
