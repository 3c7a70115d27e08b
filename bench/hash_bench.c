/* What the state hash of every step costs: the optimizer's pass with it and without, in turns, over all parameters of the base shape.
 *
 *     hash_bench [threads] [millions of parameters] [pairs]
 *
 * Each pair's two times and their difference; then the medians. Nothing else should run. Four arrays: 16 bytes a parameter.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "common/threads.h"
#include "model/cpu/cpu_internal.h"

enum { MOST_PAIRS = 1000 };

cpu_kernel cpu_adamw_unhashed_plain, cpu_adamw_unhashed_avx2, cpu_adamw_unhashed_avx512;

typedef struct pass {
    cpu_kernel *kernel;
    adamw_job job;
    int64_t n;
    cpu_scratch *scratch;
} pass;

static void run_task(void *job, int64_t task, int worker)
{
    const pass *p = job;
    int64_t from = task * GRAIN_PARAMETERS, to = from + GRAIN_PARAMETERS < p->n ? from + GRAIN_PARAMETERS : p->n;
    p->kernel(&p->job, from, to, &p->scratch[worker]);
}

static double seconds(threads *pool, pass *p, cpu_kernel *kernel)
{
    struct timespec a, b;
    p->kernel = kernel;
    clock_gettime(CLOCK_MONOTONIC, &a);
    threads_run(pool, (p->n + GRAIN_PARAMETERS - 1) / GRAIN_PARAMETERS, run_task, p);
    clock_gettime(CLOCK_MONOTONIC, &b);
    return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}

static float *fill(int64_t n, float value)
{
    float *p = mmap(NULL, (size_t)n * sizeof *p, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        perror("hash_bench");
        exit(STATUS_RESOURCE);
    }
    madvise(p, (size_t)n * sizeof *p, MADV_HUGEPAGE);
    for (int64_t i = 0; i < n; i++)
        p[i] = value * (float)(i % 1009 - 504);
    return p;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, compare);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

int main(int argc, char **argv)
{
    int workers = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1, pairs = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 10;
    int64_t n = (argc > 2 ? strtol(argv[2], NULL, 10) : 168) * 1000000;
    cpu_isa isa = CPU_ISA_AUTO;
    if (isa_choose(isa, &isa) != STATUS_OK)
        return STATUS_USAGE;
    cpu_kernel *without = isa == CPU_ISA_AVX512 ? cpu_adamw_unhashed_avx512 : isa == CPU_ISA_AVX2 ? cpu_adamw_unhashed_avx2 : cpu_adamw_unhashed_plain;
    cpu_kernel *with = (isa == CPU_ISA_AVX512 ? &cpu_kernels_avx512 : isa == CPU_ISA_AVX2 ? &cpu_kernels_avx2 : &cpu_kernels_plain)->adamw;
    adamw_step step = {0.9f, 0.1f, 0.999f, 0.001f, 1e-6f, 1e-6f, 1e-8f};
    double a[MOST_PAIRS], b[MOST_PAIRS], more[MOST_PAIRS];
    threads *pool;
    threads_set_rounding();
    if (workers < 1 || n < 1 || pairs < 1 || pairs > MOST_PAIRS || threads_create(workers, &pool) != STATUS_OK)
        return STATUS_USAGE;
    cpu_scratch *scratch = calloc((size_t)workers, sizeof *scratch);
    pass p = {.job = {.step = &step, .decayed = 1}, .n = n, .scratch = scratch};
    float *grad = fill(n, 1e-6f);
    p.job.grad = grad;
    p.job.m = fill(n, 1e-7f);
    p.job.v = fill(n, 0);
    p.job.p = fill(n, 1e-4f);
    seconds(pool, &p, with);
    for (int i = 0; i < pairs; i++) {
        if (i % 2)
            b[i] = seconds(pool, &p, without);
        a[i] = seconds(pool, &p, with);
        if (i % 2 == 0)
            b[i] = seconds(pool, &p, without);
        more[i] = a[i] - b[i];
        printf("%.1f ms with the hash, %.1f without: %+.1f ms\n", 1e3 * a[i], 1e3 * b[i], 1e3 * more[i]);
    }
    printf("%s, %d threads, %lld million parameters: medians %.1f ms with, %.1f without, difference %.1f ms\n", isa_name(isa), workers,
           (long long)n / 1000000, 1e3 * median(a, pairs), 1e3 * median(b, pairs), 1e3 * median(more, pairs));
    threads_free(pool);
    return 0;
}
