#include "preprocess/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "common/files.h"

enum { BUFFER = 256 * 1024, COPY_MEMORY = 256 << 20 };

/* A file on its way: in[used .. have) is not yet decoded, and begins at byte `at` + used of the file. */
typedef struct unpacking {
    const char *path, *name; /* name: of the packing */
    const packed_target *to;
    int fd;
    uint8_t *in, *out;
    size_t have, used;
    uint64_t at, written;
    bool ended;              /* the file has no more bytes than those in the buffer */
} unpacking;

const char *packed_name(packed_kind kind)
{
    static const char *const names[] = {[PACKED_NOT] = "plain", [PACKED_GZIP] = "gzip", [PACKED_ZSTD] = "zstd"};
    return names[kind];
}

static status cannot_read(const char *path)
{
    return fail_errno(errno == ENOENT || errno == EACCES || errno == ENOTDIR ? STATUS_INPUT : STATUS_IO, errno,
                      "%s: the CSV can't be opened; check the name and the permissions", path);
}

status packed_look(const char *path, packed_kind *out)
{
    static const uint8_t gzip[] = {0x1F, 0x8B}, zstd[] = {0x28, 0xB5, 0x2F, 0xFD}, skipped[] = {0x2A, 0x4D, 0x18};
    uint8_t first[4] = {0};
    struct stat info;
    *out = PACKED_NOT;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return cannot_read(path);
    status st = STATUS_OK;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && (size_t)info.st_size >= sizeof first)
        st = file_read_fd(fd, path, 0, first, sizeof first);
    close(fd);
    if (memcmp(first, gzip, sizeof gzip) == 0)
        *out = PACKED_GZIP;
    else if (memcmp(first, zstd, sizeof zstd) == 0 || (first[0] >> 4 == 5 && memcmp(first + 1, skipped, sizeof skipped) == 0))
        *out = PACKED_ZSTD;
    return st;
}

/* ---- both kinds ---- */

/* Makes the buffer hold bytes that are not yet decoded, unless the file has ended. */
static status fill(unpacking *u)
{
    if (u->used < u->have || u->ended)
        return STATUS_OK;
    u->at += u->have;
    u->used = u->have = 0;
    ssize_t n;
    while ((n = pread(u->fd, u->in, BUFFER, (off_t)u->at)) < 0 && errno == EINTR) {
    }
    if (n < 0)
        return fail_errno(STATUS_IO, errno, "%s: cannot be read at byte %llu", u->path, (unsigned long long)u->at);
    u->have = (size_t)n;
    u->ended = n == 0;
    return u->to->stop && u->to->stop() ? STATUS_STOPPED : STATUS_OK;
}

static status drain(unpacking *u, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = write(u->to->fd, u->out + done, bytes - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(STATUS_IO, errno, "%s: cannot be written; there must be room for what %s unpacks to", u->to->path, u->path);
        done += (size_t)n;
    }
    u->written += bytes;
    return STATUS_OK;
}

static unsigned long long place(const unpacking *u)
{
    return u->at + u->used;
}

static status cut_short(const unpacking *u)
{
    return fail(STATUS_INPUT, "%s: byte %llu: the %s data end here, inside what they pack; get the whole file", u->path, place(u), u->name);
}

static status followed(const unpacking *u)
{
    return fail(STATUS_INPUT, "%s: byte %llu: what follows the %s data is no %s; cut it off, or get the file again", u->path, place(u), u->name,
                u->name);
}

static status damaged(const unpacking *u, const char *why)
{
    return fail(STATUS_INPUT, "%s: byte %llu: damaged %s data (%s); get the file again", u->path, place(u), u->name, why);
}

/* The file has ended inside the part that begins at `begin`. A few bytes behind the last part are no part at all. */
static status end_inside(unpacking *u, uint64_t begin, size_t magic)
{
    if (begin == 0 || place(u) - begin >= magic)
        return cut_short(u);
    u->at = begin;
    return followed(u);
}

/* ---- gzip ---- */

static status gzip_fault(unpacking *u, const z_stream *z, int result, uint64_t begin)
{
    static const char no_header[] = "incorrect header check";
    const char *why = z->msg ? z->msg : "not gzip";
    if (result == Z_MEM_ERROR)
        return fail(STATUS_RESOURCE, "%s: out of memory for unpacking", u->path);
    if (begin == 0 || strcmp(why, no_header) != 0)
        return damaged(u, why);
    u->at = begin;
    u->used = 0;
    return followed(u);
}

static status inflate_members(unpacking *u, z_stream *z)
{
    enum { MAGIC = 2 };
    uint64_t begin = 0; /* of the member in hand */
    for (int result = Z_OK;;) {
        TRY(fill(u));
        if (u->ended)
            return result == Z_STREAM_END ? STATUS_OK : end_inside(u, begin, MAGIC);
        if (result == Z_STREAM_END) {
            begin = place(u);
            inflateReset(z);
        }
        z->next_in = u->in + u->used;
        z->avail_in = (uInt)(u->have - u->used);
        do { /* what is decoded may not fit into one buffer */
            z->next_out = u->out;
            z->avail_out = BUFFER;
            result = inflate(z, Z_NO_FLUSH);
            u->used = u->have - z->avail_in;
            if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
                return gzip_fault(u, z, result, begin);
            TRY(drain(u, BUFFER - z->avail_out));
        } while (z->avail_out == 0 && result == Z_OK);
    }
}

static status unpack_gzip(unpacking *u)
{
    enum { GZIP_ONLY = 16 };
    z_stream z = {0};
    if (inflateInit2(&z, MAX_WBITS + GZIP_ONLY) != Z_OK)
        return fail(STATUS_RESOURCE, "%s: out of memory for unpacking", u->path);
    status st = inflate_members(u, &z);
    inflateEnd(&z);
    return st;
}

/* ---- zstd ---- */

static status zstd_fault(unpacking *u, size_t result, bool between, uint64_t begin)
{
    ZSTD_ErrorCode code = ZSTD_getErrorCode(result);
    if (code == ZSTD_error_memory_allocation)
        return fail(STATUS_RESOURCE, "%s: out of memory for unpacking", u->path);
    if (code == ZSTD_error_frameParameter_windowTooLarge)
        return fail(STATUS_INPUT,
                    "%s: byte %llu: its zstd frame needs a larger window than half of --memory; give more, or pack it again without --long", u->path,
                    (unsigned long long)begin);
    if (code != ZSTD_error_prefix_unknown || begin == 0)
        return damaged(u, ZSTD_getErrorName(result));
    if (between) {
        u->at = begin;
        u->used = 0;
    }
    return followed(u);
}

static status decode_frames(unpacking *u, ZSTD_DCtx *z)
{
    uint64_t begin = 0; /* of the frame in hand */
    for (size_t wants = 1;;) {
        TRY(fill(u));
        if (u->ended)
            return wants ? end_inside(u, begin, sizeof(uint32_t)) : STATUS_OK;
        bool between = wants == 0;
        if (between)
            begin = place(u);
        ZSTD_inBuffer in = {u->in, u->have, u->used};
        ZSTD_outBuffer out = {u->out, BUFFER, 0};
        do { /* what is decoded may not fit into one buffer */
            out.pos = 0;
            wants = ZSTD_decompressStream(z, &out, &in);
            u->used = in.pos;
            if (ZSTD_isError(wants))
                return zstd_fault(u, wants, between, begin);
            TRY(drain(u, out.pos));
        } while (wants && out.pos == out.size);
    }
}

static status unpack_zstd(unpacking *u)
{
    enum { LEAST_WINDOW = 10, MOST_WINDOW = 31 };
    int window = LEAST_WINDOW;
    while (window < MOST_WINDOW && INT64_C(2) << window <= u->to->memory / 2)
        window++;
    ZSTD_DCtx *z = ZSTD_createDCtx();
    if (!z)
        return fail(STATUS_RESOURCE, "%s: out of memory for unpacking", u->path);
    ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, window);
    status st = decode_frames(u, z);
    ZSTD_freeDCtx(z);
    return st;
}

status packed_unpack(const char *path, packed_kind kind, const packed_target *to, uint64_t *bytes)
{
    unpacking u = {.path = path, .name = packed_name(kind), .to = to, .fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (u.fd < 0)
        return cannot_read(path);
    status st = memory_new(&u.in, BUFFER, "unpacking");
    if (st == STATUS_OK)
        st = memory_new(&u.out, BUFFER, "unpacking");
    if (st == STATUS_OK)
        st = kind == PACKED_GZIP ? unpack_gzip(&u) : unpack_zstd(&u);
    *bytes = u.written;
    close(u.fd);
    free(u.in);
    free(u.out);
    return st;
}

status packed_open_copy(const char *path, packed_copy *out)
{
    packed_kind kind;
    uint64_t bytes;
    *out = (packed_copy){0};
    TRY(packed_look(path, &kind));
    if (kind == PACKED_NOT)
        return STATUS_OK;
    out->file = tmpfile();
    if (!out->file)
        return fail_errno(STATUS_IO, errno, "%s: there is no room in /tmp to unpack it", path);
    int fd = fileno(out->file);
    status st = packed_unpack(path, kind, &(packed_target){.fd = fd, .path = "/tmp", .memory = COPY_MEMORY}, &bytes);
    if (st != STATUS_OK)
        packed_close_copy(out);
    else
        snprintf(out->name, sizeof out->name, "/proc/self/fd/%d", fd);
    return st;
}

void packed_close_copy(packed_copy *c)
{
    if (c->file)
        fclose(c->file);
    *c = (packed_copy){0};
}
