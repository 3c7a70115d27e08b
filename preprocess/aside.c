#include "preprocess/aside.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER = 1 << 20 };

typedef struct aside_head {
    int64_t number, tokens, id_bytes, unknown;
    uint64_t text_hash;
    uint16_t source, lang;
    uint32_t unused;
} aside_head;

struct aside {
    FILE *file;
    char *path;
    size_t labels;
};

static status name_file(const char *part, int rank, char **path)
{
    if (asprintf(path, "%s.tmp-rows-%05d", part, rank) < 0)
        return fail(STATUS_RESOURCE, "out of memory for the path %s", part);
    return STATUS_OK;
}

status aside_create(const char *part, int rank, int64_t labels, aside **out)
{
    aside *a;
    *out = NULL;
    TRY(memory_new(&a, sizeof *a, "rows set aside"));
    a->labels = (size_t)labels;
    status st = name_file(part, rank, &a->path);
    if (st == STATUS_OK && !(a->file = fopen(a->path, "wbe")))
        st = fail_errno(STATUS_IO, errno, "%s: cannot be made; check the folder of --out", a->path);
    if (st != STATUS_OK) {
        free(a->path);
        free(a);
        return st;
    }
    setvbuf(a->file, NULL, _IOFBF, BUFFER);
    *out = a;
    return STATUS_OK;
}

static status cannot_write(const aside *a)
{
    return fail_errno(STATUS_IO, errno, "%s: cannot be written; the folder of --out needs room for the tokens of one part uncompressed", a->path);
}

status aside_add(aside *a, const rowfile_row *r, int64_t unknown)
{
    aside_head h = {.number = r->number, .tokens = r->tokens, .id_bytes = (int64_t)r->id_bytes, .unknown = unknown, .text_hash = r->text_hash,
                    .source = r->source, .lang = r->lang};
    size_t tokens = (size_t)r->tokens;
    bool good = fwrite(&h, sizeof h, 1, a->file) == 1 && fwrite(r->label, sizeof *r->label, a->labels, a->file) == a->labels &&
                fwrite(r->token, sizeof *r->token, tokens, a->file) == tokens && fwrite(r->id, 1, r->id_bytes, a->file) == r->id_bytes;
    return good ? STATUS_OK : cannot_write(a);
}

status aside_close(aside *a)
{
    status st = fclose(a->file) != 0 ? cannot_write(a) : STATUS_OK;
    free(a->path);
    free(a);
    return st;
}

void aside_abandon(aside *a)
{
    if (!a)
        return;
    fclose(a->file);
    unlink(a->path);
    free(a->path);
    free(a);
}

/* ---- taking ---- */

typedef struct buffers {
    uint8_t *bytes;
    size_t room;
} buffers;

static status cut_short(const char *path)
{
    return fail(STATUS_IO, "%s: ends inside a row; run the same command again", path);
}

static status take_rows(FILE *file, const char *path, size_t labels, buffers *b, aside_row take, void *job)
{
    aside_head h;
    while (fread(&h, sizeof h, 1, file) == 1) {
        size_t tokens = (size_t)h.tokens * sizeof(uint32_t), id = (size_t)h.id_bytes, all = labels * sizeof(float) + tokens + id;
        if (all > b->room) {
            TRY(memory_grow(&b->bytes, all + all / 2, "a row set aside"));
            b->room = all + all / 2;
        }
        if (fread(b->bytes, 1, all, file) != all)
            return cut_short(path);
        const uint8_t *at = b->bytes;
        rowfile_row r = {.number = h.number, .source = h.source, .lang = h.lang, .tokens = h.tokens, .id_bytes = id, .text_hash = h.text_hash};
        r.label = (const float *)(const void *)at;
        r.token = (const uint32_t *)(const void *)(at + labels * sizeof(float));
        r.id = (const char *)at + labels * sizeof(float) + tokens;
        TRY(take(job, &r, h.unknown));
    }
    return ferror(file) || !feof(file) ? cut_short(path) : STATUS_OK;
}

status aside_take(const char *part, int rank, int64_t labels, aside_row take, void *job)
{
    char *path;
    buffers b = {0};
    TRY(name_file(part, rank, &path));
    FILE *file = fopen(path, "rbe");
    status st;
    if (!file) {
        st = fail_errno(STATUS_IO, errno, "%s: cannot be read; all ranks must see the folder of --out", path);
    } else {
        setvbuf(file, NULL, _IOFBF, BUFFER);
        st = take_rows(file, path, (size_t)labels, &b, take, job);
        fclose(file);
        unlink(path);
    }
    free(b.bytes);
    free(path);
    return st;
}

void aside_remove(const char *part, int rank)
{
    char *path;
    if (name_file(part, rank, &path) != STATUS_OK)
        return;
    unlink(path);
    free(path);
}
