/* A stand-in for NCCL, built under its own name, so that link_nccl.c itself runs on the twin of a device: messages between processes of one machine, as
 * files of a folder that the unique id names. Nothing waits in a call: what has been asked for is work in the stream given, which the twin does when
 * something must see it (gpu_host.h). Till then what is to come in is NaN, and what goes out must not change.
 *
 * It refuses, with a line on standard error and an error of the library: messages outside of a group, to oneself or to nobody, of no type or stream;
 * what is asked of ranks that were given up; two ranks that do not mean the same by the message or sum that is next between them (kind, count, type, which
 * of their groups: a device would wait for ever, or take other numbers for these).
 *
 *   FRETSAW_STAND_NCCL_KILL=RANK,N     rank RANK is killed as it starts its Nth group
 *   FRETSAW_STAND_NCCL_ERROR=RANK,N    from its Nth group on nothing comes in to rank RANK, and the library reports an asynchronous error there */
#include <errno.h>
#include <math.h>
#include <nccl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/gpu_host.h"

enum { MESSAGES = 1024, RANKS = 16 };

/* The interface, whichever header it came from. */
_Static_assert(sizeof(ncclUniqueId) == 128 && ncclFloat == 7 && ncclSum == 0 && ncclSuccess == 0, "NCCL's values");
_Static_assert(ncclInvalidArgument == 4 && ncclInvalidUsage == 5 && ncclRemoteError == 6 && ncclInProgress == 7, "NCCL's values");

ncclResult_t ncclGroupStart(void); /* NCCL's own header has these as of any arguments */
ncclResult_t ncclGroupEnd(void);

/* What two ranks must agree on: the head of a file. */
typedef struct head {
    int64_t sum, count, type, group; /* of a sum or a message; which group of these two ranks */
} head;

typedef struct message {
    head head;
    float *p;
    int other;
    bool in, done;
    uint64_t hash; /* of what goes out */
} message;

/* A group from its first message on, or a sum. */
typedef struct group {
    ncclComm_t ranks;
    bool ended;
    int count;
    struct group *next;
    message list[MESSAGES];
} group;

struct ncclComm {
    char folder[sizeof(ncclUniqueId)];
    int rank, ranks;
    bool aborted;
    ncclResult_t trouble;
    int64_t started;                                        /* groups */
    int64_t sent[RANKS], received[RANKS], groups[RANKS];    /* numbers of the next file to and from each rank, of the next group with it */
    gpu_twin_stream *stream;
    ncclComm_t next;
};

static ncclComm_t all; /* those given up too, so that a call to come can be told of it */
static int depth;     /* of groups */
static group *opened; /* the one that is being filled */
static char last_error[256];

static ncclResult_t refuse(ncclResult_t r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static ncclResult_t refuse(ncclResult_t r, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(last_error, sizeof last_error, format, list);
    va_end(list);
    fprintf(stderr, "NCCL's stand-in: %s\n", last_error);
    return r;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    static const char *const text[] = {"no error", "unhandled cuda error", "unhandled system error", "internal error",
                                       "invalid argument", "invalid usage", "remote process exited or there was a network error", "in progress"};
    return (size_t)result < sizeof text / sizeof *text ? text[result] : "unknown result code";
}

const char *ncclGetLastError(ncclComm_t ranks)
{
    (void)ranks;
    return last_error;
}

/* Whether this is the moment that one of the wishes at the head of this file names. */
static bool wished(const char *name, const struct ncclComm *c)
{
    const char *text = getenv(name);
    int rank;
    long long at;
    return text && sscanf(text, "%d,%lld", &rank, &at) == 2 && rank == c->rank && c->started >= at;
}

/* ---- ranks ---- */

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    const char *root = getenv("TMPDIR");
    memset(id, 0, sizeof *id);
    snprintf(id->internal, sizeof id->internal, "%s/fretsaw-links-XXXXXX", root ? root : "/tmp");
    return mkdtemp(id->internal) ? ncclSuccess : refuse(ncclSystemError, "%s: %s", id->internal, strerror(errno));
}

ncclResult_t ncclCommInitRank(ncclComm_t *ranks, int count, ncclUniqueId id, int rank)
{
    const struct timespec nap = {.tv_nsec = 200000};
    char path[256];
    *ranks = NULL;
    if (rank < 0 || rank >= count || count > RANKS)
        return refuse(ncclInvalidArgument, "rank %d of %d", rank, count);
    ncclComm_t c = calloc(1, sizeof *c);
    if (!c)
        return ncclSystemError;
    memcpy(c->folder, id.internal, sizeof c->folder);
    c->rank = rank;
    c->ranks = count;
    c->next = all;
    all = c;
    snprintf(path, sizeof path, "%s/of-%d-%d", c->folder, count, rank);
    FILE *mine = fopen(path, "wbx");
    if (!mine)
        return refuse(ncclInvalidUsage, "%s: %s", path, strerror(errno));
    fclose(mine);
    for (int r = 0; r < count; r++) { /* all come, and mean the same number */
        snprintf(path, sizeof path, "%s/of-%d-%d", c->folder, count, r);
        while (access(path, F_OK) != 0)
            nanosleep(&nap, NULL);
    }
    *ranks = c;
    return ncclSuccess;
}

/* What the rank has under way is given up: the tasks find out. The last one finds the folder empty, unless messages were left unanswered. */
ncclResult_t ncclCommAbort(ncclComm_t c)
{
    if (!c || c->aborted)
        return refuse(ncclInvalidArgument, "ranks that were given up are given up again");
    c->aborted = true;
    if (opened && opened->ranks == c)
        return refuse(ncclInvalidUsage, "ranks are given up within a group");
    char path[256];
    snprintf(path, sizeof path, "%s/of-%d-%d", c->folder, c->ranks, c->rank);
    unlink(path);
    rmdir(c->folder);
    return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *error)
{
    *error = ncclSuccess;
    if (!c || c->aborted)
        return refuse(ncclInvalidArgument, "ranks that were given up are asked for their errors");
    *error = c->trouble;
    return ncclSuccess;
}

/* ---- messages as files ---- */

static uint64_t hash_of(const message *m)
{
    uint64_t h = 14695981039346656037u;
    for (int64_t i = 0; i < m->head.count; i++) {
        uint32_t bits;
        memcpy(&bits, m->p + i, sizeof bits);
        h = (h ^ bits) * 1099511628211u;
    }
    return h;
}

static void path_of(const struct ncclComm *c, int from, int to, int64_t number, const char *end, char path[256])
{
    snprintf(path, 256, "%s/%d-%d-%lld%s", c->folder, from, to, (long long)number, end);
}

static void put(ncclComm_t c, const message *m)
{
    char path[256], whole[256];
    path_of(c, c->rank, m->other, c->sent[m->other], ".part", path);
    path_of(c, c->rank, m->other, c->sent[m->other]++, "", whole);
    FILE *f = fopen(path, "wb");
    const size_t n = (size_t)m->head.count;
    if (!f || fwrite(&m->head, sizeof m->head, 1, f) != 1 || fwrite(m->p, sizeof *m->p, n, f) != n || fclose(f) != 0 || rename(path, whole) != 0)
        c->trouble = refuse(ncclSystemError, "%s: a message could not be written", path);
}

/* False while it has not come in. */
static bool get(ncclComm_t c, const message *m, float *to)
{
    char path[256];
    head h;
    path_of(c, m->other, c->rank, c->received[m->other], "", path);
    FILE *f = fopen(path, "rb");
    if (!f)
        return false;
    c->received[m->other]++;
    if (fread(&h, sizeof h, 1, f) != 1 || memcmp(&h, &m->head, sizeof h) != 0)
        c->trouble = refuse(ncclInvalidUsage,
                            "rank %d sends a %s of %lld numbers of type %lld in group %lld, rank %d takes a %s of %lld of type %lld in group %lld", m->other,
                            h.sum ? "sum" : "message", (long long)h.count, (long long)h.type, (long long)h.group, c->rank,
                            m->head.sum ? "sum" : "message", (long long)m->head.count, (long long)m->head.type, (long long)m->head.group);
    else if (fread(to, sizeof *to, (size_t)h.count, f) != (size_t)h.count)
        c->trouble = refuse(ncclSystemError, "%s: cut short", path);
    fclose(f);
    unlink(path);
    return true;
}

/* ---- work in a stream ---- */

/* All messages of a group at once; in whichever order they come in. */
static gpu_twin_progress exchange(void *arg)
{
    group *g = arg;
    ncclComm_t c = g->ranks;
    bool finished = true;
    if (!g->ended)
        return TWIN_OPEN;
    bool blocked[RANKS] = {false}; /* what comes from a rank comes in order */
    for (int i = 0; i < g->count && !c->aborted; i++) {
        message *m = &g->list[i];
        if (m->done)
            continue;
        if (!m->in && hash_of(m) != m->hash)
            c->trouble = refuse(ncclInvalidUsage, "what is sent to rank %d was changed on its way", m->other);
        m->done = !m->in || (!c->trouble && !blocked[m->other] && get(c, m, m->p));
        blocked[m->other] = m->in && !m->done ? true : blocked[m->other];
        finished = finished && m->done;
    }
    if (!finished && !c->aborted)
        return TWIN_WAITS;
    free(g);
    return TWIN_DONE;
}

/* In the order of ranks. */
static gpu_twin_progress add_up(void *arg)
{
    group *g = arg;
    ncclComm_t c = g->ranks;
    message *mine = &g->list[0];
    const size_t n = (size_t)mine->head.count;
    float *other = malloc((n + 1) * sizeof *other);
    for (int i = 1; i < g->count && !c->aborted; i++) { /* the others' numbers, kept as they come in */
        message *m = &g->list[i];
        if (!m->p && (m->p = malloc((n + 1) * sizeof *m->p)) == NULL)
            c->trouble = ncclSystemError;
        if (!m->done && (c->trouble || !get(c, m, m->p))) {
            free(other);
            return TWIN_WAITS;
        }
        m->done = true;
    }
    if (other && !c->aborted && !c->trouble) {
        memcpy(other, g->list[g->count].p, n * sizeof *other); /* this rank's own, as they were asked for */
        for (size_t k = 0; k < n; k++) {
            float sum = 0;
            for (int r = 0, i = 1; r < c->ranks; r++)
                sum += r == c->rank ? other[k] : g->list[i++].p[k];
            mine->p[k] = sum;
        }
    }
    for (int i = 1; i <= g->count; i++)
        free(g->list[i].p);
    free(other);
    free(g);
    return TWIN_DONE;
}

static bool names(void *arg, const void *p, size_t bytes)
{
    const group *g = arg;
    for (int i = 0; i < g->count && !g->ranks->aborted; i++) {
        const char *at = (const char *)g->list[i].p;
        if (!g->list[i].done && at >= (const char *)p && at < (const char *)p + bytes)
            return true;
    }
    return false;
}

/* ---- what is asked for ---- */

static ncclResult_t check(ncclComm_t c, const void *p, ncclDataType_t type, cudaStream_t stream)
{
    if (!c || c->aborted)
        return refuse(ncclInvalidArgument, "something is asked of ranks that were given up");
    if (!p || type != ncclFloat || !stream || (uintptr_t)p % sizeof(float) != 0)
        return refuse(ncclInvalidArgument, "no memory, no stream, or not float32");
    if (c->stream && c->stream != stream)
        return refuse(ncclInvalidUsage, "two streams for the same ranks: their order would be chance");
    c->stream = stream;
    return ncclSuccess;
}

static group *start(ncclComm_t c, gpu_twin_progress (*run)(void *))
{
    group *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    g->ranks = c;
    c->stream->put(c->stream, &(gpu_twin_task){.run = run, .names = names, .arg = g});
    return g;
}

static ncclResult_t add(ncclComm_t c, message m, ncclDataType_t type, cudaStream_t stream)
{
    ncclResult_t r = check(c, m.p, type, stream);
    if (r != ncclSuccess)
        return r;
    if (depth == 0)
        return refuse(ncclInvalidUsage, "a message outside of a group: two ranks that both send would wait for each other");
    if (m.other < 0 || m.other >= c->ranks || m.other == c->rank)
        return refuse(ncclInvalidArgument, "a message of rank %d to or from rank %d of %d", c->rank, m.other, c->ranks);
    if (!opened && !(opened = start(c, exchange)))
        return ncclSystemError;
    if (opened->ranks != c || opened->count == MESSAGES)
        return refuse(ncclInvalidUsage, "more than one set of ranks, or %d messages, in a group", MESSAGES);
    for (int i = 0; i < opened->count; i++) { /* what comes in may meet nothing else that is under way */
        const message *o = &opened->list[i];
        if ((m.in || o->in) && m.p < o->p + o->head.count && o->p < m.p + m.head.count)
            return refuse(ncclInvalidUsage, "two messages of a group use the same memory");
    }
    opened->list[opened->count++] = m;
    return ncclSuccess;
}

ncclResult_t ncclSend(const void *p, size_t count, ncclDataType_t type, int to, ncclComm_t c, cudaStream_t stream)
{
    return add(c, (message){.head = {.count = (int64_t)count, .type = type}, .p = (float *)p, .other = to}, type, stream);
}

ncclResult_t ncclRecv(void *p, size_t count, ncclDataType_t type, int from, ncclComm_t c, cudaStream_t stream)
{
    return add(c, (message){.head = {.count = (int64_t)count, .type = type}, .p = p, .other = from, .in = true}, type, stream);
}

ncclResult_t ncclGroupStart(void)
{
    depth++;
    return ncclSuccess;
}

/* A group, or a sum, is under way from here on. */
static void begin(ncclComm_t c)
{
    c->started++;
    if (wished("FRETSAW_STAND_NCCL_KILL", c))
        raise(SIGKILL);
    if (wished("FRETSAW_STAND_NCCL_ERROR", c))
        c->trouble = refuse(ncclRemoteError, "it was told to lose a connection");
}

static void start_messages(group *g)
{
    ncclComm_t c = g->ranks;
    bool met[RANKS] = {false};
    begin(c);
    for (int i = 0; i < g->count; i++) {
        message *m = &g->list[i];
        m->head.group = c->groups[m->other];
        met[m->other] = true;
        if (m->in) {
            for (int64_t k = 0; k < m->head.count; k++)
                m->p[k] = NAN;
        } else {
            m->hash = hash_of(m);
            put(c, m);
        }
    }
    for (int r = 0; r < c->ranks; r++)
        c->groups[r] += met[r];
}

ncclResult_t ncclGroupEnd(void)
{
    group *g = opened;
    char text[80];
    int64_t floats = 0;
    if (depth == 0)
        return refuse(ncclInvalidUsage, "a group ends that was not begun");
    if (--depth > 0 || !g)
        return ncclSuccess;
    opened = NULL;
    start_messages(g);
    g->ended = true;
    for (int i = 0; i < g->count; i++)
        floats += g->list[i].head.count;
    snprintf(text, sizeof text, "%d %lld", g->count, (long long)floats);
    g->ranks->stream->tell(g->ranks->stream, text);
    return ncclSuccess;
}

/* Every rank's numbers go to all. The list: where the sum goes, what comes in, and last, uncounted, this rank's own numbers. */
ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t c, cudaStream_t stream)
{
    ncclResult_t r = check(c, to, type, stream);
    group *g;
    if (r != ncclSuccess)
        return r;
    if (!from || op != ncclSum || depth > 0)
        return refuse(ncclInvalidUsage, "no memory, another operation than a sum, or within a group");
    float *mine = malloc(count * sizeof *mine + 1);
    if (!mine || !(g = start(c, add_up)))
        return ncclSystemError;
    begin(c);
    memcpy(mine, from, count * sizeof *mine);
    g->list[g->count++] = (message){.head = {.count = (int64_t)count}, .p = to};
    for (int k = 0; k < c->ranks; k++) {
        if (k == c->rank)
            continue;
        message m = {.head = {.sum = 1, .count = (int64_t)count, .type = type, .group = c->groups[k]++}, .p = mine, .other = k};
        put(c, &m);
        m.p = NULL;
        m.in = true;
        g->list[g->count++] = m;
    }
    g->list[g->count].p = mine;
    for (size_t k = 0; k < count; k++)
        ((float *)to)[k] = NAN;
    return ncclSuccess;
}
