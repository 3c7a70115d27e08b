#include "unit/ops_case.h"

#include <stdio.h>
#include <stdlib.h>

#include "model/cpu/cpu.h"
#include "support/support.h"

static void *fresh(size_t bytes)
{
    void *p = NULL;
    ck_ok(memory_new(&p, bytes, "a test"));
    return p;
}

float *ops_floats(int64_t n, double scale)
{
    float *p = fresh((size_t)n * sizeof(float));
    for (int64_t i = 0; i < n; i++)
        p[i] = scale == 0 ? 0.0f : (float)(scale * support_normal());
    return p;
}

static void make_batch(ops_case *c)
{
    const ops_shape *s = &c->shape;
    int64_t B = s->rows, most = B * s->longest;
    int32_t *id = fresh((size_t)most * 4), *place = fresh((size_t)most * 4), *keys = fresh((size_t)B * 4);
    int64_t *offset = fresh((size_t)(B + 1) * 8), T = 0;
    uint64_t *sample = fresh((size_t)B * 8);
    float *label = fresh((size_t)(B * s->outputs) * 4);
    c->slot = fresh((size_t)most * 4);
    for (int64_t r = 0; r < B; r++) {
        int64_t length = r == 0 || s->longest < 3 ? s->longest : 2 + (int64_t)support_below((uint64_t)s->longest - 1);
        keys[r] = (int32_t)length;
        if (s->padded) {
            keys[r] = r == 1 || s->longest < 3 ? (int32_t)s->longest : 2 + (int32_t)support_below((uint64_t)s->longest - 2);
            length = s->longest;
        }
        for (int64_t i = 0; i < length; i++, T++) {
            id[T] = i < keys[r] ? 1 + (int32_t)support_below(OPS_VOCABULARY - 1) : 0;
            place[T] = (int32_t)i;
            c->slot[T] = id[T] - 1; /* row 0 is [PAD], which gets no gradient */
        }
        offset[r + 1] = T;
        sample[r] = support_random() >> 20; /* over 32 bits, so that the high part of the position is used too */
        for (int64_t i = 0; i < s->outputs; i++)
            label[r * s->outputs + i] = (float)support_uniform();
    }
    c->b = (batch){B, T, s->longest, 7, id, place, offset, keys, sample, label};
    c->T = T;
}

ops_case *ops_case_new(const ops_shape *shape)
{
    ops_case *c = fresh(sizeof *c);
    c->shape = *shape;
    c->B = shape->rows, c->N = shape->heads, c->D = shape->head_size, c->H = c->N * c->D, c->F = shape->feed_forward, c->C = shape->outputs;
    make_batch(c);
    c->seed = support_random();
    for (uint32_t site = 0; site < 5; site++)
        c->drop[site] = (dropout){(uint32_t)(shape->dropout * 4294967296.0), (float)(1 / (1 - shape->dropout)), c->seed, OPS_LAYER, site};
    int64_t n = c->T * c->H;
    c->x = ops_floats(n, 1), c->y = ops_floats(n, 1), c->q = ops_floats(n, 1), c->k = ops_floats(n, 1), c->v = ops_floats(n, 1);
    c->dz = ops_floats(n, 1), c->dout = ops_floats(n, 1), c->wide = ops_floats(c->T * c->F, 1);
    c->word = ops_floats(OPS_VOCABULARY * c->H, 1), c->position = ops_floats(shape->longest * c->H, 1), c->type = ops_floats(c->H, 1);
    c->gamma = ops_floats(c->H, 1), c->beta = ops_floats(c->H, 1);
    c->weight = ops_floats(c->F * c->H, 0.3), c->bias = ops_floats(c->F, 1);
    c->head_weight = ops_floats(c->C * 2 * c->H, 0.3), c->head_bias = ops_floats(c->C, 1);
    c->epsilon = 1e-5f, c->factor = 0.037f;
    return c;
}

ops_case *ops_case_random(int padded, double drop)
{
    static const int64_t sizes[] = {1, 3, 8, 10, 16, 20, 32};
    ops_shape s = {.rows = 1 + (int64_t)support_below(5), .longest = 2 + (int64_t)support_below(40), .heads = 1 + (int64_t)support_below(4),
                   .head_size = sizes[support_below(7)], .feed_forward = 1 + (int64_t)support_below(90), .outputs = 1 + (int64_t)support_below(3),
                   .padded = padded, .dropout = drop};
    if (s.heads * s.head_size < 3)
        s.head_size = 3; /* a layer norm of one or two elements has no gradient to compare */
    fprintf(stderr, "shape: rows %d, longest %d, heads %d of %d, feed-forward %d, outputs %d, padded %d, dropout %g\n", (int)s.rows, (int)s.longest,
            (int)s.heads, (int)s.head_size, (int)s.feed_forward, (int)s.outputs, padded, drop);
    return ops_case_new(&s);
}

backend *ops_open(const ops_case *c, threads *pool, cpu_isa isa)
{
    backend *be;
    ck_ok(backend_open_cpu(&(backend_limits){.tokens = c->T, .rows = c->B, .longest = c->shape.longest, .hidden = c->H, .heads = c->N,
                                             .feed_forward = c->F, .vocabulary = OPS_VOCABULARY, .outputs = c->C}, pool, isa, &be));
    return be;
}

static float *place_for(ops_result *r, const char *name, int64_t n)
{
    float *p = fresh((size_t)n * sizeof(float));
    ck_assert_int_lt(r->count, 64);
    r->all[r->count].name = name;
    r->all[r->count].p = p;
    r->all[r->count++].n = n;
    return p;
}

ops_result *ops_result_new(const ops_case *c)
{
    ops_result *r = fresh(sizeof *r);
    int64_t T = c->T, H = c->H, F = c->F, B = c->B, C = c->C;
#define PLACE(field, n) r->field = place_for(r, #field, n)
    PLACE(linear, T * F), PLACE(pre, T * F), PLACE(gelu, T * F), PLACE(gelu_only, T * F), PLACE(gelu_back, T * F), PLACE(gelu_fused, T * H);
    PLACE(linear_dx, T * H), PLACE(linear_dx_continued, T * H), PLACE(dweight, F * H), PLACE(dbias, F);
    PLACE(embed_sum, T * H), PLACE(embed_mean, T), PLACE(embed_rstd, T), PLACE(embed_y, T * H), PLACE(embed_dsum, T * H);
    PLACE(embed_dgamma, H), PLACE(embed_dbeta, H), PLACE(dword, OPS_VOCABULARY * H), PLACE(dposition, c->shape.longest * H), PLACE(dtype_row, H);
    PLACE(norm_sum, T * H), PLACE(norm_mean, T), PLACE(norm_rstd, T), PLACE(norm_z, T * H), PLACE(norm_dx, T * H), PLACE(norm_dy, T * H);
    PLACE(norm_dgamma, H), PLACE(norm_dbeta, H);
    PLACE(attention_out, T * H), PLACE(row_max, T * c->N), PLACE(row_sum, T * c->N), PLACE(dq, T * H), PLACE(dk, T * H), PLACE(dv, T * H);
    PLACE(pooled, B * 2 * H), PLACE(argmax, B * H), PLACE(pool_dx, T * H), PLACE(dropped, B * 2 * H), PLACE(logits, B * C), PLACE(dlogits, B * C);
    PLACE(dpooled, B * 2 * H), PLACE(head_dweight, C * 2 * H), PLACE(head_dbias, C), PLACE(probability, B * C);
    r->row_loss = (double *)place_for(r, "row_loss", B * 2);
#undef PLACE
    return r;
}

static void run_tokens(backend *be, const ops_case *c, const batch *b, int64_t t, ops_result *o)
{
    const backend_ops *op = be->ops;
    int64_t T = b->tokens, H = c->H, F = c->F, h = t * H, f = t * F;
    op->linear_forward(be, T, H, F, c->x + h, c->weight, c->bias, o->linear + f);
    op->linear_gelu_forward(be, T, H, F, c->x + h, c->weight, c->bias, o->pre + f, o->gelu + f);
    op->linear_gelu_forward(be, T, H, F, c->x + h, c->weight, c->bias, NULL, o->gelu_only + f);
    op->gelu_backward(be, T * F, o->pre + f, c->wide + f, o->gelu_back + f);
    op->linear_backward_input(be, T, H, F, c->wide + f, c->weight, o->linear_dx + h, 0);
    memcpy(o->linear_dx_continued + h, c->y + h, (size_t)(T * H) * sizeof(float));
    op->linear_backward_input(be, T, H, F, c->wide + f, c->weight, o->linear_dx_continued + h, 1);
    if (op->linear_gelu_backward_input) { /* the two in turn give the same bits */
        float *two = o->gelu_fused + h;
        op->gelu_backward(be, T * H, c->y + h, o->linear_dx + h, two);
        float *one = malloc((size_t)(T * H) * sizeof(float));
        ck_assert_ptr_nonnull(one);
        op->linear_gelu_backward_input(be, T, H, F, c->wide + f, c->weight, c->y + h, one);
        ck_assert_mem_eq(one, two, (size_t)(T * H) * sizeof(float));
        free(one);
    }
    if (op->linear_fold_weight && t == 0) { /* the way back begins from zeros, whatever the weight's gradient holds */
        memset(o->dweight, 0x7f, (size_t)(F * H) * sizeof(float));
        op->linear_fold_weight(be, T, H, F, c->x + h, c->wide + f, o->dweight, o->dbias, true, 0, NULL);
    } else {
        op->linear_backward_weight(be, T, H, F, c->x + h, c->wide + f, o->dweight, o->dbias);
    }
    op->embed_forward(be, b, H, c->word, c->position, c->type, c->gamma, c->beta, c->epsilon, &c->drop[SITE_EMBEDDING], o->embed_sum + h,
                      o->embed_mean + t, o->embed_rstd + t, o->embed_y + h);
    op->embed_backward(be, b, H, c->dz + h, o->embed_sum + h, o->embed_mean + t, o->embed_rstd + t, c->gamma, &c->drop[SITE_EMBEDDING], c->slot + t,
                       o->embed_dsum + h, o->embed_dgamma, o->embed_dbeta, o->dword, o->dposition, o->dtype_row);
    op->residual_norm_forward(be, b, H, c->x + h, c->y + h, &c->drop[SITE_ATTENTION_OUT], c->gamma, c->beta, c->epsilon, o->norm_sum + h,
                              o->norm_mean + t, o->norm_rstd + t, o->norm_z + h);
    memcpy(o->norm_dx + h, c->dz + h, (size_t)(T * H) * sizeof(float)); /* in place, as the network does */
    op->residual_norm_backward(be, b, H, o->norm_dx + h, o->norm_sum + h, o->norm_mean + t, o->norm_rstd + t, c->gamma, &c->drop[SITE_ATTENTION_OUT],
                               o->norm_dx + h, o->norm_dy + h, o->norm_dgamma, o->norm_dbeta);
    op->attention_forward(be, b, H, c->N, c->q + h, c->k + h, c->v + h, &c->drop[SITE_ATTENTION], o->attention_out + h, o->row_max + t * c->N,
                          o->row_sum + t * c->N);
    float *written[] = {o->dq + h, o->dk + h, o->dv + h};
    for (int i = 0; i < 3; i++) /* not added to: what was there must not matter */
        memset(written[i], 0x7f, (size_t)(T * H) * sizeof(float));
    op->attention_backward(be, b, H, c->N, c->q + h, c->k + h, c->v + h, &c->drop[SITE_ATTENTION], o->attention_out + h, o->row_max + t * c->N,
                           o->row_sum + t * c->N, c->dout + h, o->dq + h, o->dk + h, o->dv + h);
}

static void run_rows(backend *be, const ops_case *c, const batch *b, int64_t t, int64_t r, ops_result *o)
{
    const backend_ops *op = be->ops;
    int64_t H = c->H, C = c->C, p = r * 2 * H;
    int32_t *argmax = (int32_t *)o->argmax + r * H;
    op->pool_forward(be, b, H, c->x + t * H, o->pooled + p, argmax);
    op->head_forward(be, b, H, C, o->pooled + p, &c->drop[SITE_HEAD], c->head_weight, c->head_bias, o->dropped + p, o->logits + r * C);
    op->loss_forward(be, b, C, o->logits + r * C, c->factor, o->row_loss + r, o->dlogits + r * C);
    op->head_backward(be, b, H, C, o->dlogits + r * C, o->dropped + p, &c->drop[SITE_HEAD], c->head_weight, o->dpooled + p, o->head_dweight,
                      o->head_dbias);
    op->pool_backward(be, b, H, o->dpooled + p, argmax, o->pool_dx + t * H);
    op->sigmoid(be, b->rows * C, o->logits + r * C, o->probability + r * C);
    for (int64_t i = 0; i < b->rows * H; i++) { /* packed token number -> place in the row: the same in every batch */
        ck_assert_int_ge(argmax[i], (int)b->offset[i / H]);
        ck_assert_int_lt(argmax[i], (int)b->offset[i / H + 1]);
        argmax[i] -= (int32_t)b->offset[i / H];
    }
}

void ops_run(backend *be, const ops_case *c, int64_t first, int64_t end, ops_result *out)
{
    int64_t t = c->b.offset[first], offset[64];
    ck_assert_int_lt(end - first, 64);
    for (int64_t r = first; r <= end; r++)
        offset[r - first] = c->b.offset[r] - t;
    batch b = {end - first, offset[end - first], c->b.longest, c->b.epoch, c->b.id + t, c->b.place + t, offset, c->b.keys + first,
               c->b.sample + first, c->b.label + first * c->C};
    run_tokens(be, c, &b, t, out);
    run_rows(be, c, &b, t, first, out);
    ck_ok(be->ops->check(be));
}

void ops_result_expect_equal(const char *what, const ops_result *a, const ops_result *b)
{
    for (int i = 0; i < a->count; i++)
        for (int64_t k = 0; k < a->all[i].n; k++)
            ck_assert_msg(memcmp(a->all[i].p + k, b->all[i].p + k, sizeof(float)) == 0, "%s: %s[%lld]: %a is not %a", what, a->all[i].name,
                          (long long)k, (double)a->all[i].p[k], (double)b->all[i].p[k]);
}
