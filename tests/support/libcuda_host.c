/* What cuDNN wants of a driver while it makes a plan for a device that is only described to it: a library with these names. Kernels are "loaded" without a
 * look at them, all else is answered as NVIDIA's own stub does. Nothing can be run with it. */
enum { STUB_LIBRARY = 34 };

static int thing;

int cuLibraryLoadData(void **library);
int cuLibraryGetKernel(void **kernel);
int cuKernelGetFunction(void **function);

int cuLibraryLoadData(void **library)
{
    *library = &thing;
    return 0;
}

int cuLibraryGetKernel(void **kernel)
{
    *kernel = &thing;
    return 0;
}

int cuKernelGetFunction(void **function)
{
    *function = &thing;
    return 0;
}

#define STUB(name)           \
    int name(void);          \
    int name(void)           \
    {                        \
        return STUB_LIBRARY; \
    }

STUB(cuCtxGetCurrent)
STUB(cuCtxGetDevice)
STUB(cuCtxGetLimit)
STUB(cuCtxPopCurrent)
STUB(cuCtxPushCurrent)
STUB(cuDeviceGet)
STUB(cuDeviceGetAttribute)
STUB(cuDeviceGetCount)
STUB(cuDevicePrimaryCtxRelease)
STUB(cuDevicePrimaryCtxReset)
STUB(cuDevicePrimaryCtxRetain)
STUB(cuDriverGetVersion)
STUB(cuFuncGetAttribute)
STUB(cuFuncSetAttribute)
STUB(cuGetErrorName)
STUB(cuGetErrorString)
STUB(cuInit)
STUB(cuKernelGetAttribute)
STUB(cuKernelSetAttribute)
STUB(cuLaunchCooperativeKernel)
STUB(cuLaunchKernel)
STUB(cuLaunchKernelEx)
STUB(cuLibraryLoadFromFile)
STUB(cuLibraryUnload)
STUB(cuLinkAddData)
STUB(cuLinkAddData_v2)
STUB(cuLinkAddFile_v2)
STUB(cuLinkComplete)
STUB(cuLinkCreate)
STUB(cuLinkCreate_v2)
STUB(cuLinkDestroy)
STUB(cuMemcpyDtoH_v2)
STUB(cuModuleGetFunction)
STUB(cuModuleGetGlobal_v2)
STUB(cuModuleLoadData)
STUB(cuModuleLoadDataEx)
STUB(cuModuleLoadFatBinary)
STUB(cuModuleUnload)
STUB(cuOccupancyMaxActiveBlocksPerMultiprocessor)
STUB(cuOccupancyMaxPotentialClusterSize)
STUB(cuStreamGetCtx)
STUB(cuStreamSynchronize)
STUB(cuTensorMapEncodeTiled)
