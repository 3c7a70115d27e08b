#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/files.h"
#include "preprocess/csv.h"

const char csv_delimiters[3] = {',', '\t', ';'};

status csv_file_open(const char *path, const char *plain, csv_file *out)
{
    *out = (csv_file){.path = path, .fd = -1};
    int fd = open(plain ? plain : path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(errno == ENOENT || errno == EACCES || errno == ENOTDIR ? STATUS_INPUT : STATUS_IO, errno,
                          "%s: the CSV can't be opened; check the name and the permissions", path);
    struct stat info;
    if (fstat(fd, &info) != 0) {
        status st = fail_errno(STATUS_IO, errno, "%s: the CSV can't be read", path);
        close(fd);
        return st;
    }
    if (!S_ISREG(info.st_mode)) {
        close(fd);
        return fail(STATUS_INPUT, "%s: not a plain file; ranks read it in pieces, so write it to a disk first", path);
    }
    *out = (csv_file){.path = path, .fd = fd, .bytes = (uint64_t)info.st_size, .unpacked = plain != NULL, .delimiter = ','};
    uint8_t mark[3] = {0};
    size_t n = out->bytes < sizeof mark ? (size_t)out->bytes : sizeof mark;
    status st = n ? file_read_fd(fd, path, 0, mark, n) : STATUS_OK;
    if (st != STATUS_OK) {
        csv_file_close(out);
        return st;
    }
    out->utf16 = n >= 2 && ((mark[0] == 0xFF && mark[1] == 0xFE) || (mark[0] == 0xFE && mark[1] == 0xFF));
    out->body = n == 3 && memcmp(mark, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    return STATUS_OK;
}

void csv_file_close(csv_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

status csv_file_count(const csv_file *f, uint64_t from, uint64_t to, uint8_t *buffer, size_t room, csv_piece *out)
{
    const csv_scan *scan = csv_scan_best();
    if (from < f->body)
        from = f->body;
    if (to > f->bytes)
        to = f->bytes;
    uint8_t previous = '\n'; /* the body begins a line */
    if (from > f->body && from < to)
        TRY(file_read_fd(f->fd, f->path, from - 1, &previous, 1));
    csv_count c = csv_count_begin(from, previous);
    while (from < to) {
        size_t n = to - from < room - 1 ? (size_t)(to - from) : room - 1;
        bool more = from + n < f->bytes;
        TRY(file_read_fd(f->fd, f->path, from, buffer, n + (more ? 1 : 0)));
        scan->count(&c, buffer, n, more ? buffer[n] : -1);
        from += n;
    }
    *out = c.piece;
    return STATUS_OK;
}

status csv_file_count_pandas(const csv_file *f, uint64_t from, uint64_t to, uint8_t *buffer, pandas_piece *out)
{
    pandas_rules rules;
    uint64_t begin = from < f->body ? f->body : from;
    pandas_set_rules(f->delimiter, &rules);
    size_t n = begin < to ? (size_t)(to - begin) : 0;
    if (n)
        TRY(file_read_fd(f->fd, f->path, begin, buffer, n));
    pandas_count(&rules, buffer, n, (uint32_t)(begin - from), out);
    return STATUS_OK;
}
