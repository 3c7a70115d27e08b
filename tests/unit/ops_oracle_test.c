/* The scalar functions and AdamW against the reference numbers (oracle/model), within the tolerances of their README. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/cpu/cpu.h"
#include "support/support.h"

static backend *be;

static json_t *load(const char *name)
{
    const char *path = support_oracle(name);
    if (!path) {
        support_skip(name);
        return NULL;
    }
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    ck_assert_msg(root != NULL, "%s: %s", path, error.text);
    return root;
}

static double number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    ck_assert_msg(json_is_number(v), "no number %s", key);
    return json_number_value(v);
}

/* The array `key`, as doubles; *n its length. */
static double *numbers(const json_t *object, const char *key, int64_t *n)
{
    const json_t *list = json_object_get(object, key);
    *n = (int64_t)json_array_size(list);
    double *d = calloc((size_t)*n + 1, sizeof *d);
    ck_assert(d != NULL && *n > 0);
    for (int64_t i = 0; i < *n; i++)
        d[i] = json_number_value(json_array_get(list, (size_t)i));
    return d;
}

static float *floats(const double *d, int64_t n)
{
    float *f = calloc((size_t)n + 1, sizeof *f);
    ck_assert_ptr_nonnull(f);
    for (int64_t i = 0; d && i < n; i++)
        f[i] = (float)d[i];
    return f;
}

static float *float_numbers(const json_t *object, const char *key)
{
    int64_t n;
    double *d = numbers(object, key, &n);
    return floats(d, n);
}

/* relative over 1, absolute below */
static double error_of(double got, double want)
{
    return fabs(got - want) / fmax(1, fabs(want));
}

static double greatest_error(const float *got, const double *want, int64_t n)
{
    double worst = 0;
    for (int64_t i = 0; i < n; i++)
        worst = isfinite(got[i]) ? fmax(worst, error_of(got[i], want[i])) : INFINITY;
    return worst;
}

/* One row of n tokens. */
static batch row_of(int64_t n, int64_t offset[2], int32_t *keys, const float *label)
{
    static int32_t none[512];
    static uint64_t sample;
    offset[0] = 0, offset[1] = n, *keys = (int32_t)n;
    return (batch){1, n, n, 0, none, none, offset, keys, &sample, label};
}

START_TEST(gelu)
{
    json_t *root = load("model/gelu.json"), *one;
    size_t i;
    double worst[2] = {0, 0};
    if (!root)
        return;
    json_array_foreach(json_object_get(root, "cases"), i, one) {
        float x = (float)number(one, "x"), unit = 1, zero = 0, pre, y, slope;
        be->ops->linear_gelu_forward(be, 1, 1, 1, &x, &unit, &zero, &pre, &y);
        be->ops->gelu_backward(be, 1, &x, &unit, &slope);
        worst[0] = fmax(worst[0], error_of(y, number(one, "y")));
        worst[1] = fmax(worst[1], error_of(slope, number(one, "slope")));
    }
    fprintf(stderr, "gelu: %zu cases, %.2g, slope %.2g\n", i, worst[0], worst[1]);
    ck_assert(i > 20 && worst[0] < 2e-6 && worst[1] < 2e-6);
}
END_TEST

/* Through attention with head size 1: q = 1, k = x, and head h has v = 1 at token h alone, so that its output is probability h.
 * On the way back head 0 has v = dy. */
START_TEST(softmax)
{
    json_t *root = load("model/softmax.json"), *one;
    size_t i;
    double worst[2] = {0, 0};
    if (!root)
        return;
    json_array_foreach(json_object_get(root, "cases"), i, one) {
        int64_t n, offset[2];
        int32_t keys;
        double *x = numbers(one, "x", &n), *y = numbers(one, "y", &n), *dx = numbers(one, "dx", &n);
        float *dy = float_numbers(one, "dy"), *q = floats(NULL, n * n), *k = floats(NULL, n * n), *v = floats(NULL, n * n), *out = floats(NULL, n * n);
        float *top = floats(NULL, n * n), *sum = floats(NULL, n * n), *dout = floats(NULL, n), *dq = floats(NULL, n), *dk = floats(NULL, n), *dv = floats(NULL, n);
        batch b = row_of(n, offset, &keys, NULL);
        for (int64_t t = 0; t < n; t++)
            for (int64_t h = 0; h < n; h++)
                q[t * n + h] = 1, k[t * n + h] = (float)x[t], v[t * n + h] = t == h;
        be->ops->attention_forward(be, &b, n, n, q, k, v, NULL, out, top, sum);
        worst[0] = fmax(worst[0], greatest_error(out, y, n));
        for (int64_t t = 0; t < n; t++)
            q[t] = 1, k[t] = (float)x[t];
        be->ops->attention_forward(be, &b, 1, 1, q, k, dy, NULL, out, top, sum);
        dout[0] = 1;
        be->ops->attention_backward(be, &b, 1, 1, q, k, dy, NULL, out, top, sum, dout, dq, dk, dv);
        worst[1] = fmax(worst[1], greatest_error(dk, dx, n));
    }
    fprintf(stderr, "softmax: %zu cases, %.2g, back %.2g\n", i, worst[0], worst[1]);
    ck_assert(i > 5 && worst[0] < 2e-6 && worst[1] < 2e-6);
}
END_TEST

static void check_norm_case(const json_t *one, float epsilon, const json_t *noise)
{
    const char *name = json_string_value(json_object_get(one, "name"));
    int64_t H = 0, offset[2];
    int32_t keys;
    double *want_dx = numbers(one, "dx", &H), greatest = 0, worst = 0;
    float *x = float_numbers(one, "x"), *gamma = float_numbers(one, "weight"), *beta = float_numbers(one, "bias");
    float *dy = float_numbers(one, "dy"), *zero = floats(NULL, H), *sum = floats(NULL, H), *z = floats(NULL, H), *dx = floats(NULL, H);
    float *through = floats(NULL, H), *dgamma = floats(NULL, H), *dbeta = floats(NULL, H), mean, rstd;
    batch b = row_of(1, offset, &keys, NULL);
    be->ops->residual_norm_forward(be, &b, H, x, zero, NULL, gamma, beta, epsilon, sum, &mean, &rstd, z);
    be->ops->residual_norm_backward(be, &b, H, dy, sum, &mean, &rstd, gamma, NULL, dx, through, dgamma, dbeta);
    for (int64_t i = 0; i < H; i++)
        greatest = fmax(greatest, fabs(want_dx[i]));
    int absolute = strcmp(name, "one") == 0 || strcmp(name, "two") == 0; /* dx is zero but for epsilon */
    for (int64_t i = 0; i < H; i++)
        worst = fmax(worst, fabs(dx[i] - want_dx[i]) / (absolute || greatest == 0 ? 1 : greatest));
    double y_error = greatest_error(z, numbers(one, "y", &H), H), weight_error = greatest_error(dgamma, numbers(one, "dweight", &H), H);
    const json_t *n = json_object_get(noise, name);
    double bound_y = fmax(2e-6, 10 * number(n, "y")), bound_w = fmax(2e-6, 10 * number(n, "dweight"));
    double bound_dx = absolute || strcmp(name, "constant_10000") == 0 ? 2e-6 : fmax(2e-6, 10 * number(n, "dx"));
    fprintf(stderr, "layer norm %s: y %.2g (%.2g), dx %.2g (%.2g), dweight %.2g (%.2g)\n", name, y_error, bound_y, worst, bound_dx, weight_error, bound_w);
    ck_assert_msg(y_error <= bound_y && worst <= bound_dx && weight_error <= bound_w, "layer norm of %s", name);
    ck_assert_msg(greatest_error(dbeta, numbers(one, "dbias", &H), H) < 2e-6, "bias gradient of %s", name);
}

START_TEST(layer_norm)
{
    json_t *root = load("model/layernorm.json"), *noise = load("model/noise.json"), *one;
    size_t i;
    if (!root || !noise)
        return;
    noise = json_object_get(json_object_get(noise, "functions"), "layernorm");
    ck_assert_ptr_nonnull(noise);
    json_array_foreach(json_object_get(root, "cases"), i, one)
        check_norm_case(one, (float)number(root, "epsilon"), noise);
    ck_assert_uint_gt(i, 3);
}
END_TEST

START_TEST(loss)
{
    json_t *root = load("model/loss.json"), *one;
    size_t i;
    double worst[2] = {0, 0};
    if (!root)
        return;
    json_array_foreach(json_object_get(root, "cases"), i, one) {
        float logit = (float)number(one, "logit"), label = (float)number(one, "label"), gradient;
        double value;
        int64_t offset[2];
        int32_t keys;
        batch b = row_of(1, offset, &keys, &label);
        be->ops->loss_forward(be, &b, 1, &logit, 1, &value, &gradient);
        worst[0] = fmax(worst[0], error_of(value, number(one, "loss")));
        worst[1] = fmax(worst[1], error_of(gradient, number(one, "gradient")));
    }
    fprintf(stderr, "loss: %zu cases, %.2g, gradient %.2g\n", i, worst[0], worst[1]);
    ck_assert(i > 20 && worst[0] < 1e-14 && worst[1] < 1e-7);
}
END_TEST

/* ---- AdamW ---- */

typedef struct tensors {
    json_t *header;
    unsigned char *data;
} tensors;

static int open_tensors(const char *name, tensors *t)
{
    const char *path = support_oracle(name);
    if (!path) {
        support_skip(name);
        return 0;
    }
    FILE *f = fopen(path, "rb");
    uint64_t n;
    ck_assert(f && fread(&n, 8, 1, f) == 1 && n < 1 << 20);
    char *text = malloc(n);
    ck_assert(text && fread(text, 1, n, f) == n);
    t->header = json_loadb(text, n, 0, NULL);
    ck_assert_ptr_nonnull(t->header);
    t->data = malloc(1 << 20);
    ck_assert(t->data && fread(t->data, 1, 1 << 20, f) > 0);
    fclose(f);
    free(text);
    return 1;
}

static const double *tensor(const tensors *t, const char *group, const char *name)
{
    char full[64];
    snprintf(full, sizeof full, "%s%s", group, name);
    const json_t *entry = json_object_get(t->header, full);
    ck_assert_msg(entry && strcmp(json_string_value(json_object_get(entry, "dtype")), "F64") == 0, "no float64 tensor %s", full);
    return (const double *)(const void *)(t->data + json_integer_value(json_array_get(json_object_get(entry, "data_offsets"), 0)));
}

START_TEST(adamw)
{
    enum { ELEMENTS = 48, STEPS = 5 };
    tensors t;
    if (!open_tensors("model/adamw.safetensors", &t))
        return;
    for (int decayed = 0; decayed < 2; decayed++) {
        const char *group = decayed ? "decay" : "plain";
        const double *param = tensor(&t, group, ".param"), *m_want = tensor(&t, group, ".m"), *v_want = tensor(&t, group, ".v"), *lr = tensor(&t, "", "lr");
        float *p = floats(param, ELEMENTS), *m = floats(NULL, ELEMENTS), *v = floats(NULL, ELEMENTS);
        double worst[3] = {0, 0, 0}, m_size[ELEMENTS] = {0};
        for (int i = 0; i < (STEPS + 1) * ELEMENTS; i++)
            m_size[i % ELEMENTS] = fmax(m_size[i % ELEMENTS], fabs(m_want[i]));
        for (int step = 1; step <= STEPS; step++) {
            double rate = lr[step - 1];
            adamw_step s = {0.9f, (float)(1 - 0.9), 0.999f, (float)(1 - 0.999), 1e-6f,
                            (float)(rate * sqrt(1 - pow(0.999, step)) / (1 - pow(0.9, step))), (float)(rate * 0.001)};
            be->ops->adamw(be, ELEMENTS, 0, &s, decayed, floats(tensor(&t, group, ".grad") + (step - 1) * ELEMENTS, ELEMENTS), m, v, p,
                           &(uint64_t){0});
            for (int i = 0; i < ELEMENTS; i++) {
                double pw = param[step * ELEMENTS + i], mw = m_want[step * ELEMENTS + i], vw = v_want[step * ELEMENTS + i];
                worst[0] = fmax(worst[0], fabs(p[i] - pw) / fmax(0.1, fabs(pw)));
                worst[1] = m_size[i] > 1e-36 ? fmax(worst[1], fabs(m[i] - mw) / m_size[i]) : worst[1];
                worst[2] = vw > 1e-36 ? fmax(worst[2], fabs(v[i] - vw) / vw) : worst[2];
            }
        }
        fprintf(stderr, "adamw %s: param %.2g, m %.2g, v %.2g\n", group, worst[0], worst[1], worst[2]);
        ck_assert(worst[0] < 2e-6 && worst[1] < 2e-6 && worst[2] < 2e-6);
    }
}
END_TEST

int main(void)
{
    threads_set_rounding();
    if (backend_open_cpu(&(backend_limits){.tokens = 512, .rows = 1, .longest = 512, .hidden = 4096, .heads = 512, .feed_forward = 4096,
                                           .vocabulary = 1, .outputs = 1}, NULL, CPU_ISA_AUTO, &be) != STATUS_OK) {
        fprintf(stderr, "%s\n", status_message());
        return 1;
    }
    int failed = support_run("ops_oracle", (const TTest *const[]){gelu, softmax, layer_norm, loss, adamw, NULL});
    be->ops->close(be);
    return failed;
}
