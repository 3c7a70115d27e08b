#include "model/cuda/launch_host.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define WITH_ASAN 1
#else
#define WITH_ASAN 0
#endif

enum { STACK = 256 << 10, ARRAYS = 32, WARP_LANES = 32 };

typedef enum waiting { RUNS, AT_BARRIER, AT_EXCHANGE, LEFT } waiting;

typedef struct fiber {
    void *stack_pointer;
    void *fake_stack; /* address sanitizer's */
    waiting state;
} fiber;

/* A warp's exchanges take turns between two sets of words: whoever comes to the next one has read the last. */
typedef struct warp {
    launch_words words[2][WARP_LANES];
    unsigned turn, arrived;
    const char *kind, *file;
    int line;
} warp;

typedef struct shared_array {
    void *p;
    size_t bytes;
    const char *file;
    int line;
} shared_array;

launch_place launch_now;
launch_clock launch_time;
const launch_watcher *launch_watched;

static struct {
    uint64_t random;
    char fault[512];
    const char *kernel;
    int broken; /* this launch is over */
    void (*body)(void *);
    void *context;
    unsigned char *stacks;
    fiber fibers[LAUNCH_THREADS];
    warp warps[LAUNCH_WARPS];
    uint32_t threads, ready[LAUNCH_THREADS], ready_count, at_barrier, left;
    const char *barrier_file;
    int barrier_line;
    shared_array arrays[ARRAYS];
    int array_count;
    size_t shared_used;
    unsigned char *shared; /* without address sanitizer: one block of memory, guards between the arrays */
    void *home;            /* stack pointer of the scheduler */
    void *home_fake;
    const void *home_bottom;
    size_t home_size;
} run;

/* ---- switching: the registers that a call keeps go onto the old stack and come from the new one ---- */

void launch_switch(void **save, void *to);
__asm__(".text\n"
        ".globl launch_switch\n"
        ".type launch_switch, @function\n"
        "launch_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size launch_switch, .-launch_switch\n");

static unsigned char *stack_of(uint32_t thread)
{
    return run.stacks + (size_t)thread * STACK;
}

/* From the running fiber back to the scheduler; `forever` when the fiber is done. */
static void leave_fiber(fiber *f, int forever)
{
#if WITH_ASAN
    __sanitizer_start_switch_fiber(forever ? NULL : &f->fake_stack, run.home_bottom, run.home_size);
#else
    (void)forever;
#endif
    launch_switch(&f->stack_pointer, run.home);
#if WITH_ASAN
    __sanitizer_finish_switch_fiber(f->fake_stack, &run.home_bottom, &run.home_size);
#endif
}

static void enter_fiber(uint32_t thread)
{
    fiber *f = &run.fibers[thread];
    launch_now.thread.x = thread;
    launch_time.running = 1;
#if WITH_ASAN
    __sanitizer_start_switch_fiber(&run.home_fake, stack_of(thread), STACK);
#endif
    launch_switch(&run.home, f->stack_pointer);
#if WITH_ASAN
    __sanitizer_finish_switch_fiber(run.home_fake, NULL, NULL);
#endif
    launch_time.running = 0;
}

static void fiber_main(void)
{
    fiber *f = &run.fibers[launch_now.thread.x];
#if WITH_ASAN
    __sanitizer_finish_switch_fiber(NULL, &run.home_bottom, &run.home_size);
#endif
    run.body(run.context);
    f->state = LEFT;
    run.left++;
    leave_fiber(f, 1);
    abort();
}

static void prepare_fiber(uint32_t thread)
{
    unsigned char *top = stack_of(thread) + STACK;
    void *first[8] = {NULL};
    void (*entry)(void) = fiber_main;
#if WITH_ASAN
    __asan_unpoison_memory_region(stack_of(thread), STACK);
#endif
    memcpy(&first[6], &entry, sizeof entry); /* six registers, then where `ret` goes; the stack is 8 off a multiple of 16 there, as after a call */
    memcpy(top - sizeof first, first, sizeof first);
    run.fibers[thread] = (fiber){.stack_pointer = top - sizeof first, .state = RUNS};
}

/* ---- faults ---- */

void launch_complain(const char *format, ...)
{
    if (run.fault[0])
        return;
    int n = snprintf(run.fault, sizeof run.fault, "%s: ", run.kernel ? run.kernel : "no kernel");
    va_list arguments;
    va_start(arguments, format);
    if (n > 0 && (size_t)n < sizeof run.fault)
        vsnprintf(run.fault + n, sizeof run.fault - (size_t)n, format, arguments);
    va_end(arguments);
}

const char *launch_fault(void)
{
    static char given[sizeof run.fault];
    memcpy(given, run.fault, sizeof given);
    run.fault[0] = 0;
    return given[0] ? given : NULL;
}

/* The running fiber broke a rule that leaves nothing to go on with: it never runs again. */
static void give_up(void)
{
    run.broken = 1;
    leave_fiber(&run.fibers[launch_now.thread.x], 0);
    abort();
}

/* ---- order ---- */

void launch_set_order(uint64_t seed)
{
    run.random = seed;
}

static uint32_t below(uint32_t n)
{
    uint64_t z = (run.random += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)(((z >> 32) * n) >> 32);
}

static void make_ready(uint32_t thread)
{
    run.fibers[thread].state = RUNS;
    run.ready[run.ready_count++] = thread;
}

/* ---- barriers and exchanges ---- */

static void open_barrier(void)
{
    launch_time.stretch++;
    run.at_barrier = 0;
    for (uint32_t t = run.threads; t-- > 0;)
        if (run.fibers[t].state == AT_BARRIER)
            make_ready(t);
}

void launch_barrier(const char *file, int line)
{
    fiber *f = &run.fibers[launch_now.thread.x];
    if (run.at_barrier && (strcmp(run.barrier_file, file) || run.barrier_line != line)) {
        launch_complain("thread %u waits at the barrier of %s:%d, others at that of %s:%d", launch_now.thread.x, file, line, run.barrier_file,
                        run.barrier_line);
        give_up();
    }
    run.barrier_file = file;
    run.barrier_line = line;
    f->state = AT_BARRIER;
    if (++run.at_barrier == run.threads)
        open_barrier();
    leave_fiber(f, 0);
}

const launch_words *launch_exchange(const char *kind, uint32_t mask, const void *mine, size_t bytes, const char *file, int line)
{
    uint32_t thread = launch_now.thread.x;
    warp *w = &run.warps[thread / WARP_LANES];
    if (mask != 0xffffffffu) {
        launch_complain("%s at %s:%d by some lanes only (mask %08x)", kind, file, line, mask);
        give_up();
    }
    if (w->arrived && (strcmp(w->kind, kind) || strcmp(w->file, file) || w->line != line)) {
        launch_complain("lane %u comes to %s at %s:%d, others of its warp to %s at %s:%d", thread % WARP_LANES, kind, file, line, w->kind, w->file,
                        w->line);
        give_up();
    }
    w->kind = kind;
    w->file = file;
    w->line = line;
    launch_words *set = w->words[w->turn];
    if (bytes)
        memcpy(set[thread % WARP_LANES].word, mine, bytes);
    run.fibers[thread].state = AT_EXCHANGE;
    if (++w->arrived == WARP_LANES) {
        if (!bytes) /* a shuffle moves values, but only a barrier orders memory */
            launch_time.warp_stretch[thread / WARP_LANES]++;
        w->arrived = 0;
        w->turn ^= 1;
        for (uint32_t lane = WARP_LANES; lane-- > 0;)
            make_ready(thread / WARP_LANES * WARP_LANES + lane);
    }
    leave_fiber(&run.fibers[thread], 0);
    return set;
}

void launch_warp_barrier(const char *file, int line)
{
    launch_exchange("a warp barrier", 0xffffffffu, NULL, 0, file, line);
}

/* ---- shared memory ---- */

/* Exactly `bytes` from malloc's kin, so that the address sanitizer knows the end. */
static void *exact_block(size_t bytes)
{
    void *p = NULL;
    return posix_memalign(&p, 64, bytes ? bytes : 1) == 0 ? p : NULL;
}

static void *place_array(size_t bytes)
{
#if WITH_ASAN
    void *p = exact_block(bytes); /* its own block: what lies beside it is poisoned */
#else
    size_t at = run.shared_used + LAUNCH_GUARD;
    void *p = run.shared + at;
    run.shared_used = at + (bytes + 63) / 64 * 64;
#endif
    if (p)
        memset(p, 0xff, bytes);
    return p;
}

void *launch_shared(size_t bytes, const char *name, const char *file, int line)
{
    size_t total = bytes; /* without the guards: what the device would use */
    for (int i = 0; i < run.array_count; i++) {
        if (run.arrays[i].line == line && run.arrays[i].bytes == bytes && strcmp(run.arrays[i].file, file) == 0)
            return run.arrays[i].p;
        total += run.arrays[i].bytes;
    }
    void *p = run.array_count < ARRAYS && total <= LAUNCH_SHARED ? place_array(bytes) : NULL;
    if (!p) {
        launch_complain("%zu bytes of shared memory with %s at %s:%d: a block has %d", total, name, file, line, LAUNCH_SHARED);
        give_up();
    }
    run.arrays[run.array_count++] = (shared_array){p, bytes, file, line};
    if (launch_watched)
        launch_watched->shared_is(p, bytes, name);
    return p;
}

static void empty_shared(void)
{
#if WITH_ASAN
    for (int i = 0; i < run.array_count; i++)
        free(run.arrays[i].p);
#endif
    run.array_count = 0;
    run.shared_used = 0;
}

/* ---- blocks ---- */

/* Nobody can run and somebody is left: say why. */
static void complain_of_those_who_wait(void)
{
    for (uint32_t w = 0; w < run.threads / WARP_LANES; w++)
        if (run.warps[w].arrived) {
            launch_complain("%u lanes of warp %u wait at %s of %s:%d for lanes that do not come", run.warps[w].arrived, w, run.warps[w].kind,
                            run.warps[w].file, run.warps[w].line);
            return;
        }
    launch_complain("%u threads wait at the barrier of %s:%d, %u have left the kernel", run.at_barrier, run.barrier_file, run.barrier_line, run.left);
}

static void run_block(void)
{
    run.ready_count = run.at_barrier = run.left = 0;
    memset(run.warps, 0, (size_t)(run.threads / WARP_LANES) * sizeof *run.warps);
    launch_time.block++;
    launch_time.stretch = 0;
    memset(launch_time.warp_stretch, 0, sizeof launch_time.warp_stretch);
    if (launch_watched)
        launch_watched->block_begins();
    for (uint32_t t = run.threads; t-- > 0;) {
        prepare_fiber(t);
        make_ready(t);
    }
    while (run.ready_count && !run.broken) {
        uint32_t pick = run.random ? below(run.ready_count) : run.ready_count - 1, thread = run.ready[pick];
        run.ready[pick] = run.ready[--run.ready_count];
        enter_fiber(thread);
    }
    if (!run.broken && run.left < run.threads) {
        complain_of_those_who_wait();
        run.broken = 1;
    }
    empty_shared();
}

static int prepare_run(void)
{
    if (run.stacks)
        return 1;
    void *stacks = mmap(NULL, (size_t)LAUNCH_THREADS * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    run.shared = exact_block(LAUNCH_SHARED + (ARRAYS + 1) * (LAUNCH_GUARD + 64));
    if (stacks == MAP_FAILED || !run.shared)
        return 0;
    run.stacks = stacks;
    return 1;
}

void launch_run(const char *kernel, launch_point grid, launch_point block, void (*body)(void *), void *context)
{
    uint32_t blocks = grid.x * grid.y * grid.z, *order = malloc((size_t)blocks * sizeof *order + 1);
    run.kernel = kernel;
    run.broken = 0;
    run.body = body;
    run.context = context;
    run.threads = block.x;
    launch_time.launch = launch_time.block + 1;
    if (!order || !prepare_run() || block.y * block.z != 1 || block.x % WARP_LANES || block.x == 0 || block.x > LAUNCH_THREADS)
        launch_complain("cannot launch blocks of %u x %u x %u threads here", block.x, block.y, block.z), run.broken = 1;
    for (uint32_t i = 0; i < blocks && order; i++) {
        uint32_t j = run.random ? below(i + 1) : i;
        order[i] = order[j];
        order[j] = i;
    }
    launch_now.block_size = block;
    launch_now.grid_size = grid;
    for (uint32_t i = 0; i < blocks && !run.broken; i++) {
        launch_now.block = (launch_point){order[i] % grid.x, order[i] / grid.x % grid.y, order[i] / grid.x / grid.y};
        run_block();
    }
    free(order);
    run.kernel = NULL;
}

/* ---- memory that is watched ---- */

void *launch_memory_new(size_t bytes)
{
#if WITH_ASAN
    unsigned char *p = exact_block(bytes);
#else
    unsigned char *block = exact_block(2 * LAUNCH_GUARD + bytes), *p = block ? block + LAUNCH_GUARD : NULL;
#endif
    if (!p)
        return NULL;
    memset(p, 0xff, bytes);
    if (launch_watched)
        launch_watched->memory_is(p, bytes);
    return p;
}

void launch_memory_free(void *p)
{
    if (!p)
        return;
    if (launch_watched)
        launch_watched->memory_goes(p);
#if WITH_ASAN
    free(p);
#else
    free((unsigned char *)p - LAUNCH_GUARD);
#endif
}
