#include "common/shared_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* munmap wants the size back: a short list of what is mapped. */
typedef struct mapping {
    void *p;
    size_t bytes;
    struct mapping *next;
} mapping;
static mapping *mappings;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static status map(int fd, size_t bytes, const char *what, void **p)
{
    mapping *m;
    TRY(memory_new(&m, sizeof *m, what));
    m->bytes = bytes ? bytes : 1;
    int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    m->p = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (m->p == MAP_FAILED) {
        free(m);
        return fail_errno(STATUS_RESOURCE, errno, "no memory for %s (%zu bytes)", what, bytes);
    }
    madvise(m->p, m->bytes, MADV_HUGEPAGE); /* fewer TLB misses where the kernel grants it; no matter where not */
    pthread_mutex_lock(&lock);
    m->next = mappings;
    mappings = m;
    pthread_mutex_unlock(&lock);
    *p = m->p;
    return STATUS_OK;
}

status shared_memory_private(size_t bytes, const char *what, void **p)
{
    return map(-1, bytes, what, p);
}

status shared_memory_create(size_t bytes, const char *what, void **p, shared_memory_name *name)
{
    int fd = memfd_create("fretsaw", MFD_CLOEXEC);
    if (fd < 0)
        return fail_errno(STATUS_RESOURCE, errno, "memory for %s shared by the ranks of a node", what);
    struct stat info;
    status st = STATUS_OK;
    if (ftruncate(fd, (off_t)(bytes ? bytes : 1)) != 0 || fstat(fd, &info) != 0)
        st = fail_errno(STATUS_RESOURCE, errno, "%zu bytes for %s shared by the ranks of a node", bytes, what);
    else
        st = map(fd, bytes, what, p);
    if (st != STATUS_OK) {
        close(fd);
        return st;
    }
    *name = (shared_memory_name){.process = getpid(), .descriptor = fd, .device = info.st_dev, .inode = info.st_ino};
    return STATUS_OK;
}

status shared_memory_attach(const shared_memory_name *name, size_t bytes, void **p)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)name->process, (long long)name->descriptor);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(STATUS_RESOURCE, errno, "another rank's memory at %s", path);
    struct stat info;
    status st = STATUS_OK;
    if (fstat(fd, &info) != 0 || info.st_dev != name->device || info.st_ino != name->inode)
        st = fail(STATUS_RESOURCE, "%s is not the memory that the node's first rank made: the ranks do not share process numbers", path);
    else
        st = map(fd, bytes, "memory shared by the ranks of a node", p);
    close(fd);
    return st;
}

void shared_memory_close_name(const shared_memory_name *name)
{
    if (name->process == getpid())
        close((int)name->descriptor);
}

void shared_memory_free(void *p)
{
    pthread_mutex_lock(&lock);
    for (mapping **m = &mappings; *m; m = &(*m)->next)
        if ((*m)->p == p) {
            mapping *gone = *m;
            *m = gone->next;
            munmap(gone->p, gone->bytes);
            free(gone);
            break;
        }
    pthread_mutex_unlock(&lock);
}
