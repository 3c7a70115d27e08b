#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/cuda/fused.h"
#include "model/cuda/fused_plan.h"

/* Lengths of rows in the operation came with 9.15, packed rows below compute capability 9.0 with 9.18.1. */
enum { LEAST = 91500, LEAST_BEFORE_90 = 91801 };
static const int64_t WORKSPACE = (int64_t)4 << 20; /* engines ask for some 300 bytes a row */

struct fused {
    gpu *gpu;
    cudnnHandle_t handle;
    fused_plan plan;
    void *workspace;
    float scale;
};

const char *fused_refuses(cuda_type type, int sm)
{
    if (type == CUDA_FLOAT32)
        return "cuDNN's attention takes bfloat16 and float16";
    if (sm < 80)
        return "cuDNN's attention needs compute capability 8.0";
    if (!cudnn_find())
        return "there is no cuDNN 9 here (libcudnn.so.9)";
    if (cudnn.GetVersion() < LEAST)
        return "the cuDNN here is older than 9.15";
    if (sm < 90 && cudnn.GetVersion() < LEAST_BEFORE_90)
        return "on devices before compute capability 9.0 packed rows need cuDNN 9.18.1 or newer";
    return NULL;
}

const char *fused_version(void)
{
    static char text[48];
    size_t v = cudnn.GetVersion();
    snprintf(text, sizeof text, "cuDNN %zu.%zu.%zu", v / 10000, v / 100 % 100, v % 100);
    return text;
}

size_t fused_bytes(void)
{
    return (size_t)WORKSPACE;
}

status fused_open(gpu *g, cuda_type type, int64_t heads, int64_t head_size, int64_t longest, fused **out)
{
    fused *f;
    *out = NULL;
    TRY(memory_new(&f, sizeof *f, "fused attention"));
    *out = f;
    f->gpu = g;
    f->scale = 1.0f / sqrtf((float)head_size);
    const fused_shape shape = {.type = type == CUDA_BFLOAT16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF,
                               .rows = FUSED_ROWS,
                               .heads = heads,
                               .longest = longest,
                               .head_size = head_size};
    CHECK_CUDNN("opening", cudnn.Create(&f->handle));
    TRY(fused_plan_make(&shape, f->handle, NULL, WORKSPACE, &f->plan));
    return gpu_allocate(g, (size_t)WORKSPACE, "the workspace of attention", &f->workspace);
}

void fused_close(fused *f)
{
    if (!f)
        return;
    fused_plan_free(&f->plan);
    if (f->workspace)
        gpu_release(f->gpu, f->workspace);
    if (f->handle)
        cudnn.Destroy(f->handle);
    free(f);
}

int64_t fused_engine(const fused *f)
{
    return f->plan.engine;
}

/* FUSED_ROWS rows: which memory each of the plan's tensors has in this call. */
static status run_piece(fused *f, void *pointers[FUSED_TENSORS], cudnnBackendDescriptor_t pack)
{
    int64_t names[FUSED_TENSORS];
    for (int i = 0; i < FUSED_TENSORS; i++)
        names[i] = i + 1;
    CHECK_CUDNN("a call", cudnn.BackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, FUSED_TENSORS, names));
    CHECK_CUDNN("a call", cudnn.BackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, FUSED_TENSORS, pointers));
    CHECK_CUDNN("a call", cudnn.BackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &f->workspace));
    CHECK_CUDNN("a call", cudnn.BackendFinalize(pack));
    CHECK_CUDNN("attention", cudnn.BackendExecute(f->handle, f->plan.plan, pack));
    return STATUS_OK;
}

static status run(fused *f, const fused_rows *r, void *const matrices[5])
{
    for (int64_t at = 0; at < r->rows; at += FUSED_ROWS) {
        void *pointers[FUSED_TENSORS] = {[FUSED_ELEMENT - 1] = (void *)(r->element + at),
                                         [FUSED_STATISTIC - 1] = (void *)(r->statistic + at),
                                         [FUSED_QUERIES - 1] = (void *)(r->queries + at),
                                         [FUSED_KEYS - 1] = (void *)(r->keys + at),
                                         [FUSED_SCALE - 1] = &f->scale};
        cudnnBackendDescriptor_t pack;
        for (int i = 0; i < 5; i++)
            pointers[i] = matrices[i];
        CHECK_CUDNN("a stream", cudnn.SetStream(f->handle, gpu_stream(f->gpu)));
        CHECK_CUDNN("a call", cudnn.BackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack));
        status st = run_piece(f, pointers, pack);
        cudnn.BackendDestroyDescriptor(pack);
        TRY(st);
    }
    return STATUS_OK;
}

void fused_run(fused *f, const fused_rows *rows, const void *q, const void *k, const void *v, void *out, float *lse)
{
    if (run(f, rows, (void *[5]){(void *)q, (void *)k, (void *)v, out, lse}) != STATUS_OK)
        gpu_fail(f->gpu, "%s", status_message());
}
