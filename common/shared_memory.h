/* Pages for arrays that live once a node: a private mapping for a rank that is alone, or an unnamed file in memory (memfd) that the node's
 * other ranks open through /proc. Chosen over an MPI window because its size is not bounded by /dev/shm (64 MB in many containers) and
 * nothing is left behind when ranks are killed.
 *
 *     shared_memory_create(bytes, "parameters", &p, &name);      // one rank; hands `name` to the others
 *     shared_memory_attach(&name, bytes, &p);                    // the others
 *     shared_memory_free(p);                                     // each
 *
 * Local. Zeroed and page-aligned. Errors: STATUS_RESOURCE.
 */
#ifndef FRETSAW_COMMON_SHARED_MEMORY_H
#define FRETSAW_COMMON_SHARED_MEMORY_H

#include <stdint.h>

#include "common/status.h"

typedef struct shared_memory_name {
    int64_t process, descriptor;
    uint64_t device, inode; /* so that another process's file under the same number is not taken for ours */
} shared_memory_name;

status shared_memory_private(size_t bytes, const char *what, void **p);
status shared_memory_create(size_t bytes, const char *what, void **p, shared_memory_name *name);
status shared_memory_attach(const shared_memory_name *name, size_t bytes, void **p);
/* Gives up the creator's descriptor once all have attached. */
void shared_memory_close_name(const shared_memory_name *name);
void shared_memory_free(void *p); /* NULL is fine */

#endif
