#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/comm.h"
#include "common/files.h"
#include "common/sort.h"
#include "shard/spill_runs.h"

enum { BLOCK = 1 << 20 };

/* Entries of the order grow down from the arena's end, records up from its start: full when they meet. */
typedef sort_pair entry; /* key: position; value: where the record begins in the arena */

struct spill_writer {
    char *folder, *path;
    int file;
    int64_t labels, shards, capacity, most, used, rows, written;
    const int64_t *first;
    uint8_t *arena, *block;
    int64_t runs;
    int64_t *bound; /* runs x (shards + 1): where each shard's records begin in the file */
};

void spill_writer_free(spill_writer *w)
{
    if (!w)
        return;
    if (w->file >= 0)
        close(w->file);
    free(w->folder);
    free(w->path);
    free(w->arena);
    free(w->block);
    free(w->bound);
    free(w);
}

/* A run is copied out in random order: with small pages most of that time goes into looking up addresses. A wish, not a need. */
static void use_large_pages(uint8_t *p, size_t bytes)
{
    enum { PAGE = 4096 };
    uintptr_t first = ((uintptr_t)p + PAGE - 1) / PAGE * PAGE, end = ((uintptr_t)p + bytes) / PAGE * PAGE;
    if (end > first)
        madvise((void *)first, end - first, MADV_HUGEPAGE); /* before the memory is touched; where it fails, small pages do */
}

static status make_arena(spill_writer *w, int64_t bytes)
{
    free(w->arena);
    w->arena = NULL;
    w->capacity = (bytes + 15) / 16 * 16;
    TRY(memory_new(&w->arena, (size_t)w->capacity, "rows on their way (--memory)"));
    use_large_pages(w->arena, (size_t)w->capacity);
    return STATUS_OK;
}

static status start(spill_writer *w, const char *folder, int64_t memory)
{
    if (!(w->folder = strdup(folder)))
        return fail(STATUS_RESOURCE, "out of memory for the path %s", folder);
    TRY(spill_file_path(folder, comm_rank(), &w->path));
    TRY(make_arena(w, memory));
    TRY(memory_new(&w->block, BLOCK, "rows on their way"));
    w->file = open(w->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (w->file < 0)
        return fail_errno(STATUS_IO, errno, "%s: cannot be made; check the folder of --out", w->path);
    return STATUS_OK;
}

status spill_create(const char *folder, int64_t labels, int64_t memory, int64_t most, const int64_t *first, int64_t shards, spill_writer **out)
{
    spill_writer *w;
    *out = NULL;
    TRY(memory_new(&w, sizeof *w, "rows on their way"));
    w->file = -1;
    w->labels = labels;
    w->shards = shards;
    w->first = first;
    w->most = most;
    status st = start(w, folder, memory);
    if (st == STATUS_OK)
        *out = w;
    else
        spill_writer_free(w);
    return st;
}

static status write_bytes(spill_writer *w, const uint8_t *from, int64_t bytes)
{
    while (bytes > 0) {
        ssize_t n = write(w->file, from, (size_t)bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(STATUS_IO, errno, "%s: cannot be written; the folder of --out needs room for the tokens once more, uncompressed",
                              w->path);
        from += n;
        bytes -= n;
        w->written += n;
    }
    return STATUS_OK;
}

/* Records lie anywhere in the arena: what comes a few records later is fetched early. */
static void fetch_ahead(const spill_writer *w, const entry *e, int64_t i)
{
    enum { HEAD = 16, BODY = 8, LINES = 3, LINE = 64 };
    if (i + HEAD < w->rows)
        __builtin_prefetch(w->arena + e[i + HEAD].value);
    if (i + BODY < w->rows)
        for (int line = 1; line <= LINES; line++)
            __builtin_prefetch(w->arena + e[i + BODY].value + line * LINE); /* past the arena's end this does nothing */
}

/* Records in order through one block, so that a run is written in large pieces. */
static status write_records(spill_writer *w, const entry *e, int64_t *bound)
{
    int64_t filled = 0, shard = 0;
    for (int64_t i = 0; i < w->rows; i++) {
        const uint8_t *from = w->arena + e[i].value;
        int64_t bytes;
        fetch_ahead(w, e, i);
        memcpy(&bytes, from, sizeof bytes);
        while (shard < w->shards && (int64_t)e[i].key >= w->first[shard])
            bound[shard++] = w->written + filled;
        if (filled + bytes > BLOCK) {
            TRY(write_bytes(w, w->block, filled));
            filled = 0;
        }
        if (bytes > BLOCK) {
            TRY(write_bytes(w, from, bytes));
        } else {
            memcpy(w->block + filled, from, (size_t)bytes);
            filled += bytes;
        }
    }
    TRY(write_bytes(w, w->block, filled));
    while (shard <= w->shards)
        bound[shard++] = w->written;
    return STATUS_OK;
}

static status write_run(spill_writer *w)
{
    if (w->rows == 0)
        return STATUS_OK;
    entry *e = (entry *)(void *)(w->arena + w->capacity) - w->rows;
    sort_pairs(e, (size_t)w->rows);
    TRY(memory_grow(&w->bound, (size_t)((w->runs + 1) * (w->shards + 1)) * sizeof *w->bound, "the index of the runs"));
    TRY(write_records(w, e, w->bound + w->runs * (w->shards + 1)));
    w->runs++;
    w->rows = 0;
    w->used = 0;
    return STATUS_OK;
}

status spill_add(spill_writer *w, int64_t position, const rowfile_row *r)
{
    int64_t bytes = spill_record_bytes(r, w->labels);
    if (bytes + (int64_t)sizeof(entry) > w->capacity - w->used - w->rows * (int64_t)sizeof(entry))
        TRY(write_run(w));
    if (bytes + (int64_t)sizeof(entry) > w->capacity && bytes + (int64_t)sizeof(entry) <= w->most)
        TRY(make_arena(w, bytes + (int64_t)sizeof(entry))); /* nothing is in it now */
    if (bytes + (int64_t)sizeof(entry) > w->capacity)
        return fail(STATUS_RESOURCE, "the row with id '%.*s' (number %lld) takes %lld bytes, more than the %lld there are; give more --memory",
                    r->id_bytes < 80 ? (int)r->id_bytes : 80, r->id, (long long)r->number, (long long)bytes, (long long)w->most);
    uint8_t *to = w->arena + w->used;
    spill_head head = {.bytes = bytes, .position = position, .number = r->number, .text_hash = r->text_hash, .tokens = r->tokens,
                       .id_bytes = (int64_t)r->id_bytes, .source = r->source, .lang = r->lang};
    size_t label_bytes = (size_t)w->labels * sizeof *r->label, token_bytes = (size_t)r->tokens * sizeof *r->token;
    memcpy(to, &head, sizeof head);
    to += sizeof head;
    if (label_bytes > 0)
        memcpy(to, r->label, label_bytes);
    if (token_bytes > 0)
        memcpy(to + label_bytes, r->token, token_bytes);
    if (r->id_bytes > 0)
        memcpy(to + label_bytes + token_bytes, r->id, r->id_bytes);
    w->rows++;
    ((entry *)(void *)(w->arena + w->capacity))[-w->rows] = (entry){(uint64_t)position, (uint64_t)w->used};
    w->used += bytes;
    return STATUS_OK;
}

void spill_remove_file(const char *folder)
{
    char *path;
    if (spill_file_path(folder, comm_rank(), &path) != STATUS_OK)
        return;
    unlink(path);
    free(path);
}

/* ---- telling all ranks ---- */

static status gather(spill_writer *w, spill_runs *r)
{
    int size = comm_size();
    size_t *bytes;
    TRY(comm_agree(memory_new(&bytes, (size_t)size * sizeof *bytes, "the index of the runs")));
    size_t mine = (size_t)(w->runs * (w->shards + 1)) * sizeof *w->bound, all = 0;
    comm_all_gather(&mine, sizeof mine, bytes);
    for (int i = 0; i < size; i++)
        all += bytes[i];
    r->runs = (int64_t)(all / ((size_t)(w->shards + 1) * sizeof *r->bound));
    status st = memory_new(&r->bound, all, "the index of the runs");
    if (st == STATUS_OK)
        st = memory_new(&r->rank, (size_t)r->runs * sizeof *r->rank, "the index of the runs");
    st = comm_agree(st);
    if (st == STATUS_OK) {
        comm_all_gather_parts(w->bound, bytes, r->bound);
        int64_t run = 0;
        for (int i = 0; i < size; i++)
            for (size_t k = 0; k < bytes[i] / ((size_t)(w->shards + 1) * sizeof *r->bound); k++)
                r->rank[run++] = i;
    }
    free(bytes);
    return st;
}

status spill_share(spill_writer *w, spill_runs **out)
{
    spill_runs *r = NULL;
    *out = NULL;
    status st = write_run(w);
    int file = w->file;
    w->file = -1;
    if (close(file) != 0 && st == STATUS_OK)
        st = fail_errno(STATUS_IO, errno, "%s: cannot be written", w->path);
    if (st == STATUS_OK)
        st = memory_new(&r, sizeof *r, "the index of the runs");
    st = comm_agree(st);
    if (st == STATUS_OK) {
        *r = (spill_runs){.labels = w->labels, .shards = w->shards, .first = w->first, .folder = w->folder};
        w->folder = NULL;
        st = gather(w, r);
    }
    spill_writer_free(w);
    if (st == STATUS_OK)
        *out = r;
    else
        spill_free(r);
    return st;
}
