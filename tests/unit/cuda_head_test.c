/* Pooling, the head and the loss on the host, against float64; the head's dropout against the CPU back end. */
#include "model/cpu/cpu.h"
#include "unit/cuda_case.h"

static void check_pooling(cuda_case *c)
{
    const int64_t T = c->T, B = c->B, H = c->H, n = T * H;
    double *x = case_normal(c, n, 1), *dpooled = case_normal_float(c, B * 2 * H, 1), *pooled = case_doubles(c, B * 2 * H), *dx = case_doubles(c, n);
    for (int64_t i = 0; i < n; i += 1 + (int64_t)support_below(3)) /* ties */
        x[i] = support_below(2) ? 1 : 2;
    int32_t *argmax = case_launch_bytes(c, (size_t)(B * H) * 4);
    float *pooled_out = case_room_float(c, B * 2 * H), *dpooled_in = case_put_float(c, dpooled, B * 2 * H);
    void *x_in = case_put(c, x, n), *dx_out = case_room(c, n);
    CASE_TWICE(c, pooled_out, (size_t)(B * 2 * H) * 4, cuda_pool_forward(NULL, c->type, &c->rows, H, x_in, pooled_out, argmax));
    for (int64_t r = 0; r < B; r++)
        for (int64_t i = 0; i < H; i++) {
            int64_t first = c->rows.offset[r], end = c->rows.offset[r + 1], best = first;
            for (int64_t t = first; t < end; t++) {
                pooled[r * 2 * H + i] += x[t * H + i] / (double)(end - first);
                best = x[t * H + i] > x[best * H + i] ? t : best;
            }
            pooled[r * 2 * H + H + i] = x[best * H + i];
            ck_assert_int_eq(argmax[r * H + i], (int)best);
            for (int64_t t = first; t < end; t++)
                dx[t * H + i] = dpooled[r * 2 * H + i] / (double)(end - first) + (t == best ? dpooled[r * 2 * H + H + i] : 0);
        }
    case_close("pooled", case_get_float(c, pooled_out, B * 2 * H), pooled, B * 2 * H, 1e-6);
    CASE_TWICE(c, dx_out, (size_t)n * cuda_type_bytes(c->type), cuda_pool_backward(NULL, c->type, &c->rows, H, dpooled_in, argmax, dx_out));
    case_close("pooling back", case_get(c, dx_out, n), dx, n, 2e-7 + 1.01 * case_half_unit(c->type));
}

START_TEST(pooling)
{
    for (int type = 0; type < CUDA_TYPES; type++)
        for (int round = 0; round < 3; round++) {
            cuda_case c;
            cuda_shape s = case_shape(40, round == 1);
            if (round == 2)
                s = (cuda_shape){.rows = 2, .longest = 9, .heads = 16, .head_size = 64};
            cuda_case_begin(&c, (cuda_type)type, &s, 0);
            check_pooling(&c);
            cuda_case_end(&c);
        }
}
END_TEST

static void check_head(cuda_case *c)
{
    const int64_t B = c->B, W = 2 * c->H, C = c->C;
    double *pooled = case_normal_float(c, B * W, 1), *weight = case_normal_float(c, C * W, 0.3), *bias = case_normal_float(c, C, 1);
    double *dlogits = case_normal_float(c, B * C, 1), *dweight = case_normal_float(c, C * W, 1), *dbias = case_normal_float(c, C, 1);
    double *dropped = case_doubles(c, B * W), *logits = case_doubles(c, B * C), *dpooled = case_doubles(c, B * W);
    float *pooled_in = case_put_float(c, pooled, B * W), *weight_in = case_put_float(c, weight, C * W), *bias_in = case_put_float(c, bias, C);
    float *dropped_out = case_room_float(c, B * W), *logits_out = case_room_float(c, B * C), *dlogits_in = case_put_float(c, dlogits, B * C);
    float *dpooled_out = case_room_float(c, B * W), *dweight_start = case_put_float(c, dweight, C * W), *dbias_start = case_put_float(c, dbias, C);
    float *dweight_out = case_room_float(c, C * W), *dbias_out = case_room_float(c, C);
    const dropout *drop = &c->drop[SITE_HEAD];
    for (int64_t r = 0; r < B; r++)
        for (int64_t o = 0; o < C; o++) {
            logits[r * C + o] = bias[o];
            dbias[o] += dlogits[r * C + o];
            for (int64_t i = 0; i < W; i++) {
                double kept = case_kept(c, SITE_HEAD, r, (uint32_t)i);
                dropped[r * W + i] = pooled[r * W + i] * kept;
                logits[r * C + o] += dropped[r * W + i] * weight[o * W + i];
                dpooled[r * W + i] += dlogits[r * C + o] * weight[o * W + i] * kept;
                dweight[o * W + i] += dlogits[r * C + o] * dropped[r * W + i];
            }
        }
    CASE_TWICE(c, logits_out, (size_t)(B * C) * 4,
               cuda_head_forward(NULL, &c->rows, c->H, C, pooled_in, drop, weight_in, bias_in, dropped_out, logits_out));
    case_close("dropped", case_get_float(c, dropped_out, B * W), dropped, B * W, 1e-7);
    case_close("logits", case_get_float(c, logits_out, B * C), logits, B * C, 2e-6);
    CASE_TWICE(c, dweight_out, (size_t)(C * W) * 4, memcpy(dweight_out, dweight_start, (size_t)(C * W) * 4);
               memcpy(dbias_out, dbias_start, (size_t)C * 4);
               cuda_head_backward(NULL, &c->rows, c->H, C, dlogits_in, dropped_out, drop, weight_in, dpooled_out, dweight_out, dbias_out));
    case_close("dpooled", case_get_float(c, dpooled_out, B * W), dpooled, B * W, 2e-6);
    case_close("head dweight", case_get_float(c, dweight_out, C * W), dweight, C * W, 2e-6);
    case_close("head dbias", case_get_float(c, dbias_out, C), dbias, C, 2e-6);
}

START_TEST(head)
{
    for (int round = 0; round < 4; round++) {
        cuda_case c;
        cuda_shape s = case_shape(4, 0);
        s.rows = 1 + (int64_t)support_below(20);
        s.outputs = 1 + (int64_t)support_below(9);
        if (round == 3)
            s.heads = 16, s.head_size = 64;
        cuda_case_begin(&c, CUDA_FLOAT32, &s, round < 1 ? 0 : 0.3);
        check_head(&c);
        cuda_case_end(&c);
    }
}
END_TEST

START_TEST(head_keeps_what_the_cpu_keeps)
{
    cuda_case c;
    backend *be;
    cuda_case_begin(&c, CUDA_FLOAT32, &(cuda_shape){.rows = 9, .longest = 3, .heads = 3, .head_size = 24}, 0.3);
    const int64_t n = c.B * 2 * c.H;
    float *pooled = case_put_float(&c, case_normal(&c, n, 1), n), *weight = case_put_float(&c, case_normal(&c, 2 * c.H, 1), 2 * c.H);
    float *bias = case_put_float(&c, case_normal(&c, 1, 1), 1), *want = case_room_float(&c, n), *got = case_room_float(&c, n);
    float *logits = case_room_float(&c, c.B);
    batch b = case_batch(&c);
    be = case_open_cpu(&c);
    be->ops->head_forward(be, &b, c.H, 1, pooled, &c.drop[SITE_HEAD], weight, bias, want, logits);
    cuda_head_forward(NULL, &c.rows, c.H, 1, pooled, &c.drop[SITE_HEAD], weight, bias, got, logits);
    ck_assert(memcmp(want, got, (size_t)n * 4) == 0);
    be->ops->close(be);
    cuda_case_end(&c);
}
END_TEST

START_TEST(loss_and_probability)
{
    cuda_case c;
    cuda_case_begin(&c, CUDA_FLOAT32, &(cuda_shape){.rows = 300, .longest = 2, .heads = 1, .head_size = 8, .outputs = 3}, 0);
    const int64_t n = c.B * c.C;
    double *z = case_normal(&c, n, 6), *loss = case_doubles(&c, c.B), *slope = case_doubles(&c, n), *chance = case_doubles(&c, n);
    z[0] = 0, z[1] = 95, z[2] = -95;
    float *logits = case_put_float(&c, z, n), *dlogits = case_room_float(&c, n), *probability = case_room_float(&c, n);
    double *row_loss = case_launch_bytes(&c, (size_t)c.B * 8), factor = 0.037f;
    for (int64_t i = 0; i < n; i++) {
        double y = c.rows.label[i];
        loss[i / c.C] += fmax(z[i], 0) - z[i] * y + log1p(exp(-fabs(z[i])));
        chance[i] = 1 / (1 + exp(-z[i]));
        slope[i] = (chance[i] - y) * factor;
    }
    CASE_TWICE(&c, row_loss, (size_t)c.B * 8, cuda_loss_forward(NULL, &c.rows, c.C, logits, 0.037f, row_loss, dlogits));
    case_close("loss", row_loss, loss, c.B, 1e-14);
    case_close("dlogits", case_get_float(&c, dlogits, n), slope, n, 1e-7);
    CASE_TWICE(&c, probability, (size_t)n * 4, cuda_sigmoid(NULL, n, logits, probability));
    case_close("probability", case_get_float(&c, probability, n), chance, n, 1e-7);
    logits[4] = NAN;
    cuda_loss_forward(NULL, &c.rows, c.C, logits, 0.037f, row_loss, NULL);
    case_no_fault("loss");
    ck_assert(isnan(row_loss[1]) && !isnan(row_loss[0]));
    cuda_case_end(&c);
}
END_TEST

int main(void)
{
    return support_run("cuda head", (const TTest *const[]){pooling, head, head_keeps_what_the_cpu_keeps, loss_and_probability, NULL});
}
