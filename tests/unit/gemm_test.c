/* The matrix product: the bits of a plain triple loop of fmaf, for every instruction set, number of threads, layout and ending. */
#include "model/cpu/gemm.h"

#include <math.h>
#include <stdlib.h>

#include "support/support.h"

enum { MOST_THREADS = 3, PAD = 3 };
/* Each with a second-level cache that B's block fits in, and with one that it streams past. */
static const struct {
    cpu_isa isa;
    int64_t l2;
} sets[] = {{CPU_ISA_PLAIN, 1 << 20}, {CPU_ISA_AVX2, 512 << 10}, {CPU_ISA_AVX2, 2 << 20}, {CPU_ISA_AVX512, 512 << 10}, {CPU_ISA_AVX512, 2 << 20}};
enum { SETS = sizeof sets / sizeof *sets };

/* One product object for every supported set and every number of threads; made once. */
static threads *pools[MOST_THREADS + 1];
static gemm *objects[SETS][MOST_THREADS + 1];

static void open_objects(void)
{
    for (int t = 1; t <= MOST_THREADS; t++) {
        ck_ok(threads_create(t, &pools[t]));
        for (int s = 0; s < SETS; s++)
            if (isa_supported(sets[s].isa))
                ck_ok(gemm_create_for_cache(sets[s].isa, pools[t], sets[s].l2, &objects[s][t]));
    }
}

static void close_objects(void)
{
    for (int t = 1; t <= MOST_THREADS; t++) {
        for (int s = 0; s < SETS; s++)
            gemm_free(objects[s][t]);
        threads_free(pools[t]);
    }
}

/* A matrix in a block of exactly its size, so that the address sanitizer sees any step outside. */
typedef struct matrix {
    float *p;
    int64_t row, col; /* strides */
    size_t floats;
} matrix;

enum layout { ROWS_TOGETHER, COLUMNS_TOGETHER, NEITHER, LAYOUTS };

static float draw(void)
{
    switch (support_below(64)) {
    case 0: return 0.0f;
    case 1: return -0.0f;
    case 2: return support_normal() * 1e-39f; /* denormal: a thread that flushes would show */
    case 3: return support_normal() * 1e-22f;
    default: return support_normal();
    }
}

static matrix new_matrix(int64_t rows, int64_t cols, enum layout layout)
{
    matrix m = {.row = 1, .col = 1};
    int64_t pad = (int64_t)support_below(PAD);
    if (layout == ROWS_TOGETHER)
        m.row = cols + pad > 0 ? cols + pad : 1;
    else if (layout == COLUMNS_TOGETHER)
        m.col = rows + pad > 0 ? rows + pad : 1;
    else
        m.col = 2 + pad, m.row = (cols + 1) * m.col;
    m.floats = rows && cols ? (size_t)((rows - 1) * m.row + (cols - 1) * m.col + 1) : 0;
    m.p = malloc(m.floats * sizeof(float) + (m.floats == 0));
    ck_assert_ptr_nonnull(m.p);
    for (size_t i = 0; i < m.floats; i++)
        m.p[i] = draw();
    return m;
}

static matrix copy_matrix(const matrix *from)
{
    matrix m = *from;
    m.p = malloc(m.floats * sizeof(float) + (m.floats == 0));
    ck_assert_ptr_nonnull(m.p);
    memcpy(m.p, from->p, m.floats * sizeof(float));
    return m;
}

static void double_and_shift(int64_t n, const float *x, float *y)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = 2.0f * x[i] + 1.0f;
}

static void times_and_half(int64_t n, const float *with, const float *x, float *y)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = with[i] * x[i] + 0.5f;
}

/* The definition. */
static void reference(const gemm_product *p)
{
    for (int64_t i = 0; p->row_sums && i < p->m; i++)
        for (int64_t k = 0; k < p->k; k++)
            p->row_sums[i] += p->a[i * p->a_row + k * p->a_k];
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            float sum = p->accumulate ? p->c[i * p->ldc + j] : 0.0f;
            for (int64_t k = 0; k < p->k; k++)
                sum = fmaf(p->a[i * p->a_row + k * p->a_k], p->b[k * p->b_k + j * p->b_col], sum);
            if (p->scale != 0)
                sum *= p->scale;
            if (p->bias)
                sum += p->bias[j];
            if (p->pre)
                p->pre[i * p->ldpre + j] = sum;
            if (p->map)
                p->map(1, &sum, &sum);
            if (p->join)
                p->join(1, p->with + i * p->ldwith + j, &sum, &sum);
            float *to = p->folds ? p->fold[p->folds - 1] : p->c;
            for (int f = 0; f < p->folds; f++)
                sum = p->fold[f][i * p->ldc + j] + sum;
            to[i * p->ldc + j] = sum;
        }
    }
}

static void compare(const char *what, const gemm_product *p, cpu_isa isa, int count, const matrix *want, const matrix *got)
{
    for (size_t i = 0; i < want->floats; i++) /* the gaps between rows too: nothing else may be written */
        ck_assert_msg(memcmp(&want->p[i], &got->p[i], sizeof(float)) == 0,
                      "%s, %s, %d threads, m %d n %d k %d, strides a %d %d b %d %d, accumulate %d scale %g bias %d pre %d map %d: at %zu %a, not %a",
                      what, isa_name(isa), count, (int)p->m, (int)p->n, (int)p->k, (int)p->a_row, (int)p->a_k, (int)p->b_k, (int)p->b_col,
                      p->accumulate, (double)p->scale, p->bias != NULL, p->pre != NULL, p->map != NULL, i, (double)got->p[i], (double)want->p[i]);
}

#if defined(__SANITIZE_THREAD__) /* several threads at once are what it looks at, and slow */
enum { FEWEST_THREADS = MOST_THREADS };
#else
enum { FEWEST_THREADS = 1 };
#endif
enum { ACCUMULATE = 1, SCALE = 2, BIAS = 4, MAP = 8, PRE = 16, JOIN = 32, SUMS = 64, FOLD = 128, ENDINGS = 256, MOST_FOLDS = 3 };

/* `threads_of`: only this number of threads, or 0 for all. */
static void check_product(int64_t m, int64_t n, int64_t k, enum layout a_layout, enum layout b_layout, unsigned ending, int threads_of)
{
    if (threads_of && threads_of < FEWEST_THREADS)
        return;
    matrix a = new_matrix(m, k, a_layout), b = new_matrix(k, n, b_layout), c = new_matrix(m, n, ROWS_TOGETHER);
    matrix bias = new_matrix(1, n, ROWS_TOGETHER), pre = new_matrix(m, n, ROWS_TOGETHER);
    gemm_product p = {.m = m, .n = n, .k = k, .a = a.p, .a_row = a.row, .a_k = a.col, .b = b.p, .b_k = b.row, .b_col = b.col, .ldc = c.row};
    p.accumulate = ending & ACCUMULATE;
    p.scale = ending & SCALE ? 0.125f + (float)support_uniform() : 0.0f;
    p.bias = ending & BIAS ? bias.p : NULL;
    p.map = ending & MAP ? double_and_shift : NULL;
    bool keep = (ending & MAP) && (ending & PRE), sums = (ending & SUMS) && m > 0 && n > 0; /* without a column there is no work */
    matrix with = new_matrix(m, n, ROWS_TOGETHER), sum = new_matrix(1, m, ROWS_TOGETHER);
    p.join = !p.map && (ending & JOIN) ? times_and_half : NULL;
    p.with = p.join ? with.p : NULL;
    p.ldwith = with.row;
    p.ldpre = pre.row;
    p.folds = (ending & FOLD) && !p.map && !p.join ? 1 + (int)support_below(MOST_FOLDS) : 0;
    matrix fold[MOST_FOLDS];
    float *fold_p[MOST_FOLDS];
    for (int i = 0; i < MOST_FOLDS; i++) { /* laid out as c */
        fold[i] = copy_matrix(&c);
        for (size_t j = 0; j < fold[i].floats; j++)
            fold[i].p[j] = draw();
    }

    matrix want = copy_matrix(&c), want_pre = copy_matrix(&pre), want_sum = copy_matrix(&sum);
    gemm_product w = p;
    w.fold = p.fold = fold_p;
    const matrix *last = p.folds ? &fold[p.folds - 1] : &c;
    matrix want_last = copy_matrix(last);
    for (int i = 0; i < p.folds; i++)
        fold_p[i] = i + 1 < p.folds ? fold[i].p : want_last.p;
    w.c = want.p;
    w.pre = keep ? want_pre.p : NULL;
    w.row_sums = sums ? want_sum.p : NULL;
    reference(&w);
    for (int s = 0; s < SETS; s++) {
        for (int count = FEWEST_THREADS; count <= MOST_THREADS; count++) {
            if (!objects[s][count] || (threads_of && count != threads_of))
                continue;
            matrix got = copy_matrix(&c), got_pre = copy_matrix(&pre), got_sum = copy_matrix(&sum);
            p.row_sums = sums ? got_sum.p : NULL;
            p.c = got.p;
            p.pre = keep ? got_pre.p : NULL;
            matrix got_fold[MOST_FOLDS];
            for (int i = 0; i < p.folds; i++) {
                got_fold[i] = copy_matrix(&fold[i]);
                fold_p[i] = got_fold[i].p;
            }
            gemm_run(objects[s][count], &p);
            if (p.folds) /* c and the sums before hold anything now */
                compare("the last sum", &p, sets[s].isa, count, &want_last, &got_fold[p.folds - 1]);
            else
                compare("c", &p, sets[s].isa, count, &want, &got);
            for (int i = 0; i < p.folds; i++)
                free(got_fold[i].p);
            compare("pre", &p, sets[s].isa, count, &want_pre, &got_pre);
            compare("sums of rows", &p, sets[s].isa, count, &want_sum, &got_sum);
            free(got_sum.p);
            free(got.p);
            free(got_pre.p);
        }
    }
    matrix *all[] = {&a, &b, &c, &bias, &pre, &want, &want_pre, &with, &sum, &want_sum};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]->p);
    for (int i = 0; i < MOST_FOLDS; i++)
        free(fold[i].p);
    free(want_last.p);
}

static enum layout any_layout(void)
{
    return (enum layout)support_below(LAYOUTS);
}

START_TEST(small_shapes_have_the_bits_of_the_definition)
{
    for (int64_t m = 0; m <= 5; m++)
        for (int64_t n = 0; n <= 5; n++)
            for (int64_t k = 0; k <= 3; k++)
                check_product(m, n, k, any_layout(), any_layout(), (unsigned)support_below(ENDINGS), 1);
}
END_TEST

START_TEST(edges_of_tiles_have_the_bits_of_the_definition)
{
    /* One off on either side of every tile's rows (4, 6, 14), columns (4 to 32) and of the transposed blocks (4, 8, 16). */
    static const int64_t rows[] = {1, 3, 5, 6, 7, 13, 14, 15, 27, 28, 29, 43}, cols[] = {1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 65};
    static const int64_t steps[] = {1, 7, 8, 9, 15, 16, 17, 33};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; j < sizeof cols / sizeof *cols; j++)
            check_product(rows[i], cols[j], steps[support_below(sizeof steps / sizeof *steps)], any_layout(), any_layout(),
                          (unsigned)support_below(ENDINGS), 0);
}
END_TEST

START_TEST(parts_of_k_continue_the_chain)
{
    static const int64_t steps[] = {255, 256, 257, 383, 384, 385, 511, 513, 767, 768, 769, 1025, 1537};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        check_product(1 + (int64_t)support_below(40), 1 + (int64_t)support_below(70), steps[i], any_layout(), any_layout(),
                      (unsigned)support_below(ENDINGS), 0);
}
END_TEST

START_TEST(blocks_of_rows_and_columns_have_the_bits_of_the_definition)
{
    check_product(2047 + (int64_t)support_below(30), 1 + (int64_t)support_below(40), 5, COLUMNS_TOGETHER, ROWS_TOGETHER, BIAS, 0);
    check_product(4097, 3, 9, ROWS_TOGETHER, COLUMNS_TOGETHER, ACCUMULATE, 0);
    check_product(30, 511 + (int64_t)support_below(40), 33, ROWS_TOGETHER, COLUMNS_TOGETHER, BIAS | MAP | PRE, 0);
    check_product(3, 2100, 17, NEITHER, ROWS_TOGETHER, SCALE, 0);
    check_product(600, 70, 390, COLUMNS_TOGETHER, ROWS_TOGETHER, ACCUMULATE, 2);
    check_product(70, 600, 390, ROWS_TOGETHER, COLUMNS_TOGETHER, BIAS | MAP | PRE, 3);
}
END_TEST

START_TEST(every_ending_and_layout)
{
    for (unsigned ending = 0; ending < ENDINGS; ending++)
        for (int a = 0; a < LAYOUTS; a++)
            for (int b = 0; b < LAYOUTS; b++)
                check_product(17, 35, 19, (enum layout)a, (enum layout)b, ending, 1);
}
END_TEST

START_TEST(random_shapes)
{
    for (int i = 0; i < 60; i++)
        check_product(1 + (int64_t)support_below(90), 1 + (int64_t)support_below(120), (int64_t)support_below(200), any_layout(), any_layout(),
                      (unsigned)support_below(ENDINGS), 0);
}
END_TEST

START_TEST(cutting_k_into_calls_changes_no_bit)
{
    /* As a lane's tokens are cut into micro-batches: dw += dy^T x, the chain running on. */
    int64_t m = 40, n = 50, k = 300, cut = 1 + (int64_t)support_below(299);
    matrix a = new_matrix(k, m, ROWS_TOGETHER), b = new_matrix(k, n, ROWS_TOGETHER), c = new_matrix(m, n, ROWS_TOGETHER);
    for (int s = 0; s < SETS; s++) {
        if (!objects[s][2])
            continue;
        matrix whole = copy_matrix(&c), parts = copy_matrix(&c);
        gemm_product p = {.m = m,
                          .n = n,
                          .k = k,
                          .a = a.p,
                          .a_row = 1,
                          .a_k = a.row,
                          .b = b.p,
                          .b_k = b.row,
                          .b_col = 1,
                          .c = whole.p,
                          .ldc = c.row,
                          .accumulate = true};
        gemm_run(objects[s][2], &p);
        gemm_product first = p, second = p;
        first.c = second.c = parts.p;
        first.k = cut;
        second.k = k - cut;
        second.a += cut * p.a_k;
        second.b += cut * p.b_k;
        gemm_run(objects[s][2], &first);
        gemm_run(objects[s][2], &second);
        compare("c", &p, sets[s].isa, 2, &whole, &parts);
        free(whole.p);
        free(parts.p);
    }
    free(a.p);
    free(b.p);
    free(c.p);
}
END_TEST

typedef struct heads {
    gemm *g;
    gemm_product p[16];
} heads;

static void run_head(void *job, int64_t task, int worker)
{
    heads *h = job;
    gemm_run_worker(h->g, worker, &h->p[task]);
}

START_TEST(workers_have_buffers_of_their_own)
{
    enum { HEADS = 16, SIZE = 32, HIDDEN = HEADS * SIZE };
    int64_t length = 5 + (int64_t)support_below(60);
    matrix q = new_matrix(length, HIDDEN, ROWS_TOGETHER), k = new_matrix(length, HIDDEN, ROWS_TOGETHER);
    for (int s = 0; s < SETS; s++) {
        if (!objects[s][MOST_THREADS])
            continue;
        matrix c = new_matrix(HEADS * length, length, ROWS_TOGETHER), want = copy_matrix(&c);
        heads h = {.g = objects[s][MOST_THREADS]};
        for (int i = 0; i < HEADS; i++) {
            h.p[i] = (gemm_product){.m = length,
                                    .n = length,
                                    .k = SIZE,
                                    .a = q.p + i * SIZE,
                                    .a_row = q.row,
                                    .a_k = 1,
                                    .b = k.p + i * SIZE,
                                    .b_k = 1,
                                    .b_col = k.row,
                                    .c = want.p + i * length * c.row,
                                    .ldc = c.row,
                                    .scale = 0.17677669f};
            reference(&h.p[i]);
            h.p[i].c = c.p + i * length * c.row;
        }
        threads_run(pools[MOST_THREADS], HEADS, run_head, &h);
        compare("scores", &h.p[0], sets[s].isa, MOST_THREADS, &want, &c);
        free(c.p);
        free(want.p);
    }
    free(q.p);
    free(k.p);
}
END_TEST

START_TEST(near_the_product_in_double)
{
    int64_t m = 37, n = 45, k = 700;
    matrix a = new_matrix(m, k, ROWS_TOGETHER), b = new_matrix(n, k, ROWS_TOGETHER), c = new_matrix(m, n, ROWS_TOGETHER);
    for (int s = 0; s < SETS; s++) {
        if (!objects[s][1])
            continue;
        gemm_run(
            objects[s][1],
            &(gemm_product){.m = m, .n = n, .k = k, .a = a.p, .a_row = a.row, .a_k = 1, .b = b.p, .b_k = 1, .b_col = b.row, .c = c.p, .ldc = c.row});
        for (int64_t i = 0; i < m; i++) {
            for (int64_t j = 0; j < n; j++) {
                double sum = 0, size = 0;
                for (int64_t l = 0; l < k; l++) {
                    double product = (double)a.p[i * a.row + l] * (double)b.p[j * b.row + l];
                    sum += product;
                    size += fabs(product);
                }
                double error = fabs(sum - (double)c.p[i * c.row + j]);
                ck_assert_msg(error <= 2e-6 * size, "%s [%d,%d]: off by %g of %g", isa_name(sets[s].isa), (int)i, (int)j, error, size);
            }
        }
    }
    free(a.p);
    free(b.p);
    free(c.p);
}
END_TEST

START_TEST(instruction_sets_are_chosen_and_refused)
{
    cpu_isa isa;
    for (int i = CPU_ISA_AUTO; i <= CPU_ISA_AVX512; i++) {
        ck_ok(isa_parse(isa_name((cpu_isa)i), &isa));
        ck_assert_int_eq(isa, i);
        gemm *g;
        if (isa_supported(isa)) {
            ck_ok(gemm_create(isa, NULL, &g));
            ck_assert_int_ne(gemm_isa(g), CPU_ISA_AUTO);
            ck_assert_uint_ge(gemm_workspace_bytes(isa, 3), 2 * gemm_workspace_bytes(isa, 1));
            gemm_free(g);
        } else {
            ck_fails(gemm_create(isa, NULL, &g), STATUS_USAGE, "--cpu auto");
            ck_assert_ptr_null(g);
        }
    }
    ck_fails(isa_parse("avx", &isa), STATUS_USAGE, "--cpu avx: give auto");
    gemm_free(NULL);
}
END_TEST

START_TEST(objects_open)
{
    open_objects();
}
END_TEST

START_TEST(objects_close)
{
    close_objects();
}
END_TEST

int main(void)
{
    return support_run("gemm", (const TTest *[]){objects_open, instruction_sets_are_chosen_and_refused, small_shapes_have_the_bits_of_the_definition,
                                                 edges_of_tiles_have_the_bits_of_the_definition, parts_of_k_continue_the_chain,
                                                 blocks_of_rows_and_columns_have_the_bits_of_the_definition, every_ending_and_layout, random_shapes,
                                                 cutting_k_into_calls_changes_no_bit, workers_have_buffers_of_their_own, near_the_product_in_double,
                                                 objects_close, NULL});
}
