#include "store/identity.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "store/sets.h"

struct data_identity {
    hash_sha256 *sha;
    uint64_t block[ROWFILE_CHUNK];
};

status data_identity_begin(const char *tokenizer, int64_t rows, data_identity **out)
{
    data_identity *d;
    uint64_t count = (uint64_t)rows;
    *out = NULL;
    TRY(memory_new(&d, sizeof *d, "hashes of rows"));
    status st = hash_sha256_begin(&d->sha);
    if (st != STATUS_OK) {
        free(d);
        return st;
    }
    hash_sha256_add(d->sha, tokenizer, strlen(tokenizer));
    hash_sha256_add(d->sha, &count, sizeof count);
    *out = d;
    return STATUS_OK;
}

void data_identity_add(data_identity *d, const uint64_t *hashes, int64_t count)
{
    hash_sha256_add(d->sha, hashes, (size_t)count * sizeof *hashes);
}

status data_identity_add_file(data_identity *d, rowfile *f)
{
    int64_t rows = rowfile_rows(f);
    for (int64_t first = 0; first < rows; first += ROWFILE_CHUNK) {
        int64_t n = rows - first < ROWFILE_CHUNK ? rows - first : ROWFILE_CHUNK;
        TRY(rowfile_read_hashes(f, first, n, d->block));
        data_identity_add(d, d->block, n);
    }
    return STATUS_OK;
}

void data_identity_end(data_identity *d, char hex[HASH_HEX])
{
    if (!d)
        return;
    hash_sha256_end(d->sha, hex);
    free(d);
}

static status add_path(data_identity *d, const char *path, int64_t *seen)
{
    rowfile *f;
    TRY(rowfile_open(path, &f));
    status st = data_identity_add_file(d, f);
    *seen += rowfile_rows(f);
    rowfile_free(f);
    return st;
}

static status add_left(data_identity *d, const char *left, int64_t *seen)
{
    FILE *f = fopen(left, "rb");
    if (!f)
        return fail_errno(STATUS_IO, errno, "%s: opening the hashes of rows", left);
    for (size_t n; (n = fread(d->block, sizeof *d->block, ROWFILE_CHUNK, f)) > 0; *seen += (int64_t)n)
        data_identity_add(d, d->block, (int64_t)n);
    bool bad = ferror(f);
    fclose(f);
    return bad ? fail(STATUS_IO, "%s: reading the hashes of rows", left) : file_remove(left);
}

static status add_written(data_identity *d, const char *path, int64_t *seen)
{
    char *left;
    if (asprintf(&left, "%s" ROWFILE_HASHES, path) < 0)
        return fail(STATUS_RESOURCE, "out of memory: a path");
    status st = file_exists(left) ? add_left(d, left, seen) : add_path(d, path, seen);
    free(left);
    return st;
}

static status identity_of(const char *tokenizer, int64_t rows, char *const *paths, int64_t count, char hex[HASH_HEX],
                          status (*add)(data_identity *, const char *, int64_t *))
{
    data_identity *d;
    TRY(data_identity_begin(tokenizer, rows, &d));
    status st = STATUS_OK;
    int64_t seen = 0;
    for (int64_t i = 0; i < count; i++)
        TRY_DONE(add(d, paths[i], &seen));
    if (seen != rows)
        TRY_DONE(fail(STATUS_INPUT, "the files hold %lld rows in all where %lld were expected", (long long)seen, (long long)rows));
    data_identity_end(d, hex);
    return STATUS_OK;
done:
    data_identity_end(d, NULL);
    return st;
}

status data_identity_of_files(const char *tokenizer, int64_t rows, char *const *paths, int64_t count, char hex[HASH_HEX])
{
    return identity_of(tokenizer, rows, paths, count, hex, add_path);
}

status data_identity_of_written(const char *tokenizer, int64_t rows, char *const *paths, int64_t count, char hex[HASH_HEX])
{
    return identity_of(tokenizer, rows, paths, count, hex, add_written);
}
