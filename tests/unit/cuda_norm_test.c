/* Embedding, residual and layer norm on the host, forward and back, against float64; dropout's masks against the CPU back end, bit for bit. */
#include "model/cpu/cpu.h"
#include "unit/cuda_case.h"

typedef struct norm_run {
    cuda_case *c;
    int embeds;
    double *x, *y, *word, *position, *table, *gamma, *beta, *dz; /* inputs */
    double *sum, *z, *dx, *dy, *dgamma, *dbeta;                  /* wanted */
    cuda_norm_args args;
} norm_run;

static double kept_at(const norm_run *r, int64_t t, int64_t i)
{
    const cuda_case *c = r->c;
    return case_kept(c, r->embeds ? SITE_EMBEDDING : SITE_ATTENTION_OUT, c->rows.row[t], (uint32_t)(c->rows.place[t] * c->H + i));
}

/* One token: the formulas of the textbook, from the sum as it is stored. */
static void reference_token(norm_run *r, int64_t t)
{
    cuda_case *c = r->c;
    const int64_t H = c->H;
    double mean = 0, square = 0, sum1 = 0, sum2 = 0, *sum = r->sum + t * H;
    for (int64_t i = 0; i < H; i++) {
        /* in float32 as the kernel adds, or a sum halfway between two values of the type could be stored as the other one */
        float s = r->embeds ? (float)r->word[c->rows.id[t] * H + i] + (float)r->table[i] + (float)r->position[c->rows.place[t] * H + i]
                            : (float)r->x[t * H + i] + (float)kept_at(r, t, i) * (float)r->y[t * H + i];
        sum[i] = c->type == CUDA_FLOAT32 ? (double)s : case_value(c->type, case_bits(c->type, (double)s));
        mean += sum[i] / (double)H;
    }
    for (int64_t i = 0; i < H; i++)
        square += (sum[i] - mean) * (sum[i] - mean) / (double)H;
    double rstd = 1 / sqrt(square + (double)r->args.epsilon);
    for (int64_t i = 0; i < H; i++) {
        double hat = (sum[i] - mean) * rstd, after = r->embeds ? kept_at(r, t, i) : 1, g = r->dz[t * H + i] * after;
        r->z[t * H + i] = (hat * r->gamma[i] + r->beta[i]) * after;
        r->dgamma[i] += g * hat;
        r->dbeta[i] += g;
        sum1 += g * r->gamma[i] / (double)H;
        sum2 += g * r->gamma[i] * hat / (double)H;
    }
    for (int64_t i = 0; i < H; i++) {
        double hat = (sum[i] - mean) * rstd, g = r->dz[t * H + i] * (r->embeds ? kept_at(r, t, i) : 1);
        r->dx[t * H + i] = (g * r->gamma[i] - sum1 - hat * sum2) * rstd;
        r->dy[t * H + i] = r->dx[t * H + i] * (r->embeds ? 0 : kept_at(r, t, i));
    }
}

static void begin_run(norm_run *r, cuda_case *c, int embeds)
{
    const int64_t n = c->T * c->H, H = c->H, L = c->shape.longest;
    *r = (norm_run){.c = c, .embeds = embeds};
    r->x = case_normal(c, n, 1), r->y = case_normal(c, n, 1), r->dz = case_normal(c, n, 1);
    r->word = case_normal_float(c, CASE_VOCABULARY * H, 1), r->position = case_normal_float(c, L * H, 1), r->table = case_normal_float(c, H, 1);
    r->gamma = case_normal_float(c, H, 1), r->beta = case_normal_float(c, H, 1);
    r->sum = case_doubles(c, n), r->z = case_doubles(c, n), r->dx = case_doubles(c, n), r->dy = case_doubles(c, n);
    r->dgamma = case_normal_float(c, H, 1), r->dbeta = case_normal_float(c, H, 1); /* added to what is there */
    r->args = (cuda_norm_args){.type = c->type,
                               .rows = &c->rows,
                               .hidden = H,
                               .drop = &c->drop[embeds ? SITE_EMBEDDING : SITE_ATTENTION_OUT],
                               .epsilon = 1e-5f,
                               .gamma = case_put_float(c, r->gamma, H),
                               .beta = case_put_float(c, r->beta, H),
                               .word = case_put_float(c, r->word, CASE_VOCABULARY * H),
                               .position = case_put_float(c, r->position, L * H),
                               .table = case_put_float(c, r->table, H),
                               .x = case_put(c, r->x, n),
                               .y = case_put(c, r->y, n),
                               .sum = case_room(c, n),
                               .z = case_room(c, n),
                               .mean = case_room_float(c, c->T),
                               .rstd = case_room_float(c, c->T),
                               .dz = case_put(c, r->dz, n),
                               .dx = case_room(c, n),
                               .dy = embeds ? NULL : case_room(c, n),
                               .dgamma = case_room_float(c, H),
                               .dbeta = case_room_float(c, H),
                               .scratch = c->scratch};
}

static void backward_once(norm_run *r, const double *dgamma, const double *dbeta)
{
    for (int64_t i = 0; i < r->c->H; i++) {
        r->args.dgamma[i] = (float)dgamma[i];
        r->args.dbeta[i] = (float)dbeta[i];
    }
    (r->embeds ? cuda_embed_norm_backward : cuda_residual_norm_backward)(NULL, &r->args);
}

static void check_case(cuda_case *c, int embeds)
{
    norm_run r;
    const int64_t n = c->T * c->H, H = c->H;
    const size_t bytes = (size_t)n * cuda_type_bytes(c->type);
    const double unit = case_half_unit(c->type), bound = c->type == CUDA_FLOAT32 ? 2e-6 : 1.01 * unit + 3e-6,
                 bound_sums = c->type == CUDA_FLOAT32 ? 4e-6 : 1e-5;
    begin_run(&r, c, embeds);
    const double *dgamma = case_keep(c, r.dgamma, (size_t)H * 8), *dbeta = case_keep(c, r.dbeta, (size_t)H * 8);
    for (int64_t t = 0; t < c->T; t++)
        reference_token(&r, t);
    CASE_TWICE(c, r.args.z, bytes, (embeds ? cuda_embed_forward : cuda_residual_norm_forward)(NULL, &r.args));
    case_close("sum", case_get(c, r.args.sum, n), r.sum, n, 1e-12);
    case_close("z", case_get(c, r.args.z, n), r.z, n, bound + 1e-6);
    CASE_TWICE(c, r.args.dx, bytes, backward_once(&r, dgamma, dbeta));
    CASE_TWICE(c, r.args.dgamma, (size_t)H * 4, backward_once(&r, dgamma, dbeta));
    case_close("dx", case_get(c, r.args.dx, n), r.dx, n, bound + 1e-6);
    if (!embeds)
        case_close("dy", case_get(c, r.args.dy, n), r.dy, n, bound + 1e-6);
    case_close("dgamma", case_get_float(c, r.args.dgamma, H), r.dgamma, H, bound_sums);
    case_close("dbeta", case_get_float(c, r.args.dbeta, H), r.dbeta, H, bound_sums);
    if (!embeds) { /* in place, as the network does */
        void *dx = r.args.dx;
        r.args.dx = (void *)r.args.dz;
        backward_once(&r, dgamma, dbeta);
        case_no_fault("in place");
        ck_assert(memcmp(dx, r.args.dx, bytes) == 0);
    }
}

static void check_type(cuda_type type)
{
    cuda_case c;
    for (int round = 0; round < 4; round++) {
        cuda_shape s = case_shape(25, round % 2);
        s.heads = s.heads == 1 && s.head_size == 8 ? 2 : s.heads;
        cuda_case_begin(&c, type, &s, round < 2 ? 0 : 0.25);
        check_case(&c, round % 2);
        cuda_case_end(&c);
    }
    static const int64_t hidden[][2] = {{12, 64}, {16, 64}, {13, 40}}; /* base, large, a last part that is not full */
    for (int i = 0; i < 3; i++) {
        cuda_case_begin(&c, type, &(cuda_shape){.rows = 3, .longest = 40, .heads = hidden[i][0], .head_size = hidden[i][1]}, 0.1);
        check_case(&c, i % 2);
        cuda_case_end(&c);
    }
}

START_TEST(float32)
{
    check_type(CUDA_FLOAT32);
}
END_TEST

START_TEST(bfloat16)
{
    check_type(CUDA_BFLOAT16);
}
END_TEST

START_TEST(float16)
{
    check_type(CUDA_FLOAT16);
}
END_TEST

/* Word and position rows: chains in token order, so the float32 sums are the CPU's. */
START_TEST(rows_of_the_tables)
{
    for (int type = 0; type < CUDA_TYPES; type++) {
        cuda_case c;
        cuda_case_begin(&c, (cuda_type)type, &(cuda_shape){.rows = 4, .longest = 30, .heads = 5, .head_size = 40}, 0);
        const int64_t n = c.T * c.H, most = CASE_VOCABULARY * c.H;
        double *dsum = case_normal(&c, n, 1), *start = case_normal_float(&c, most, 1);
        void *in = case_put(&c, dsum, n);
        int32_t *slot = calloc((size_t)c.T, sizeof *slot);
        float *want = calloc((size_t)most, sizeof *want), *out = case_room_float(&c, most), *begin = case_put_float(&c, start, most);
        ck_assert(slot && want);
        for (int64_t i = 0; i < most; i++)
            want[i] = (float)start[i];
        for (int64_t t = 0; t < c.T; t++) {
            slot[t] = c.rows.id[t] % 3 == 0 ? -1 : c.rows.id[t];
            for (int64_t i = 0; i < c.H && slot[t] >= 0; i++)
                want[slot[t] * c.H + i] += (float)dsum[t * c.H + i];
        }
        cuda_groups g = case_groups(&c, slot, CASE_VOCABULARY);
        CASE_TWICE(&c, out, (size_t)most * 4, memcpy(out, begin, (size_t)most * 4); cuda_embed_rows_backward(NULL, c.type, &g, c.H, in, out));
        ck_assert(memcmp(out, want, (size_t)most * 4) == 0);
        free(slot);
        free(want);
        cuda_case_end(&c);
    }
}
END_TEST

/* x = 0 and y = 1: the sum is the decision times the scale. */
START_TEST(keeps_what_the_cpu_keeps)
{
    cuda_case c;
    norm_run r;
    backend *be;
    cuda_case_begin(&c, CUDA_FLOAT32, &(cuda_shape){.rows = 4, .longest = 50, .heads = 3, .head_size = 24}, 0.3);
    begin_run(&r, &c, 0);
    const int64_t n = c.T * c.H;
    float *x = (float *)r.args.x, *y = (float *)r.args.y, *sum = case_room_float(&c, n), *z = case_room_float(&c, n);
    float *mean = case_room_float(&c, c.T), *rstd = case_room_float(&c, c.T);
    for (int64_t i = 0; i < n; i++) {
        x[i] = 0;
        y[i] = 1;
    }
    batch b = case_batch(&c);
    be = case_open_cpu(&c);
    be->ops->residual_norm_forward(be, &b, c.H, x, y, &c.drop[SITE_ATTENTION_OUT], r.args.gamma, r.args.beta, 1e-5f, sum, mean, rstd, z);
    cuda_residual_norm_forward(NULL, &r.args);
    case_no_fault("forward");
    ck_assert(memcmp(sum, r.args.sum, (size_t)n * 4) == 0);
    be->ops->close(be);
    cuda_case_end(&c);
}
END_TEST

int main(void)
{
    return support_run("cuda norm", (const TTest *const[]){float32, bfloat16, float16, rows_of_the_tables, keeps_what_the_cpu_keeps, NULL});
}
