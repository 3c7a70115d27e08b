#include <cublasLt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/cuda/product.h"

/* The library is column-major: C = A B row by row is C' = B' A' column by column, so A and B change places and nothing is copied. */

enum { ADVICE = 24 };
static const size_t WORKSPACE = (size_t)32 << 20; /* what the makers recommend from sm_90 on */

struct product_plan {
    product what;
    cublasLtMatmulDescOpaque_t operation;
    cublasLtMatmulAlgo_t algorithm;
    product_plan *next;
};

struct products {
    gpu *gpu;
    cublasLtHandle_t handle;
    cudaDataType_t type;
    void *workspace;
    product_plan *plans;
};

static status say(const char *what, cublasStatus_t s)
{
    return fail(STATUS_RESOURCE, "cuBLASLt, %s: %s", what, cublasLtGetStatusString(s));
}

#define CHECK_LT(what, call)                \
    do {                                    \
        cublasStatus_t lt_ = (call);        \
        if (lt_ != CUBLAS_STATUS_SUCCESS)   \
            return say(what, lt_);          \
    } while (0)

size_t products_bytes(void)
{
    return WORKSPACE;
}

status products_open(gpu *g, cuda_type type, products **out)
{
    static const cudaDataType_t types[CUDA_TYPES] = {CUDA_R_32F, CUDA_R_16BF, CUDA_R_16F};
    products *p;
    *out = NULL;
    TRY(memory_new(&p, sizeof *p, "matrix products"));
    *out = p;
    p->gpu = g;
    p->type = types[type];
    CHECK_LT("opening", cublasLtCreate(&p->handle));
    return gpu_allocate(g, WORKSPACE, "the workspace of products", &p->workspace);
}

void products_close(products *p)
{
    if (!p)
        return;
    for (product_plan *plan = p->plans, *next; plan; plan = next) {
        next = plan->next;
        free(plan);
    }
    if (p->workspace)
        gpu_release(p->gpu, p->workspace);
    if (p->handle)
        cublasLtDestroy(p->handle);
    free(p);
}

const char *products_version(void)
{
    static char text[48];
    size_t v = cublasLtGetVersion();
    snprintf(text, sizeof text, "cuBLASLt %zu.%zu.%zu", v / 10000, v / 100 % 100, v % 100);
    return text;
}

/* The matrices of one call, as the library has them: `first` is our B, `second` our A. */
typedef struct layouts {
    cublasLtMatrixLayoutOpaque_t first, second, result;
} layouts;

static status make_layout(cublasLtMatrixLayout_t l, cudaDataType_t type, int64_t stored_rows, int64_t stored_columns, int64_t times, int64_t step)
{
    const int32_t count = (int32_t)times;
    CHECK_LT("a layout", cublasLtMatrixLayoutInit(l, type, (uint64_t)stored_columns, (uint64_t)stored_rows, stored_columns));
    CHECK_LT("a layout", cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
    CHECK_LT("a layout", cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step));
    return STATUS_OK;
}

static status make_layouts(const products *p, const product *w, int64_t tokens, int64_t times, layouts *l)
{
    int64_t m = w->varies == PRODUCT_M ? tokens : w->m, k = w->varies == PRODUCT_K ? tokens : w->k, n = w->n;
    TRY(make_layout(&l->first, p->type, w->b_transposed ? n : k, w->b_transposed ? k : n, times, w->b_step));
    TRY(make_layout(&l->second, p->type, w->a_transposed ? k : m, w->a_transposed ? m : k, times, w->a_step));
    return make_layout(&l->result, w->c_float ? CUDA_R_32F : p->type, m, n, times, w->c_step);
}

static status describe_operation(product_plan *plan)
{
    const product *w = &plan->what;
    const cublasOperation_t yes = CUBLAS_OP_T, no = CUBLAS_OP_N;
    const cublasLtEpilogue_t bias = CUBLASLT_EPILOGUE_BIAS;
    cublasLtMatmulDesc_t d = &plan->operation;
    /* 32F: float32 is float32 (no TF32), and 16-bit inputs are summed in float32. */
    CHECK_LT("an operation", cublasLtMatmulDescInit(d, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    CHECK_LT("an operation", cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_TRANSA, w->b_transposed ? &yes : &no, sizeof yes));
    CHECK_LT("an operation", cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_TRANSB, w->a_transposed ? &yes : &no, sizeof yes));
    if (w->bias)
        CHECK_LT("an operation", cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_EPILOGUE, &bias, sizeof bias));
    return STATUS_OK;
}

/* Whether it leaves k whole. */
static bool is_whole(const cublasLtMatmulAlgo_t *a)
{
    int32_t splits = 1;
    uint32_t scheme = 0;
    size_t written;
    if (cublasLtMatmulAlgoConfigGetAttribute(a, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &splits, sizeof splits, &written) != CUBLAS_STATUS_SUCCESS ||
        cublasLtMatmulAlgoConfigGetAttribute(a, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &scheme, sizeof scheme, &written) != CUBLAS_STATUS_SUCCESS)
        return false;
    return splits <= 1 && scheme == CUBLASLT_REDUCTION_SCHEME_NONE;
}

/* Whether it also does a call with fewer tokens. */
static bool does(const products *p, product_plan *plan, const cublasLtMatmulAlgo_t *a, int64_t tokens)
{
    layouts l;
    cublasLtMatmulHeuristicResult_t answer;
    if (make_layouts(p, &plan->what, tokens, plan->what.times, &l) != STATUS_OK)
        return false;
    return cublasLtMatmulAlgoCheck(p->handle, &plan->operation, &l.first, &l.second, &l.result, &l.result, a, &answer) == CUBLAS_STATUS_SUCCESS &&
           answer.workspaceSize <= WORKSPACE;
}

static status pick(const products *p, product_plan *plan)
{
    const product *w = &plan->what;
    const uint32_t no_split = CUBLASLT_REDUCTION_SCHEME_NONE, alignment = PRODUCT_ALIGNMENT;
    int64_t most = w->varies == PRODUCT_M ? w->m : w->k;
    layouts l;
    cublasLtMatmulPreferenceOpaque_t wish;
    cublasLtMatmulHeuristicResult_t list[ADVICE];
    int found = 0;
    TRY(make_layouts(p, w, most, w->times, &l));
    CHECK_LT("a preference", cublasLtMatmulPreferenceInit(&wish));
    CHECK_LT("a preference", cublasLtMatmulPreferenceSetAttribute(&wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &WORKSPACE, sizeof WORKSPACE));
    CHECK_LT("a preference", cublasLtMatmulPreferenceSetAttribute(&wish, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &no_split, sizeof no_split));
    /* The advice is for 256 bytes unless told: weights lie where the arena of parameters has them. */
    static const cublasLtMatmulPreferenceAttributes_t sides[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        CHECK_LT("a preference", cublasLtMatmulPreferenceSetAttribute(&wish, sides[i], &alignment, sizeof alignment));
    CHECK_LT(w->name, cublasLtMatmulAlgoGetHeuristic(p->handle, &plan->operation, &l.first, &l.second, &l.result, &l.result, &wish, ADVICE, list,
                                                     &found));
    for (int i = 0; i < found; i++)
        if (list[i].state == CUBLAS_STATUS_SUCCESS && is_whole(&list[i].algo) && does(p, plan, &list[i].algo, 1) &&
            does(p, plan, &list[i].algo, (most + 1) / 2)) {
            plan->algorithm = list[i].algo;
            return STATUS_OK;
        }
    return fail(STATUS_RESOURCE,
                "cuBLASLt has no algorithm for %s (%" PRId64 " x %" PRId64 " x %" PRId64 ") that leaves its sums whole: %d were offered", w->name,
                w->m, w->n, w->k, found);
}

status products_plan(products *p, const product *what, product_plan **out)
{
    product_plan *plan;
    TRY(memory_new(&plan, sizeof *plan, "a matrix product"));
    plan->what = *what;
    plan->next = p->plans;
    p->plans = plan;
    TRY(describe_operation(plan));
    *out = plan;
    return pick(p, plan);
}

void products_run(products *p, const product_plan *plan, int64_t tokens, int64_t times, const void *a, const void *b, const void *bias, void *c)
{
    const product *w = &plan->what;
    const float one = 1, zero = 0;
    cublasLtMatmulDescOpaque_t operation = plan->operation;
    layouts l;
    cublasStatus_t s = CUBLAS_STATUS_SUCCESS;
    if (make_layouts(p, w, tokens, times, &l) != STATUS_OK) {
        gpu_fail(p->gpu, "%s", status_message());
        return;
    }
    if (w->bias)
        s = cublasLtMatmulDescSetAttribute(&operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
    if (s == CUBLAS_STATUS_SUCCESS)
        s = cublasLtMatmul(p->handle, &operation, &one, b, &l.first, a, &l.second, w->accumulate ? &one : &zero, c, &l.result, c, &l.result,
                           &plan->algorithm, p->workspace, WORKSPACE, gpu_stream(p->gpu));
    if (s != CUBLAS_STATUS_SUCCESS)
        gpu_fail(p->gpu, "cuBLASLt, %s with %" PRId64 " tokens: %s", w->name, tokens, cublasLtGetStatusString(s));
}
