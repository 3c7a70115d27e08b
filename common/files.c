#include "common/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* What a failed open or read of an input means to the user: a wrong path is bad input, the rest is I/O. */
static status input_error(int error, const char *path)
{
    if (error == ENOENT || error == ENOTDIR)
        return fail(STATUS_INPUT, "%s: no such file; check the path", path);
    if (error == EACCES || error == EPERM)
        return fail(STATUS_INPUT, "%s: may not be read; check its permissions", path);
    if (error == EISDIR)
        return fail(STATUS_INPUT, "%s: is a folder, a file is needed", path);
    return fail_errno(STATUS_IO, error, "reading %s", path);
}

/* Free bytes where `path` is or would be, as text; "" where that cannot be told. */
static void free_space_text(const char *path, char text[64])
{
    char folder[4096];
    uint64_t bytes;
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    text[0] = 0;
    if (file_space(folder, &bytes) == STATUS_OK)
        snprintf(text, 64, " (%.1f MB are free there)", (double)bytes / 1e6);
}

status file_output_error(int error, const char *path, uint64_t bytes)
{
    char space[64], need[64] = "";
    if (error == ENOSPC || error == EDQUOT) {
        free_space_text(path, space);
        if (bytes)
            snprintf(need, sizeof need, " for its %.1f MB", (double)bytes / 1e6);
        return fail(STATUS_IO, "%s: no space left%s%s; free some or choose another folder, then run the same command again", path, need, space);
    }
    if (error == EACCES || error == EPERM || error == EROFS)
        return fail(STATUS_IO, "%s: may not be written; check the folder's permissions or choose another", path);
    return fail_errno(STATUS_IO, error, "writing %s", path);
}

static status output_error(int error, const char *path)
{
    return file_output_error(error, path, 0);
}

static status open_input(const char *path, int *fd, struct stat *info)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0)
        return input_error(errno, path);
    if (fstat(*fd, info) != 0 || S_ISDIR(info->st_mode)) {
        int error = S_ISDIR(info->st_mode) ? EISDIR : errno;
        close(*fd);
        return input_error(error, path);
    }
    return STATUS_OK;
}

status file_read_fd(int fd, const char *path, uint64_t offset, void *to, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pread(fd, (char *)to + done, bytes - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return input_error(errno, path);
        if (n == 0)
            return fail(STATUS_INPUT, "%s: ends at byte %llu, %zu more were expected; the file is cut short", path,
                        (unsigned long long)(offset + done), bytes - done);
        done += (size_t)n;
    }
    return STATUS_OK;
}

status file_read_at(const char *path, uint64_t offset, void *to, size_t bytes)
{
    int fd;
    struct stat info;
    TRY(open_input(path, &fd, &info));
    status st = file_read_fd(fd, path, offset, to, bytes);
    close(fd);
    return st;
}

/* For what has no size to ask for: a pipe or /dev/stdin. */
static status read_stream(int fd, const char *path, size_t limit, char **text, size_t *bytes)
{
    size_t capacity = 1 << 16, n = 0;
    char *p = NULL;
    status st = memory_grow(&p, capacity + 1, path);
    while (st == STATUS_OK) {
        ssize_t got = read(fd, p + n, capacity - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            st = input_error(errno, path);
        if (got <= 0)
            break;
        n += (size_t)got;
        if (limit && n > limit)
            st = fail(STATUS_INPUT, "%s: larger than the %zu bytes expected of such a file", path, limit);
        else if (n == capacity)
            st = memory_grow(&p, (capacity *= 2) + 1, path);
    }
    if (st != STATUS_OK) {
        free(p);
        return st;
    }
    p[n] = 0;
    *text = p;
    *bytes = n;
    return STATUS_OK;
}

status file_read_all(const char *path, size_t limit, char **text, size_t *bytes)
{
    int fd;
    struct stat info;
    TRY(open_input(path, &fd, &info));
    char *p = NULL;
    size_t n = (size_t)info.st_size;
    status st = STATUS_OK;
    if (!S_ISREG(info.st_mode) || n == 0) {
        st = read_stream(fd, path, limit, text, bytes);
        close(fd);
        return st;
    }
    if (limit && n > limit)
        TRY_DONE(fail(STATUS_INPUT, "%s: %zu bytes, more than the %zu expected of such a file", path, n, limit));
    TRY_DONE(memory_grow(&p, n + 1, path));
    TRY_DONE(file_read_fd(fd, path, 0, p, n));
    p[n] = 0;
    *text = p;
    *bytes = n;
    p = NULL;
done:
    free(p);
    close(fd);
    return st;
}

status file_size(const char *path, uint64_t *bytes)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return input_error(errno, path);
    *bytes = (uint64_t)info.st_size;
    return STATUS_OK;
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool file_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool file_same(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

status file_map(const char *path, const void **p, size_t *bytes)
{
    int fd;
    struct stat info;
    TRY(open_input(path, &fd, &info));
    *bytes = (size_t)info.st_size;
    *p = "";
    status st = STATUS_OK;
    if (*bytes) {
        void *map = mmap(NULL, *bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED)
            st = fail_errno(STATUS_IO, errno, "mapping %s", path);
        else
            *p = map;
    }
    close(fd);
    return st;
}

void file_unmap(const void *p, size_t bytes)
{
    if (p && bytes)
        munmap((void *)(uintptr_t)p, bytes);
}

void file_forget(const void *p, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = ((uintptr_t)p + page - 1) / page * page, end = ((uintptr_t)p + bytes) / page * page;
    if (end > first)
        madvise((void *)first, end - first, MADV_DONTNEED);
}

status file_make_folder(const char *path)
{
    char *copy = strdup(path);
    if (!copy)
        return fail(STATUS_RESOURCE, "out of memory for the path %s", path);
    status st = STATUS_OK;
    for (char *slash = copy + 1; st == STATUS_OK && *slash; slash++)
        if (*slash == '/' && slash[-1] != '/') {
            *slash = 0;
            int error = mkdir(copy, 0777) == 0 ? 0 : errno; /* the look at the folder below sets errno anew */
            if (error && error != EEXIST && !file_is_folder(copy))
                st = output_error(error, copy);
            *slash = '/';
        }
    if (st == STATUS_OK && mkdir(copy, 0777) != 0 && errno != EEXIST)
        st = output_error(errno, copy);
    if (st == STATUS_OK && !file_is_folder(copy))
        st = fail(STATUS_IO, "%s: a file stands where a folder is needed; remove it or choose another", path);
    free(copy);
    return st;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info, (void)type, (void)walk;
    return remove(path);
}

status file_remove_tree(const char *path)
{
    if (nftw(path, remove_one, 32, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT)
        return output_error(errno, path);
    return STATUS_OK;
}

status file_remove(const char *path)
{
    return unlink(path) != 0 && errno != ENOENT ? output_error(errno, path) : STATUS_OK;
}

static char *folder_of(const char *path);

static bool file_is_regular(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* The nearest folder that is there, of `path` and those above it. */
static status check_above(const char *path)
{
    char *at = strdup(path);
    status st = at ? STATUS_OK : fail(STATUS_RESOURCE, "out of memory for the path %s", path);
    while (st == STATUS_OK && access(at, F_OK) != 0 && errno == ENOENT) {
        char *up = folder_of(at);
        free(at);
        at = up;
        st = at ? STATUS_OK : fail(STATUS_RESOURCE, "out of memory for the path %s", path);
    }
    if (st == STATUS_OK && access(at, F_OK) == 0 && !file_is_folder(at))
        st = fail(STATUS_IO, "%s: a file stands where a folder is needed; remove it or choose another path than %s", at, path);
    else if (st == STATUS_OK && access(at, W_OK | X_OK) != 0)
        st = output_error(errno, path);
    free(at);
    return st;
}

status file_check_output_folder(const char *path)
{
    return check_above(path);
}

status file_check_output(const char *path)
{
    size_t n = strlen(path);
    if (n == 0)
        return fail(STATUS_USAGE, "an empty name stands where a file is needed");
    if (file_is_folder(path) || path[n - 1] == '/')
        return fail(STATUS_IO, "%s: is a folder, and a file is to be written; give the name of a file in it, or another name", path);
    if (file_exists(path) && !file_is_regular(path))
        return STATUS_OK; /* a pipe or a device is its own affair */
    char *folder = folder_of(path);
    if (!folder)
        return fail(STATUS_RESOURCE, "out of memory for the path %s", path);
    status st = check_above(folder);
    free(folder);
    return st;
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

status file_sync_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return output_error(errno, path);
    /* Some file systems cannot sync a folder and say EINVAL: nothing is lost by it that they could have kept. */
    status st = fsync(fd) != 0 && errno != EINVAL ? output_error(errno, path) : STATUS_OK;
    close(fd);
    return st;
}

status file_rename(const char *from, const char *to)
{
    if (rename(from, to) != 0)
        return output_error(errno, to);
    char *folder = folder_of(to);
    if (!folder)
        return fail(STATUS_RESOURCE, "out of memory for the path %s", to);
    status st = file_sync_folder(folder);
    free(folder);
    return st;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

status file_list(const char *folder, char ***names, size_t *count)
{
    DIR *d = opendir(folder);
    if (!d)
        return input_error(errno, folder);
    char **list = NULL;
    size_t n = 0, capacity = 0;
    status st = STATUS_OK;
    for (struct dirent *e; (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (n == capacity)
            TRY_DONE(memory_grow(&list, (capacity = capacity ? 2 * capacity : 64) * sizeof *list, "a list of files"));
        if (!(list[n] = strdup(e->d_name)))
            TRY_DONE(fail(STATUS_RESOURCE, "out of memory for a list of files"));
        n++;
    }
    if (n)
        qsort(list, n, sizeof *list, by_bytes);
    *names = list;
    *count = n;
done:
    closedir(d);
    if (st != STATUS_OK)
        file_free_names(list, n);
    return st;
}

void file_free_names(char **names, size_t count)
{
    for (size_t i = 0; names && i < count; i++)
        free(names[i]);
    free(names);
}

status file_claim_folder(const char *path, int seconds, int *claim)
{
    int fd = *claim = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int tenths = 0; fd >= 0; tenths++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return STATUS_OK;
        if (errno != EWOULDBLOCK)
            break; /* a file system without locks of folders: nothing can be told */
        if (tenths >= 10 * seconds) {
            file_release_folder(claim);
            return fail(STATUS_IO, "%s: another process is writing there; wait for its end, stop it, or choose another folder", path);
        }
        usleep(100000);
    }
    file_release_folder(claim);
    return STATUS_OK;
}

void file_release_folder(int *claim)
{
    if (*claim >= 0)
        close(*claim);
    *claim = -1;
}

/* "<name>.tmp-<digits>", as file_atomic_begin makes them. */
static bool is_temporary(const char *name)
{
    const char *end = strstr(name, ".tmp-");
    return end && end > name && end[5] && end[5 + strspn(end + 5, "0123456789")] == 0;
}

status file_remove_temporaries(const char *folder)
{
    char **names, *path;
    size_t count;
    TRY(file_list(folder, &names, &count));
    status st = STATUS_OK;
    for (size_t i = 0; st == STATUS_OK && i < count; i++) {
        if (!is_temporary(names[i]))
            continue;
        st = file_join(folder, names[i], &path);
        if (st == STATUS_OK) {
            st = file_remove(path);
            free(path);
        }
    }
    file_free_names(names, count);
    return st;
}

status file_space(const char *path, uint64_t *bytes)
{
    struct statvfs v;
    if (statvfs(path, &v) != 0)
        return fail_errno(STATUS_IO, errno, "%s", path);
    *bytes = (uint64_t)v.f_bavail * v.f_frsize;
    return STATUS_OK;
}

status file_atomic_begin(const char *path, atomic_file *f)
{
    *f = (atomic_file){0};
    status st = STATUS_OK;
    char *folder = folder_of(path);
    f->path = strdup(path);
    if (!folder || !f->path || asprintf(&f->temporary, "%s.tmp-%ld", path, (long)getpid()) < 0) {
        f->temporary = NULL;
        TRY_DONE(fail(STATUS_RESOURCE, "out of memory for the path %s", path));
    }
    TRY_DONE(file_make_folder(folder));
    f->stream = fopen(f->temporary, "wbe");
    if (!f->stream)
        TRY_DONE(output_error(errno, path));
done:
    free(folder);
    if (st != STATUS_OK)
        file_atomic_abandon(f);
    return st;
}

static status sync_path(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        return output_error(error, path);
    }
    close(fd);
    return STATUS_OK;
}

status file_atomic_commit(atomic_file *f)
{
    status st = STATUS_OK;
    if (f->stream) {
        bool bad = ferror(f->stream) || fflush(f->stream) != 0 || fsync(fileno(f->stream)) != 0;
        int error = errno;
        bad |= fclose(f->stream) != 0;
        f->stream = NULL;
        if (bad)
            TRY_DONE(output_error(error ? error : errno, f->path));
    } else {
        TRY_DONE(sync_path(f->temporary));
    }
    TRY_DONE(file_rename(f->temporary, f->path));
    free(f->temporary);
    f->temporary = NULL;
done:
    file_atomic_abandon(f);
    return st;
}

void file_atomic_abandon(atomic_file *f)
{
    if (f->stream)
        fclose(f->stream);
    if (f->temporary)
        unlink(f->temporary);
    free(f->temporary);
    free(f->path);
    *f = (atomic_file){0};
}

status file_write_atomic(const char *path, const void *bytes, size_t n)
{
    atomic_file f;
    TRY(file_atomic_begin(path, &f));
    if (fwrite(bytes, 1, n, f.stream) != n) {
        status st = output_error(errno, path);
        file_atomic_abandon(&f);
        return st;
    }
    return file_atomic_commit(&f);
}

status file_join(const char *folder, const char *name, char **out)
{
    size_t n = strlen(folder);
    if (asprintf(out, "%s%s%s", folder, n && folder[n - 1] == '/' ? "" : "/", name) < 0)
        return fail(STATUS_RESOURCE, "out of memory for the path %s/%s", folder, name);
    return STATUS_OK;
}

const char *file_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
