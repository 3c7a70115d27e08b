#include "model/cpu/gemm.h"

#include <assert.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/cpu/gemm_kernel.h"

/* The loops, from the outside in, named by what stays where (bytes for AVX-512, steps 1024):
 *
 *     block of m          at most MOST_ROWS rows
 *       part of k         at most kc steps; A is read where it lies, or the block of it is packed once                   (L3; L2 when small)
 *         block of n      B is packed: as many columns as fill L2_PERCENT of L2                                          (L2)
 *           panel of A    56 KiB; used by every panel of that block                                                      (L2, L1 in part)
 *             panel of B    128 KiB; streams from L2, in order; the sums of one tile stay in registers; C is fetched a tile ahead
 *
 * Where L2 is at most SMALL_L2, so few columns would fit that A would come from L3 again and again: there B's block is larger and its panels stream from L3,
 * each panel of A is used by all of them, and rows that are packed are packed as many as L2 holds (NEAR_ROWS) and used at once.
 *
 * A part of k that isn't the first begins its chains from what C holds: exactly where the part before left them.
 *
 * B is packed in every call, weights too: columns are cut among the threads first, so that each column is packed once for all rows. Keeping weights
 * packed over a step's micro-batches would save (768 and 3072 wide) about 3% of a forward or input-gradient product of 640 rows and 1% at 2,048,
 * nothing of a weight gradient, and cost two more copies of the weights.
 */
enum { MOST_ROWS = 2048, MOST_TILE = 14 * 32, HUGE_PAGE = 2 << 20, B_FLOATS = 512 * 768, L2_PERCENT = 40, SMALL = 1 << 15 };
enum { SMALL_L2 = 512 << 10, STREAM_FLOATS = 1024 * 768, NEAR_ROWS = 120 };

typedef struct worker_ticks {
    _Alignas(64) uint64_t sum; /* a cache line each */
} worker_ticks;

/* One packed block of B (columns col0 ..) with the packed block of A (rows row0 ..), for `steps` of k from k0. */
typedef struct block {
    int64_t row0, col0, k0, steps;
    gemm_cut rows, cols;
    const float *a, *b;
    int64_t a_row, a_k, b_k;  /* strides within a panel */
    int64_t a_panel, b_panel; /* floats from panel to panel, where packed */
    bool a_in_place, b_in_place;
} block;

/* A worker's block that others may help with, panel of A by panel. `ticket` is the block's number (high half) and the panels that nobody has taken (low
 * half). The rest stands from the ticket's being set until `unfinished` is 0 again, so who has taken a panel may read it. */
typedef struct open_block {
    _Alignas(64) _Atomic uint64_t ticket;
    _Alignas(64) _Atomic int64_t unfinished; /* panels */
    const gemm_product *product;
    const block *block;
} open_block;

struct gemm {
    const gemm_kernels *kernels;
    cpu_isa isa;
    threads *pool;        /* borrowed */
    bool streams;         /* is_streamed, of the cache it is made for */
    int64_t block_floats; /* of a packed block of B */
    size_t a_floats, b_floats;
    float *buffers; /* per worker: A's block, then B's */
    bool timed;
    worker_ticks *map; /* one a worker */
    open_block *open;  /* one a worker */
};

static int64_t divide_up(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static const gemm_kernels *kernels_of(cpu_isa isa)
{
    return isa == CPU_ISA_AVX512 ? &gemm_kernels_avx512 : isa == CPU_ISA_AVX2 ? &gemm_kernels_avx2 : &gemm_kernels_plain;
}

static int64_t l2_bytes(void)
{
    long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return l2 > 0 ? l2 : 1 << 20;
}

/* B's block lies in L3. */
static bool is_streamed(int64_t l2)
{
    return l2 <= SMALL_L2;
}

static void buffer_sizes(const gemm_kernels *kernels, int64_t l2, size_t *a_floats, size_t *b_floats)
{
    *a_floats = (size_t)(divide_up(MOST_ROWS, kernels->rows) * kernels->a_stride * kernels->kc);
    *b_floats = is_streamed(l2) ? STREAM_FLOATS : B_FLOATS;
}

static size_t workspace_bytes(const gemm_kernels *kernels, int64_t l2, int workers)
{
    size_t a, b;
    buffer_sizes(kernels, l2, &a, &b);
    return ((a + b) * sizeof(float) * (size_t)workers + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
}

size_t gemm_workspace_bytes(cpu_isa isa, int workers)
{
    cpu_isa chosen = isa;
    return isa_choose(isa, &chosen) == STATUS_OK ? workspace_bytes(kernels_of(chosen), l2_bytes(), workers) : 0;
}

int64_t gemm_whole_steps(cpu_isa isa)
{
    cpu_isa chosen = isa;
    return isa_choose(isa, &chosen) == STATUS_OK ? kernels_of(chosen)->kc : 0;
}

/* Blocks of n columns of nearly equal size, in whole panels. */
static int64_t columns_of_block(const gemm *g, int64_t n, int64_t steps)
{
    int64_t panels = g->block_floats / ((steps + (steps == 0)) * g->kernels->cols), all = divide_up(n, g->kernels->cols);
    int64_t blocks = divide_up(all, panels < 2 ? 2 : panels);
    return divide_up(all, blocks + (blocks == 0)) * g->kernels->cols;
}

/* Others use the core meanwhile, where ranks share it. */
static void wait_a_little(void)
{
    for (int i = 0; i < 16; i++)
        __builtin_ia32_pause();
    sched_yield();
}

status gemm_create(cpu_isa isa, threads *pool, gemm **out)
{
    return gemm_create_for_cache(isa, pool, l2_bytes(), out);
}

status gemm_create_for_cache(cpu_isa isa, threads *pool, int64_t l2, gemm **out)
{
    *out = NULL;
    TRY(isa_choose(isa, &isa));
    gemm *g;
    TRY(memory_new(&g, sizeof *g, "the matrix product"));
    size_t bytes = workspace_bytes(kernels_of(isa), l2, threads_count(pool));
    *g = (gemm){.kernels = kernels_of(isa), .isa = isa, .pool = pool, .buffers = aligned_alloc(HUGE_PAGE, bytes)};
    if (!g->buffers) {
        free(g);
        return fail(STATUS_RESOURCE, "out of memory: %zu bytes for the packing buffers of %d threads; ask for fewer with --threads", bytes,
                    threads_count(pool));
    }
    g->map = aligned_alloc(64, (size_t)threads_count(pool) * sizeof *g->map);
    g->open = aligned_alloc(64, (size_t)threads_count(pool) * sizeof *g->open);
    if (!g->map || !g->open) {
        gemm_free(g);
        return fail(STATUS_RESOURCE, "out of memory for %d threads of the matrix product", threads_count(pool));
    }
    memset(g->map, 0, (size_t)threads_count(pool) * sizeof *g->map);
    memset(g->open, 0, (size_t)threads_count(pool) * sizeof *g->open);
    madvise(g->buffers, bytes, MADV_HUGEPAGE); /* fewer page walks where it is granted; no harm where not */
    assert(g->kernels->rows * g->kernels->cols <= MOST_TILE);
    buffer_sizes(g->kernels, l2, &g->a_floats, &g->b_floats);
    g->streams = is_streamed(l2);
    /* How much of B is packed at once moves no bit: only how often A's block is read again. */
    g->block_floats = g->streams ? STREAM_FLOATS : smaller(l2 * L2_PERCENT / 100 / (int64_t)sizeof(float), B_FLOATS);
    *out = g;
    return STATUS_OK;
}

void gemm_free(gemm *g)
{
    if (!g)
        return;
    free(g->buffers);
    free(g->map);
    free(g->open);
    free(g);
}

cpu_isa gemm_isa(const gemm *g)
{
    return g->isa;
}

void gemm_time_maps(gemm *g)
{
    g->timed = true;
}

uint64_t gemm_map_ticks(const gemm *g)
{
    uint64_t sum = 0;
    for (int w = 0; w < threads_count(g->pool); w++)
        sum += g->map[w].sum;
    return sum;
}

/* Panels of nearly equal size: thirteen rows ten times run faster than fourteen nine times and then two. */
static gemm_cut cut_even(int64_t lanes, int64_t most)
{
    int64_t count = divide_up(lanes, most);
    return (gemm_cut){.lanes = lanes, .count = count, .size = lanes / count, .larger = lanes % count};
}

static gemm_cut cut_full(int64_t lanes, int64_t size)
{
    return (gemm_cut){.lanes = lanes, .count = divide_up(lanes, size), .size = size};
}

/* Rows of A that lie along k are read where they are: a step takes one value of each, sixteen steps a cache line. A product to the weights has its
 * rows across, a cache line a step, and packs. */
static bool reads_a_in_place(const gemm_product *p)
{
    if (p->row_sums) /* the sums are taken from what is packed */
        return false;
    return p->a_k == 1 || (p->a_row == 1 && p->m * p->k <= SMALL);
}

/* A small B, one head's values say, is in the first caches anyway. Whole registers are read: no step may end within one. */
static bool reads_b_in_place(const gemm_kernels *kernels, const gemm_product *p)
{
    return p->b_col == 1 && p->n % kernels->lanes == 0 && p->n * p->k <= SMALL;
}

static void map_tile(const gemm_product *p, int64_t row, int64_t col, int64_t rows, int64_t cols)
{
    for (int64_t i = row; i < row + rows; i++) {
        float *c = p->c + i * p->ldc + col;
        if (p->join)
            p->join(cols, p->with + i * p->ldwith + col, c, c);
        else
            p->map(cols, p->pre ? p->pre + i * p->ldpre + col : c, c);
    }
}

/* Short runs far apart, which the tile's end needs: fetched while the tile is worked on. */
static void fetch_runs(const float *from, int64_t stride, int64_t rows, int64_t cols)
{
    enum { LINE = 16 };
    for (int64_t row = 0; row < rows; row++, from += stride) {
        for (int64_t c = 0; c < cols; c += LINE)
            __builtin_prefetch(from + c);
        __builtin_prefetch(from + cols - 1);
    }
}

static void multiply_tile(const gemm_kernels *kernels, const gemm_product *p, const block *k, int64_t i, int64_t j, const float *next, uint64_t *map_ticks)
{
    bool last = k->k0 + k->steps == p->k;
    int64_t from_row = gemm_cut_start(&k->rows, i), from_col = gemm_cut_start(&k->cols, j);
    int64_t rows = gemm_cut_start(&k->rows, i + 1) - from_row, cols = gemm_cut_start(&k->cols, j + 1) - from_col;
    int64_t row = k->row0 + from_row, col = k->col0 + from_col;
    float *c = p->c + row * p->ldc + col;
    gemm_tile t = {.k = k->steps,
                   .a = k->a_in_place ? k->a + from_row * k->a_row : k->a + i * k->a_panel,
                   .a_row = k->a_row,
                   .a_k = k->a_k,
                   .b = k->b_in_place ? k->b + from_col : k->b + j * k->b_panel,
                   .b_k = k->b_k,
                   .rows = rows,
                   .cols = cols,
                   .start = p->accumulate || k->k0 > 0 ? c : NULL,
                   .start_stride = p->ldc,
                   .to = c,
                   .to_stride = p->ldc,
                   .next = next};
    if (last && p->pre) {
        t.to = p->pre + row * p->ldpre + col;
        t.to_stride = p->ldpre;
    }
    _Alignas(64) float value[MOST_TILE];
    bool folds = last && p->folds > 0;
    if (folds) {
        t.to = value;
        t.to_stride = kernels->cols;
        for (int f = 0; f < p->folds; f++)
            fetch_runs(p->fold[f] + p->fold_at + row * p->ldc + col, p->ldc, rows, cols);
    }
    if (last && (p->bias || p->scale != 0)) {
        t.finish = true;
        t.scale = p->scale != 0 ? p->scale : 1.0f;
        t.bias = p->bias ? p->bias + col : NULL;
    }
    if (last && p->join)
        fetch_runs(p->with + row * p->ldwith + col, p->ldwith, rows, cols);
    kernels->tile(&t);
    if (folds)
        kernels->fold(&(gemm_fold){.value = value,
                                   .value_stride = kernels->cols,
                                   .sum = p->fold,
                                   .count = p->folds,
                                   .at = p->fold_at + row * p->ldc + col,
                                   .stride = p->ldc,
                                   .rows = rows,
                                   .cols = cols});
    if (last && (p->map || p->join)) {
        uint64_t start = map_ticks ? __builtin_ia32_rdtsc() : 0;
        map_tile(p, row, col, rows, cols);
        if (map_ticks)
            *map_ticks += __builtin_ia32_rdtsc() - start;
    }
}

/* Panel i of A with all panels of B. */
static void multiply_panel(gemm *g, int worker, const gemm_product *p, const block *k, int64_t i)
{
    for (int64_t j = 0; j < k->cols.count; j++) {
        bool turn = j + 1 == k->cols.count; /* the next tile begins the next panel of A; after the last any address will do */
        int64_t next_i = smaller(i + turn, k->rows.count - 1), next_j = turn ? 0 : j + 1;
        bool reads_c = p->m * p->n > SMALL && (!p->folds || k->steps < p->k);
        const float *next = reads_c ? p->c + (k->row0 + gemm_cut_start(&k->rows, next_i)) * p->ldc + k->col0 + gemm_cut_start(&k->cols, next_j) : NULL;
        multiply_tile(g->kernels, p, k, i, j, next, g->timed ? &g->map[worker].sum : NULL);
    }
}

/* Does one panel of a worker's open block; false where none is left. */
static bool help(gemm *g, int worker, open_block *open)
{
    uint64_t ticket = atomic_load_explicit(&open->ticket, memory_order_acquire);
    do
        if ((uint32_t)ticket == 0)
            return false;
    while (!atomic_compare_exchange_weak_explicit(&open->ticket, &ticket, ticket - 1, memory_order_acq_rel, memory_order_acquire));
    multiply_panel(g, worker, open->product, open->block, open->block->rows.count - (int64_t)(uint32_t)ticket);
    atomic_fetch_sub_explicit(&open->unfinished, 1, memory_order_release);
    return true;
}

/* All panels; others may help where `shared`. */
static void multiply_block(gemm *g, int worker, const gemm_product *p, const block *k, bool shared)
{
    if (!shared) {
        for (int64_t i = 0; i < k->rows.count; i++)
            multiply_panel(g, worker, p, k, i);
        return;
    }
    open_block *open = &g->open[worker];
    open->product = p;
    open->block = k;
    atomic_store_explicit(&open->unfinished, k->rows.count, memory_order_relaxed);
    uint64_t number = (atomic_load_explicit(&open->ticket, memory_order_relaxed) >> 32) + 1;
    atomic_store_explicit(&open->ticket, number << 32 | (uint64_t)k->rows.count, memory_order_release);
    while (help(g, worker, open))
        continue;
    while (atomic_load_explicit(&open->unfinished, memory_order_acquire) > 0)
        wait_a_little();
}

/* Columns from col0 on (as many as k->cols says) of the part of k at hand: packed, or where they lie. */
static void take_b(const gemm_kernels *kernels, const gemm_product *p, block *k, float *room)
{
    const float *from = p->b + k->col0 * p->b_col + k->k0 * p->b_k;
    k->b = k->b_in_place ? from : room;
    k->b_k = k->b_in_place ? p->b_k : kernels->cols;
    k->b_panel = (k->steps + (k->steps == 0)) * kernels->cols;
    if (!k->b_in_place)
        kernels->pack(&(gemm_pack){.from = from,
                                   .lane_stride = p->b_col,
                                   .k_stride = p->b_k,
                                   .k = k->steps,
                                   .cut = k->cols,
                                   .to = room,
                                   .stride = kernels->cols,
                                   .panel_stride = k->b_panel});
}

/* The rows from row0 on of the part of k at hand: packed, or where they lie; `first`: they have not been packed before. */
static void take_a(const gemm_kernels *kernels, const gemm_product *p, block *k, float *room, bool first)
{
    const float *from = p->a + k->row0 * p->a_row + k->k0 * p->a_k;
    k->a = k->a_in_place ? from : room;
    k->a_row = k->a_in_place ? p->a_row : 1;
    k->a_k = k->a_in_place ? p->a_k : kernels->a_stride;
    k->a_panel = (k->steps + (k->steps == 0)) * kernels->a_stride;
    if (k->a_in_place)
        return;
    gemm_pack pack = {.from = from,
                      .lane_stride = p->a_row,
                      .k_stride = p->a_k,
                      .k = k->steps,
                      .cut = k->rows,
                      .to = room,
                      .stride = kernels->a_stride,
                      .panel_stride = k->a_panel};
    kernels->pack(&pack);
    if (p->row_sums && first)
        kernels->sum_lanes(&pack, p->row_sums + k->row0);
}

static void run_product(gemm *g, int worker, const gemm_product *p, bool shared)
{
    const gemm_kernels *kernels = g->kernels;
    float *a = g->buffers + (size_t)worker * (g->a_floats + g->b_floats), *b = a + g->a_floats;
    block k = {.a_in_place = reads_a_in_place(p), .b_in_place = reads_b_in_place(kernels, p)};
    int64_t parts = p->k > kernels->kc ? divide_up(p->k, kernels->kc) : 1;
    for (int64_t row = 0; row < p->m; row += MOST_ROWS) {
        int64_t rows = smaller(MOST_ROWS, p->m - row), blocks = g->streams && !k.a_in_place ? divide_up(rows, NEAR_ROWS) : 1;
        for (int64_t part = 0; part < parts; part++) {
            k.k0 = p->k * part / parts;
            k.steps = p->k * (part + 1) / parts - k.k0;
            int64_t most_cols = columns_of_block(g, p->n, k.steps);
            k.col0 = 0;
            do { /* without columns too: sums of rows are wanted then as well */
                k.cols = cut_full(smaller(most_cols, p->n - k.col0), kernels->cols);
                take_b(kernels, p, &k, b);
                for (int64_t i = 0; i < blocks; i++) {
                    k.row0 = row + rows * i / blocks;
                    k.rows = cut_even(row + rows * (i + 1) / blocks - k.row0, kernels->rows);
                    if (blocks > 1 || k.col0 == 0) /* one block serves all columns */
                        take_a(kernels, p, &k, a, k.col0 == 0);
                    multiply_block(g, worker, p, &k, shared);
                }
            } while ((k.col0 += most_cols) < p->n);
        }
    }
}

void gemm_run_worker(gemm *g, int worker, const gemm_product *p)
{
    run_product(g, worker, p, false);
}

/* The cells of one product, and how far the workers are with them. */
typedef struct grid {
    gemm *g;
    const gemm_product *p;
    int64_t row_blocks, col_blocks;
    _Atomic int64_t next, unfinished; /* cells */
} grid;

static void run_cell(const grid *r, int64_t cell, int worker)
{
    const gemm_kernels *kernels = r->g->kernels;
    gemm_product p = *r->p;
    int64_t rows = divide_up(p.m, kernels->rows), cols = divide_up(p.n, kernels->cols);
    int64_t i = cell / r->col_blocks, j = cell % r->col_blocks;
    int64_t row = smaller(p.m, rows * i / r->row_blocks * kernels->rows), row_end = smaller(p.m, rows * (i + 1) / r->row_blocks * kernels->rows);
    int64_t col = smaller(p.n, cols * j / r->col_blocks * kernels->cols), col_end = smaller(p.n, cols * (j + 1) / r->col_blocks * kernels->cols);
    p.m = row_end - row;
    p.n = col_end - col;
    p.a += row * p.a_row;
    p.b += col * p.b_col;
    p.c += row * p.ldc + col;
    p.fold_at += row * p.ldc + col;
    if (p.bias)
        p.bias += col;
    if (p.pre)
        p.pre += row * p.ldpre + col;
    if (p.with)
        p.with += row * p.ldwith + col;
    if (p.row_sums)
        p.row_sums = j == 0 ? p.row_sums + row : NULL; /* once a row */
    run_product(r->g, worker, &p, true);
}

/* A worker's part: cells while there are any, then panels of the others' blocks until all cells are done. One worker, if the others come late, does all. */
static void run_cells(void *job, int64_t task, int worker)
{
    (void)task;
    grid *r = job;
    int64_t cells = r->row_blocks * r->col_blocks, workers = threads_count(r->g->pool);
    for (int64_t cell; (cell = atomic_fetch_add(&r->next, 1)) < cells;) {
        run_cell(r, cell, worker);
        atomic_fetch_sub_explicit(&r->unfinished, 1, memory_order_release);
    }
    while (atomic_load_explicit(&r->unfinished, memory_order_acquire) > 0) {
        bool helped = false;
        for (int64_t w = 0; w < workers; w++)
            helped = help(r->g, worker, &r->g->open[w]) || helped;
        if (!helped)
            wait_a_little();
    }
}

/* A cell is packed for itself, so one a thread packs least; whoever is done first helps the others. Cells too small for that are left together. */
enum { SMALLEST_CELL = 1 << 18 };

void gemm_run(gemm *g, const gemm_product *p)
{
    int workers = threads_count(g->pool);
    double work = (double)p->m * (double)p->n * (double)p->k;
    int64_t wanted = work / SMALLEST_CELL < (double)workers ? (int64_t)(work / SMALLEST_CELL) : workers;
    if (workers == 1 || wanted <= 1 || p->m == 0 || p->n == 0) {
        threads_set_rounding();
        gemm_run_worker(g, 0, p);
        return;
    }
    /* The cut that packs least: each cell packs its columns of B, and its rows of A where those are not read in place. */
    double rows_cost = reads_a_in_place(p) ? 0 : (double)p->m, cols_cost = (double)p->n;
    int64_t most_rows = divide_up(p->m, g->kernels->rows), most_cols = divide_up(p->n, g->kernels->cols);
    int64_t best_rows = smaller(wanted, most_rows), best_cols = 1;
    for (int64_t i = 1; i <= smaller(wanted, most_rows); i++) {
        int64_t j = smaller(divide_up(wanted, i), most_cols);
        bool enough = i * j >= wanted, best_enough = best_rows * best_cols >= wanted;
        if ((enough && !best_enough) || (enough == best_enough && rows_cost * (double)j + cols_cost * (double)i <
                                                                     rows_cost * (double)best_cols + cols_cost * (double)best_rows)) {
            best_rows = i;
            best_cols = j;
        }
    }
    grid r = {.g = g, .p = p, .row_blocks = best_rows, .col_blocks = best_cols, .unfinished = best_rows * best_cols};
    threads_run(g->pool, best_rows * best_cols, run_cells, &r);
}
