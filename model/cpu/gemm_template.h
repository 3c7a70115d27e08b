/* Packing and tile for one instruction set. The including file defines, before this:
 *
 *     REG, LANES          a register of floats and its width
 *     ROWS                rows of a full tile; the tile is ROWS x 2 registers
 *     A_STRIDE            room for a step of k in a panel of A: ROWS rounded up to whole registers
 *     KC                  steps of k in a packed panel
 *     reg_zero() reg_set(x) reg_load(p) reg_store(p, v) reg_fma(a, b, c) reg_mul(a, b) reg_add(a, b)
 *     reg_load_part(p, n) reg_store_part(p, n, v)     the first n lanes (1 .. LANES); loads give +0 in the others
 *     reg_transpose(v)    REG v[LANES], in place
 *     reg_keep(v)         makes the compiler hold a broadcast value in a register (it would load it once for every use)
 *     keep_address(p)     makes the compiler compute with this pointer or stride as it is
 *     KERNELS             name of the table
 *
 * All arithmetic is reg_fma in the loop over k and one rounded operation each at the end: the same in every set.
 */
#include "model/cpu/gemm_kernel.h"

/* Steps of k between two looks at the loop's end. They lie at fixed distances from pointers that move on once for all of them: a processor whose
 * other hardware thread is busy takes in half as many instructions, and then each that is no multiplication costs. */
enum { STEPS = 4, COLS = 2 * LANES, CHUNK = 16 };
enum { B_MIDDLE = STEPS / 2 * COLS }; /* from where all of B's are within a byte's reach: a longer distance makes a longer instruction */

/* One step of k of `from` lies in a row (lane_stride 1): copied CHUNK steps at a time, panel after panel, so that both sides are read
 * and written straight through. */
static void pack_rows(const gemm_pack *p)
{
    for (int64_t k0 = 0; k0 < p->k; k0 += CHUNK) {
        int64_t steps = p->k - k0 < CHUNK ? p->k - k0 : CHUNK;
        for (int64_t panel = 0; panel < p->cut.count; panel++) {
            int64_t first = gemm_cut_start(&p->cut, panel), end = gemm_cut_start(&p->cut, panel + 1);
            for (int64_t lane = first; lane < end; lane += LANES) {
                const float *from = p->from + k0 * p->k_stride + lane;
                float *to = p->to + panel * p->panel_stride + k0 * p->stride + (lane - first);
                int64_t there = p->cut.lanes - lane; /* reading on into the next panel's lanes is harmless */
                for (int64_t k = 0; k < steps; k++) {
                    __builtin_prefetch(from + (k + CHUNK) * p->k_stride); /* short runs in many rows: no hardware foresees them */
                    reg_store(to + k * p->stride, there >= LANES ? reg_load(from + k * p->k_stride) : reg_load_part(from + k * p->k_stride, there));
                }
            }
        }
    }
}

/* A lane of `from` lies in a row (k_stride 1): blocks of LANES x LANES are transposed in registers. */
static void pack_lanes(const gemm_pack *p)
{
    for (int64_t panel = 0; panel < p->cut.count; panel++) {
        int64_t first = gemm_cut_start(&p->cut, panel), end = gemm_cut_start(&p->cut, panel + 1);
        for (int64_t lane = first; lane < end; lane += LANES) {
            int64_t lanes = end - lane < LANES ? end - lane : LANES;
            const float *from = p->from + lane * p->lane_stride;
            float *to = p->to + panel * p->panel_stride + (lane - first);
            for (int64_t k = 0; k < p->k; k += LANES) {
                REG v[LANES];
                int64_t steps = p->k - k < LANES ? p->k - k : LANES;
                if (lanes == LANES && steps == LANES) {
                    for (int i = 0; i < LANES; i++) {
                        /* The block of lanes that follows, into L2: rows a power of two apart would push each other out of L1. */
                        __builtin_prefetch(from + (i + LANES) * p->lane_stride + k, 0, 2);
                        v[i] = reg_load(from + i * p->lane_stride + k);
                    }
                } else {
                    for (int64_t i = 0; i < LANES; i++)
                        v[i] = i >= lanes ? reg_zero() : reg_load_part(from + i * p->lane_stride + k, steps);
                }
                reg_transpose(v);
                if (steps == LANES) {
                    for (int i = 0; i < LANES; i++)
                        reg_store(to + (k + i) * p->stride, v[i]);
                } else {
                    for (int64_t i = 0; i < steps; i++)
                        reg_store(to + (k + i) * p->stride, v[i]);
                }
            }
        }
    }
}

static void pack_strided(const gemm_pack *p)
{
    for (int64_t panel = 0; panel < p->cut.count; panel++) {
        int64_t first = gemm_cut_start(&p->cut, panel), lanes = gemm_cut_start(&p->cut, panel + 1) - first;
        int64_t padded = (lanes + LANES - 1) / LANES * LANES;
        const float *from = p->from + first * p->lane_stride;
        float *to = p->to + panel * p->panel_stride;
        for (int64_t k = 0; k < p->k; k++)
            for (int64_t lane = 0; lane < padded; lane++)
                to[k * p->stride + lane] = lane < lanes ? from[lane * p->lane_stride + k * p->k_stride] : 0.0f;
    }
}

/* Panels side by side, so that one chain's additions needn't wait for each other's. */
static void sum_lanes(const gemm_pack *p, float *sums)
{
    enum { TOGETHER = 4 };
    for (int64_t panel = 0; panel < p->cut.count; panel += TOGETHER) {
        for (int64_t from = 0; from < p->stride; from += LANES) {
            REG sum[TOGETHER];
            const float *values[TOGETHER];
            int64_t lanes[TOGETHER];
            for (int64_t i = 0; i < TOGETHER; i++) {
                int64_t at = panel + i < p->cut.count ? panel + i : p->cut.count - 1, first = gemm_cut_start(&p->cut, at) + from;
                int64_t left = gemm_cut_start(&p->cut, at + 1) - first;
                lanes[i] = panel + i < p->cut.count ? (left < LANES ? left : LANES) : 0;
                sum[i] = lanes[i] > 0 ? reg_load_part(sums + first, lanes[i]) : reg_zero();
                values[i] = p->to + at * p->panel_stride + from;
            }
            for (int64_t k = 0; k < p->k; k++)
                for (int64_t i = 0; i < TOGETHER; i++)
                    sum[i] = reg_add(sum[i], reg_load(values[i] + k * p->stride));
            for (int64_t i = 0; i < TOGETHER; i++)
                if (lanes[i] > 0)
                    reg_store_part(sums + gemm_cut_start(&p->cut, panel + i) + from, lanes[i], sum[i]);
        }
    }
}

static void pack(const gemm_pack *p)
{
    if (p->lane_stride == 1)
        pack_rows(p);
    else if (p->k_stride == 1)
        pack_lanes(p);
    else
        pack_strided(p);
}

static inline __attribute__((always_inline)) void tile_step(const float *a, const float *b, REG acc[ROWS][2], const int rows, const int vecs)
{
    REG right[2];
    for (int j = 0; j < vecs; j++)
        right[j] = reg_load(b + j * LANES);
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        REG left = reg_set(a[i]);
        reg_keep(left);
        for (int j = 0; j < vecs; j++)
            acc[i][j] = reg_fma(left, right[j], acc[i][j]);
    }
}

/* The same with the rows' values `apart` bytes from one another; `step` floats further on in each of them. */
static inline __attribute__((always_inline)) void tile_step_apart(const char *const group[], int64_t apart, const int64_t step, const float *b,
                                                                  REG acc[ROWS][2], const int rows, const int vecs)
{
    REG right[2];
    for (int j = 0; j < vecs; j++)
        right[j] = reg_load(b + j * LANES);
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        REG left = reg_set(*(const float *)(group[i / 3] + (i % 3) * apart + step * (int64_t)sizeof(float)));
        reg_keep(left);
        for (int j = 0; j < vecs; j++)
            acc[i][j] = reg_fma(left, right[j], acc[i][j]);
    }
}

/* rows x vecs accumulators stay in registers for all of t->k; rows, vecs, apart and fixed (the operands' steps lie as in packed panels) are constants
 * where this is inlined. */
static inline __attribute__((always_inline)) void tile_of(const gemm_tile *t, const int rows, const int vecs, const bool apart, const bool fixed)
{
    REG acc[ROWS][2];
    const int64_t part = t->cols - (vecs - 1) * LANES; /* lanes of the last vector */
    const float *a = t->a, *b = t->b;

    if (t->start) { /* outside of the loops: the sums must not go through memory */
        for (int i = 0; i < rows; i++) {
            for (int j = 0; j < vecs; j++) {
                const float *start = t->start + i * t->start_stride + j * LANES;
                acc[i][j] = j == vecs - 1 ? reg_load_part(start, part) : reg_load(start);
            }
        }
    } else {
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < vecs; j++)
                acc[i][j] = reg_zero();
    }
    for (int i = 0; t->next && i < rows; i++) {
        for (int j = 0; j < vecs; j++)
            __builtin_prefetch(t->next + i * t->to_stride + j * LANES);
        __builtin_prefetch(t->next + i * t->to_stride + COLS - 1);
    }
    const int64_t a_k = fixed && !apart ? A_STRIDE : t->a_k, b_k = fixed ? COLS : t->b_k, middle = fixed ? B_MIDDLE : 0;
    int64_t left = t->k;
    b += middle;
    if (apart) { /* steps side by side */
        const char *group[(ROWS + 2) / 3]; /* of rows 0, 3, 6, ...: the others are one and two strides further */
        int64_t row = t->a_row * (int64_t)sizeof(float);
        for (int g = 0; g < (rows + 2) / 3; g++)
            group[g] = (const char *)(a + 3 * g * t->a_row);
        for (; left >= STEPS; left -= STEPS, b += STEPS * b_k) {
            keep_address(row); /* else the compiler keeps an address for every row, more than there are registers */
            keep_address(b);
#pragma GCC unroll 4
            for (int64_t step = 0; step < STEPS; step++)
                tile_step_apart(group, row, step, b + step * b_k - middle, acc, rows, vecs);
            for (int g = 0; g < (rows + 2) / 3; g++)
                group[g] += STEPS * sizeof(float);
        }
        for (; left > 0; left--, b += b_k) {
            keep_address(row);
            tile_step_apart(group, row, 0, b - middle, acc, rows, vecs);
            for (int g = 0; g < (rows + 2) / 3; g++)
                group[g] += sizeof(float);
        }
    } else {
        for (; left >= STEPS; left -= STEPS, a += STEPS * a_k, b += STEPS * b_k) {
            keep_address(b);
#pragma GCC unroll 4
            for (int64_t step = 0; step < STEPS; step++)
                tile_step(a + step * a_k, b + step * b_k - middle, acc, rows, vecs);
        }
        for (; left > 0; left--, a += a_k, b += b_k)
            tile_step(a, b - middle, acc, rows, vecs);
    }
    if (t->finish) {
        REG scale = reg_set(t->scale);
        for (int j = 0; j < vecs; j++) {
            for (int i = 0; i < rows; i++)
                acc[i][j] = reg_mul(acc[i][j], scale);
            if (t->bias) { /* adding zeros instead would turn -0 into +0 */
                const float *bias = t->bias + j * LANES;
                REG add = j == vecs - 1 ? reg_load_part(bias, part) : reg_load(bias);
                for (int i = 0; i < rows; i++)
                    acc[i][j] = reg_add(acc[i][j], add);
            }
        }
    }
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < vecs; j++) {
            float *to = t->to + i * t->to_stride + j * LANES;
            if (j == vecs - 1)
                reg_store_part(to, part, acc[i][j]);
            else
                reg_store(to, acc[i][j]);
        }
    }
}

/* Register numbers can't be computed, so every number of rows has its own code; and one register's width where the columns fit in it. */
#define TILE_FUNCTION(rows, vecs, apart, fixed)                              \
    static void tile_##rows##_##vecs##_##apart##_##fixed(const gemm_tile *t) \
    {                                                                        \
        tile_of(t, rows, vecs, apart, fixed);                                \
    }
#define TILE_WIDTH(rows, vecs) \
    TILE_FUNCTION(rows, vecs, 0, 0) TILE_FUNCTION(rows, vecs, 0, 1) TILE_FUNCTION(rows, vecs, 1, 0) TILE_FUNCTION(rows, vecs, 1, 1)
#define TILE(rows) TILE_WIDTH(rows, 1) TILE_WIDTH(rows, 2)
#define WIDTH_ENTRY(name)          \
    {                              \
        {name##_0_0, name##_0_1},  \
        {                          \
            name##_1_0, name##_1_1 \
        }                          \
    }
#define TILE_ENTRY(rows) [rows - 1] = {WIDTH_ENTRY(tile_##rows##_1), WIDTH_ENTRY(tile_##rows##_2)},
#if ROWS == 4
#define FOR_ROWS(x) x(1) x(2) x(3) x(4)
#elif ROWS == 6
#define FOR_ROWS(x) x(1) x(2) x(3) x(4) x(5) x(6)
#elif ROWS == 14
#define FOR_ROWS(x) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9) x(10) x(11) x(12) x(13) x(14)
#endif

FOR_ROWS(TILE)

static void tile(const gemm_tile *t)
{
    static void (*const tiles[ROWS][2][2][2])(const gemm_tile *) = {FOR_ROWS(TILE_ENTRY)};
    bool apart = t->a_row > 1, fixed = t->b_k == COLS && (apart || t->a_k == A_STRIDE);
    tiles[t->rows - 1][t->cols > LANES][apart][fixed](t);
}

static void fold(const gemm_fold *f)
{
    for (int64_t row = 0; row < f->rows; row++) {
        for (int64_t col = 0; col < f->cols; col += LANES) {
            int64_t there = f->cols - col < LANES ? f->cols - col : LANES, at = f->at + row * f->stride + col;
            REG v = reg_load_part(f->value + row * f->value_stride + col, there);
            for (int i = 0; i < f->count; i++)
                v = reg_add(reg_load_part(f->sum[i] + at, there), v);
            reg_store_part(f->sum[f->count - 1] + at, there, v);
        }
    }
}

const gemm_kernels KERNELS = {
    .rows = ROWS, .cols = COLS, .lanes = LANES, .a_stride = A_STRIDE, .kc = KC, .pack = pack, .sum_lanes = sum_lanes, .tile = tile, .fold = fold};
