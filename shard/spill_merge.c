#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/files.h"
#include "shard/spill_runs.h"

enum { LEAST_BUFFER = 4096, MOST_BUFFER = 256 << 10 };

status spill_file_path(const char *folder, int rank, char **path)
{
    if (asprintf(path, "%s/rank-%05d", folder, rank) < 0)
        return fail(STATUS_RESOURCE, "out of memory for the path %s", folder);
    return STATUS_OK;
}

void spill_free(spill_runs *r)
{
    if (!r)
        return;
    free(r->folder);
    free(r->bound);
    free(r->rank);
    free(r);
}

/* One run's records of the shard, read through a buffer. */
typedef struct stream {
    int file;
    const char *path;
    int64_t at, end;      /* bytes of the file not yet in the buffer */
    int64_t from, filled; /* what of the buffer is not used yet */
    uint8_t *buffer;
    spill_head head;      /* of the next record */
} stream;

typedef struct merge {
    const spill_runs *runs;
    int64_t streams, capacity; /* capacity: bytes of each stream's buffer */
    stream *stream;
    int64_t *heap;             /* streams by the position of their next record, smallest first */
    int64_t in_heap;
    int files;
    int *file;                 /* descriptors by rank, -1 where not open */
    char **path;
    uint8_t *record;           /* of a record longer than a buffer */
    size_t record_capacity;
} merge;

/* Makes at least `bytes` lie in the buffer from `from` on; bytes <= capacity. */
static status refill(merge *m, stream *s, int64_t bytes)
{
    if (s->filled - s->from >= bytes)
        return STATUS_OK;
    memmove(s->buffer, s->buffer + s->from, (size_t)(s->filled - s->from));
    s->filled -= s->from;
    s->from = 0;
    int64_t n = m->capacity - s->filled < s->end - s->at ? m->capacity - s->filled : s->end - s->at;
    if (s->filled + n < bytes)
        return fail(STATUS_IO, "%s: ends inside a row; run the same command again", s->path);
    TRY(file_read_fd(s->file, s->path, (uint64_t)s->at, s->buffer + s->filled, (size_t)n));
    s->at += n;
    s->filled += n;
    return STATUS_OK;
}

static bool is_empty(const stream *s)
{
    return s->from == s->filled && s->at == s->end;
}

static status read_head(merge *m, stream *s)
{
    TRY(refill(m, s, (int64_t)sizeof s->head));
    memcpy(&s->head, s->buffer + s->from, sizeof s->head);
    const spill_head *h = &s->head;
    int64_t left = s->filled - s->from + s->end - s->at;
    if (h->tokens < 0 || h->id_bytes < 0 || h->bytes > left || h->tokens > left || h->id_bytes > left ||
        h->bytes != spill_record_bytes(&(rowfile_row){.tokens = h->tokens, .id_bytes = (size_t)h->id_bytes}, m->runs->labels))
        return fail(STATUS_IO, "%s: damaged; run the same command again", s->path);
    return STATUS_OK;
}

/* The next record as one piece of memory, valid until the stream is read again. */
static status read_record(merge *m, stream *s, const uint8_t **record)
{
    int64_t bytes = s->head.bytes;
    if (bytes <= m->capacity) {
        TRY(refill(m, s, bytes));
        *record = s->buffer + s->from;
        s->from += bytes;
        return STATUS_OK;
    }
    if ((size_t)bytes > m->record_capacity) {
        TRY(memory_grow(&m->record, (size_t)bytes, "a long row"));
        m->record_capacity = (size_t)bytes;
    }
    int64_t here = s->filled - s->from;
    memcpy(m->record, s->buffer + s->from, (size_t)here);
    TRY(file_read_fd(s->file, s->path, (uint64_t)s->at, m->record + here, (size_t)(bytes - here)));
    s->at += bytes - here;
    s->from = s->filled = 0;
    *record = m->record;
    return STATUS_OK;
}

static int64_t key(const merge *m, int64_t place)
{
    return m->stream[m->heap[place]].head.position;
}

static void sift_down(merge *m, int64_t place)
{
    for (;;) {
        int64_t child = 2 * place + 1;
        if (child >= m->in_heap)
            return;
        if (child + 1 < m->in_heap && key(m, child + 1) < key(m, child))
            child++;
        if (key(m, place) <= key(m, child))
            return;
        int64_t other = m->heap[place];
        m->heap[place] = m->heap[child];
        m->heap[child] = other;
        place = child;
    }
}

static status open_file(merge *m, int rank)
{
    if (m->file[rank] >= 0)
        return STATUS_OK;
    TRY(spill_file_path(m->runs->folder, rank, &m->path[rank]));
    m->file[rank] = open(m->path[rank], O_RDONLY | O_CLOEXEC);
    if (m->file[rank] < 0)
        return fail_errno(STATUS_IO, errno, "%s: cannot be read; all ranks must see the folder of --out", m->path[rank]);
    return STATUS_OK;
}

static status open_streams(merge *m, int64_t shard, int64_t memory)
{
    const spill_runs *r = m->runs;
    int64_t used = 0;
    for (int64_t i = 0; i < r->runs; i++)
        used += r->bound[i * (r->shards + 1) + shard] < r->bound[i * (r->shards + 1) + shard + 1];
    m->capacity = memory / (used > 0 ? used : 1) / 8 * 8;
    m->capacity = m->capacity < LEAST_BUFFER ? LEAST_BUFFER : m->capacity > MOST_BUFFER ? MOST_BUFFER : m->capacity;
    TRY(memory_new(&m->stream, (size_t)used * sizeof *m->stream, "the merge of runs"));
    TRY(memory_new(&m->heap, (size_t)used * sizeof *m->heap, "the merge of runs"));
    for (int64_t i = 0; i < r->runs; i++) {
        const int64_t *bound = r->bound + i * (r->shards + 1) + shard;
        if (bound[0] == bound[1])
            continue;
        TRY(open_file(m, r->rank[i]));
        stream *s = &m->stream[m->streams++];
        *s = (stream){.file = m->file[r->rank[i]], .path = m->path[r->rank[i]], .at = bound[0], .end = bound[1]};
        TRY(memory_new(&s->buffer, (size_t)m->capacity, "the merge of runs"));
        TRY(read_head(m, s));
        m->heap[m->in_heap++] = m->streams - 1;
    }
    for (int64_t i = m->in_heap / 2 - 1; i >= 0; i--)
        sift_down(m, i);
    return STATUS_OK;
}

static status hand_out(merge *m, const spill_head *h, const uint8_t *record, spill_take take, void *job)
{
    const uint8_t *label = record + sizeof *h, *token = label + 4 * m->runs->labels, *id = token + 4 * h->tokens;
    return take(job, &(rowfile_row){.id = (const char *)id, .id_bytes = (size_t)h->id_bytes, .number = h->number, .source = h->source,
                                    .lang = h->lang, .label = (const float *)(const void *)label,
                                    .token = (const uint32_t *)(const void *)token, .tokens = h->tokens, .text_hash = h->text_hash});
}

static status merge_all(merge *m, int64_t shard, spill_take take, void *job)
{
    int64_t wanted = m->runs->first[shard];
    for (; m->in_heap > 0; wanted++) {
        stream *s = &m->stream[m->heap[0]];
        spill_head head = s->head;
        const uint8_t *record;
        if (head.position != wanted)
            break;
        TRY(read_record(m, s, &record));
        TRY(hand_out(m, &head, record, take, job));
        if (is_empty(s))
            m->heap[0] = m->heap[--m->in_heap];
        else
            TRY(read_head(m, s));
        sift_down(m, 0);
    }
    if (m->in_heap > 0 || wanted != m->runs->first[shard + 1])
        return fail(STATUS_IO, "%s: the row for position %lld did not come exactly once; run the same command again", m->runs->folder,
                    (long long)wanted);
    return STATUS_OK;
}

static int most_rank(const spill_runs *r)
{
    int most = 0;
    for (int64_t i = 0; i < r->runs; i++)
        most = r->rank[i] > most ? r->rank[i] : most;
    return most;
}

status spill_merge(const spill_runs *runs, int64_t shard, int64_t memory, spill_take take, void *job)
{
    merge m = {.runs = runs, .files = most_rank(runs) + 1};
    status st;
    TRY_DONE(memory_new(&m.path, (size_t)m.files * sizeof *m.path, "the merge of runs"));
    TRY_DONE(memory_new(&m.file, (size_t)m.files * sizeof *m.file, "the merge of runs"));
    for (int i = 0; i < m.files; i++)
        m.file[i] = -1;
    TRY_DONE(open_streams(&m, shard, memory));
    st = merge_all(&m, shard, take, job);
done:
    for (int64_t i = 0; i < m.streams; i++)
        free(m.stream[i].buffer);
    for (int i = 0; i < m.files; i++) {
        if (m.file && m.file[i] >= 0)
            close(m.file[i]);
        free(m.path ? m.path[i] : NULL);
    }
    free(m.stream);
    free(m.heap);
    free(m.file);
    free(m.path);
    free(m.record);
    return st;
}
