#include "model/cpu/cpu.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <xmmintrin.h>

#include "model/cpu/cpu_internal.h"

enum { ALIGNMENT = 64, HUGE_PAGE = 2 << 20, ZERO_GRAIN = 4 << 20 };

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static status no_memory(size_t bytes, const char *what)
{
    return fail(STATUS_RESOURCE, "out of memory: %zu bytes for %s; use fewer tokens a micro-batch or fewer ranks on this machine", bytes, what);
}

static status new_aligned(size_t bytes, const char *what, void *pointer_to_pointer)
{
    size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *p = rounded < bytes ? NULL : aligned_alloc(ALIGNMENT, rounded ? rounded : ALIGNMENT);
    if (!p)
        return no_memory(bytes, what);
    memset(p, 0, rounded);
    memcpy(pointer_to_pointer, &p, sizeof p);
    return STATUS_OK;
}

/* ---- the pool ---- */

typedef struct units {
    cpu_kernel *kernel;
    const void *job;
    int64_t n, grain;
    cpu_scratch *scratch;
} units;

static void run_task(void *job, int64_t task, int worker)
{
    const units *u = job;
    int64_t from = task * u->grain, to = from + u->grain < u->n ? from + u->grain : u->n;
    u->kernel(u->job, from, to, &u->scratch[worker]);
}

void cpu_run(cpu_backend *cpu, cpu_kernel *kernel, const void *job, int64_t n, int64_t grain)
{
    units u = {kernel, job, n, grain, cpu->scratch};
    threads_run(cpu->pool, (n + grain - 1) / grain, run_task, &u);
}

/* ---- memory ---- */

/* Before each block that cpu_allocate gives: what the system gave. */
typedef struct block_head {
    void *base;
    size_t mapped; /* bytes; 0: from malloc */
} block_head;

/* Small blocks from malloc, cleared. Large ones straight from the system, which clears a page when it is first written: the threads that compute share
 * that work, and rows that no token asks for take no memory. They ask for huge pages: rows of 3072 floats are three small pages apart, and a tile of
 * a product touches a page a row. */
static status cpu_allocate(backend *be, size_t bytes, const char *what, void **out)
{
    bool large = bytes >= 2 * (size_t)HUGE_PAGE;
    size_t whole = bytes + ALIGNMENT + (large ? HUGE_PAGE : 0);
    block_head head = {0};
    (void)be;
    if (whole < bytes)
        return no_memory(bytes, what);
    if (!large) {
        TRY(new_aligned(whole, what, &head.base));
        *out = (char *)head.base + ALIGNMENT;
    } else {
        head.mapped = whole;
        head.base = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (head.base == MAP_FAILED)
            return no_memory(bytes, what);
        char *end = (char *)head.base + HUGE_PAGE + ALIGNMENT - 1; /* the first huge page with room for the head before it */
        *out = end - (uintptr_t)end % HUGE_PAGE;
        madvise(*out, bytes, MADV_HUGEPAGE); /* no harm where it is not granted */
    }
    memcpy((char *)*out - sizeof head, &head, sizeof head);
    return STATUS_OK;
}

static void cpu_release(backend *be, void *p)
{
    block_head head;
    (void)be;
    if (!p)
        return;
    memcpy(&head, (char *)p - sizeof head, sizeof head);
    if (head.mapped)
        munmap(head.base, head.mapped);
    else
        free(head.base);
}

static void cpu_copy(backend *be, void *to, const void *from, size_t bytes)
{
    (void)be;
    if (bytes)
        memcpy(to, from, bytes);
}

typedef struct zero_job {
    unsigned char *p;
    size_t bytes;
} zero_job;

/* A gradient is far larger than any cache and read much later: zeros go past the caches, which spares reading what they replace. */
static void zero_task(void *job, int64_t task, int worker)
{
    const zero_job *z = job;
    size_t from = (size_t)task * ZERO_GRAIN, n = z->bytes - from < ZERO_GRAIN ? z->bytes - from : ZERO_GRAIN, i = 0;
    unsigned char *p = z->p + from;
    (void)worker;
    if (n == ZERO_GRAIN && (uintptr_t)p % 16 == 0) {
        for (; i < n; i += 64)
            for (int k = 0; k < 4; k++)
                _mm_stream_ps((float *)(void *)(p + i) + 4 * k, _mm_setzero_ps());
        _mm_sfence();
    }
    memset(p + i, 0, n - i);
}

static void cpu_zero(backend *be, void *p, size_t bytes)
{
    zero_job z = {p, bytes};
    threads_run(cpu_of(be)->pool, (int64_t)((bytes + ZERO_GRAIN - 1) / ZERO_GRAIN), zero_task, &z);
}

static void cpu_add_op(backend *be, float *to, const float *from, int64_t n)
{
    cpu_backend *cpu = cpu_of(be);
    cpu_run(cpu, cpu->kernel->add, &(point_job){.x = from, .y = to}, n, GRAIN_ELEMENTS);
}

static status cpu_check(backend *be)
{
    (void)be; /* nothing on the CPU can fail after opening */
    return STATUS_OK;
}

static void cpu_wait(backend *be)
{
    (void)be; /* an operation is over when its call is back */
}

static status cpu_keep_parameters(backend *be, const float *parameters, int64_t n)
{
    (void)be, (void)parameters, (void)n; /* the product packs weights as it reads them: there is no copy, and none can be stale */
    return STATUS_OK;
}

static void cpu_parameters_changed(backend *be)
{
    (void)be;
}

/* ---- opening and closing ---- */

static void cpu_close(backend *be)
{
    cpu_backend *cpu = cpu_of(be);
    if (!cpu)
        return;
    for (int w = 0; cpu->scratch && w < cpu->workers; w++) {
        free(cpu->scratch[w].words);
        free(cpu->scratch[w].counters);
        free(cpu->scratch[w].scores);
        free(cpu->scratch[w].gradients);
        free(cpu->scratch[w].kept);
    }
    free(cpu->scratch);
    free(cpu->row_order);
    gemm_free(cpu->product);
    free(cpu);
}

static const backend_ops cpu_ops = {
    .name = "cpu",
    .allocate = cpu_allocate,
    .release = cpu_release,
    .upload = cpu_copy,
    .download = cpu_copy,
    .zero = cpu_zero,
    .add = cpu_add_op,
    .check = cpu_check,
    .wait = cpu_wait,
    .wait_loss = cpu_wait,
    .keep_parameters = cpu_keep_parameters,
    .parameters_changed = cpu_parameters_changed,
    .close = cpu_close,
    .linear_forward = cpu_linear_forward,
    .linear_gelu_forward = cpu_linear_gelu_forward,
    .linear_backward_input = cpu_linear_backward_input,
    .linear_gelu_backward_input = cpu_linear_gelu_backward_input,
    .linear_backward_weight = cpu_linear_backward_weight,
    .linear_fold_weight = cpu_linear_fold_weight,
    .gelu_backward = cpu_gelu_backward,
    .embed_forward = cpu_embed_forward,
    .embed_backward = cpu_embed_backward,
    .residual_norm_forward = cpu_residual_norm_forward,
    .residual_norm_backward = cpu_residual_norm_backward,
    .attention_forward = cpu_attention_forward,
    .attention_backward = cpu_attention_backward,
    .pool_forward = cpu_pool_forward,
    .pool_backward = cpu_pool_backward,
    .head_forward = cpu_head_forward,
    .head_backward = cpu_head_backward,
    .loss_forward = cpu_loss_forward,
    .sigmoid = cpu_sigmoid,
    .adamw = cpu_adamw,
    .merge_rows = cpu_merge_rows,
    .fold_rows = cpu_fold_rows,
};

/* Bytes of each piece of a worker's scratch. */
typedef struct scratch_sizes {
    size_t words, counters, tile, kept;
    int64_t width, most;
} scratch_sizes;

static scratch_sizes scratch_for(const backend_limits *l)
{
    int64_t width = round_up(l->longest, 16), most = 2 * l->hidden > width ? 2 * l->hidden : width;
    size_t tile = (size_t)(ATTENTION_TILE * width);
    return (scratch_sizes){.words = (size_t)(most + 80) * sizeof(uint32_t),
                           .counters = (size_t)(most / 4 + 16) * sizeof(uint32_t),
                           .tile = tile * sizeof(float),
                           .kept = tile / 16 * sizeof(uint16_t),
                           .width = width,
                           .most = most};
}

size_t backend_cpu_bytes(const backend_limits *limits, cpu_isa isa, int workers)
{
    scratch_sizes s = scratch_for(limits);
    return (s.words + s.counters + 2 * s.tile + s.kept) * (size_t)workers + (size_t)limits->rows * sizeof(int64_t) + gemm_workspace_bytes(isa, workers);
}

static status open_scratch(cpu_backend *cpu, const backend_limits *limits)
{
    scratch_sizes s = scratch_for(limits);
    TRY(memory_new(&cpu->scratch, (size_t)cpu->workers * sizeof *cpu->scratch, "the workers of the CPU back end"));
    TRY(memory_new(&cpu->row_order, (size_t)limits->rows * sizeof *cpu->row_order, "the order of rows in attention"));
    for (int w = 0; w < cpu->workers; w++) {
        cpu_scratch *scratch = &cpu->scratch[w];
        scratch->width = s.width;
        scratch->most = s.most;
        TRY(new_aligned(s.words, "dropout words", &scratch->words));
        TRY(new_aligned(s.counters, "dropout counters", &scratch->counters));
        TRY(new_aligned(s.tile, "attention scores", &scratch->scores));
        TRY(new_aligned(s.tile, "attention gradients", &scratch->gradients));
        TRY(new_aligned(s.kept, "attention dropout", &scratch->kept));
    }
    return STATUS_OK;
}

status backend_open_cpu(const backend_limits *limits, threads *pool, cpu_isa isa, backend **out)
{
    status st = STATUS_OK;
    cpu_backend *cpu = NULL;
    *out = NULL;
    TRY(isa_choose(isa, &isa));
    if (limits->longest < 1 || limits->longest > LONGEST_ROW)
        return fail(STATUS_USAGE, "rows of %lld tokens: the CPU back end takes 1 to %d; set the maximum length", (long long)limits->longest, LONGEST_ROW);
    if (limits->heads < 1 || limits->hidden < 1 || limits->hidden % limits->heads)
        return fail(STATUS_USAGE, "%lld heads do not divide hidden size %lld: check config.json", (long long)limits->heads, (long long)limits->hidden);
    TRY(memory_new(&cpu, sizeof *cpu, "the CPU back end"));
    cpu->base.ops = &cpu_ops;
    cpu->pool = pool;
    cpu->workers = threads_count(pool);
    cpu->kernel = isa == CPU_ISA_AVX512 ? &cpu_kernels_avx512 : isa == CPU_ISA_AVX2 ? &cpu_kernels_avx2 : &cpu_kernels_plain;
    TRY_DONE(gemm_create(isa, pool, &cpu->product));
    TRY_DONE(open_scratch(cpu, limits));
    *out = &cpu->base;
    return STATUS_OK;
done:
    cpu_close(&cpu->base);
    return st;
}

cpu_isa backend_cpu_isa(const backend *be)
{
    return gemm_isa(((const cpu_backend *)be)->product);
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void backend_cpu_profile(backend *be)
{
    cpu_backend *cpu = cpu_of(be);
    gemm_time_maps(cpu->product);
    for (int w = 0; w < cpu->workers; w++)
        cpu->scratch[w].timed = 1;
    cpu->timed_since = seconds_now();
    cpu->ticks_then = __builtin_ia32_rdtsc();
}

void backend_cpu_inside(const backend *be, double *gelu, double *words)
{
    const cpu_backend *cpu = (const cpu_backend *)be;
    uint64_t ticks = 0, passed = __builtin_ia32_rdtsc() - cpu->ticks_then;
    *gelu = *words = 0;
    if (cpu->timed_since == 0 || passed == 0)
        return;
    for (int w = 0; w < cpu->workers; w++)
        ticks += cpu->scratch[w].dropout_ticks;
    double tick = (seconds_now() - cpu->timed_since) / (double)passed / cpu->workers;
    *gelu = tick * (double)gemm_map_ticks(cpu->product);
    *words = tick * (double)ticks;
}
