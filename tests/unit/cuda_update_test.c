/* Gradients and the optimizer on the host: AdamW's bits are the CPU's, folds follow the one tree, hashes and flags. */
#include "common/hash.h"
#include "model/cpu/cpu.h"
#include "unit/cuda_case.h"

static const cuda_shape small_shape = {.rows = 1, .longest = 2, .heads = 1, .head_size = 8};

static float *random_floats(cuda_case *c, int64_t n)
{
    return case_put_float(c, case_normal_float(c, n, 1), n);
}

static backend *open_cpu(void)
{
    backend *be;
    ck_ok(backend_open_cpu(
        &(backend_limits){.tokens = 1, .rows = 1, .longest = 1, .hidden = 8, .heads = 1, .feed_forward = 8, .vocabulary = 8, .outputs = 1}, NULL,
        CPU_ISA_AUTO, &be));
    return be;
}

/* n consecutive parameters, with a gradient scaled up by `scale`, or with none. */
static void check_adamw(cuda_type type, int64_t n, int zeros, float scale)
{
    cuda_case c;
    cuda_case_begin(&c, type, &small_shape, 0);
    backend *be = open_cpu();
    const int64_t first = 77;
    float *p = random_floats(&c, n), *m = random_floats(&c, n), *v = random_floats(&c, n), *grad = random_floats(&c, n);
    uint64_t *hash = case_launch_bytes(&c, 8), want = 0;
    const size_t bytes = (size_t)n * 4;
    m[0] = 1e-37f; /* fades */
    for (int64_t i = 0; i < n; i++)
        v[i] = fabsf(v[i]);
    const float *plain = case_keep(&c, grad, bytes);
    for (int64_t i = 0; i < n; i++)
        grad[i] *= scale;
    float *p0 = case_keep(&c, p, bytes), *m0 = case_keep(&c, m, bytes), *v0 = case_keep(&c, v, bytes);
    float *pc = case_keep(&c, p, bytes), *mc = case_keep(&c, m, bytes), *vc = case_keep(&c, v, bytes);
    adamw_step s = {0.9f, 0.1f, 0.999f, 0.001f, 1e-6f, 2e-3f, 3e-4f};
    be->ops->adamw(be, n, first, &s, 1, zeros ? NULL : plain, mc, vc, pc, &want);
    void *copy = case_room(&c, n);
    cuda_adamw_args a = {.n = n,
                         .first_index = first,
                         .step = s,
                         .decayed = 1,
                         .unscale = 1 / scale,
                         .grad = zeros ? NULL : grad,
                         .m = m,
                         .v = v,
                         .p = p,
                         .type = type,
                         .copy = copy,
                         .hash = hash,
                         .scratch = c.scratch};
    CASE_TWICE(&c, p, bytes, memcpy(p, p0, bytes); memcpy(m, m0, bytes); memcpy(v, v0, bytes); *hash = 5; cuda_adamw(NULL, &a));
    ck_assert(memcmp(p, pc, bytes) == 0 && memcmp(m, mc, bytes) == 0 && memcmp(v, vc, bytes) == 0);
    ck_assert_uint_eq(*hash, want + 5);
    for (int64_t i = 0; i < n && type != CUDA_FLOAT32; i++)
        ck_assert_int_eq(((uint16_t *)copy)[i], case_bits(type, (double)p[i]));
    case_no_fault("adamw");
    be->ops->close(be);
    cuda_case_end(&c);
}

START_TEST(adamw_has_the_bits_of_the_cpu)
{
    for (int type = 0; type < CUDA_TYPES; type++)
        for (int zeros = 0; zeros < 2; zeros++)
            check_adamw((cuda_type)type, 1 + (int64_t)support_below(5000), zeros, zeros ? 1.0f : 65536.0f);
    check_adamw(CUDA_BFLOAT16, 270001, 0, 1); /* more than one pass of the grid */
}
END_TEST

START_TEST(sparse_rows_merge)
{
    cuda_case c;
    cuda_case_begin(&c, CUDA_FLOAT32, &small_shape, 0);
    const int64_t H = 300, most = 12;
    float *a = random_floats(&c, most * H), *b = random_floats(&c, most * H), *out = case_room_float(&c, most * H);
    int32_t *a_row = case_launch_bytes(&c, most * 4), *b_row = case_launch_bytes(&c, most * 4);
    for (int i = 0; i < most; i++) {
        a_row[i] = i % 3 == 0 ? -1 : (int32_t)support_below(most);
        b_row[i] = i % 3 == 1 ? -1 : (int32_t)support_below(most);
    }
    a[5] = -0.0f; /* an absent row is not added: + 0 would turn it over */
    a_row[1] = 0;
    CASE_TWICE(&c, out, (size_t)(most * H) * 4, cuda_merge_rows(NULL, most, H, a, a_row, b, b_row, out));
    for (int64_t i = 0; i < most * H; i++) {
        int32_t ra = a_row[i / H], rb = b_row[i / H];
        float want = ra < 0 ? b[rb * H + i % H] : rb < 0 ? a[ra * H + i % H] : a[ra * H + i % H] + b[rb * H + i % H];
        ck_assert(memcmp(&want, out + i, 4) == 0);
    }
    cuda_case_end(&c);
}
END_TEST

START_TEST(overflow_is_found)
{
    cuda_case c;
    cuda_case_begin(&c, CUDA_FLOAT32, &small_shape, 0);
    const int64_t n = 300000; /* more than one pass of the grid */
    float *x = random_floats(&c, n), bad[] = {INFINITY, -INFINITY, NAN, 3e38f};
    int32_t *flag = case_launch_bytes(&c, 4);
    for (int kind = 0; kind < 5; kind++) {
        int64_t at = kind == 1 ? n - 1 : (int64_t)support_below((uint64_t)n);
        float was = x[at];
        if (kind < 4)
            x[at] = bad[kind];
        *flag = 0;
        cuda_find_overflow(NULL, n, x, flag, c.scratch);
        case_no_fault("overflow");
        ck_assert_int_eq(*flag, kind < 3);
        x[at] = was;
    }
    *flag = 1; /* what was found before stays */
    cuda_find_overflow(NULL, 1, x, flag, c.scratch);
    ck_assert_int_eq(*flag, 1);
    cuda_case_end(&c);
}
END_TEST

START_TEST(plain_passes)
{
    cuda_case c;
    cuda_case_begin(&c, CUDA_FLOAT32, &small_shape, 0);
    const int64_t n = 270001;
    float *a = random_floats(&c, n), *b = random_floats(&c, n), *sum = case_keep(&c, b, (size_t)n * 4);
    for (int64_t i = 0; i < n; i++)
        sum[i] += a[i];
    cuda_add(NULL, n, a, b);
    ck_assert(memcmp(b, sum, (size_t)n * 4) == 0);
    case_no_fault("add");
    cuda_case_end(&c);
}
END_TEST

/* Every value of a 16-bit type, what lies halfway between neighbours, and random bits. */
START_TEST(types_round_to_nearest_even)
{
    for (cuda_type type = CUDA_BFLOAT16; type <= CUDA_FLOAT16; type++) {
        cuda_case c;
        cuda_case_begin(&c, type, &small_shape, 0);
        const int64_t n = 3 * 65536 + 20000;
        float *x = case_room_float(&c, n);
        uint16_t *bits = case_launch_bytes(&c, (size_t)n * 2);
        for (int64_t i = 0; i < n; i++) {
            double low = case_value(type, (uint16_t)(i % 65536)), high = case_value(type, (uint16_t)((i + 1) % 65536));
            uint32_t any = (uint32_t)support_random();
            x[i] = (float)(i < 65536 || isinf(low) || isnan(high) ? low : low / 2 + high / 2);
            if (i >= 2 * 65536 && i < 3 * 65536)
                x[i] = nextafterf(x[i], i % 2 ? INFINITY : -INFINITY);
            if (i >= 3 * 65536)
                memcpy(x + i, &any, 4);
        }
        cuda_cast(NULL, type, n, x, bits);
        case_no_fault("cast");
        for (int64_t i = 0; i < n; i++) {
            ck_assert_msg(isnan(x[i]) ? isnan(case_value(type, bits[i])) : bits[i] == case_bits(type, (double)x[i]), "%a became %04x, not %04x",
                          (double)x[i], bits[i], case_bits(type, (double)x[i]));
        }
        cuda_case_end(&c);
    }
}
END_TEST

START_TEST(refusals_say_why)
{
    backend_limits l = {.tokens = 100, .rows = 2, .longest = 50, .hidden = 768, .heads = 12, .feed_forward = 3072, .vocabulary = 100, .outputs = 1};
    ck_assert_ptr_null(cuda_kernels_refuse(&l, CUDA_BFLOAT16, 80));
    ck_assert_ptr_null(cuda_kernels_refuse(&l, CUDA_FLOAT16, 75));
    ck_assert(strstr(cuda_kernels_refuse(&l, CUDA_BFLOAT16, 75), "bfloat16 needs"));
    ck_assert(strstr(cuda_kernels_refuse(&l, CUDA_FLOAT32, 70), "older than"));
    l.heads = 6;
    ck_assert(strstr(cuda_kernels_refuse(&l, CUDA_FLOAT32, 90), "heads of up to 64"));
    l.heads = 12, l.longest = 513;
    ck_assert(strstr(cuda_kernels_refuse(&l, CUDA_FLOAT32, 90), "512"));
    l.longest = 50, l.hidden = 1536, l.heads = 24;
    ck_assert(strstr(cuda_kernels_refuse(&l, CUDA_FLOAT32, 90), "1024"));
}
END_TEST

int main(void)
{
    return support_run("cuda update", (const TTest *const[]){adamw_has_the_bits_of_the_cpu, sparse_rows_merge, overflow_is_found, plain_passes,
                                                             types_round_to_nearest_even, refusals_say_why, NULL});
}
