/* Bias, GELU, column sums and the fold of a split product, on the host against float64; GELU's bits are the CPU's. */
#include "model/cpu/cpu.h"
#include "unit/cuda_case.h"

static double gelu(double x)
{
    return 0.5 * x * erfc(-x / sqrt(2));
}

static double slope(double x)
{
    return 0.5 * erfc(-x / sqrt(2)) + x * exp(-x * x / 2) / sqrt(2 * M_PI);
}

static const cuda_shape some_shape = {.rows = 3, .longest = 40, .heads = 3, .head_size = 24};

static double stored(const cuda_case *c, double x)
{
    return c->type == CUDA_FLOAT32 ? (double)(float)x : case_value(c->type, case_bits(c->type, x));
}

static void check_gelu(cuda_case *c)
{
    const int64_t T = c->T, F = c->H, n = T * F;
    const size_t bytes = (size_t)n * cuda_type_bytes(c->type);
    const double unit = case_half_unit(c->type), bound = c->type == CUDA_FLOAT32 ? 1e-6 : 1.01 * unit;
    double *x = case_normal(c, n, 2), *bias = case_normal_float(c, F, 1), *dy = case_normal(c, n, 1);
    double *pre = case_doubles(c, n), *y = case_doubles(c, n), *back = case_doubles(c, n);
    void *x_in = case_put(c, x, n), *dy_in = case_put(c, dy, n), *pre_out = case_room(c, n), *y_out = case_room(c, n), *back_out = case_room(c, n);
    float *bias_in = case_put_float(c, bias, F);
    for (int64_t i = 0; i < n; i++) {
        pre[i] = stored(c, (double)((float)x[i] + (float)bias[i % F]));
        y[i] = gelu(pre[i]);
        back[i] = dy[i] * slope(pre[i]);
    }
    CASE_TWICE(c, y_out, bytes, cuda_bias_gelu_forward(NULL, c->type, T, F, x_in, bias_in, pre_out, y_out));
    case_close("pre", case_get(c, pre_out, n), pre, n, 1e-12);
    case_close("gelu", case_get(c, y_out, n), y, n, bound);
    CASE_TWICE(c, back_out, bytes, cuda_gelu_backward(NULL, c->type, n, pre_out, dy_in, back_out));
    case_close("gelu back", case_get(c, back_out, n), back, n, bound);
    cuda_gelu_backward(NULL, c->type, n, pre_out, dy_in, dy_in); /* in place */
    ck_assert(memcmp(dy_in, back_out, bytes) == 0);
    cuda_bias_gelu_forward(NULL, c->type, T, F, pre_out, NULL, NULL, pre_out); /* the bias is in it, nothing kept, in place */
    ck_assert(memcmp(pre_out, y_out, bytes) == 0);
    case_no_fault("gelu");
}

static void check_columns(cuda_case *c)
{
    const int64_t O = 8 * (1 + (int64_t)support_below(70)), rows = 1 + (int64_t)support_below(600), n = rows * O;
    double *x = case_normal(c, n, 1), *want = case_normal_float(c, O, 1);
    float *out = case_room_float(c, O), *start = case_put_float(c, want, O);
    void *in = case_put(c, x, n), *scratch = case_room_float(c, (rows + CUDA_COLUMN_ROWS - 1) / CUDA_COLUMN_ROWS * O);
    for (int64_t i = 0; i < n; i++)
        want[i % O] += x[i];
    CASE_TWICE(c, out, (size_t)O * 4, memcpy(out, start, (size_t)O * 4); cuda_column_sum(NULL, c->type, rows, O, in, out, scratch));
    case_close("column sum", case_get_float(c, out, O), want, O, 1e-6);
}

START_TEST(around_a_product)
{
    for (int type = 0; type < CUDA_TYPES; type++) {
        cuda_case c;
        cuda_case_begin(&c, (cuda_type)type, &some_shape, 0);
        check_gelu(&c);
        check_columns(&c);
        check_columns(&c);
        cuda_case_end(&c);
    }
}
END_TEST

START_TEST(gelu_has_the_bits_of_the_cpu)
{
    cuda_case c;
    backend *be;
    cuda_case_begin(&c, CUDA_FLOAT32, &some_shape, 0);
    const int64_t n = 8000;
    float *x = case_room_float(&c, n), *dy = case_room_float(&c, n), *got = case_room_float(&c, n), *want = case_room_float(&c, n);
    for (int64_t i = 0; i < n; i++) {
        x[i] = (float)(support_uniform() - 0.5) * (i % 2 ? 40.0f : 6.0f);
        dy[i] = support_normal();
    }
    x[5] = 0, x[6] = -0.0f, x[7] = -12.9f, x[8] = 1e30f, x[9] = -1e30f;
    ck_ok(backend_open_cpu(
        &(backend_limits){.tokens = 1, .rows = 1, .longest = 1, .hidden = 8, .heads = 1, .feed_forward = 8, .vocabulary = 8, .outputs = 1}, NULL,
        CPU_ISA_AUTO, &be));
    be->ops->gelu_backward(be, n, x, dy, want);
    cuda_gelu_backward(NULL, CUDA_FLOAT32, n, x, dy, got);
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(memcmp(got + i, want + i, 4) == 0, "x = %a: %a, not %a", (double)x[i], (double)got[i], (double)want[i]);
    be->ops->close(be);
    cuda_case_end(&c);
}
END_TEST

/* Neighbours first: the tree over [from, end) splits at the greatest power of two below its size. */
static float tree_sum(const float *pieces, int64_t stride, int from, int end)
{
    int half = 1;
    if (end - from == 1)
        return pieces[from * stride];
    while (2 * half < end - from)
        half *= 2;
    return tree_sum(pieces, stride, from, from + half) + tree_sum(pieces, stride, from + half, end);
}

START_TEST(split_products_fold_in_a_tree)
{
    for (int count = 1; count <= CUDA_MAX_PIECES; count++) {
        cuda_case c;
        cuda_case_begin(&c, CUDA_FLOAT32, &some_shape, 0);
        const int64_t n = 4 * (1 + (int64_t)support_below(400)), stride = n + 4 * (int64_t)support_below(3);
        float *pieces = case_put_float(&c, case_normal(&c, count * stride, 1), count * stride);
        double *start = case_normal(&c, n, 1);
        float *to = case_room_float(&c, n);
        CASE_TWICE(&c, to, (size_t)n * 4, for (int64_t i = 0; i < n; i++) to[i] = (float)start[i];
                   cuda_fold_split(NULL, n, count, stride, pieces, to));
        for (int64_t i = 0; i < n; i++)
            ck_assert(to[i] == (float)start[i] + tree_sum(pieces + i, stride, 0, count));
        cuda_case_end(&c);
    }
}
END_TEST

int main(void)
{
    return support_run("cuda linear", (const TTest *const[]){around_a_product, gelu_has_the_bits_of_the_cpu, split_products_fold_in_a_tree, NULL});
}
