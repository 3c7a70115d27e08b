/* Functions of a library that is opened at run time, where there is one.
 *
 *     static const library_symbol wanted[] = {{"ncclSend", &nccl.Send}, ...};
 *     bool there = library_find("libnccl.so.2", wanted, sizeof wanted / sizeof *wanted);
 *
 * Local. The library stays open.
 */
#ifndef FRETSAW_MODEL_CUDA_SYMBOLS_H
#define FRETSAW_MODEL_CUDA_SYMBOLS_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct library_symbol {
    const char *name;
    void *place; /* of the pointer to the function */
} library_symbol;

/* All of them or none that is to be used. */
static inline bool library_find(const char *file, const library_symbol *wanted, size_t count)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library && i < count; i++) {
        void *p = dlsym(library, wanted[i].name);
        if (!p)
            return false;
        memcpy(wanted[i].place, &p, sizeof p);
    }
    return library != NULL;
}

#endif
