/* fused_plan.c over the real cuDNN, where it is installed: does the library take attention as we describe it, and has it a plan that gives the same bits
 * each time, on each kind of device that the back end is built for? No device is needed: it is told of one (cuDNN's device properties), compiles the
 * kernel for it, and a stand-in for the driver lets it believe that it was loaded. Skipped without the library. */
#include <dlfcn.h>
#include <stdio.h>

#include "model/cuda/fused.h"
#include "model/cuda/fused_plan.h"
#include "support/support.h"

enum { MEBIBYTES = 4 };

static const char *missing(void)
{
    if (!dlopen(FRETSAW_LIBCUDA_HOST, RTLD_NOW | RTLD_GLOBAL)) /* found by its name from now on, in place of a driver's */
        return dlerror();
    if (!cudnn_find())
        return "there is no libcudnn.so.9";
    if (cudnn.GetVersion() < 91801)
        return "cuDNN is older than 9.18.1";
    if (!dlopen("libnvrtc.so.13", RTLD_NOW) && !dlopen("libnvrtc.so.12", RTLD_NOW))
        return "there is no libnvrtc, which cuDNN compiles with";
    return NULL;
}

/* As cudaGetDeviceProperties has it of a device of that kind; only what decides about kernels matters. */
static status describe(fused_plan *p, int sm, cudnnBackendDescriptor_t *out)
{
    char text[1200];
    const int shared = sm == 90 || sm == 100 ? 232448 : sm == 86 || sm == 89 ? 101376 : sm == 80 ? 166912 : 65536;
    int n = snprintf(text, sizeof text,
                     "{\"cudaDeviceId\":0,\"deviceVer\":%d,\"driverVer\":13000,\"totalGlobalMem\":80000000000,\"maxGridSize\":[2147483647,65535,65535],"
                     "\"maxBlockSize\":[1024,1024,64],\"regsPerBlock\":65536,\"multiProcessorCount\":108,\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152,"
                     "\"maxSharedMemoryPerBlockOptin\":%d,\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,\"maxCtasPerSM\":32,"
                     "\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,\"pciDeviceId\":0,\"isTccDriver\":0,\"supportCoopLaunch\":1,"
                     "\"smClockRateKHz\":1500000,\"memClockRateKHz\":2600000,\"l2CacheSize\":41943040,\"deviceName\":\"described\"}",
                     sm * 10, shared);
    TRY(fused_plan_descriptor(p, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, out));
    CHECK_CUDNN("a device", cudnn.BackendSetAttribute(*out, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, n, text));
    CHECK_CUDNN("a device", cudnn.BackendFinalize(*out));
    return STATUS_OK;
}

static status plan_for(int sm, const fused_shape *shape, fused_plan *plan)
{
    fused_plan owner = {0};
    cudnnBackendDescriptor_t device;
    ck_ok(describe(&owner, sm, &device));
    status st = fused_plan_make(shape, NULL, device, (int64_t)MEBIBYTES << 20, plan);
    if (st == STATUS_OK)
        fprintf(stderr, "sm_%d, type %d, %lld heads of %lld, rows of %lld: engine %lld, %lld bytes\n", sm, (int)shape->type, (long long)shape->heads,
                (long long)shape->head_size, (long long)shape->longest, (long long)plan->engine, (long long)plan->workspace);
    fused_plan_free(plan);
    fused_plan_free(&owner);
    return st;
}

START_TEST(plans)
{
    static const int devices[] = {80, 86, 89, 90, 100};
    fused_plan plan;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        const cudnnDataType_t type = i % 2 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16;
        ck_ok(plan_for(devices[i], &(fused_shape){.type = type, .rows = FUSED_ROWS, .heads = 12, .longest = 192, .head_size = 64}, &plan));
        ck_assert_int_ge(plan.engine, 0);
    }
    ck_ok(plan_for(90, &(fused_shape){.type = CUDNN_DATA_BFLOAT16, .rows = FUSED_ROWS, .heads = 16, .longest = 512, .head_size = 64}, &plan));
    ck_ok(plan_for(90, &(fused_shape){.type = CUDNN_DATA_HALF, .rows = FUSED_ROWS, .heads = 3, .longest = 37, .head_size = 24}, &plan)); /* the probe's */
    ck_ok(plan_for(80, &(fused_shape){.type = CUDNN_DATA_BFLOAT16, .rows = FUSED_ROWS, .heads = 1, .longest = 2, .head_size = 8}, &plan));
}
END_TEST

START_TEST(no_plan)
{
    fused_plan plan;
    ck_fails(plan_for(75, &(fused_shape){.type = CUDNN_DATA_HALF, .rows = FUSED_ROWS, .heads = 12, .longest = 192, .head_size = 64}, &plan),
             STATUS_RESOURCE, "cuDNN has no plan");
    ck_fails(plan_for(90, &(fused_shape){.type = CUDNN_DATA_HALF, .rows = FUSED_ROWS, .heads = 12, .longest = 192, .head_size = 20}, &plan),
             STATUS_RESOURCE, "cuDNN");
}
END_TEST

int main(void)
{
    const char *why = missing();
    if (why) {
        fprintf(stderr, "skipped: %s\n", why);
        return 77;
    }
    return support_run("cuda fused plan", (const TTest *const[]){plans, no_plan, NULL});
}
