#include <cuda_runtime_api.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/cuda/gpu.h"

struct gpu {
    int index;
    gpu_properties about;
    cudaStream_t work, side;
    cudaEvent_t work_mark, side_mark;
    bool (*broken)(void *arg);
    void *broken_arg;
    bool failed;
    char error[512];
};

struct gpu_mark {
    cudaEvent_t event;
};

static int lowest_driver(void)
{
    return CUDART_VERSION >= 13000 ? 580 : 525;
}

/* In the words of someone who has to mend it. */
static status say(cudaError_t e, const char *what)
{
    int driver = 0;
    cudaDriverGetVersion(&driver);
    if (e == cudaErrorInsufficientDriver && driver == 0)
        return fail(STATUS_RESOURCE, "%s: no NVIDIA driver answers on this machine (libcuda.so.1); compute on the CPU with --device cpu", what);
    if (e == cudaErrorInsufficientDriver)
        return fail(STATUS_RESOURCE,
                    "%s: the NVIDIA driver here knows CUDA %d.%d and this build needs CUDA %d.%d: install driver %d or newer, use a build for an "
                    "older CUDA, or compute on the CPU with --device cpu",
                    what, driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10, lowest_driver());
    if (e == cudaErrorNoDevice)
        return fail(STATUS_RESOURCE, "%s: no CUDA device is visible here (CUDA_VISIBLE_DEVICES, or the job asked Slurm for none with --gres)", what);
    return fail(STATUS_RESOURCE, "%s: %s (%s)", what, cudaGetErrorString(e), cudaGetErrorName(e));
}

static void keep(gpu *g, cudaError_t e, const char *what)
{
    if (e != cudaSuccess)
        gpu_fail(g, "%s: %s (%s)", what, cudaGetErrorString(e), cudaGetErrorName(e));
}

/* ---- devices ---- */

status gpu_count(int *count)
{
    *count = 0;
    cudaError_t e = cudaGetDeviceCount(count);
    if (e != cudaSuccess)
        return say(e, "looking for devices");
    return *count > 0 ? STATUS_OK : say(cudaErrorNoDevice, "looking for devices");
}

status gpu_describe(int index, gpu_properties *p)
{
    struct cudaDeviceProp d;
    *p = (gpu_properties){0};
    cudaError_t e = cudaGetDeviceProperties(&d, index);
    if (e == cudaSuccess)
        e = cudaDeviceGetPCIBusId(p->bus, sizeof p->bus, index);
    if (e != cudaSuccess)
        return say(e, "asking a device for its properties");
    snprintf(p->name, sizeof p->name, "%.127s", d.name);
    p->sm = d.major * 10 + d.minor;
    p->processors = d.multiProcessorCount;
    p->memory = d.totalGlobalMem;
    cudaDriverGetVersion(&p->driver);
    cudaRuntimeGetVersion(&p->runtime);
    return STATUS_OK;
}

status gpu_open(int index, gpu **out)
{
    gpu *g;
    *out = NULL;
    TRY(memory_new(&g, sizeof *g, "a device"));
    *out = g;
    g->index = index;
    TRY(gpu_describe(index, &g->about));
    /* A rank that waits for its device leaves the core to the others: there may be fewer cores than ranks and threads. */
    cudaError_t e = cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync);
    if (e == cudaSuccess || e == cudaErrorSetOnActiveProcess)
        e = cudaSetDevice(index);
    if (e == cudaSuccess)
        e = cudaStreamCreateWithFlags(&g->work, cudaStreamNonBlocking);
    if (e == cudaSuccess)
        e = cudaStreamCreateWithFlags(&g->side, cudaStreamNonBlocking);
    if (e == cudaSuccess)
        e = cudaEventCreateWithFlags(&g->work_mark, cudaEventDisableTiming);
    if (e == cudaSuccess)
        e = cudaEventCreateWithFlags(&g->side_mark, cudaEventDisableTiming);
    if (e == cudaSuccess)
        e = cudaMemGetInfo(&g->about.free, &g->about.memory);
    return e == cudaSuccess ? STATUS_OK : say(e, "opening a device");
}

void gpu_close(gpu *g)
{
    if (!g)
        return;
    if (g->work_mark)
        cudaEventDestroy(g->work_mark);
    if (g->side_mark)
        cudaEventDestroy(g->side_mark);
    if (g->work)
        cudaStreamDestroy(g->work);
    if (g->side)
        cudaStreamDestroy(g->side);
    free(g);
}

struct CUstream_st *gpu_stream(const gpu *g)
{
    return g->work;
}

const gpu_properties *gpu_about(const gpu *g)
{
    return &g->about;
}

/* ---- memory ---- */

status gpu_allocate(gpu *g, size_t bytes, const char *what, void **out)
{
    size_t free_now = 0, all = 0;
    cudaError_t e = cudaMalloc(out, bytes ? bytes : 1);
    if (e == cudaErrorMemoryAllocation) {
        cudaGetLastError(); /* nothing is broken: the next call shall not find it */
        cudaMemGetInfo(&free_now, &all);
        return fail(STATUS_RESOURCE,
                    "%s: no room for %.3f GB on the device (%.3f of %.3f GB are free): a smaller --micro-tokens, more ranks with a device each, or "
                    "--type bfloat16 needs less; --plan says how much",
                    what, (double)bytes * 1e-9, (double)free_now * 1e-9, (double)all * 1e-9);
    }
    if (e == cudaSuccess)
        e = cudaMemsetAsync(*out, 0, bytes ? bytes : 1, g->work);
    return e == cudaSuccess ? STATUS_OK : say(e, what);
}

void gpu_release(gpu *g, void *p)
{
    keep(g, cudaFree(p), "giving memory of the device back");
}

status gpu_pin(gpu *g, size_t bytes, const char *what, void **out)
{
    (void)g;
    cudaError_t e = cudaHostAlloc(out, bytes ? bytes : 1, cudaHostAllocPortable);
    if (e != cudaSuccess)
        return say(e, what);
    memset(*out, 0, bytes);
    return STATUS_OK;
}

void gpu_unpin(gpu *g, void *p)
{
    keep(g, cudaFreeHost(p), "giving page-locked memory back");
}

void gpu_upload(gpu *g, void *to, const void *pinned, size_t bytes)
{
    if (bytes)
        keep(g, cudaMemcpyAsync(to, pinned, bytes, cudaMemcpyHostToDevice, g->work), "copying to the device");
}

void gpu_download(gpu *g, void *pinned, const void *from, size_t bytes)
{
    if (bytes)
        keep(g, cudaMemcpyAsync(pinned, from, bytes, cudaMemcpyDeviceToHost, g->work), "copying from the device");
}

void gpu_copy(gpu *g, void *to, const void *from, size_t bytes)
{
    if (bytes)
        keep(g, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, g->work), "copying on the device");
}

void gpu_zero(gpu *g, void *p, size_t bytes)
{
    if (bytes)
        keep(g, cudaMemsetAsync(p, 0, bytes, g->work), "zeroing memory of the device");
}

/* ---- order ---- */

status gpu_mark_create(gpu *g, gpu_mark **out)
{
    (void)g;
    TRY(memory_new(out, sizeof **out, "a mark"));
    cudaError_t e = cudaEventCreateWithFlags(&(*out)->event, cudaEventDisableTiming | cudaEventBlockingSync);
    return e == cudaSuccess ? STATUS_OK : say(e, "a mark");
}

void gpu_mark_free(gpu *g, gpu_mark *m)
{
    if (!m)
        return;
    if (m->event)
        keep(g, cudaEventDestroy(m->event), "a mark");
    free(m);
}

void gpu_mark_set(gpu *g, gpu_mark *m)
{
    keep(g, cudaEventRecord(m->event, g->work), "a mark");
}

/* Until what the host is about to wait for is done, or what cannot end was given up. "Not ready" would stay as the runtime's last error: what was the
 * last one before is kept first. */
static void look_after(gpu *g, cudaError_t (*query)(void *), void *what)
{
    const struct timespec nap = {.tv_nsec = 20000};
    if (!g->broken)
        return;
    keep(g, cudaGetLastError(), "a kernel");
    while (query(what) == cudaErrorNotReady) {
        cudaGetLastError();
        if (g->broken(g->broken_arg))
            return;
        nanosleep(&nap, NULL);
    }
}

static cudaError_t query_event(void *event)
{
    return cudaEventQuery(event);
}

static cudaError_t query_stream(void *stream)
{
    return cudaStreamQuery(stream);
}

void gpu_mark_wait(gpu *g, gpu_mark *m)
{
    look_after(g, query_event, m->event);
    keep(g, cudaEventSynchronize(m->event), "waiting for the device");
}

void gpu_wait(gpu *g)
{
    look_after(g, query_stream, g->work);
    keep(g, cudaStreamSynchronize(g->work), "waiting for the device");
}

void gpu_watch(gpu *g, bool (*broken)(void *arg), void *arg)
{
    g->broken = broken;
    g->broken_arg = arg;
}

struct CUstream_st *gpu_side_stream(const gpu *g)
{
    return g->side;
}

void gpu_side_follows(gpu *g)
{
    keep(g, cudaEventRecord(g->work_mark, g->work), "a mark");
    keep(g, cudaStreamWaitEvent(g->side, g->work_mark, 0), "ordering two streams");
}

void gpu_follow_side(gpu *g)
{
    keep(g, cudaEventRecord(g->side_mark, g->side), "a mark");
    keep(g, cudaStreamWaitEvent(g->work, g->side_mark, 0), "ordering two streams");
}

/* ---- errors ---- */

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
    keep(g, cudaGetLastError(), "a kernel");
    if (!g->failed)
        return STATUS_OK;
    g->failed = false;
    return fail(STATUS_RESOURCE, "device %d (%s, %s): %s", g->index, g->about.name, g->about.bus, g->error);
}
