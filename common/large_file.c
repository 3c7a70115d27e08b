#include "common/large_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/files.h"

/* A block stays in the processor's cache from its hash to its copy; a run is what the disk is given at once. */
enum { BLOCK = 1 << 20, RUN = 8 * BLOCK };

static status write_error(const large_file *f, int error)
{
    return file_output_error(error, f->path, f->expected);
}

status large_file_begin(const char *path, uint64_t expected, large_file_kind kind, large_file *f)
{
    *f = (large_file){.expected = expected, .path = strdup(path)};
    if (!f->path)
        return fail(STATUS_RESOURCE, "out of memory for the path %s", path);
    f->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (f->fd < 0) {
        status st = write_error(f, errno);
        free(f->path);
        f->path = NULL;
        return st;
    }
    status st = kind == LARGE_FILE_HASHED ? hash_xxh3_begin(&f->hash) : STATUS_OK;
    if (st != STATUS_OK)
        large_file_abandon(f);
    return st;
}

/* The disk begins with what has been written. Where a file system knows no such hint, the sync at the end does it all; an error of the disk is one.
 */
static status hand_over(large_file *f)
{
    int bad = sync_file_range(f->fd, (off_t)f->handed, (off_t)(f->bytes - f->handed), SYNC_FILE_RANGE_WRITE);
    f->handed = f->bytes;
    return bad && (errno == EIO || errno == ENOSPC || errno == EDQUOT) ? write_error(f, errno) : STATUS_OK;
}

static status write_block(large_file *f, const char *p, size_t n)
{
    if (f->hash)
        hash_xxh3_add(f->hash, p, n);
    for (size_t done = 0; done < n;) {
        ssize_t written = write(f->fd, p + done, n - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return write_error(f, written < 0 ? errno : EIO);
        done += (size_t)written;
    }
    f->bytes += n;
    return f->bytes - f->handed >= RUN ? hand_over(f) : STATUS_OK;
}

status large_file_add(large_file *f, const void *p, size_t n)
{
    for (size_t at = 0; at < n; at += BLOCK)
        TRY(write_block(f, (const char *)p + at, n - at < BLOCK ? n - at : BLOCK));
    return STATUS_OK;
}

status large_file_end(large_file *f, uint64_t *hash)
{
    status st = fsync(f->fd) != 0 ? write_error(f, errno) : STATUS_OK;
    uint64_t sum = hash_xxh3_end(f->hash);
    if (hash)
        *hash = sum;
    if (close(f->fd) != 0 && st == STATUS_OK)
        st = write_error(f, errno);
    free(f->path);
    *f = (large_file){0};
    return st;
}

void large_file_abandon(large_file *f)
{
    if (f->path) {
        unlink(f->path);
        close(f->fd);
    }
    hash_xxh3_end(f->hash);
    free(f->path);
    *f = (large_file){0};
}
