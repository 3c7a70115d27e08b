/* The pool: every task once, by a worker in range, at any number of tasks; floating point as promised in each worker. */
#include "common/threads.h"

#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
#include <xmmintrin.h>

#include "support/support.h"

enum { MOST_TASKS = 3000, MOST_WORKERS = 9 };

typedef struct tally {
    int64_t plain[MOST_TASKS]; /* written without atomics: only the owner of the task may touch it */
    _Atomic int taken[MOST_TASKS];
    int per_worker[MOST_WORKERS * 16];
    _Atomic int out_of_range;
    int workers;
    int64_t tasks;
} tally;

static void count_task(void *job, int64_t task, int worker)
{
    tally *t = job;
    if (worker < 0 || worker >= t->workers || task < 0 || task >= t->tasks) {
        atomic_fetch_add(&t->out_of_range, 1);
        return;
    }
    t->plain[task] += task + 1;
    t->per_worker[worker * 16]++;
    atomic_fetch_add(&t->taken[task], 1);
}

static void run_tally(threads *pool, int workers, int64_t tasks)
{
    static tally t;
    memset(&t, 0, sizeof t);
    t.workers = workers;
    t.tasks = tasks;
    threads_run(pool, tasks, count_task, &t);
    int by_workers = 0;
    for (int w = 0; w < workers; w++)
        by_workers += t.per_worker[w * 16];
    ck_assert_int_eq(t.out_of_range, 0);
    ck_assert_int_eq(by_workers, tasks);
    for (int64_t i = 0; i < tasks; i++) {
        ck_assert_int_eq(t.taken[i], 1);
        ck_assert_int_eq(t.plain[i], i + 1);
    }
}

START_TEST(every_task_runs_once)
{
    for (int workers = 1; workers <= MOST_WORKERS; workers += workers < 4 ? 1 : 5) {
        threads *pool;
        ck_ok(threads_create(workers, &pool));
        ck_assert_int_eq(threads_count(pool), workers);
        for (int repeat = 0; repeat < 300; repeat++) {
            if (repeat % 50 == 49)
                usleep(200); /* lets the workers fall asleep */
            run_tally(pool, workers, (int64_t)support_below(repeat % 10 ? 12 : MOST_TASKS));
        }
        run_tally(pool, workers, 0);
        threads_free(pool);
    }
    ck_assert_int_eq(threads_count(NULL), 1);
    run_tally(NULL, 1, 17);
    threads_free(NULL);
}
END_TEST

START_TEST(pools_that_never_run_end)
{
    for (int i = 0; i < 50; i++) {
        threads *pool;
        ck_ok(threads_create(1 + i % 4, &pool));
        threads_free(pool);
    }
}
END_TEST

static void note_mode(void *job, int64_t task, int worker)
{
    (void)worker;
    volatile float tiny = 1e-40f, one = 1.0f;
    int fine = (_mm_getcsr() & ~0x3fu) == 0x1f80 && fegetround() == FE_TONEAREST && tiny * one != 0.0f;
    ((int *)job)[task] = fine;
    usleep(100); /* so that every worker gets some */
}

START_TEST(rounding_is_set_in_every_thread)
{
    int fine[64] = {0};
    threads *pool;
    unsigned before = _mm_getcsr();
    fesetround(FE_UPWARD);
    _mm_setcsr(_mm_getcsr() | 0x8040); /* flush to zero, denormals are zero: new threads inherit it */
    ck_ok(threads_create(4, &pool));
    threads_run(pool, 64, note_mode, fine);
    threads_free(pool);
    for (int i = 0; i < 64; i++)
        ck_assert_msg(fine[i], "task %d ran with another rounding or flushed denormals", i);
    _mm_setcsr(before);
}
END_TEST

START_TEST(counts_are_checked)
{
    threads *pool;
    ck_fails(threads_create(0, &pool), STATUS_USAGE, "0 threads");
    ck_assert_ptr_null(pool);
}
END_TEST

int main(void)
{
    return support_run("threads",
                       (const TTest *[]){every_task_runs_once, pools_that_never_run_end, rounding_is_set_in_every_thread, counts_are_checked, NULL});
}
