/* The own matrix product beside OpenBLAS, one thread, at the network's shapes; packing included.
 *
 *     gemm_bench [--rounds N] [--only TEXT]     N turns (5); only shapes whose line contains TEXT, as "dW" or "768->3072"
 *
 * Every side is a process of its own (OpenBLAS picks its core type when it is loaded) that waits for its turn. In each round each
 * shape goes round all sides, so that a slow moment of the machine meets all. Times are processor time, so that other programs on the
 * machine spoil less; a turn gives its median sample, a side the median of its turns. Never a test: it reports.
 */
#include <dlfcn.h>
#include <getopt.h>
#include <immintrin.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/threads.h"
#include "model/cpu/gemm.h"

enum { FORWARD, TO_INPUT, TO_WEIGHT, SCORES, CONTEXT, KINDS };
enum { MOST_SHAPES = 160, SIDES = 6, NAME = 64, PEAK = -1, MOST_FLOATS = 3072 * 3072 };
enum { MOST_SAMPLES = 64, MOST_ROUNDS = 100 };
static const double TURN_SECONDS = 0.02, SAMPLE_SECONDS = 0.0005; /* at least; a sample repeats a small product, the clock being slow */

typedef struct shape {
    int kind;
    int64_t tokens, inputs, outputs; /* attention: tokens, head size, hidden */
} shape;

typedef struct side {
    const char *name, *core; /* core: OPENBLAS_CORETYPE, "" for the library's choice; NULL for the own product */
    cpu_isa isa;
    int present;
    int to, from; /* pipes */
    pid_t pid;
    char label[NAME];
    double peak, time[MOST_SHAPES], turns[MOST_SHAPES][MOST_ROUNDS];
} side;

typedef struct matrices {
    float *x, *y, *w;
    gemm *own;
    void (*sgemm)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b, int ldb, float beta, float *c,
                  int ldc);
} matrices;

static const char *const kind_names[KINDS] = {"forward", "dX", "dW", "scores", "context"};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- one side ---- */

/* The product itself; x: tokens x inputs, w: outputs x inputs, y: tokens x outputs. */
static void multiply_own(const matrices *m, const shape *s)
{
    int64_t T = s->tokens, I = s->inputs, O = s->outputs;
    gemm_product p = {0};
    switch (s->kind) {
    case FORWARD:
        p = (gemm_product){.m = T, .n = O, .k = I, .a = m->x, .a_row = I, .a_k = 1, .b = m->w, .b_k = 1, .b_col = I, .c = m->y, .ldc = O};
        break;
    case TO_INPUT:
        p = (gemm_product){.m = T, .n = I, .k = O, .a = m->y, .a_row = O, .a_k = 1, .b = m->w, .b_k = I, .b_col = 1, .c = m->x, .ldc = I};
        break;
    case TO_WEIGHT:
        p = (gemm_product){
            .m = O, .n = I, .k = T, .a = m->y, .a_row = 1, .a_k = O, .b = m->x, .b_k = I, .b_col = 1, .c = m->w, .ldc = I, .accumulate = true};
        break;
    case SCORES:
        p = (gemm_product){.m = T, .n = T, .k = I, .a = m->x, .a_row = O, .a_k = 1, .b = m->w, .b_k = 1, .b_col = O, .c = m->y, .ldc = T};
        break;
    case CONTEXT:
        p = (gemm_product){.m = T, .n = I, .k = T, .a = m->y, .a_row = T, .a_k = 1, .b = m->w, .b_k = O, .b_col = 1, .c = m->x, .ldc = O};
        break;
    }
    gemm_run_worker(m->own, 0, &p);
}

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 }; /* cblas */

static void multiply_blas(const matrices *m, const shape *s)
{
    int T = (int)s->tokens, I = (int)s->inputs, O = (int)s->outputs;
    switch (s->kind) {
    case FORWARD: m->sgemm(ROW_MAJOR, PLAIN, TRANSPOSED, T, O, I, 1, m->x, I, m->w, I, 0, m->y, O); break;
    case TO_INPUT: m->sgemm(ROW_MAJOR, PLAIN, PLAIN, T, I, O, 1, m->y, O, m->w, I, 0, m->x, I); break;
    case TO_WEIGHT: m->sgemm(ROW_MAJOR, TRANSPOSED, PLAIN, O, I, T, 1, m->y, O, m->x, I, 1, m->w, I); break;
    case SCORES: m->sgemm(ROW_MAJOR, PLAIN, TRANSPOSED, T, T, I, 1, m->x, O, m->w, O, 0, m->y, T); break;
    case CONTEXT: m->sgemm(ROW_MAJOR, PLAIN, PLAIN, T, I, T, 1, m->y, T, m->w, O, 0, m->x, O); break;
    }
}

static void fill(float *p)
{
    uint32_t r = 1;
    for (int64_t i = 0; i < MOST_FLOATS; i++) {
        r = r * 1664525u + 1013904223u;
        p[i] = (float)(int32_t)r * 0x1p-33f;
    }
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, compare_doubles);
    return values[n / 2];
}

/* Seconds of one product, over `repeats` in a row. */
static double sample(const matrices *m, const shape *s, int repeats)
{
    double t0 = now();
    for (int i = 0; i < repeats; i++) {
        if (m->own)
            multiply_own(m, s);
        else
            multiply_blas(m, s);
    }
    return (now() - t0) / repeats;
}

static double time_product(const matrices *m, const shape *s)
{
    fill(m->x); /* results become inputs of the next shape: start afresh */
    fill(m->y);
    fill(m->w);
    double first = sample(m, s, 1), samples[MOST_SAMPLES];
    int repeats = first < SAMPLE_SECONDS ? (int)(SAMPLE_SECONDS / (first + 1e-7)) + 1 : 1, n = 0;
    for (double start = now(); n < MOST_SAMPLES && (n == 0 || now() - start < TURN_SECONDS);)
        samples[n++] = sample(m, s, repeats);
    return median(samples, n);
}

/* FMA results a second with everything in registers: ten independent chains, two units, latency four. */
#define PEAK_FUNCTION(name, features, vec, set, fma, lanes)                                                                                    \
    __attribute__((target(features))) static double name(void)                                                                                 \
    {                                                                                                                                          \
        enum { CHAINS = 10, STEPS = 400000 };                                                                                                  \
        vec sum[CHAINS], x = set(0.999f), y = set(1e-3f);                                                                                      \
        for (int c = 0; c < CHAINS; c++)                                                                                                       \
            sum[c] = set((float)c);                                                                                                            \
        double t0 = now();                                                                                                                     \
        for (int i = 0; i < STEPS; i++) {                                                                                                      \
            for (int c = 0; c < CHAINS; c++)                                                                                                   \
                sum[c] = fma(sum[c], x, y);                                                                                                    \
            __asm__ volatile(""                                                                                                                \
                             : "+v"(sum[0]), "+v"(sum[1]), "+v"(sum[2]), "+v"(sum[3]), "+v"(sum[4]), "+v"(sum[5]), "+v"(sum[6]), "+v"(sum[7]), \
                               "+v"(sum[8]), "+v"(sum[9]));                                                                                    \
        }                                                                                                                                      \
        return 2.0 * STEPS * CHAINS * lanes / (now() - t0);                                                                                    \
    }
PEAK_FUNCTION(peak_avx512, "avx512f", __m512, _mm512_set1_ps, _mm512_fmadd_ps, 16)
PEAK_FUNCTION(peak_avx2, "avx2,fma", __m256, _mm256_set1_ps, _mm256_fmadd_ps, 8)

static double measure_peak(cpu_isa isa)
{
    double best = 0;
    for (int i = 0; i < 5; i++)
        best = fmax(best, isa == CPU_ISA_AVX512 ? peak_avx512() : peak_avx2());
    return best;
}

/* Loads what the side needs; writes how it calls itself ("" when it can't run here). */
static void open_side(const side *d, matrices *m, char label[NAME])
{
    label[0] = 0;
    if (!d->core) {
        if (gemm_create(d->isa, NULL, &m->own) == STATUS_OK)
            snprintf(label, NAME, "%s", isa_name(gemm_isa(m->own)));
        return;
    }
    unsetenv("OPENBLAS_L2_SIZE");
    unsetenv("OPENBLAS_CORETYPE");
    if (*d->core)
        setenv("OPENBLAS_CORETYPE", d->core, 1);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    char *(*corename)(void) = NULL;
    if (library) {
        *(void **)&m->sgemm = dlsym(library, "cblas_sgemm");
        *(void **)&corename = dlsym(library, "openblas_get_corename");
    }
    if (!m->sgemm || !corename)
        return;
    float zeros[64] = {0}, result[64];
    m->sgemm(ROW_MAJOR, PLAIN, PLAIN, 8, 8, 8, 1, zeros, 8, zeros, 8, 0, result, 8); /* a core type of another processor ends here, and the side is absent */
    snprintf(label, NAME, "%s", corename());
}

static void serve(const side *d, const shape *shapes, int in, int out)
{
    matrices m = {0};
    char label[NAME];
    threads_set_rounding();
    open_side(d, &m, label);
    float **all[] = {&m.x, &m.y, &m.w};
    for (int i = 0; i < 3; i++) {
        *all[i] = aligned_alloc(2 << 20, MOST_FLOATS * sizeof(float));
        if (!*all[i])
            label[0] = 0;
    }
    if (write(out, label, NAME) != NAME || !label[0])
        _exit(0);
    for (int which; read(in, &which, sizeof which) == sizeof which;) {
        double answer = which == PEAK ? measure_peak(d->isa) : time_product(&m, &shapes[which]);
        if (write(out, &answer, sizeof answer) != sizeof answer)
            break;
    }
    _exit(0);
}

/* ---- the referee ---- */

static void start_side(side *d, const shape *shapes)
{
    int to[2], from[2];
    if (pipe(to) || pipe(from) || (d->pid = fork()) < 0) {
        perror("gemm_bench");
        exit(5);
    }
    if (d->pid == 0) {
        close(to[1]);
        close(from[0]);
        serve(d, shapes, to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    d->to = to[1];
    d->from = from[0];
    d->present = read(d->from, d->label, NAME) == NAME && d->label[0];
    for (int i = 0; i < MOST_SHAPES; i++)
        d->time[i] = INFINITY;
}

static double ask(side *d, int which)
{
    double answer;
    if (write(d->to, &which, sizeof which) != sizeof which || read(d->from, &answer, sizeof answer) != sizeof answer) {
        fprintf(stderr, "gemm_bench: side %s ended early\n", d->name);
        exit(6);
    }
    return answer;
}

static int list_shapes(shape *shapes, const char *only)
{
    static const int64_t layers[][2] = {{768, 768}, {768, 3072}, {3072, 768}, {384, 384}, {384, 1536}, {1536, 384}};
    static const int64_t heads[][2] = {{64, 768}, {32, 384}}, lengths[] = {8, 36, 128, 192};
    int n = 0;
    for (size_t l = 0; l < sizeof layers / sizeof *layers; l++)
        for (int kind = FORWARD; kind <= TO_WEIGHT; kind++)
            for (int64_t tokens = 128; tokens <= 2048; tokens *= 2)
                shapes[n++] = (shape){kind, tokens, layers[l][0], layers[l][1]};
    for (size_t h = 0; h < sizeof heads / sizeof *heads; h++)
        for (int kind = SCORES; kind <= CONTEXT; kind++)
            for (size_t t = 0; t < sizeof lengths / sizeof *lengths; t++)
                shapes[n++] = (shape){kind, lengths[t], heads[h][0], heads[h][1]};
    int kept = 0;
    for (int i = 0; i < n; i++) {
        char text[NAME];
        snprintf(text, sizeof text, "%s %d->%d x%d", kind_names[shapes[i].kind], (int)shapes[i].inputs, (int)shapes[i].outputs,
                 (int)shapes[i].tokens);
        if (!only || strstr(text, only))
            shapes[kept++] = shapes[i];
    }
    return kept;
}

static double flops(const shape *s)
{
    return 2.0 * (double)s->tokens * (double)s->inputs * (double)(s->kind >= SCORES ? s->tokens : s->outputs);
}

typedef struct summary {
    double log_sum, worst;
    int count, worst_shape;
} summary;

static void add_ratio(summary *s, double ratio, int which)
{
    s->log_sum += log(ratio);
    if (s->count == 0 || ratio < s->worst) {
        s->worst = ratio;
        s->worst_shape = which;
    }
    s->count++;
}

static void print_summary(const char *title, const summary *s, const shape *shapes)
{
    if (s->count == 0)
        return;
    const shape *w = &shapes[s->worst_shape];
    printf("%-58s geometric mean %.3f, worst %.3f (%s %d->%d, %d rows), %d shapes\n", title, exp(s->log_sum / s->count), s->worst,
           kind_names[w->kind], (int)w->inputs, (int)w->outputs, (int)w->tokens, s->count);
}

/* Fastest of the sides in the list; INFINITY without any. */
static double fastest(const side *sides, const int *list, int n, int which)
{
    double best = INFINITY;
    for (int i = 0; i < n; i++)
        best = fmin(best, sides[list[i]].time[which]);
    return best;
}

static void report(const side *sides, const shape *shapes, int n)
{
    static const int every[] = {2, 3, 4, 5}, narrow[] = {3, 5};
    summary wide = {0}, avx2 = {0}, attention = {0};
    printf("%-8s %5s %5s %5s |", "product", "in", "out", "rows");
    for (int d = 0; d < SIDES; d++)
        printf(" %9s", sides[d].name);
    printf(" | %6s %6s %6s %6s\n", "peak%", "peak2%", "ratio", "ratio2");
    for (int i = 0; i < n; i++) {
        double work = flops(&shapes[i]) * 1e-9, all = fastest(sides, every, 4, i), half = fastest(sides, narrow, 2, i);
        printf("%-8s %5d %5d %5d |", kind_names[shapes[i].kind], (int)shapes[i].inputs, (int)shapes[i].outputs, (int)shapes[i].tokens);
        for (int d = 0; d < SIDES; d++)
            printf(" %9.1f", work / sides[d].time[i]);
        double ratio = all / sides[0].time[i], ratio2 = half / sides[1].time[i];
        printf(" | %6.1f %6.1f %6.3f %6.3f\n", 100e9 * work / sides[0].time[i] / sides[0].peak, 100e9 * work / sides[1].time[i] / sides[1].peak,
               isfinite(ratio) ? ratio : 0, isfinite(ratio2) ? ratio2 : 0);
        bool linear = shapes[i].kind <= TO_WEIGHT;
        if (isfinite(ratio) && ratio > 0)
            add_ratio(linear ? &wide : &attention, ratio, i);
        if (isfinite(ratio2) && ratio2 > 0 && linear)
            add_ratio(&avx2, ratio2, i);
    }
    printf("\nGFLOP/s, median turn; peak%%: share of the FMA peak (avx512 %.1f, avx2 %.1f GFLOP/s)\n", sides[0].peak * 1e-9, sides[1].peak * 1e-9);
    print_summary("ratio:  avx512 against the best core type,", &wide, shapes);
    print_summary("ratio2: avx2 against the best of Haswell and Zen,", &avx2, shapes);
    print_summary("ratio:  attention's products, against the best core type,", &attention, shapes);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"rounds", required_argument, NULL, 'r'}, {"only", required_argument, NULL, 'o'}, {0}};
    static shape shapes[MOST_SHAPES];
    static side sides[SIDES] = {{.name = "avx512", .isa = CPU_ISA_AVX512}, {.name = "avx2", .isa = CPU_ISA_AVX2},    {.name = "default", .core = ""},
                                {.name = "Haswell", .core = "Haswell"},    {.name = "SkylakeX", .core = "SkylakeX"}, {.name = "Zen", .core = "Zen"}};
    int rounds = 5;
    const char *only = NULL;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 'r')
            rounds = (int)strtol(optarg, NULL, 10);
        else if (c == 'o')
            only = optarg;
        else
            return 2;
    }
    if (rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "gemm_bench: --rounds takes 1 to %d\n", MOST_ROUNDS);
        return 2;
    }
    int n = list_shapes(shapes, only);
    for (int d = 0; d < SIDES; d++) {
        start_side(&sides[d], shapes);
        printf("%s%s: %s\n", sides[d].core ? "OpenBLAS " : "own ", sides[d].name, sides[d].present ? sides[d].label : "absent here");
    }
    fflush(stdout);
    for (int r = 0; r < rounds; r++) {
        for (int d = 0; d < 2; d++)
            if (sides[d].present)
                sides[d].peak = fmax(sides[d].peak, ask(&sides[d], PEAK));
        for (int i = 0; i < n; i++)
            for (int d = 0; d < SIDES; d++)
                if (sides[d].present)
                    sides[d].turns[i][r] = ask(&sides[d], i);
    }
    for (int i = 0; i < n; i++)
        for (int d = 0; d < SIDES; d++)
            if (sides[d].present)
                sides[d].time[i] = median(sides[d].turns[i], rounds);
    report(sides, shapes, n);
    for (int d = 0; d < SIDES; d++)
        close(sides[d].to);
    while (wait(NULL) > 0) {
    }
    return 0;
}
