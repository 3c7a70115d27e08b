/* The device back end as the programs see it: a library of its own beside them, opened at run time, so that one program serves machines with and
 * without a device, driver and CUDA's libraries.
 *
 *     const device_library *cuda;
 *     if (device_library_open(&cuda) == STATUS_OK && cuda->count(&n) == STATUS_OK) ...   // else the message says what is missing
 *     TRY(cuda->open(0, TYPE_BFLOAT16, &limits, &be));
 *
 * Local. The library takes what it needs of common/ (messages, memory) from the program that opens it.
 */
#ifndef FRETSAW_MODEL_DEVICE_LIBRARY_H
#define FRETSAW_MODEL_DEVICE_LIBRARY_H

#include "model/device.h"

enum { DEVICE_LIBRARY_VERSION = 2 };

typedef struct device_card {
    char name[128];
    int sm; /* compute capability, 75, 80, ... */
    size_t memory;
    char bus[32]; /* tells the devices of a machine apart, whatever numbers a process sees them by */
    int driver, runtime; /* CUDA versions, as 13000 */
} device_card;

typedef struct device_library {
    int version;
    /* Devices that this process may use; STATUS_RESOURCE says why there is none. */
    status (*count)(int *count);
    status (*describe)(int index, device_card *card);
    /* Whether limits.fused can be asked of open; STATUS_RESOURCE says why not. */
    status (*can_fuse)(int index, backend_type type);
    /* device.identity of what open would open, without opening it. */
    status (*identity)(int index, backend_type type, const backend_limits *limits, char text[DEVICE_NAME]);
    /* Errors: STATUS_USAGE (shapes or type that the device cannot do), STATUS_RESOURCE (memory, driver, libraries). */
    status (*open)(int index, backend_type type, const backend_limits *limits, backend **out);
    /* Bytes on the device that open takes for itself, the driver's own not counted; needs no device. */
    size_t (*bytes)(backend_type type, const backend_limits *limits);
} device_library;

/* FRETSAW_DEVICE_LIBRARY names another file than fretsaw_cuda.so in the folder above the program's. STATUS_RESOURCE: not there, or not to be opened. */
status device_library_open(const device_library **out);

/* What the library exports under the name "fretsaw_device_library". */
typedef const device_library *device_library_entry(void);

#endif
