/* The twin of link_nccl.c: messages between the processes of one machine as files of a folder, so that nothing waits for a rank that never comes.
 * There are links when FRETSAW_TWIN_LINK is set; when it names a file, every group and every wait is a line there: "rank launches messages floats"
 * and "rank launches wait".
 * It holds the callers to what a device's stream of its own allows: a message may be read and written at any time between link_end and link_wait. So
 * what is sent must not change meanwhile, and what is to come in is filled with NaN until then. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "model/cuda/link.h"
#include "support/gpu_host.h"

enum { GROUP = 4096, RANKS = 64 };

typedef struct message {
    float *p;
    size_t bytes;
    int other;
    bool in;
    uint64_t hash; /* of what goes out */
} message;

struct link {
    gpu *gpu;
    char folder[DEVICE_LINK_ID];
    int rank, ranks, count, ended;       /* messages under way, and of them those of ended groups */
    int64_t sent[RANKS], received[RANKS]; /* numbers of the next file to and from each rank */
    message list[GROUP];
};

static uint64_t hash_of(const float *p, size_t bytes)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < bytes / sizeof *p; i++) {
        uint32_t bits;
        memcpy(&bits, p + i, sizeof bits);
        h = (h ^ bits) * 1099511628211u;
    }
    return h;
}

bool link_available(void)
{
    return getenv("FRETSAW_TWIN_LINK") != NULL;
}

status link_make_id(unsigned char id[DEVICE_LINK_ID])
{
    const char *root = getenv("TMPDIR");
    char text[DEVICE_LINK_ID] = {0};
    snprintf(text, sizeof text, "%s/fretsaw-links-XXXXXX", root ? root : "/tmp");
    if (!mkdtemp(text))
        return fail(STATUS_IO, "%s: %s", text, strerror(errno));
    memcpy(id, text, sizeof text);
    return STATUS_OK;
}

static link_ranks *open_links; /* a process has one */

static void check_release(const void *p, size_t bytes)
{
    for (int i = 0; open_links && i < open_links->count; i++) {
        const char *at = (const char *)open_links->list[i].p;
        if (at >= (const char *)p && at < (const char *)p + bytes) {
            fprintf(stderr, "the twin: memory of a message under way is given back, for which a device would wait for ever\n");
            abort();
        }
    }
}

status link_open(gpu *g, const unsigned char id[DEVICE_LINK_ID], int rank, int ranks, link_ranks **out)
{
    TRY(memory_new(out, sizeof **out, "links between devices"));
    (*out)->gpu = g;
    (*out)->rank = rank;
    (*out)->ranks = ranks;
    memcpy((*out)->folder, id, DEVICE_LINK_ID);
    open_links = *out;
    gpu_twin_releases = check_release;
    return ranks <= RANKS ? STATUS_OK : fail(STATUS_RESOURCE, "the twin has links for %d ranks", RANKS);
}

/* The last of them to go finds the folder empty, unless a step was given up on the way. */
void link_close(link_ranks *l)
{
    if (!l)
        return;
    rmdir(l->folder);
    open_links = NULL;
    free(l);
}

static void say(const link_ranks *l, const char *what)
{
    const char *path = getenv("FRETSAW_TWIN_LINK");
    FILE *f = strchr(path, '/') ? fopen(path, "a") : NULL;
    if (!f)
        return;
    fprintf(f, "%d %lld %s\n", l->rank, (long long)gpu_twin_launches(l->gpu), what);
    fclose(f);
}

void link_begin(link_ranks *l)
{
    gpu_side_follows(l->gpu);
}

static void name_message(link_ranks *l, message m)
{
    if (l->count == GROUP || m.other == l->rank || m.other < 0 || m.other >= l->ranks)
        gpu_fail(l->gpu, "a message to rank %d, the %dth: none of a group's", m.other, l->count);
    else
        l->list[l->count++] = m;
}

void link_send(link_ranks *l, const float *p, int64_t n, int to)
{
    name_message(l, (message){.p = (float *)p, .bytes = (size_t)n * sizeof *p, .other = to});
}

void link_receive(link_ranks *l, float *p, int64_t n, int from)
{
    name_message(l, (message){.p = p, .bytes = (size_t)n * sizeof *p, .other = from, .in = true});
}

static void path_of(const link_ranks *l, int from, int to, int64_t number, const char *end, char path[256])
{
    snprintf(path, 256, "%s/%d-%d-%lld%s", l->folder, from, to, (long long)number, end);
}

static void put(link_ranks *l, const message *m)
{
    char path[256], whole[256];
    path_of(l, l->rank, m->other, l->sent[m->other], ".part", path);
    path_of(l, l->rank, m->other, l->sent[m->other]++, "", whole);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(m->p, 1, m->bytes, f) != m->bytes || fclose(f) != 0 || rename(path, whole) != 0)
        gpu_fail(l->gpu, "%s: a message could not be written", path);
}

static void get(link_ranks *l, const message *m)
{
    const struct timespec nap = {.tv_nsec = 200000};
    char path[256];
    FILE *f;
    path_of(l, m->other, l->rank, l->received[m->other]++, "", path);
    while (!(f = fopen(path, "rb")))
        nanosleep(&nap, NULL);
    if (fread(m->p, 1, m->bytes, f) != m->bytes || fgetc(f) != EOF)
        gpu_fail(l->gpu, "%s: the two ranks do not mean the same message", path);
    fclose(f);
    unlink(path);
}

void link_end(link_ranks *l)
{
    char text[80];
    int64_t floats = 0;
    const int begin = l->ended;
    for (int i = begin; i < l->count; i++) {
        message *m = &l->list[i];
        floats += (int64_t)(m->bytes / sizeof(float));
        if (m->in) {
            for (size_t k = 0; k < m->bytes / sizeof(float); k++)
                m->p[k] = NAN;
        } else {
            m->hash = hash_of(m->p, m->bytes);
            put(l, m);
        }
    }
    l->ended = l->count;
    snprintf(text, sizeof text, "%d %lld", l->count - begin, (long long)floats);
    say(l, text);
}

void link_wait(link_ranks *l)
{
    for (int i = 0; i < l->ended; i++) {
        const message *m = &l->list[i];
        if (m->in)
            get(l, m);
        else if (hash_of(m->p, m->bytes) != m->hash)
            gpu_fail(l->gpu, "what is sent to rank %d was changed on its way", m->other);
    }
    l->count = l->ended = 0;
    gpu_follow_side(l->gpu);
    say(l, "wait");
}

/* Every rank's numbers to all, then a sum in the order of ranks. */
void link_sum(link_ranks *l, float *p, int64_t n)
{
    const size_t bytes = (size_t)n * sizeof *p;
    float *other = malloc(bytes), *mine = malloc(bytes);
    gpu_side_follows(l->gpu);
    if (other && mine) {
        memcpy(mine, p, bytes);
        for (int r = 0; r < l->ranks; r++)
            if (r != l->rank)
                put(l, &(message){.p = mine, .bytes = bytes, .other = r});
        for (int r = 0; r < l->ranks; r++) {
            if (r != l->rank)
                get(l, &(message){.p = other, .bytes = bytes, .other = r});
            for (int64_t i = 0; i < n; i++)
                p[i] = (r ? p[i] : 0) + (r == l->rank ? mine : other)[i];
        }
    } else {
        gpu_fail(l->gpu, "out of memory");
    }
    free(other);
    free(mine);
}
