/* The own attention kernels on the host, forward and back, against float64; and its dropout against the CPU back end, decision by decision. */
#include "model/cpu/cpu.h"
#include "unit/cuda_case.h"

/* q, k, v in one joint matrix of 3 H columns, or in three of H; everything the kernels write. */
typedef struct attention_run {
    cuda_case *c;
    int64_t stride;
    double *q, *k, *v, *dout;                 /* T x H */
    double *out, *dq, *dk, *dv;               /* wanted */
    double *out_off, *dq_off, *dk_off, *dv_off; /* how far off each may be */
    void *joint, *dout_in, *out_got, *djoint; /* launch memory */
    float *row_max, *row_sum;
    cuda_attention_args args;
} attention_run;

static void *joint_matrix(cuda_case *c, const double *q, const double *k, const double *v)
{
    double *all = case_doubles(c, c->T * 3 * c->H);
    for (int64_t t = 0; t < c->T; t++)
        for (int64_t i = 0; i < c->H; i++) {
            all[t * 3 * c->H + i] = q[t * c->H + i];
            all[t * 3 * c->H + c->H + i] = k[t * c->H + i];
            all[t * 3 * c->H + 2 * c->H + i] = v[t * c->H + i];
        }
    return case_put(c, all, c->T * 3 * c->H);
}

static double *column_third(cuda_case *c, const void *joint, int which)
{
    double *all = case_get(c, joint, c->T * 3 * c->H), *one = case_doubles(c, c->T * c->H);
    for (int64_t t = 0; t < c->T; t++)
        memcpy(one + t * c->H, all + t * 3 * c->H + which * c->H, (size_t)c->H * sizeof *one);
    return one;
}

/* What one query has in float64, and what rounding may do to it. */
typedef struct query_work {
    double p[512], kept[512], dp[512], dp_size[512] /* the sum of its terms' sizes */, inner;
    double p_off; /* of a probability, relative: float32 up to there */
} query_work;

static const double FLOAT = 0x1p-24; /* half a unit of float32 */

/* Half of the least number of the type: what is lost below its range. */
static double lost_below(cuda_type type)
{
    return type == CUDA_FLOAT16 ? 0x1p-25 : 0;
}

/* How far the results may be off, element by element, in the worst case. What is rounded to the type: P before it meets v or dout, the stored
 * output, from which delta is made, the scores' gradients before they meet q or k, and each result. All else is float32: one half unit a term of a
 * sum. */
static void bound_query(attention_run *r, const query_work *w, int64_t row, int64_t head, int64_t query)
{
    cuda_case *c = r->c;
    const int64_t H = c->H, D = c->D, first = c->rows.offset[row], keys = c->rows.keys[row], at = (first + query) * H + head * D;
    const double u = case_half_unit(c->type), lost = lost_below(c->type), scale = 1 / sqrt((double)D);
    double delta_off = 0;
    for (int64_t d = 0; d < D; d++) {
        double off = 0;
        for (int64_t k = 0; k < keys; k++)
            off += (w->p[k] * (u + w->p_off + (double)keys * FLOAT) + lost) * w->kept[k] * fabs(r->v[(first + k) * H + head * D + d]);
        r->out_off[at + d] = off + u * (fabs(r->out[at + d]) + off) + lost;
        delta_off += fabs(r->dout[at + d]) * (r->out_off[at + d] + (double)(D + 2) * FLOAT * fabs(r->out[at + d]));
    }
    for (int64_t k = 0; k < keys; k++) {
        const int64_t key = (first + k) * H + head * D;
        const double ds = fabs(w->p[k] * (w->dp[k] * w->kept[k] - w->inner) * scale);
        const double terms = (double)(D + 2) * w->dp_size[k] + 4 * fabs(w->dp[k]);
        const double inside = delta_off + FLOAT * (w->kept[k] * terms + 4 * fabs(w->inner));
        const double ds_off = w->p[k] * scale * inside * (1 + u) + ds * (u + w->p_off + 512 * FLOAT) + lost;
        for (int64_t d = 0; d < D; d++) {
            r->dq_off[at + d] += ds_off * fabs(r->k[key + d]);
            r->dk_off[key + d] += ds_off * fabs(r->q[at + d]);
            r->dv_off[key + d] += (w->p[k] * (u + w->p_off + 512 * FLOAT) + lost) * w->kept[k] * fabs(r->dout[at + d]);
        }
    }
}

/* P and dP of one query, and what follows from them. */
static void reference_query(attention_run *r, int64_t row, int64_t head, int64_t query)
{
    cuda_case *c = r->c;
    const int64_t H = c->H, D = c->D, first = c->rows.offset[row], keys = c->rows.keys[row], at = (first + query) * H + head * D;
    query_work w = {.inner = 0};
    double *p = w.p, *kept = w.kept, *dp = w.dp, greatest = -INFINITY, least = INFINITY, size = 0, sum = 0, inner = 0;
    for (int64_t k = 0; k < keys; k++) {
        double terms = 0;
        for (int64_t d = 0; d < D; d++) {
            const double term = r->q[at + d] * r->k[(first + k) * H + head * D + d] / sqrt((double)D);
            p[k] += term;
            terms += fabs(term);
        }
        greatest = fmax(greatest, p[k]);
        least = fmin(least, p[k]);
        size = fmax(size, terms);
    }
    w.p_off = (4 * (double)(D + 4) * size + 4 * (fabs(greatest) + greatest - least) + (double)keys + 32) * FLOAT;
    for (int64_t k = 0; k < keys; k++)
        sum += p[k] = exp(p[k] - greatest);
    for (int64_t k = 0; k < keys; k++) {
        const int64_t key = (first + k) * H + head * D;
        p[k] /= sum;
        kept[k] = case_kept(c, SITE_ATTENTION, row, (uint32_t)(head << 18 | query << 9 | k));
        dp[k] = 0;
        for (int64_t d = 0; d < D; d++) {
            r->out[at + d] += p[k] * kept[k] * r->v[key + d];
            dp[k] += r->dout[at + d] * r->v[key + d];
            w.dp_size[k] += fabs(r->dout[at + d] * r->v[key + d]);
            r->dv[key + d] += p[k] * kept[k] * r->dout[at + d];
        }
        inner += p[k] * kept[k] * dp[k];
    }
    for (int64_t k = 0; k < keys; k++) {
        const int64_t key = (first + k) * H + head * D;
        double ds = p[k] * (dp[k] * kept[k] - inner) / sqrt((double)D);
        for (int64_t d = 0; d < D; d++) {
            r->dq[at + d] += ds * r->k[key + d];
            r->dk[key + d] += ds * r->q[at + d];
        }
    }
    w.inner = inner;
    bound_query(r, &w, row, head, query);
}

static void reference(attention_run *r)
{
    cuda_case *c = r->c;
    for (int64_t row = 0; row < c->B; row++)
        for (int64_t head = 0; head < c->N; head++)
            for (int64_t query = 0; query < c->rows.offset[row + 1] - c->rows.offset[row]; query++)
                reference_query(r, row, head, query);
    const double u = case_half_unit(c->type), lost = lost_below(c->type); /* the stored results */
    for (int64_t i = 0; i < c->T * c->H; i++) {
        r->dq_off[i] += u * (fabs(r->dq[i]) + r->dq_off[i]) + lost;
        r->dk_off[i] += u * (fabs(r->dk[i]) + r->dk_off[i]) + lost;
        r->dv_off[i] += u * (fabs(r->dv[i]) + r->dv_off[i]) + lost;
    }
}

static void begin_run(attention_run *r, cuda_case *c, double spread)
{
    const int64_t n = c->T * c->H;
    const size_t size = cuda_type_bytes(c->type);
    *r = (attention_run){.c = c, .stride = 3 * c->H};
    r->q = case_normal(c, n, spread), r->k = case_normal(c, n, spread), r->v = case_normal(c, n, 1), r->dout = case_normal(c, n, 1);
    r->out = case_doubles(c, n), r->dq = case_doubles(c, n), r->dk = case_doubles(c, n), r->dv = case_doubles(c, n);
    r->out_off = case_doubles(c, n), r->dq_off = case_doubles(c, n), r->dk_off = case_doubles(c, n), r->dv_off = case_doubles(c, n);
    r->joint = joint_matrix(c, r->q, r->k, r->v);
    r->dout_in = case_put(c, r->dout, n);
    r->out_got = case_room(c, n);
    r->djoint = case_room(c, 3 * n);
    r->row_max = case_room_float(c, c->T * c->N);
    r->row_sum = case_room_float(c, c->T * c->N);
    char *joint = r->joint, *djoint = r->djoint;
    r->args = (cuda_attention_args){.type = c->type,
                                    .rows = &c->rows,
                                    .heads = c->N,
                                    .head_size = c->D,
                                    .drop = &c->drop[SITE_ATTENTION],
                                    .stride = r->stride,
                                    .q = joint,
                                    .k = joint + (size_t)c->H * size,
                                    .v = joint + 2 * (size_t)c->H * size,
                                    .out = r->out_got,
                                    .row_max = r->row_max,
                                    .row_sum = r->row_sum,
                                    .dout = r->dout_in,
                                    .dq = djoint,
                                    .dk = djoint + (size_t)c->H * size,
                                    .dv = djoint + 2 * (size_t)c->H * size,
                                    .scratch = c->scratch};
}

/* Within the worst case, and in float32, whose worst case of long sums is far off, within what was always seen. */
static void check_result(cuda_case *c, const char *name, const double *got, const double *want, const double *off, double most, double least)
{
    case_within(name, got, want, off, c->T * c->H);
    if (c->type == CUDA_FLOAT32)
        case_close_beside(name, got, want, c->T * c->H, most, least);
}

static void check_case(cuda_case *c, double spread)
{
    attention_run r;
    const size_t bytes = (size_t)(c->T * c->H) * cuda_type_bytes(c->type);
    begin_run(&r, c, spread);
    reference(&r);
    CASE_TWICE(c, r.out_got, bytes, cuda_attention_forward(NULL, &r.args));
    check_result(c, "attention", case_get(c, r.out_got, c->T * c->H), r.out, r.out_off, 4e-6, 1e-30);
    cuda_attention_args silent = r.args; /* inference keeps no statistics */
    silent.out = case_room(c, c->T * c->H);
    silent.row_max = silent.row_sum = NULL;
    cuda_attention_forward(NULL, &silent);
    case_no_fault("inference");
    ck_assert(memcmp(silent.out, r.out_got, bytes) == 0);
    CASE_TWICE(c, r.djoint, 3 * bytes, cuda_attention_backward(NULL, &r.args));
    const double *dk = column_third(c, r.djoint, 1), *dv = column_third(c, r.djoint, 2);
    check_result(c, "dq", column_third(c, r.djoint, 0), r.dq, r.dq_off, 1e-5, 0.5 * spread);
    check_result(c, "dk", dk, r.dk, r.dk_off, 1e-5, 0.5 * spread);
    check_result(c, "dv", dv, r.dv, r.dv_off, 1e-5, 1e-30);
    for (int64_t row = 0; row < c->B; row++) /* padding is never a key */
        for (int64_t t = c->rows.offset[row] + c->rows.keys[row]; t < c->rows.offset[row + 1]; t++)
            for (int64_t i = 0; i < c->H; i++)
                ck_assert(dk[t * c->H + i] == 0 && dv[t * c->H + i] == 0);
}

static void check_shape(cuda_type type, const cuda_shape *shape, double drop, double spread)
{
    cuda_case c;
    cuda_case_begin(&c, type, shape, drop);
    check_case(&c, spread);
    cuda_case_end(&c);
}

static void check_random(cuda_type type)
{
    for (int round = 0; round < 4; round++) {
        cuda_shape s = case_shape(24, round % 2);
        check_shape(type, &s, round < 2 ? 0 : 0.25, round == 3 ? 3 : 1);
    }
    /* more than one tile of queries and of keys; a row that ends at a tile's end */
    check_shape(type, &(cuda_shape){.rows = 1, .longest = 64, .heads = 1, .head_size = 64}, 0.1, 1);
    check_shape(type, &(cuda_shape){.rows = 1, .longest = 65 + (int64_t)support_below(60), .heads = 1, .head_size = 32}, 0.1, 1);
}

START_TEST(float32)
{
    check_random(CUDA_FLOAT32);
}
END_TEST

START_TEST(bfloat16)
{
    check_random(CUDA_BFLOAT16);
}
END_TEST

START_TEST(float16)
{
    check_random(CUDA_FLOAT16);
}
END_TEST

START_TEST(longest_row_allowed)
{
    check_shape(CUDA_BFLOAT16, &(cuda_shape){.rows = 1, .longest = 512, .heads = 1, .head_size = 8, .padded = 1}, 0.5, 1);
}
END_TEST

/* Equal scores and a value matrix that shows the keys one by one: out[query][key] is the decision itself. The CPU's, element by element. */
START_TEST(keeps_what_the_cpu_keeps)
{
    cuda_case c;
    attention_run r;
    backend *be;
    cuda_case_begin(&c, CUDA_FLOAT32, &(cuda_shape){.rows = 3, .longest = 64, .heads = 2, .head_size = 64}, 0.3);
    begin_run(&r, &c, 0);
    float *q = case_room_float(&c, c.T * c.H), *v = case_room_float(&c, c.T * c.H), *out = case_room_float(&c, c.T * c.H);
    float *row_max = case_room_float(&c, c.T * c.N), *row_sum = case_room_float(&c, c.T * c.N);
    for (int64_t t = 0; t < c.T; t++)
        for (int64_t i = 0; i < c.H; i++) {
            q[t * c.H + i] = 0;
            v[t * c.H + i] = i % c.D == c.rows.place[t] ? 1.0f : 0.0f;
            ((float *)r.joint)[t * r.stride + 2 * c.H + i] = v[t * c.H + i];
        }
    batch b = case_batch(&c);
    be = case_open_cpu(&c);
    be->ops->attention_forward(be, &b, c.H, c.N, q, q, v, &c.drop[SITE_ATTENTION], out, row_max, row_sum);
    cuda_attention_forward(NULL, &r.args);
    case_no_fault("forward");
    int64_t dropped = 0;
    for (int64_t i = 0; i < c.T * c.H; i++) {
        ck_assert_msg((out[i] != 0) == (((float *)r.out_got)[i] != 0), "element %lld", (long long)i);
        dropped += out[i] == 0;
    }
    ck_assert_int_gt(dropped, 100);
    be->ops->close(be);
    cuda_case_end(&c);
}
END_TEST

int main(void)
{
    return support_run("cuda attention", (const TTest *const[]){float32, bfloat16, float16, longest_row_allowed, keeps_what_the_cpu_keeps, NULL});
}
