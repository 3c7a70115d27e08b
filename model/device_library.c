#include "model/device_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef FRETSAW_STATIC

status device_library_open(const device_library **out)
{
    *out = NULL;
    return fail(STATUS_RESOURCE, "this program is linked statically and computes on the CPU only: use the build with shared libraries, or --device cpu");
}

#else
#include <dlfcn.h>

/* "<folder of this program>/../fretsaw_cuda.so" */
static status own_path(char *path, size_t room)
{
    ssize_t n = readlink("/proc/self/exe", path, room - 1);
    if (n < 0 || (size_t)n >= room - 24)
        return fail(STATUS_RESOURCE, "the program cannot tell where it lies (/proc/self/exe): name the library in FRETSAW_DEVICE_LIBRARY");
    path[n] = 0;
    char *slash = strrchr(path, '/');
    snprintf(slash, room - (size_t)(slash - path), "/../fretsaw_cuda.so");
    return STATUS_OK;
}

static status open_file(const char *path, const device_library **out)
{
    void *entry_found, *handle;
    device_library_entry *entry;
    if (access(path, R_OK) != 0)
        return fail(STATUS_RESOURCE, "%s: not there: this installation has no device back end; build it where nvcc is found (FRETSAW_CUDA), or use --device cpu", path);
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return fail(STATUS_RESOURCE, "the device back end cannot be opened: %s; CUDA's libraries must be found (LD_LIBRARY_PATH), or use --device cpu", dlerror());
    entry_found = dlsym(handle, "fretsaw_device_library");
    if (!entry_found)
        return fail(STATUS_RESOURCE, "%s: not a device back end of this program", path);
    memcpy(&entry, &entry_found, sizeof entry);
    *out = entry();
    if ((*out)->version != DEVICE_LIBRARY_VERSION)
        return fail(STATUS_RESOURCE, "%s: of another version of the program: install both from one build", path);
    return STATUS_OK;
}

status device_library_open(const device_library **out)
{
    static const device_library *opened; /* once a process: it stays until the end */
    const char *given = getenv("FRETSAW_DEVICE_LIBRARY");
    char path[4096];
    *out = opened;
    if (opened)
        return STATUS_OK;
    if (given)
        snprintf(path, sizeof path, "%s", given);
    else
        TRY(own_path(path, sizeof path));
    TRY(open_file(path, &opened));
    *out = opened;
    return STATUS_OK;
}

#endif
