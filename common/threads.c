#include "common/threads.h"

#include <errno.h>
#include <fenv.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <xmmintrin.h>

/* How long a thread looks before it sleeps. Ranks often share cores, so a thread that waits must soon get out of the way. */
enum { SPIN_NANOSECONDS = 4000, TASKS_AT_ONCE = 1 << 30 };

typedef struct worker_start {
    threads *pool;
    int worker;
    pthread_t thread;
} worker_start;

/* `ticket` is the run's number (high half) and the tasks nobody has taken (low half). A task is taken by one compare-and-swap of both, so
 * a thread that wakes late can't take a task of a run it has not read: as long as a task of the run is open, the run's fields stand. */
struct threads {
    int count;
    worker_start *workers; /* count - 1 */
    _Atomic(threads_task) task;
    _Atomic(void *) job;
    _Atomic int64_t base;  /* number of the first task of this run */
    _Atomic uint32_t size; /* tasks of this run */
    _Alignas(64) _Atomic uint64_t ticket;
    _Alignas(64) _Atomic uint32_t unfinished; /* the caller sleeps on it */
    _Atomic uint32_t caller_sleeps;
    _Alignas(64) _Atomic uint32_t signal; /* the workers sleep on it; changes with every run */
    _Atomic uint32_t sleepers;
    atomic_bool stop;
};

static void futex_wait(_Atomic uint32_t *word, uint32_t value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, uint32_t sleepers)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, sleepers > INT_MAX ? INT_MAX : (int)sleepers, NULL, NULL, 0);
}

static int64_t nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Spins until *word == value is `wanted`, or the time is over; returns the last value seen. */
static uint32_t spin(_Atomic uint32_t *word, uint32_t value, bool wanted)
{
    uint32_t seen = atomic_load_explicit(word, memory_order_acquire);
    for (int64_t end = 0; (seen == value) != wanted;) {
        int64_t now = nanoseconds();
        if (end == 0)
            end = now + SPIN_NANOSECONDS;
        else if (now >= end)
            break;
        _mm_pause();
        seen = atomic_load_explicit(word, memory_order_acquire);
    }
    return seen;
}

/* Takes and does tasks of the run that is open until none is left. */
static void work(threads *pool, int worker)
{
    uint64_t ticket = atomic_load(&pool->ticket);
    while ((uint32_t)ticket != 0) {
        threads_task task = atomic_load_explicit(&pool->task, memory_order_relaxed);
        void *job = atomic_load_explicit(&pool->job, memory_order_relaxed);
        int64_t base = atomic_load_explicit(&pool->base, memory_order_relaxed);
        uint32_t size = atomic_load_explicit(&pool->size, memory_order_relaxed);
        uint32_t left = (uint32_t)ticket;
        if (!atomic_compare_exchange_strong(&pool->ticket, &ticket, ticket - 1))
            continue;
        task(job, base + (size - left), worker);
        if (atomic_fetch_sub(&pool->unfinished, 1) == 1 && atomic_load(&pool->caller_sleeps))
            futex_wake(&pool->unfinished, 1);
        ticket = atomic_load(&pool->ticket);
    }
}

static void *worker_main(void *argument)
{
    worker_start *start = argument;
    threads *pool = start->pool;
    threads_set_rounding();
    for (uint32_t seen = 0;;) {
        uint32_t now = spin(&pool->signal, seen, false);
        while (now == seen) {
            atomic_fetch_add(&pool->sleepers, 1);
            futex_wait(&pool->signal, seen);
            atomic_fetch_sub(&pool->sleepers, 1);
            now = atomic_load(&pool->signal);
        }
        seen = now;
        if (atomic_load(&pool->stop))
            return NULL;
        work(pool, start->worker);
    }
}

static void wake_workers(threads *pool, uint32_t wanted)
{
    atomic_fetch_add(&pool->signal, 1);
    uint32_t sleepers = atomic_load(&pool->sleepers);
    if (sleepers)
        futex_wake(&pool->signal, wanted < sleepers ? wanted : sleepers);
}

static void stop_workers(threads *pool, int started)
{
    atomic_store(&pool->stop, true);
    wake_workers(pool, UINT32_MAX);
    for (int i = 0; i < started; i++)
        pthread_join(pool->workers[i].thread, NULL);
}

status threads_create(int count, threads **out)
{
    *out = NULL;
    if (count < 1)
        return fail(STATUS_USAGE, "%d threads: at least 1 is needed", count);
    threads *pool = aligned_alloc(64, (sizeof *pool + 63) / 64 * 64);
    worker_start *workers = calloc((size_t)count, sizeof *workers);
    if (!pool || !workers) {
        free(pool);
        free(workers);
        return fail(STATUS_RESOURCE, "out of memory for %d threads", count);
    }
    memset(pool, 0, sizeof *pool);
    pool->count = count;
    pool->workers = workers;

    /* Signals are the main thread's business; those a thread's own fault raises stay open, so that it is reported. */
    sigset_t all, before;
    sigfillset(&all);
    const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&all, own[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = 0, started = 0;
    for (; started < count - 1 && !error; started += !error) {
        workers[started] = (worker_start){.pool = pool, .worker = started + 1};
        error = pthread_create(&workers[started].thread, NULL, worker_main, &workers[started]);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        stop_workers(pool, started);
        free(workers);
        free(pool);
        return fail_errno(STATUS_RESOURCE, error, "thread %d of %d did not start; ask for fewer with --threads", started + 2, count);
    }
    *out = pool;
    return STATUS_OK;
}

void threads_free(threads *pool)
{
    if (!pool)
        return;
    stop_workers(pool, pool->count - 1);
    free(pool->workers);
    free(pool);
}

int threads_count(const threads *pool)
{
    return pool ? pool->count : 1;
}

static void run_shared(threads *pool, int64_t base, uint32_t size, threads_task task, void *job)
{
    /* The ticket's low half is 0 here: no thread takes anything while the fields change. */
    atomic_store_explicit(&pool->task, task, memory_order_relaxed);
    atomic_store_explicit(&pool->job, job, memory_order_relaxed);
    atomic_store_explicit(&pool->base, base, memory_order_relaxed);
    atomic_store_explicit(&pool->size, size, memory_order_relaxed);
    atomic_store(&pool->unfinished, size);
    uint64_t run = (atomic_load_explicit(&pool->ticket, memory_order_relaxed) >> 32) + 1;
    atomic_store(&pool->ticket, run << 32 | size);
    wake_workers(pool, size - 1);
    work(pool, 0);

    if (spin(&pool->unfinished, 0, true) == 0)
        return;
    atomic_store(&pool->caller_sleeps, 1);
    for (uint32_t left; (left = atomic_load(&pool->unfinished)) != 0;)
        futex_wait(&pool->unfinished, left);
    atomic_store(&pool->caller_sleeps, 0);
}

void threads_run(threads *pool, int64_t tasks, threads_task task, void *job)
{
    threads_set_rounding();
    if (!pool || pool->count == 1 || tasks <= 1) {
        for (int64_t i = 0; i < tasks; i++)
            task(job, i, 0);
        return;
    }
    for (int64_t base = 0; base < tasks; base += TASKS_AT_ONCE) {
        int64_t size = tasks - base < TASKS_AT_ONCE ? tasks - base : TASKS_AT_ONCE;
        run_shared(pool, base, (uint32_t)size, task, job);
    }
}

void threads_set_rounding(void)
{
    enum { MXCSR_AS_IN_IEEE_754 = 0x1f80 }; /* exceptions masked, to nearest, FTZ and DAZ off */
    if ((_mm_getcsr() & ~0x3fu) == MXCSR_AS_IN_IEEE_754 && fegetround() == FE_TONEAREST)
        return;
    fesetround(FE_TONEAREST);
    _mm_setcsr(MXCSR_AS_IN_IEEE_754);
}
