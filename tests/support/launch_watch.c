#include "support/launch_watch.h"

#include <stdlib.h>
#include <string.h>

#include "model/cuda/launch_host.h"

enum { GRAIN = 2, PLACES = 512 };

/* One access: when and by whom. block 0: none yet. */
typedef struct access {
    uint32_t block, stretch;
    uint16_t warp_stretch, thread;
    uint8_t several; /* of reads: 1 other lanes of the warp too, 2 other warps too, 3 other blocks of the launch too */
} access;

typedef struct cell {
    access write, read;
} cell;

/* A run of memory with a guard at both ends. */
typedef struct place {
    uintptr_t first, end;
    const char *name;
    cell *cells;
    int shared;
} place;

static place places[PLACES];
static int count, last;
static uint64_t looked_at;

uint64_t launch_watch_count(void)
{
    return looked_at;
}

static void add_place(void *p, size_t bytes, const char *name, int shared)
{
    cell *cells = calloc(bytes / GRAIN + 1, sizeof *cells);
    if (count == PLACES || !cells) {
        launch_complain("the watcher has no room for %zu bytes", bytes);
        free(cells);
        return;
    }
    places[count++] = (place){(uintptr_t)p, (uintptr_t)p + bytes, name, cells, shared};
}

static void remove_place(int i)
{
    free(places[i].cells);
    places[i] = places[--count];
    last = 0;
}

static void block_begins(void)
{
    for (int i = count; i-- > 0;)
        if (places[i].shared)
            remove_place(i);
}

static void shared_is(void *p, size_t bytes, const char *name)
{
    add_place(p, bytes, name, 1);
}

static void memory_is(void *p, size_t bytes)
{
    add_place(p, bytes, "memory", 0);
}

static void memory_goes(void *p)
{
    for (int i = count; i-- > 0;)
        if (places[i].first == (uintptr_t)p)
            remove_place(i);
}

static const launch_watcher watcher = {block_begins, shared_is, memory_is, memory_goes};

__attribute__((constructor)) static void begin(void)
{
    launch_watched = &watcher;
}

/* ---- the rules ---- */

static access now(void)
{
    uint16_t thread = (uint16_t)launch_now.thread.x;
    return (access){launch_time.block, launch_time.stretch, launch_time.warp_stretch[thread / 32], thread, 0};
}

static int meets(const access *before, const access *a)
{
    if (before->block < launch_time.launch)
        return 0; /* an earlier launch, or never */
    if (before->block != a->block)
        return 1;
    if (before->stretch != a->stretch || before->thread == a->thread)
        return 0;
    return before->thread / 32 != a->thread / 32 || before->warp_stretch == a->warp_stretch;
}

/* Some read that `r` stands for meets the write `a`. */
static int read_meets(const access *r, const access *a)
{
    if (r->block < launch_time.launch)
        return 0;
    if (r->several == 3 || r->block != a->block)
        return 1;
    if (r->stretch != a->stretch)
        return 0;
    if (r->several == 2)
        return 1;
    if (r->several == 1 && r->thread / 32 == a->thread / 32)
        return r->warp_stretch == a->warp_stretch;
    return meets(r, a);
}

static void note_read(access *r, const access *a)
{
    access next = *a;
    if (r->block >= launch_time.launch && r->block != a->block) {
        next.several = 3;
    } else if (r->block == a->block && r->several == 3) {
        next.several = 3;
    } else if (r->block == a->block && r->stretch == a->stretch) {
        if (r->several == 2 || r->thread / 32 != a->thread / 32)
            next.several = 2;
        else if (r->warp_stretch == a->warp_stretch && (r->several || r->thread != a->thread))
            next.several = 1;
    }
    *r = next;
}

static void complain(const place *p, uintptr_t address, const access *before, const char *what, const char *had)
{
    launch_complain(
        "race on %s at byte %zu of %zu: thread %u of block (%u, %u, %u) %s what thread %u of %s block %s, with nothing between that orders them",
        p->name, (size_t)(address - p->first), (size_t)(p->end - p->first), launch_now.thread.x, launch_now.block.x, launch_now.block.y,
        launch_now.block.z, what, before->thread, before->block == launch_time.block ? "this" : "another", had);
}

static void look_at_cell(const place *p, uintptr_t address, const access *a, int writes)
{
    cell *c = &p->cells[(address - p->first) / GRAIN];
    if (meets(&c->write, a))
        complain(p, address, &c->write, writes ? "writes" : "reads", "wrote");
    else if (writes && read_meets(&c->read, a))
        complain(p, address, &c->read, "writes", "read");
    if (p->shared && !writes && !c->write.block)
        launch_complain("thread %u reads %s at byte %zu, which nobody wrote", a->thread, p->name, (size_t)(address - p->first));
    if (writes)
        c->write = *a;
    else
        note_read(&c->read, a);
}

static int holds(const place *p, uintptr_t address)
{
    return address + LAUNCH_GUARD >= p->first && address < p->end + LAUNCH_GUARD;
}

static void look(const void *at, size_t bytes, int writes)
{
    uintptr_t address = (uintptr_t)at;
    if (!launch_time.running)
        return;
    if (last >= count || !holds(&places[last], address)) {
        for (last = 0; last < count && !holds(&places[last], address); last++)
            ;
        if (last == count)
            return;
    }
    const place *p = &places[last];
    looked_at++;
    if (address < p->first || address + bytes > p->end) {
        launch_complain("thread %u of block (%u, %u, %u) %s %s out of range: %zu bytes at byte %lld of %zu", launch_now.thread.x, launch_now.block.x,
                        launch_now.block.y, launch_now.block.z, writes ? "writes" : "reads", p->name, bytes, (long long)(address - p->first),
                        (size_t)(p->end - p->first));
        return;
    }
    access a = now();
    for (uintptr_t i = address / GRAIN * GRAIN; i < address + bytes; i += GRAIN)
        look_at_cell(p, i < address ? address : i, &a, writes);
}

/* ---- what the compiler calls ---- */

#define ACCESS(size)                            \
    void __tsan_read##size(void *p);            \
    void __tsan_read##size(void *p)             \
    {                                           \
        look(p, size, 0);                       \
    }                                           \
    void __tsan_write##size(void *p);           \
    void __tsan_write##size(void *p)            \
    {                                           \
        look(p, size, 1);                       \
    }                                           \
    void __tsan_unaligned_read##size(void *p);  \
    void __tsan_unaligned_read##size(void *p)   \
    {                                           \
        look(p, size, 0);                       \
    }                                           \
    void __tsan_unaligned_write##size(void *p); \
    void __tsan_unaligned_write##size(void *p)  \
    {                                           \
        look(p, size, 1);                       \
    }                                           \
    void __tsan_volatile_read##size(void *p);   \
    void __tsan_volatile_read##size(void *p)    \
    {                                           \
        look(p, size, 0);                       \
    }                                           \
    void __tsan_volatile_write##size(void *p);  \
    void __tsan_volatile_write##size(void *p)   \
    {                                           \
        look(p, size, 1);                       \
    }

ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

void __tsan_read_range(void *p, size_t bytes);
void __tsan_read_range(void *p, size_t bytes)
{
    look(p, bytes, 0);
}

void __tsan_write_range(void *p, size_t bytes);
void __tsan_write_range(void *p, size_t bytes)
{
    look(p, bytes, 1);
}

void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_func_entry(void *p);
void __tsan_func_entry(void *p)
{
    (void)p;
}

void __tsan_func_exit(void *p);
void __tsan_func_exit(void *p)
{
    (void)p;
}
