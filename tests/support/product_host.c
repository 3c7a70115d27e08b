/* The twin of product_cublas.c: holds every call against its plan (sizes, alignment, memory that overlaps) and computes it on the host, sums in
 * float32 and one rounding, as the library is asked to. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/cpu/gemm.h"
#include "model/cuda/product.h"

struct product_plan {
    product what;
    product_plan *next;
};

struct products {
    gpu *gpu;
    cuda_type type;
    gemm *product;
    float *a, *b, *c; /* one product in float32 */
    size_t a_room, b_room, c_room;
    product_plan *plans;
};

size_t products_bytes(void)
{
    return 0;
}

status products_open(gpu *g, cuda_type type, products **out)
{
    TRY(memory_new(out, sizeof **out, "matrix products"));
    (*out)->gpu = g;
    (*out)->type = type;
    return gemm_create(CPU_ISA_AUTO, NULL, &(*out)->product);
}

void products_close(products *p)
{
    if (!p)
        return;
    for (product_plan *plan = p->plans, *next; plan; plan = next) {
        next = plan->next;
        free(plan);
    }
    free(p->a);
    free(p->b);
    free(p->c);
    gemm_free(p->product);
    free(p);
}

const char *products_version(void)
{
    return "twin of cuBLASLt";
}

static status make_room(float **p, size_t *room, int64_t floats, const char *name)
{
    if ((size_t)floats <= *room)
        return STATUS_OK;
    free(*p);
    *room = (size_t)floats;
    return memory_new(p, *room * sizeof **p, name);
}

status products_plan(products *p, const product *what, product_plan **out)
{
    if (what->m < 1 || what->n < 1 || what->k < 1 || what->times < 1 || (what->times > 1 && !(what->a_step && what->b_step && what->c_step)))
        return fail(STATUS_RESOURCE, "a product without sizes: %s", what->name);
    TRY(memory_new(out, sizeof **out, "a matrix product"));
    (*out)->what = *what;
    (*out)->next = p->plans;
    p->plans = *out;
    TRY(make_room(&p->a, &p->a_room, what->m * what->k, what->name));
    TRY(make_room(&p->b, &p->b_room, what->k * what->n, what->name));
    return make_room(&p->c, &p->c_room, what->m * what->n, what->name);
}

static float from_half(uint16_t h)
{
    _Float16 x;
    memcpy(&x, &h, sizeof x);
    return (float)x;
}

static float load(cuda_type type, const void *p, int64_t i)
{
    uint16_t half;
    uint32_t bits;
    float x;
    if (type == CUDA_FLOAT32)
        return ((const float *)p)[i];
    memcpy(&half, (const char *)p + 2 * i, sizeof half);
    if (type == CUDA_FLOAT16)
        return from_half(half);
    bits = (uint32_t)half << 16;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void store(cuda_type type, void *p, int64_t i, float x)
{
    uint32_t bits;
    uint16_t half;
    if (type == CUDA_FLOAT32) {
        ((float *)p)[i] = x;
        return;
    }
    if (type == CUDA_FLOAT16) {
        _Float16 h = (_Float16)x;
        memcpy(&half, &h, sizeof half);
    } else {
        memcpy(&bits, &x, sizeof bits);
        half = (uint16_t)(isnan(x) ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
    memcpy((char *)p + 2 * i, &half, sizeof half);
}

static bool is_aligned(const void *p)
{
    return (uintptr_t)p % PRODUCT_ALIGNMENT == 0;
}

static bool are_apart(const void *p, size_t bytes, const void *q, size_t others)
{
    return (const char *)p + bytes <= (const char *)q || (const char *)q + others <= (const char *)p;
}

static void check_call(products *p, const product *w, int64_t m, int64_t k, int64_t times, const void *a, const void *b, const void *bias,
                       const void *c)
{
    size_t size = cuda_type_bytes(p->type), c_size = w->c_float ? 4 : size;
    size_t a_bytes = (size_t)((times - 1) * w->a_step + m * k) * size, b_bytes = (size_t)((times - 1) * w->b_step + k * w->n) * size,
           c_bytes = (size_t)((times - 1) * w->c_step + m * w->n) * c_size;
    if (m < 1 || k < 1 || m > w->m || k > w->k || times < 1 || times > w->times)
        gpu_fail(p->gpu, "%s: %lld x %lld, %lld times, is more than was planned", w->name, (long long)m, (long long)k, (long long)times);
    if (!is_aligned(a) || !is_aligned(b) || !is_aligned(c) || (size_t)w->a_step * size % 16 || (size_t)w->b_step * size % 16 ||
        (size_t)w->c_step * c_size % 16 || (size_t)w->n * c_size % 16)
        gpu_fail(p->gpu, "%s: a matrix is not aligned", w->name);
    if (!are_apart(c, c_bytes, a, a_bytes) || !are_apart(c, c_bytes, b, b_bytes))
        gpu_fail(p->gpu, "%s: the result overlaps an input", w->name);
    if ((bias != NULL) != w->bias || !is_aligned(bias))
        gpu_fail(p->gpu, "%s: a bias that was not planned, or none where one was, or not aligned", w->name);
}

static void run_one(products *p, const product *w, int64_t m, int64_t k, const void *a, const void *b, const void *bias, void *c)
{
    const cuda_type c_type = w->c_float ? CUDA_FLOAT32 : p->type;
    for (int64_t i = 0; i < m * k; i++)
        p->a[i] = load(p->type, a, i);
    for (int64_t i = 0; i < k * w->n; i++)
        p->b[i] = load(p->type, b, i);
    gemm_run(p->product, &(gemm_product){.m = m,
                                         .n = w->n,
                                         .k = k,
                                         .a = p->a,
                                         .a_row = w->a_transposed ? 1 : k,
                                         .a_k = w->a_transposed ? m : 1,
                                         .b = p->b,
                                         .b_k = w->b_transposed ? 1 : w->n,
                                         .b_col = w->b_transposed ? k : 1,
                                         .c = p->c,
                                         .ldc = w->n});
    for (int64_t i = 0; i < m * w->n; i++) {
        float x = p->c[i] + (w->accumulate ? load(c_type, c, i) : 0) + (w->bias ? load(p->type, bias, i % w->n) : 0);
        store(c_type, c, i, x);
    }
}

void products_run(products *p, const product_plan *plan, int64_t tokens, int64_t times, const void *a, const void *b, const void *bias, void *c)
{
    const product *w = &plan->what;
    int64_t m = w->varies == PRODUCT_M ? tokens : w->m, k = w->varies == PRODUCT_K ? tokens : w->k;
    size_t size = cuda_type_bytes(p->type), c_size = w->c_float ? 4 : size;
    gpu_stream(p->gpu);
    check_call(p, w, m, k, times, a, b, bias, c);
    for (int64_t i = 0; i < times && m <= w->m && k <= w->k; i++)
        run_one(p, w, m, k, (const char *)a + (size_t)(i * w->a_step) * size, (const char *)b + (size_t)(i * w->b_step) * size, bias,
                (char *)c + (size_t)(i * w->c_step) * c_size);
}
