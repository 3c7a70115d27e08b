/* Every operation against plain double arithmetic: forward by the textbook formula, gradients by central differences of that formula,
 * dropout by the scalar generator. The reference knows nothing of the back end but its inputs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/hash.h"
#include "common/rng.h"
#include "model/cpu/cpu.h"
#include "support/support.h"
#include "unit/ops_case.h"

static double *doubles(const float *p, int64_t n)
{
    double *d = calloc((size_t)n + 1, sizeof *d);
    ck_assert_ptr_nonnull(d);
    for (int64_t i = 0; p && i < n; i++)
        d[i] = p[i];
    return d;
}

/* Greatest difference, relative to the greatest entry. */
static void expect_close(const char *name, const float *got, const double *want, int64_t n, double bound)
{
    double greatest = 1e-30, worst = 0;
    for (int64_t i = 0; i < n; i++)
        greatest = fmax(greatest, fabs(want[i]));
    for (int64_t i = 0; i < n; i++) {
        ck_assert_msg(isfinite(got[i]), "%s[%lld] is not finite", name, (long long)i);
        worst = fmax(worst, fabs(got[i] - want[i]) / greatest);
    }
    ck_assert_msg(worst <= bound, "%s: relative error %g", name, worst);
}

typedef double (*objective)(const void *ctx);

/* Of f at param[i]; fourth order. */
static double slope_at(objective f, const void *ctx, double *param, int64_t i, double h)
{
    double start = param[i], d[4];
    for (int s = 0; s < 4; s++) {
        param[i] = start + h * (double[]){1, -1, 2, -2}[s];
        d[s] = f(ctx);
    }
    param[i] = start;
    return (8 * (d[0] - d[1]) - (d[2] - d[3])) / (12 * h);
}

/* `got` must be the derivative of `f` with respect to param[0..n-1], looked at in up to 40 random places. Where the greatest of some values is taken, a step may
 * reach the place where another becomes the greatest: then a smaller one must agree. The bound leaves room for float sums whose terms cancel. */
static void expect_gradient(const char *name, objective f, const void *ctx, double *param, const float *got, int64_t n)
{
    enum { STEPS = 5 };
    const double step[STEPS] = {1e-4, 1e-5, 1e-6, 1e-7, 1e-8}, bound = 1e-4;
    double greatest = 1e-3, worst = 0;
    int64_t places = n < 40 ? n : 40;
    for (int64_t i = 0; i < n; i++)
        greatest = fmax(greatest, fabs((double)got[i]));
    for (int64_t k = 0; k < places; k++) {
        int64_t i = n <= 40 ? k : (int64_t)support_below((uint64_t)n);
        double error = INFINITY;
        for (int s = 0; s < STEPS && !(error < bound); s++)
            error = fmin(error, fabs(slope_at(f, ctx, param, i, step[s]) - got[i]) / greatest);
        worst = fmax(worst, error);
    }
    ck_assert_msg(worst < bound, "gradient of %s: relative error %g", name, worst);
}

/* RULES' counter layout, one element at a time. */
static double kept(const ops_case *c, int site, int64_t row, uint32_t element)
{
    const dropout *d = &c->drop[site];
    if (c->shape.dropout == 0)
        return 1;
    uint32_t w[4];
    uint64_t sample = c->b.sample[row];
    rng_philox(c->seed, (uint32_t[4]){element / 4, 3u << 24 | (uint32_t)OPS_LAYER << 12 | (uint32_t)site, (uint32_t)sample, 7u << 16 | (uint32_t)(sample >> 32)}, w);
    return (double)w[element % 4] >= floor(c->shape.dropout * 4294967296.0) ? (double)d->scale : 0;
}

static double gelu(double x)
{
    return 0.5 * x * (1 + erf(x / sqrt(2)));
}

static double dot(const double *a, const float *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void layer_norm(const double *x, const double *gamma, const double *beta, double epsilon, int64_t H, double *z)
{
    double mean = 0, square = 0;
    for (int64_t c = 0; c < H; c++)
        mean += x[c] / (double)H;
    for (int64_t c = 0; c < H; c++)
        square += (x[c] - mean) * (x[c] - mean) / (double)H;
    for (int64_t c = 0; c < H; c++)
        z[c] = (x[c] - mean) / sqrt(square + epsilon) * gamma[c] + beta[c];
}

/* ---- linear ---- */

static void check_linear(const ops_case *c, const ops_result *r)
{
    int64_t T = c->T, H = c->H, F = c->F;
    double *y = doubles(NULL, T * F), *act = doubles(NULL, T * F), *back = doubles(NULL, T * F), *dx = doubles(NULL, T * H), *more = doubles(c->y, T * H);
    double *dw = doubles(NULL, F * H), *db = doubles(NULL, F);
    for (int64_t t = 0; t < T; t++)
        for (int64_t o = 0; o < F; o++) {
            double sum = c->bias[o], g = c->wide[t * F + o];
            for (int64_t i = 0; i < H; i++) {
                double x = c->x[t * H + i], w = c->weight[o * H + i];
                sum += x * w;
                dx[t * H + i] += g * w;
                dw[o * H + i] += g * x;
            }
            db[o] += g;
            y[t * F + o] = sum;
            act[t * F + o] = gelu(sum);
            double pre = r->pre[t * F + o];
            back[t * F + o] = g * (0.5 * (1 + erf(pre / sqrt(2))) + pre * exp(-pre * pre / 2) / sqrt(2 * M_PI));
        }
    for (int64_t i = 0; i < T * H; i++)
        more[i] += dx[i];
    expect_close("linear", r->linear, y, T * F, 2e-6);
    expect_close("pre", r->pre, y, T * F, 2e-6);
    expect_close("gelu", r->gelu, act, T * F, 2e-6);
    expect_close("gelu without pre", r->gelu_only, act, T * F, 2e-6);
    expect_close("gelu backward", r->gelu_back, back, T * F, 1e-6);
    expect_close("linear dx", r->linear_dx, dx, T * H, 2e-6);
    expect_close("linear dx continued", r->linear_dx_continued, more, T * H, 2e-6);
    expect_close("dweight", r->dweight, dw, F * H, 3e-6);
    expect_close("dbias", r->dbias, db, F, 3e-6);
}

/* ---- norms: the objective is the sum of output times c->dz ---- */

typedef struct norm_reference {
    const ops_case *c;
    double *x, *y, *extra, *word, *position, *type, *gamma, *beta;
    double *sum, *z;
} norm_reference;

static double residual_objective(const void *ctx)
{
    const norm_reference *n = ctx;
    const ops_case *c = n->c;
    for (int64_t r = 0, t = 0; r < c->B; r++)
        for (; t < c->b.offset[r + 1]; t++) {
            for (int64_t i = 0; i < c->H; i++)
                n->sum[t * c->H + i] = n->x[t * c->H + i] + kept(c, SITE_ATTENTION_OUT, r, (uint32_t)(c->b.place[t] * c->H + i)) * n->y[t * c->H + i];
            layer_norm(n->sum + t * c->H, n->gamma, n->beta, c->epsilon, c->H, n->z + t * c->H);
        }
    return dot(n->z, c->dz, c->T * c->H);
}

static double embed_objective(const void *ctx)
{
    const norm_reference *n = ctx;
    const ops_case *c = n->c;
    int64_t H = c->H;
    for (int64_t r = 0, t = 0; r < c->B; r++)
        for (; t < c->b.offset[r + 1]; t++) {
            for (int64_t i = 0; i < H; i++)
                n->sum[t * H + i] = n->word[c->b.id[t] * H + i] + n->type[i] + n->position[c->b.place[t] * H + i] + n->extra[t * H + i];
            layer_norm(n->sum + t * H, n->gamma, n->beta, c->epsilon, H, n->z + t * H);
            for (int64_t i = 0; i < H; i++)
                n->z[t * H + i] *= kept(c, SITE_EMBEDDING, r, (uint32_t)(c->b.place[t] * H + i));
        }
    return dot(n->z, c->dz, c->T * H);
}

static void check_norms(const ops_case *c, const ops_result *r)
{
    int64_t n = c->T * c->H, H = c->H;
    norm_reference f = {c, doubles(c->x, n), doubles(c->y, n), doubles(NULL, n), doubles(c->word, OPS_VOCABULARY * H),
                        doubles(c->position, c->shape.longest * H), doubles(c->type, H), doubles(c->gamma, H), doubles(c->beta, H), doubles(NULL, n), doubles(NULL, n)};
    residual_objective(&f);
    expect_close("norm sum", r->norm_sum, f.sum, n, 1e-6);
    expect_close("norm z", r->norm_z, f.z, n, 4e-6);
    expect_gradient("norm x", residual_objective, &f, f.x, r->norm_dx, n);
    expect_gradient("norm y", residual_objective, &f, f.y, r->norm_dy, n);
    expect_gradient("norm gamma", residual_objective, &f, f.gamma, r->norm_dgamma, H);
    expect_gradient("norm beta", residual_objective, &f, f.beta, r->norm_dbeta, H);
    embed_objective(&f);
    expect_close("embed sum", r->embed_sum, f.sum, n, 1e-6);
    expect_close("embed y", r->embed_y, f.z, n, 4e-6);
    expect_gradient("embed sum", embed_objective, &f, f.extra, r->embed_dsum, n);
    expect_gradient("embed gamma", embed_objective, &f, f.gamma, r->embed_dgamma, H);
    expect_gradient("embed beta", embed_objective, &f, f.beta, r->embed_dbeta, H);
    expect_gradient("word", embed_objective, &f, f.word + H, r->dword, (OPS_VOCABULARY - 1) * H); /* slot = id - 1 */
    expect_gradient("position", embed_objective, &f, f.position, r->dposition, c->shape.longest * H);
    expect_gradient("type", embed_objective, &f, f.type, r->dtype_row, H);
}

/* ---- attention: the objective is the sum of output times c->dout ---- */

typedef struct attention_reference {
    const ops_case *c;
    double *q, *k, *v, *out;
} attention_reference;

static void attend(const attention_reference *a, int64_t row, int64_t head, int64_t query)
{
    const ops_case *c = a->c;
    int64_t H = c->H, first = c->b.offset[row], keys = c->b.keys[row], at = (first + query) * H + head * c->D;
    double p[512], greatest = -INFINITY, sum = 0;
    for (int64_t k = 0; k < keys; k++) {
        p[k] = 0;
        for (int64_t d = 0; d < c->D; d++)
            p[k] += a->q[at + d] * a->k[(first + k) * H + head * c->D + d] / sqrt((double)c->D);
        greatest = fmax(greatest, p[k]);
    }
    for (int64_t k = 0; k < keys; k++)
        sum += p[k] = exp(p[k] - greatest);
    for (int64_t d = 0; d < c->D; d++)
        a->out[at + d] = 0;
    for (int64_t k = 0; k < keys; k++) {
        double weight = p[k] / sum * kept(c, SITE_ATTENTION, row, (uint32_t)(head << 18 | query << 9 | k));
        for (int64_t d = 0; d < c->D; d++)
            a->out[at + d] += weight * a->v[(first + k) * H + head * c->D + d];
    }
}

static double attention_objective(const void *ctx)
{
    const attention_reference *a = ctx;
    const ops_case *c = a->c;
    for (int64_t r = 0; r < c->B; r++)
        for (int64_t head = 0; head < c->N; head++)
            for (int64_t query = 0; query < c->b.offset[r + 1] - c->b.offset[r]; query++)
                attend(a, r, head, query);
    return dot(a->out, c->dout, c->T * c->H);
}

static void check_attention(const ops_case *c, const ops_result *r)
{
    int64_t n = c->T * c->H;
    attention_reference a = {c, doubles(c->q, n), doubles(c->k, n), doubles(c->v, n), doubles(NULL, n)};
    attention_objective(&a);
    expect_close("attention", r->attention_out, a.out, n, 3e-6);
    expect_gradient("q", attention_objective, &a, a.q, r->dq, n);
    expect_gradient("k", attention_objective, &a, a.k, r->dk, n);
    expect_gradient("v", attention_objective, &a, a.v, r->dv, n);
    for (int64_t row = 0; row < c->B; row++)
        for (int64_t t = c->b.offset[row] + c->b.keys[row]; t < c->b.offset[row + 1]; t++)
            for (int64_t i = 0; i < c->H; i++)
                ck_assert(r->dk[t * c->H + i] == 0 && r->dv[t * c->H + i] == 0);
}

/* ---- head: the objective is the loss times factor ---- */

typedef struct head_reference {
    const ops_case *c;
    double *x, *weight, *bias, *pooled, *logits, *loss;
} head_reference;

static double head_objective(const void *ctx)
{
    const head_reference *h = ctx;
    const ops_case *c = h->c;
    int64_t H = c->H;
    double total = 0;
    for (int64_t r = 0; r < c->B; r++) {
        double length = (double)(c->b.offset[r + 1] - c->b.offset[r]), *pooled = h->pooled + r * 2 * H;
        for (int64_t i = 0; i < H; i++) {
            pooled[i] = 0, pooled[H + i] = -INFINITY;
            for (int64_t t = c->b.offset[r]; t < c->b.offset[r + 1]; t++) {
                pooled[i] += h->x[t * H + i] / length;
                pooled[H + i] = fmax(pooled[H + i], h->x[t * H + i]);
            }
        }
        h->loss[r] = 0;
        for (int64_t o = 0; o < c->C; o++) {
            double z = h->bias[o];
            for (int64_t i = 0; i < 2 * H; i++)
                z += kept(c, SITE_HEAD, r, (uint32_t)i) * pooled[i] * h->weight[o * 2 * H + i];
            h->logits[r * c->C + o] = z;
            h->loss[r] += fmax(z, 0) - z * c->b.label[r * c->C + o] + log1p(exp(-fabs(z)));
        }
        total += h->loss[r] * c->factor;
    }
    return total;
}

static void check_head(const ops_case *c, const ops_result *r)
{
    int64_t H = c->H;
    head_reference h = {c, doubles(c->x, c->T * H), doubles(c->head_weight, c->C * 2 * H), doubles(c->head_bias, c->C), doubles(NULL, c->B * 2 * H),
                        doubles(NULL, c->B * c->C), doubles(NULL, c->B)};
    double *chance = doubles(NULL, c->B * c->C);
    head_objective(&h);
    expect_close("pooled", r->pooled, h.pooled, c->B * 2 * H, 1e-6);
    expect_close("logits", r->logits, h.logits, c->B * c->C, 1e-4); /* few, and their terms cancel */
    for (int64_t i = 0; i < c->B * c->C; i++)
        chance[i] = 1 / (1 + exp(-(double)r->logits[i]));
    expect_close("probability", r->probability, chance, c->B * c->C, 1e-7);
    for (int64_t i = 0; i < c->B; i++)
        ck_assert_double_le(fabs(r->row_loss[i] - h.loss[i]), 3e-6 * (1 + h.loss[i]));
    expect_gradient("pooling", head_objective, &h, h.x, r->pool_dx, c->T * H);
    expect_gradient("head weight", head_objective, &h, h.weight, r->head_dweight, c->C * 2 * H);
    expect_gradient("head bias", head_objective, &h, h.bias, r->head_dbias, c->C);
}

/* ---- tests ---- */

static void check_case(ops_case *c)
{
    threads *pool;
    ck_ok(threads_create(2, &pool));
    backend *be = ops_open(c, pool, CPU_ISA_AUTO);
    ops_result *r = ops_result_new(c);
    c->b.epoch = 7;
    ops_run(be, c, 0, c->B, r);
    check_linear(c, r);
    check_norms(c, r);
    check_attention(c, r);
    check_head(c, r);
    be->ops->close(be);
    threads_free(pool);
}

START_TEST(operations_agree_with_double)
{
    for (int round = 0; round < 8; round++)
        check_case(ops_case_random(round % 2, round < 4 ? 0 : 0.25));
}
END_TEST

START_TEST(long_rows_agree_with_double)
{
    check_case(ops_case_new(&(ops_shape){.rows = 1, .longest = 129 + (int64_t)support_below(60), .heads = 2, .head_size = 4, .feed_forward = 3,
                                         .outputs = 1, .dropout = 0.1}));
}
END_TEST

START_TEST(longest_row_allowed)
{
    ops_case *c = ops_case_new(&(ops_shape){.rows = 1, .longest = 512, .heads = 1, .head_size = 3, .feed_forward = 1, .outputs = 1, .dropout = 0.5});
    backend *be = ops_open(c, NULL, CPU_ISA_AUTO);
    ops_result *r = ops_result_new(c);
    ops_run(be, c, 0, 1, r);
    attention_reference a = {c, doubles(c->q, 1536), doubles(c->k, 1536), doubles(c->v, 1536), doubles(NULL, 1536)};
    attention_objective(&a);
    expect_close("attention", r->attention_out, a.out, 1536, 3e-6);
    be->ops->close(be);
}
END_TEST

START_TEST(equal_maxima_go_to_the_lowest_token)
{
    ops_case *c = ops_case_new(&(ops_shape){.rows = 3, .longest = 9, .heads = 1, .head_size = 21, .feed_forward = 1, .outputs = 1});
    for (int64_t i = 0; i < c->T * c->H; i++)
        c->x[i] = support_below(2) ? 1.0f : support_below(2) ? 0.0f : -0.0f;
    backend *be = ops_open(c, NULL, CPU_ISA_AUTO);
    ops_result *r = ops_result_new(c);
    ops_run(be, c, 0, c->B, r);
    for (int64_t row = 0; row < c->B; row++)
        for (int64_t i = 0; i < c->H; i++) {
            int32_t want = 0;
            for (int64_t t = c->b.offset[row]; t < c->b.offset[row + 1]; t++)
                if (c->x[t * c->H + i] > c->x[(c->b.offset[row] + want) * c->H + i])
                    want = (int32_t)(t - c->b.offset[row]);
            ck_assert_int_eq(((int32_t *)r->argmax)[row * c->H + i], want);
        }
    be->ops->close(be);
}
END_TEST

START_TEST(adamw_agrees_with_double)
{
    int64_t n = 1 + (int64_t)support_below(3000);
    double b1 = 0.9, b2 = 0.999, step_size = 2e-3, decay = 3e-4;
    adamw_step s = {(float)b1, (float)(1 - b1), (float)b2, (float)(1 - b2), 1e-6f, (float)step_size, (float)decay};
    ops_case *c = ops_case_random(0, 0);
    backend *be = ops_open(c, NULL, CPU_ISA_AUTO);
    for (int decayed = 0; decayed < 2; decayed++) {
        float *m = ops_floats(n, 0), *v = ops_floats(n, 0), *p = ops_floats(n, 1);
        double *md = doubles(m, n), *vd = doubles(v, n), *pd = doubles(p, n);
        for (int step = 0; step < 5; step++) {
            float *g = step == 3 ? NULL : ops_floats(n, 1);
            uint64_t hash = 0, want = 0;
            be->ops->adamw(be, n, 77, &s, decayed, g, m, v, p, &hash);
            for (int64_t i = 0; i < n; i++) {
                double gi = g ? g[i] : 0;
                md[i] = b1 * md[i] + (1 - b1) * gi;
                vd[i] = b2 * vd[i] + (1 - b2) * gi * gi;
                pd[i] -= step_size * md[i] / (sqrt(vd[i]) + 1e-6);
                pd[i] -= decayed ? decay * pd[i] : 0;
                uint32_t bits;
                memcpy(&bits, p + i, sizeof bits);
                want += hash_mix64(77 + (uint64_t)i, bits);
            }
            ck_assert_uint_eq(hash, want);
        }
        expect_close("m", m, md, n, 1e-6);
        expect_close("v", v, vd, n, 1e-6);
        expect_close("p", p, pd, n, 1e-6);
    }
    /* no decay, no gradient: not a bit moves, the sign of zero neither */
    float m = 0, v = 0, p[2] = {-0.0f, 0.3f}, before[2] = {-0.0f, 0.3f};
    s.decay = 0;
    for (int i = 0; i < 2; i++)
        be->ops->adamw(be, 1, 0, &s, 1, NULL, &m, &v, p + i, &(uint64_t){0});
    ck_assert(memcmp(p, before, sizeof p) == 0);
    be->ops->close(be);
}
END_TEST

START_TEST(refuses_what_it_cannot_hold)
{
    backend *be;
    ck_fails(backend_open_cpu(&(backend_limits){.tokens = 513, .rows = 1, .longest = 513, .hidden = 8, .heads = 2}, NULL, CPU_ISA_AUTO, &be),
             STATUS_USAGE, "513 tokens");
    ck_assert_ptr_null(be);
    ck_fails(backend_open_cpu(&(backend_limits){.tokens = 5, .rows = 1, .longest = 5, .hidden = 8, .heads = 3}, NULL, CPU_ISA_AUTO, &be),
             STATUS_USAGE, "3 heads");
    ops_case *c = ops_case_random(0, 0);
    be = ops_open(c, NULL, CPU_ISA_AUTO);
    void *p;
    ck_fails(be->ops->allocate(be, SIZE_MAX - 5, "a whole address space", &p), STATUS_RESOURCE, "a whole address space");
    ck_ok(be->ops->allocate(be, 1000001, "a block", &p));
    ck_assert_uint_eq((uintptr_t)p % 64, 0);
    memset(p, 1, 1000001);
    be->ops->zero(be, p, 1000000);
    for (int i = 0; i < 1000001; i++)
        ck_assert_int_eq(((char *)p)[i], i == 1000000);
    be->ops->release(be, p);
    be->ops->close(be);
}
END_TEST

int main(void)
{
    threads_set_rounding();
    return support_run("ops", (const TTest *const[]){operations_agree_with_double, long_rows_agree_with_double, longest_row_allowed,
                                                     equal_maxima_go_to_the_lowest_token, adamw_agrees_with_double, refuses_what_it_cannot_hold, NULL});
}
