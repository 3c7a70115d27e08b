/* The optimizer's scalars, its pass, and the schedule, against the reference's numbers. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/cpu/cpu.h"
#include "model/weights_file.h"
#include "support/support.h"
#include "train/adamw.h"

START_TEST(power_is_exact_enough)
{
    for (int64_t n = 0; n < 3000; n += 1 + n / 7) {
        ck_assert(fabs(adamw_power(0.999, n) / pow(0.999, (double)n) - 1) < 1e-13);
        ck_assert(fabs(adamw_power(0.9, n) - pow(0.9, (double)n)) < 1e-15);
    }
    ck_assert(adamw_power(0.5, 3) == 0.125 && adamw_power(0.7, 0) == 1 && adamw_power(0.7, 1) == 0.7);
}
END_TEST

START_TEST(schedule_is_the_references)
{
    const char *path = support_oracle("model/schedule.json");
    size_t i, k;
    json_t *one, *step;
    if (!path) {
        support_skip("model/schedule.json");
        return;
    }
    json_t *root = json_load_file(path, 0, NULL);
    ck_assert(json_array_size(json_object_get(root, "cases")) > 5);
    json_array_foreach(json_object_get(root, "cases"), i, one)
    {
        schedule s = {.kind = SCHEDULE_LINEAR,
                      .rate = json_number_value(json_object_get(one, "lr0")),
                      .total = json_integer_value(json_object_get(one, "total")),
                      .warmup = json_integer_value(json_object_get(one, "warmup"))};
        json_array_foreach(json_object_get(one, "step"), k, step)
        {
            double want = json_number_value(json_array_get(json_object_get(one, "lr"), k)), got = schedule_rate(&s, json_integer_value(step));
            ck_assert_msg(fabs(got - want) <= 4e-16 * want, "case %zu step %lld: %.17g, not %.17g", i, (long long)json_integer_value(step), got,
                          want);
        }
    }
    json_decref(root);
    schedule constant = {.kind = SCHEDULE_CONSTANT, .rate = 3, .total = 10, .warmup = 4};
    ck_assert(schedule_rate(&constant, 2) == 1.5 && schedule_rate(&constant, 4) == 3 && schedule_rate(&constant, 9) == 3);
}
END_TEST

static float *read_tensor(const weights_file *file, const char *group, const char *name, int64_t *count)
{
    char full[32];
    snprintf(full, sizeof full, "%s%s%s", group, *group ? "." : "", name);
    const weights_entry *e = weights_file_find(file, full);
    ck_assert_msg(e != NULL, "no tensor %s", full);
    float *out = malloc((size_t)e->count * sizeof *out);
    ck_ok(weights_entry_read(file, e, out));
    *count = e->count;
    return out;
}

static void check_group(const weights_file *file, const char *group, backend *be)
{
    enum { N = 48, STEPS = 5 };
    const adamw_options o = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-6, .decay = 0.001};
    int64_t count;
    float *param = read_tensor(file, group, "param", &count), *m = read_tensor(file, group, "m", &count), *v = read_tensor(file, group, "v", &count);
    float *gradient = read_tensor(file, group, "grad", &count), *rate = read_tensor(file, "", "lr", &count);
    _Alignas(64) float p[N], am[N], av[N];
    memcpy(p, param, sizeof p);
    memcpy(am, m, sizeof am);
    memcpy(av, v, sizeof av);
    float size[N] = {0}; /* moments of changing sign cancel: their error is that of their largest value */
    for (int i = 0; i < (STEPS + 1) * N; i++)
        size[i % N] = fmaxf(size[i % N], fabsf(m[i]));
    for (int t = 1; t <= STEPS; t++) {
        adamw_step s = adamw_scalars(&o, rate[t - 1], t);
        be->ops->adamw(be, N, 0, &s, strcmp(group, "decay") == 0, t == 3 ? NULL : gradient + (t - 1) * N, am, av, p,
                       &(uint64_t){0});
        for (int i = 0; i < N; i++) {
            float wp = param[t * N + i], wm = m[t * N + i], wv = v[t * N + i];
            ck_assert_msg(fabsf(p[i] - wp) <= 2e-6f * fmaxf(fabsf(wp), 0.1f), "%s step %d param %d: %.9g, not %.9g", group, t, i, (double)p[i],
                          (double)wp);
            ck_assert_msg(size[i] < 1e-36f || fabsf(am[i] - wm) <= 2e-6f * size[i], "%s step %d m %d: %.9g, not %.9g", group, t, i, (double)am[i],
                          (double)wm);
            ck_assert(fabsf(wv) < 1e-36f || fabsf(av[i] - wv) <= 2e-6f * fabsf(wv));
        }
    }
    free(param), free(m), free(v), free(gradient), free(rate);
}

START_TEST(adamw_is_the_references)
{
    const char *path = support_oracle("model/adamw.safetensors");
    weights_file *file;
    backend *be;
    if (!path) {
        support_skip("model/adamw.safetensors");
        return;
    }
    ck_ok(weights_file_open(path, &file));
    ck_ok(backend_open_cpu(
        &(backend_limits){.tokens = 16, .rows = 1, .longest = 16, .hidden = 16, .heads = 1, .feed_forward = 16, .vocabulary = 16, .outputs = 1}, NULL,
        CPU_ISA_AUTO, &be));
    check_group(file, "decay", be);
    check_group(file, "plain", be);
    be->ops->close(be);
    weights_file_close(file);
}
END_TEST

int main(void)
{
    return support_run("train_adamw", (const TTest *[]){power_is_exact_enough, schedule_is_the_references, adamw_is_the_references, NULL});
}
