#include "model/torchbin_zip.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { END_BYTES = 22, LOCATOR_BYTES = 20, END64_BYTES = 56, CENTRAL_BYTES = 46, LOCAL_BYTES = 30, MAX_COMMENT = 65535 };

typedef struct archive {
    const char *path;
    const unsigned char *bytes;
    size_t size;
} archive;

/* Where the central directory lies. */
typedef struct directory {
    uint64_t offset, bytes, entries;
} directory;

static uint64_t number(const unsigned char *p, int bytes)
{
    uint64_t n = 0;
    for (int i = bytes - 1; i >= 0; i--)
        n = n << 8 | p[i];
    return n;
}

static bool is_signature(const unsigned char *p, unsigned char c, unsigned char d)
{
    return p[0] == 'P' && p[1] == 'K' && p[2] == c && p[3] == d;
}

static status broken(const archive *a, uint64_t at, const char *what)
{
    return fail(STATUS_INPUT, "%s: byte %llu: %s; the zip archive is damaged or cut short", a->path, (unsigned long long)at, what);
}

/* The record at the end, which a comment may follow; sizes of 2^32 and more are in its 64-bit twin, found through a locator. */
static status find_directory(const archive *a, directory *out)
{
    if (a->size < END_BYTES)
        return broken(a, 0, "too short for a zip archive");
    size_t at = a->size - END_BYTES, stop = at > MAX_COMMENT ? at - MAX_COMMENT : 0;
    while (!is_signature(a->bytes + at, 5, 6)) {
        if (at == stop)
            return broken(a, a->size, "no directory at its end");
        at--;
    }
    const unsigned char *p = a->bytes + at;
    *out = (directory){number(p + 16, 4), number(p + 12, 4), number(p + 10, 2)};
    if (at >= LOCATOR_BYTES && is_signature(p - LOCATOR_BYTES, 6, 7)) {
        uint64_t where = number(p - LOCATOR_BYTES + 8, 8);
        if (where > a->size || a->size - where < END64_BYTES || !is_signature(a->bytes + where, 6, 6))
            return broken(a, where, "no 64-bit directory where it should be");
        const unsigned char *q = a->bytes + where;
        *out = (directory){number(q + 48, 8), number(q + 40, 8), number(q + 32, 8)};
    }
    if (out->offset > a->size || out->bytes > a->size - out->offset || out->entries > out->bytes / CENTRAL_BYTES)
        return broken(a, at, "a directory that reaches beyond the file");
    return STATUS_OK;
}

/* 64-bit sizes of one entry, from its extra field 1, in the order of the fields that say 2^32-1. */
static status read_extra(const archive *a, uint64_t at, const unsigned char *extra, size_t length, uint64_t *bytes, uint64_t *stored, uint64_t *local)
{
    while (length >= 4) {
        size_t kind = (size_t)number(extra, 2), n = (size_t)number(extra + 2, 2);
        if (n > length - 4)
            break;
        if (kind == 1) {
            const unsigned char *p = extra + 4, *end = p + n;
            uint64_t *fields[3] = {bytes, stored, local};
            for (int i = 0; i < 3; i++) {
                if (*fields[i] != UINT32_MAX)
                    continue;
                if (end - p < 8)
                    return broken(a, at, "an entry without its 64-bit size");
                *fields[i] = number(p, 8);
                p += 8;
            }
        }
        extra += 4 + n;
        length -= 4 + n;
    }
    return STATUS_OK;
}

/* One entry of the directory at *at; moves *at behind it. */
static status read_entry(const archive *a, uint64_t *at, uint64_t end, zip_entry *out)
{
    const unsigned char *p = a->bytes + *at;
    if (end - *at < CENTRAL_BYTES || !is_signature(p, 1, 2))
        return broken(a, *at, "no directory entry");
    uint64_t flags = number(p + 8, 2), method = number(p + 10, 2), stored = number(p + 20, 4), bytes = number(p + 24, 4), local = number(p + 42, 4);
    size_t name = (size_t)number(p + 28, 2), extra = (size_t)number(p + 30, 2), comment = (size_t)number(p + 32, 2);
    if (end - *at - CENTRAL_BYTES < name + extra + comment)
        return broken(a, *at, "a directory entry that is cut short");
    TRY(read_extra(a, *at, p + CENTRAL_BYTES + name, extra, &bytes, &stored, &local));
    if (method != 0 || flags & 1 || bytes != stored)
        return fail(STATUS_INPUT, "%s: byte %llu: an entry is compressed or encrypted, which torch.save never does", a->path,
                    (unsigned long long)*at);
    if (local > a->size || a->size - local < LOCAL_BYTES || !is_signature(a->bytes + local, 3, 4))
        return broken(a, local, "no entry where the directory says");
    uint64_t data = local + LOCAL_BYTES + number(a->bytes + local + 26, 2) + number(a->bytes + local + 28, 2);
    if (data > a->size || bytes > a->size - data)
        return broken(a, local, "an entry that reaches beyond the file");
    *out = (zip_entry){(const char *)p + CENTRAL_BYTES, name, a->bytes + data, (size_t)bytes, (uint32_t)number(p + 16, 4)};
    *at += CENTRAL_BYTES + name + extra + comment;
    return STATUS_OK;
}

status zip_read_directory(const char *path, const unsigned char *bytes, size_t size, zip_entry **out, size_t *count)
{
    const archive a = {path, bytes, size};
    directory d = {0};
    zip_entry *list = NULL;
    TRY(find_directory(&a, &d));
    TRY(memory_new(&list, (size_t)d.entries * sizeof *list, "the directory of a zip archive"));
    uint64_t at = d.offset;
    for (uint64_t i = 0; i < d.entries; i++) {
        status st = read_entry(&a, &at, d.offset + d.bytes, &list[i]);
        if (st != STATUS_OK) {
            free(list);
            return st;
        }
    }
    *out = list;
    *count = (size_t)d.entries;
    return STATUS_OK;
}
