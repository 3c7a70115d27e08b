/* fused_cudnn.c, the door itself, over a stand-in for cuDNN: packed rows come out right, beside float64 and beside the own kernel; the own kernel goes
 * back from what the library leaves; and of the engines that are offered the one that gives the same bits each time is taken and kept. */
#include <dlfcn.h>

#include "model/cuda/fused.h"
#include "support/cudnn_host.h"
#include "unit/cuda_case.h"

static stand_cudnn_record *record(void)
{
    void *library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_NOLOAD);
    stand_cudnn_record *r = library ? dlsym(library, "stand_cudnn") : NULL;
    ck_assert_msg(r != NULL, "another cuDNN than the stand-in was opened");
    return r;
}

/* The lists that cuda_batch.c makes of a micro-batch. */
static fused_rows lists(cuda_case *c)
{
    const int64_t rows = fused_round(c->B);
    int64_t *element = case_launch_bytes(c, (size_t)(rows + 1) * 8), *statistic = case_launch_bytes(c, (size_t)(rows + 1) * 8);
    int32_t *queries = case_launch_bytes(c, (size_t)rows * 4), *keys = case_launch_bytes(c, (size_t)rows * 4);
    for (int64_t r = 0; r <= rows; r++) {
        element[r] = c->rows.offset[r < c->B ? r : c->B] * c->H;
        statistic[r] = c->rows.offset[r < c->B ? r : c->B] * c->N;
    }
    for (int64_t r = 0; r < rows; r++) {
        queries[r] = r < c->B ? (int32_t)(c->rows.offset[r + 1] - c->rows.offset[r]) : 0;
        keys[r] = r < c->B ? c->rows.keys[r] : 0;
    }
    return (fused_rows){rows, element, statistic, queries, keys};
}

/* Attention in float64, and the logarithm of each softmax's sum. */
static void reference(cuda_case *c, const double *q, const double *k, const double *v, double *out, double *lse)
{
    for (int64_t row = 0; row < c->B; row++)
        for (int64_t head = 0; head < c->N; head++)
            for (int64_t t = c->rows.offset[row]; t < c->rows.offset[row + 1]; t++) {
                double p[512], greatest = -INFINITY, sum = 0;
                for (int64_t j = 0; j < c->rows.keys[row]; j++) {
                    p[j] = 0;
                    for (int64_t d = head * c->D; d < (head + 1) * c->D; d++)
                        p[j] += q[t * c->H + d] * k[(c->rows.offset[row] + j) * c->H + d] / sqrt((double)c->D);
                    greatest = fmax(greatest, p[j]);
                }
                for (int64_t j = 0; j < c->rows.keys[row]; j++)
                    sum += p[j] = exp(p[j] - greatest);
                for (int64_t j = 0; j < c->rows.keys[row]; j++)
                    for (int64_t d = head * c->D; d < (head + 1) * c->D; d++)
                        out[t * c->H + d] += p[j] / sum * v[(c->rows.offset[row] + j) * c->H + d];
                lse[t * c->N + head] = greatest + log(sum);
            }
}

static void check_backward(cuda_case *c, cuda_attention_args a, float *lse)
{
    void *got[2][3];
    const int64_t n = c->T * c->H;
    a.drop = NULL;
    a.dout = case_put(c, case_normal(c, n, 1), n);
    a.scratch = c->scratch;
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 3; j++)
            got[i][j] = case_room(c, n);
        a.dq = got[i][0], a.dk = got[i][1], a.dv = got[i][2];
        cuda_attention_backward(NULL, &a);
        case_no_fault("backward");
        a.row_max = lse; /* and now from the library's */
        a.row_sum = NULL;
    }
    for (int j = 0; j < 3; j++)
        case_close_beside("the way back", case_get(c, got[1][j], n), case_get(c, got[0][j], n), n, 4 * case_half_unit(c->type), 0.5);
}

static void check_case(cuda_case *c)
{
    const int64_t n = c->T * c->H;
    double *q = case_normal(c, n, 1), *k = case_normal(c, n, 1), *v = case_normal(c, n, 1);
    double *out = case_doubles(c, n), *want_lse = case_doubles(c, c->T * c->N);
    float *lse = case_room_float(c, c->T * c->N), *row_max = case_room_float(c, c->T * c->N), *row_sum = case_room_float(c, c->T * c->N);
    cuda_attention_args own = {.type = c->type, .rows = &c->rows, .heads = c->N, .head_size = c->D, .stride = c->H, .row_max = row_max, .row_sum = row_sum};
    void *got = case_room(c, n);
    fused *f;
    gpu *g;
    own.q = case_put(c, q, n), own.k = case_put(c, k, n), own.v = case_put(c, v, n), own.out = case_room(c, n);
    reference(c, q, k, v, out, want_lse);
    ck_ok(gpu_open(0, &g));
    ck_assert(fused_refuses(c->type, 80) == NULL);
    ck_ok(fused_open(g, c->type, c->N, c->D, c->shape.longest, &f));
    const fused_rows rows = lists(c);
    const int64_t calls = record()->calls;
    fused_run(f, &rows, own.q, own.k, own.v, got, lse);
    ck_ok(gpu_check(g));
    ck_assert_int_eq(record()->calls - calls, (c->B + FUSED_ROWS - 1) / FUSED_ROWS);
    ck_assert_int_eq(record()->engine, STAND_CUDNN_GOOD);
    ck_assert_int_eq(fused_engine(f), STAND_CUDNN_GOOD);
    cuda_attention_forward(NULL, &own);
    case_no_fault("the own kernel");
    case_close("cuDNN", case_get(c, got, n), out, n, 1.001 * case_half_unit(c->type));
    case_close("its sums", case_get_float(c, lse, c->T * c->N), want_lse, c->T * c->N, 1e-6);
    case_close("beside the own", case_get(c, got, n), case_get(c, own.out, n), n, 3.001 * case_half_unit(c->type));
    check_backward(c, own, lse);
    fused_close(f);
    gpu_close(g);
    ck_assert_int_eq(record()->descriptors, 0);
    ck_assert_int_eq(record()->faults, 0);
}

static void check_shape(cuda_type type, const cuda_shape *shape)
{
    cuda_case c;
    cuda_case_begin(&c, type, shape, 0);
    check_case(&c);
    cuda_case_end(&c);
}

START_TEST(packed_rows)
{
    for (cuda_type type = CUDA_BFLOAT16; type <= CUDA_FLOAT16; type++) {
        for (int round = 0; round < 3; round++) {
            cuda_shape s = case_shape(24, round % 2);
            check_shape(type, &s);
        }
        check_shape(type, &(cuda_shape){.rows = 2, .longest = 80, .heads = 2, .head_size = 64});
        /* more rows than the plan has, the last piece nearly empty */
        check_shape(type, &(cuda_shape){.rows = 2 * FUSED_ROWS + 1, .longest = 3, .heads = 1, .head_size = 8});
    }
}
END_TEST

START_TEST(refused)
{
    ck_assert_ptr_nonnull(strstr(fused_refuses(CUDA_FLOAT32, 90), "bfloat16 and float16"));
    ck_assert_ptr_nonnull(strstr(fused_refuses(CUDA_FLOAT16, 75), "compute capability 8.0"));
    ck_assert_ptr_null(fused_refuses(CUDA_BFLOAT16, 80));
    ck_assert_str_eq(fused_version(), "cuDNN 9.19.0");
    setenv("FRETSAW_STAND_CUDNN", "91400", 1);
    ck_assert_ptr_nonnull(strstr(fused_refuses(CUDA_BFLOAT16, 90), "older than 9.15"));
    setenv("FRETSAW_STAND_CUDNN", "91500", 1);
    ck_assert_ptr_null(fused_refuses(CUDA_BFLOAT16, 90));
    ck_assert_ptr_nonnull(strstr(fused_refuses(CUDA_BFLOAT16, 80), "9.18.1"));
    unsetenv("FRETSAW_STAND_CUDNN");
}
END_TEST

/* Each engine that will not do is passed over; with none that does, opening says so, and gives all back. */
START_TEST(no_engine)
{
    gpu *g;
    fused *f;
    ck_ok(gpu_open(0, &g));
    ck_assert(fused_refuses(CUDA_BFLOAT16, 90) == NULL);
    setenv("FRETSAW_STAND_CUDNN_OFFERS", "3", 1);
    ck_fails(fused_open(g, CUDA_BFLOAT16, 2, 32, 40, &f), STATUS_RESOURCE, "3 were offered; --attention own");
    fused_close(f);
    ck_fails(fused_open(g, CUDA_BFLOAT16, 2, 12, 40, &f), STATUS_RESOURCE, "heads of 12");
    fused_close(f);
    ck_assert_int_eq(record()->descriptors, 0);
    unsetenv("FRETSAW_STAND_CUDNN_OFFERS");
    gpu_close(g);
}
END_TEST

/* What the library says in a call comes out at the next check. */
START_TEST(a_call_fails)
{
    cuda_case c;
    gpu *g;
    fused *f;
    cuda_case_begin(&c, CUDA_FLOAT16, &(cuda_shape){.rows = 2, .longest = 9, .heads = 2, .head_size = 16}, 0);
    void *x = case_put(&c, case_normal(&c, c.T * c.H, 1), c.T * c.H), *out = case_room(&c, c.T * c.H);
    float *lse = case_room_float(&c, c.T * c.N);
    fused_rows rows = lists(&c);
    ck_ok(gpu_open(0, &g));
    ck_assert(fused_refuses(c.type, 80) == NULL);
    ck_ok(fused_open(g, c.type, c.N, c.D, c.shape.longest, &f));
    fused_run(f, &rows, (char *)x + 2, x, x, out, lse);
    ck_fails(gpu_check(g), STATUS_RESOURCE, "is not aligned to 16 bytes");
    ((int32_t *)rows.queries)[0] += 1;
    fused_run(f, &rows, x, x, x, out, lse);
    ck_fails(gpu_check(g), STATUS_RESOURCE, "row 0 of matrix 0 has");
    fused_close(f);
    gpu_close(g);
    cuda_case_end(&c);
}
END_TEST

int main(void)
{
    return support_run("cuda fused", (const TTest *const[]){packed_rows, refused, no_engine, a_call_fails, NULL});
}
