/* A stand-in for cuBLASLt: the functions that product_cublas.c calls, on the host's memory, column by column as the library has it. It holds
 * every call to what the library asks for (sizes of layouts, leading dimensions, alignment, the workspace) and offers algorithms of which only
 * the last will do: one splits its sums, one needs 256 bytes of alignment, one takes many tokens only. */
#include <cublasLt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "support/cublaslt_host.h"

stand_record stand;

/* What the opaque structures hold here. */
enum { L_TYPE, L_ROWS, L_COLUMNS, L_LD, L_TIMES, L_STEP };
enum { D_COMPUTE, D_SCALE, D_FIRST_T, D_SECOND_T, D_EPILOGUE, D_BIAS };
enum { P_WORKSPACE, P_SCHEMES, P_ALIGNMENT };
enum { ALIGNMENT_WANTED = 256, FEW_TOKENS = 32 };

static void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void wrong(const char *format, ...)
{
    va_list list;
    if (stand.faults++)
        return;
    va_start(list, format);
    vsnprintf(stand.fault, sizeof stand.fault, format, list);
    va_end(list);
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    static int one;
    *handle = (cublasLtHandle_t)&one;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    (void)handle;
    return CUBLAS_STATUS_SUCCESS;
}

size_t cublasLtGetVersion(void)
{
    return 130100;
}

const char *cublasLtGetStatusString(cublasStatus_t s)
{
    return s == CUBLAS_STATUS_SUCCESS ? "success" : "the stand-in refuses";
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t l, size_t size, cudaDataType type, uint64_t rows, uint64_t cols, int64_t ld)
{
    if (size != sizeof *l || rows < 1 || cols < 1 || ld < (int64_t)rows)
        wrong("a layout of %lld x %lld, leading dimension %lld", (long long)rows, (long long)cols, (long long)ld);
    *l = (cublasLtMatrixLayoutOpaque_t){
        .data = {[L_TYPE] = (uint64_t)type, [L_ROWS] = rows, [L_COLUMNS] = cols, [L_LD] = (uint64_t)ld, [L_TIMES] = 1}};
    return CUBLAS_STATUS_SUCCESS;
}

/* A value of `bytes` bytes as a number. */
static uint64_t number(const void *value, size_t bytes)
{
    uint64_t n = 0;
    if (bytes > sizeof n)
        wrong("an attribute of %zu bytes", bytes);
    else
        memcpy(&n, value, bytes);
    return n;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t l, cublasLtMatrixLayoutAttribute_t what, const void *value, size_t bytes)
{
    if (what == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == sizeof(int32_t))
        l->data[L_TIMES] = number(value, bytes);
    else if (what == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && bytes == sizeof(int64_t))
        l->data[L_STEP] = number(value, bytes);
    else
        wrong("attribute %d of a layout, %zu bytes", (int)what, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t d, size_t size, cublasComputeType_t compute, cudaDataType_t scale)
{
    if (size != sizeof *d || compute != CUBLAS_COMPUTE_32F || scale != CUDA_R_32F)
        wrong("sums are not in float32: %d, %d", (int)compute, (int)scale);
    *d = (cublasLtMatmulDescOpaque_t){.data = {[D_COMPUTE] = (uint64_t)compute, [D_SCALE] = (uint64_t)scale}};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t what, const void *value, size_t bytes)
{
    if (what == CUBLASLT_MATMUL_DESC_TRANSA)
        d->data[D_FIRST_T] = number(value, bytes) == CUBLAS_OP_T;
    else if (what == CUBLASLT_MATMUL_DESC_TRANSB)
        d->data[D_SECOND_T] = number(value, bytes) == CUBLAS_OP_T;
    else if (what == CUBLASLT_MATMUL_DESC_EPILOGUE)
        d->data[D_EPILOGUE] = number(value, bytes);
    else if (what == CUBLASLT_MATMUL_DESC_BIAS_POINTER)
        d->data[D_BIAS] = number(value, bytes);
    else
        wrong("attribute %d of an operation", (int)what);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t p, size_t size)
{
    if (size != sizeof *p)
        wrong("a preference of %zu bytes", size);
    *p = (cublasLtMatmulPreferenceOpaque_t){.data = {[P_SCHEMES] = CUBLASLT_REDUCTION_SCHEME_MASK}};
    for (int i = 0; i < 4; i++)
        p->data[P_ALIGNMENT + i] = ALIGNMENT_WANTED;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p, cublasLtMatmulPreferenceAttributes_t what, const void *value,
                                                    size_t bytes)
{
    switch (what) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: p->data[P_WORKSPACE] = number(value, bytes); break;
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: p->data[P_SCHEMES] = number(value, bytes); break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: p->data[P_ALIGNMENT] = number(value, bytes); break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: p->data[P_ALIGNMENT + 1] = number(value, bytes); break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: p->data[P_ALIGNMENT + 2] = number(value, bytes); break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: p->data[P_ALIGNMENT + 3] = number(value, bytes); break;
    default: wrong("attribute %d of a preference", (int)what);
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t to, cublasLtMatmulPreference_t p, int wanted,
                                              cublasLtMatmulHeuristicResult_t list[], int *found)
{
    (void)handle, (void)d, (void)a, (void)b, (void)c, (void)to;
    *found = 0;
    if (p->data[P_SCHEMES] != CUBLASLT_REDUCTION_SCHEME_NONE)
        wrong("splits were not excluded");
    for (int i = STAND_SPLITS; i <= STAND_GOOD && *found < wanted; i++) {
        if (i == STAND_ALIGNED && p->data[P_ALIGNMENT] < ALIGNMENT_WANTED)
            continue;
        list[*found] = (cublasLtMatmulHeuristicResult_t){.algo = {.data = {(uint64_t)i}}, .state = CUBLAS_STATUS_SUCCESS};
        (*found)++;
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo, cublasLtMatmulAlgoConfigAttributes_t what, void *value,
                                                    size_t bytes, size_t *written)
{
    const bool splits = algo->data[0] == STAND_SPLITS;
    const uint32_t answer = what == CUBLASLT_ALGO_CONFIG_SPLITK_NUM ? (splits ? 4 : 1) : splits ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE : 0;
    if (bytes != sizeof answer)
        wrong("attribute %d of an algorithm, %zu bytes", (int)what, bytes);
    memcpy(value, &answer, sizeof answer);
    *written = sizeof answer;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t to, const cublasLtMatmulAlgo_t *algo,
                                       cublasLtMatmulHeuristicResult_t *answer)
{
    (void)handle, (void)d, (void)a, (void)c, (void)to;
    *answer = (cublasLtMatmulHeuristicResult_t){.algo = *algo};
    return algo->data[0] == STAND_LARGE && b->data[L_COLUMNS] < FEW_TOKENS ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
}

/* ---- the product ---- */

static float get(uint64_t type, const void *p, uint64_t i)
{
    if (type == CUDA_R_32F)
        return ((const float *)p)[i];
    if (type == CUDA_R_16F)
        return (float)((const _Float16 *)p)[i];
    uint32_t bits = (uint32_t)((const uint16_t *)p)[i] << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void set(uint64_t type, void *p, uint64_t i, float x)
{
    uint32_t bits;
    if (type == CUDA_R_32F) {
        ((float *)p)[i] = x;
    } else if (type == CUDA_R_16F) {
        ((_Float16 *)p)[i] = (_Float16)x;
    } else {
        memcpy(&bits, &x, sizeof bits);
        ((uint16_t *)p)[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
}

static void check_pointers(const void *a, const void *b, const void *c, const void *to, const void *workspace, size_t bytes)
{
    if ((uintptr_t)a % 16 || (uintptr_t)b % 16 || (uintptr_t)to % 16)
        wrong("a matrix is not aligned to 16 bytes");
    if (c != to)
        wrong("C and D are two places");
    if (!workspace || (uintptr_t)workspace % 256 || bytes < 1)
        wrong("no workspace, or not aligned");
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t d, const void *alpha, const void *a, cublasLtMatrixLayout_t la,
                              const void *b, cublasLtMatrixLayout_t lb, const void *beta, const void *c, cublasLtMatrixLayout_t lc, void *to,
                              cublasLtMatrixLayout_t lt, const cublasLtMatmulAlgo_t *algo, void *workspace, size_t bytes, cudaStream_t stream)
{
    const uint64_t *A = la->data, *B = lb->data, *C = lt->data;
    const uint64_t m = C[L_ROWS], n = C[L_COLUMNS], k = d->data[D_FIRST_T] ? A[L_ROWS] : A[L_COLUMNS];
    const float times = *(const float *)alpha, kept = *(const float *)beta;
    (void)handle, (void)stream;
    stand.products++;
    stand.algorithm = (int)algo->data[0];
    check_pointers(a, b, c, to, workspace, bytes);
    if ((d->data[D_FIRST_T] ? A[L_COLUMNS] : A[L_ROWS]) != m || (d->data[D_SECOND_T] ? B[L_ROWS] : B[L_COLUMNS]) != n ||
        (d->data[D_SECOND_T] ? B[L_COLUMNS] : B[L_ROWS]) != k || A[L_TIMES] != C[L_TIMES] || B[L_TIMES] != C[L_TIMES] ||
        memcmp(lc, lt, sizeof *lc) != 0) {
        wrong("layouts that do not belong together");
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    for (uint64_t t = 0; t < C[L_TIMES]; t++)
        for (uint64_t j = 0; j < n; j++)
            for (uint64_t i = 0; i < m; i++) {
                const uint64_t at = t * C[L_STEP] + j * C[L_LD] + i;
                double sum = 0;
                for (uint64_t x = 0; x < k; x++)
                    sum += (double)get(A[L_TYPE], a, t * A[L_STEP] + (d->data[D_FIRST_T] ? i * A[L_LD] + x : x * A[L_LD] + i)) *
                           (double)get(B[L_TYPE], b, t * B[L_STEP] + (d->data[D_SECOND_T] ? x * B[L_LD] + j : j * B[L_LD] + x));
                if (d->data[D_EPILOGUE] == CUBLASLT_EPILOGUE_BIAS)
                    sum += (double)get(C[L_TYPE], (const void *)(uintptr_t)d->data[D_BIAS], i);
                set(C[L_TYPE], to, at, times * (float)sum + (kept != 0 ? kept * get(C[L_TYPE], to, at) : 0));
            }
    return CUBLAS_STATUS_SUCCESS;
}
