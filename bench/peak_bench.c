/* What the cores can do at once: float32 fused multiply-adds with everything in registers, GFLOP/s of all threads together (2 a multiply-add).
 *
 *     peak_bench [threads] [milliseconds]       one number; threads 2, 300 ms each of three tries, the best
 *
 * The denominator of "share of peak": taken between the runs that it divides, since a shared machine's clock moves.
 */
#include <immintrin.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/threads.h"

enum { CHAINS = 12, BLOCK = 20000, TRIES = 3 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Two units with a latency of four: eight chains would do. */
#define BLOCK_FUNCTION(name, features, vec, set, fma)                                                                                          \
    __attribute__((target(features))) static void name(void)                                                                                  \
    {                                                                                                                                          \
        vec sum[CHAINS], x = set(0.999f), y = set(1e-3f);                                                                                      \
        for (int c = 0; c < CHAINS; c++)                                                                                                       \
            sum[c] = set((float)c);                                                                                                            \
        for (int i = 0; i < BLOCK; i++) {                                                                                                      \
            for (int c = 0; c < CHAINS; c++)                                                                                                   \
                sum[c] = fma(sum[c], x, y);                                                                                                    \
            __asm__ volatile(""                                                                                                                \
                             : "+v"(sum[0]), "+v"(sum[1]), "+v"(sum[2]), "+v"(sum[3]), "+v"(sum[4]), "+v"(sum[5]), "+v"(sum[6]), "+v"(sum[7]), \
                               "+v"(sum[8]), "+v"(sum[9]), "+v"(sum[10]), "+v"(sum[11]));                                                      \
        }                                                                                                                                      \
    }
BLOCK_FUNCTION(block_avx512, "avx512f", __m512, _mm512_set1_ps, _mm512_fmadd_ps)
BLOCK_FUNCTION(block_avx2, "avx2,fma", __m256, _mm256_set1_ps, _mm256_fmadd_ps)

typedef struct race {
    double end;
    _Atomic int64_t blocks;
    void (*block)(void);
} race;

static void run(void *job, int64_t task, int worker)
{
    race *r = job;
    int64_t blocks = 0;
    (void)task;
    (void)worker;
    for (; now() < r->end; blocks++)
        r->block();
    atomic_fetch_add(&r->blocks, blocks);
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 2;
    double seconds = (argc > 2 ? strtod(argv[2], NULL) : 300) * 1e-3, best = 0;
    int wide = __builtin_cpu_supports("avx512f");
    threads *pool;
    if (count < 1 || !(seconds > 0) || (!wide && !(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")))) {
        fprintf(stderr, "peak_bench [threads] [milliseconds]: needs a processor with AVX2 and FMA\n");
        return STATUS_USAGE;
    }
    if (threads_create(count, &pool) != STATUS_OK) {
        fprintf(stderr, "%s\n", status_message());
        return STATUS_RESOURCE;
    }
    for (int i = 0; i < TRIES; i++) {
        double start = now();
        race r = {.end = start + seconds, .block = wide ? block_avx512 : block_avx2};
        threads_run(pool, count, run, &r);
        double rate = 2e-9 * (double)r.blocks * BLOCK * CHAINS * (wide ? 16 : 8) / (now() - start);
        best = rate > best ? rate : best;
    }
    printf("%.1f\n", best);
    threads_free(pool);
    return 0;
}
