#include "preprocess/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/comm.h"

enum { BLOCK = 8192 };

typedef struct kept_text {
    uint64_t hash, labels;
} kept_text;

typedef struct kept_file {
    FILE *file;
    char *path;
} kept_file;

struct kept {
    kept_file rows, texts;
    uint64_t hash[BLOCK];
    kept_text text[BLOCK];
    size_t count;  /* of the block in hand */
    int64_t first; /* the number of the first row of the node */
};

/* A file that another rank has made already is opened as it is. */
static status open_file(const char *folder, const char *what, int number, int flags, kept_file *f)
{
    if (asprintf(&f->path, "%s/%s-%05d", folder, what, number) < 0) {
        f->path = NULL;
        return fail(STATUS_RESOURCE, "out of memory for the path %s", folder);
    }
    int fd = open(f->path, flags | O_CLOEXEC, 0666);
    f->file = fd < 0 ? NULL : fdopen(fd, flags & O_RDWR ? "r+b" : "rb");
    if (!f->file) {
        status st = fail_errno(STATUS_IO, errno, "%s: cannot be opened; all ranks must see the folder of --out", f->path);
        if (fd >= 0)
            close(fd);
        return st;
    }
    setvbuf(f->file, NULL, _IONBF, 0); /* blocks are large */
    return STATUS_OK;
}

static void close_file(kept_file *f)
{
    if (f->file)
        fclose(f->file);
    free(f->path);
    *f = (kept_file){0};
}

static status write_block(const kept_file *f, const void *from, size_t bytes)
{
    if (fwrite(from, 1, bytes, f->file) == bytes)
        return STATUS_OK;
    return fail_errno(STATUS_IO, errno, "%s: cannot be written; the folder of --out needs room for the tokens once more, uncompressed", f->path);
}

/* Up to a block; *count 0 at the end. */
static status read_block(const kept_file *f, void *to, size_t size, size_t *count)
{
    *count = fread(to, size, BLOCK, f->file);
    return ferror(f->file) ? fail(STATUS_IO, "%s: cannot be read; run the same command again", f->path) : STATUS_OK;
}

status kept_create(const char *folder, int64_t first, kept **out)
{
    kept *k;
    *out = NULL;
    TRY(memory_new(&k, sizeof *k, "hashes of rows"));
    k->first = first;
    status st = open_file(folder, "rows", comm_node(), O_RDWR | O_CREAT, &k->rows);
    if (st == STATUS_OK)
        st = open_file(folder, "texts", comm_rank(), O_RDWR | O_CREAT, &k->texts);
    if (st == STATUS_OK)
        *out = k;
    else
        kept_free(k);
    return st;
}

void kept_free(kept *k)
{
    if (!k)
        return;
    close_file(&k->rows);
    close_file(&k->texts);
    free(k);
}

static status write_blocks(kept *k)
{
    size_t count = k->count;
    k->count = 0;
    TRY(write_block(&k->rows, k->hash, count * sizeof *k->hash));
    return write_block(&k->texts, k->text, count * sizeof *k->text);
}

status kept_go_to(kept *k, int64_t number)
{
    TRY(write_blocks(k));
    if (fseeko(k->rows.file, (off_t)((number - k->first) * (int64_t)sizeof *k->hash), SEEK_SET) == 0)
        return STATUS_OK;
    return fail_errno(STATUS_IO, errno, "%s: cannot be written", k->rows.path);
}

status kept_add(kept *k, uint64_t row_hash, uint64_t text_hash, uint64_t labels)
{
    k->hash[k->count] = row_hash;
    k->text[k->count++] = (kept_text){text_hash, labels};
    return k->count == BLOCK ? write_blocks(k) : STATUS_OK;
}

status kept_finish(kept *k)
{
    TRY(write_blocks(k));
    FILE *rows = k->rows.file;
    k->rows.file = NULL;
    return fclose(rows) == 0 ? STATUS_OK : fail_errno(STATUS_IO, errno, "%s: cannot be written", k->rows.path);
}

static status add_hashes(const kept_file *f, data_identity *d, int64_t *rows)
{
    uint64_t hash[BLOCK];
    for (size_t n;; *rows += (int64_t)n) {
        TRY(read_block(f, hash, sizeof *hash, &n));
        if (n == 0)
            return STATUS_OK;
        data_identity_add(d, hash, (int64_t)n);
    }
}

status kept_add_hashes(const char *folder, int node, data_identity *d, int64_t *rows)
{
    kept_file f = {0};
    status st = open_file(folder, "rows", node, O_RDONLY, &f);
    if (st == STATUS_OK)
        st = add_hashes(&f, d, rows);
    close_file(&f);
    return st;
}

status kept_give(void *with, bool labelled, duplicate_sink *sink)
{
    kept *k = with;
    (void)labelled;
    rewind(k->texts.file);
    for (size_t n;;) {
        TRY(read_block(&k->texts, k->text, sizeof *k->text, &n));
        if (n == 0)
            return STATUS_OK;
        for (size_t i = 0; i < n; i++)
            duplicates_give(sink, k->text[i].hash, k->text[i].labels);
    }
}
