/* Linear layers: the product with its epilogue, and bias gradients. */
#include "model/cpu/cpu_internal.h"

void cpu_linear_forward(backend *be, int64_t T, int64_t I, int64_t O, const float *x, const float *weight, const float *bias, float *y)
{
    gemm_run(cpu_of(be)->product, &(gemm_product){.m = T, .n = O, .k = I, .a = x, .a_row = I, .a_k = 1, .b = weight, .b_k = 1, .b_col = I,
                                                  .c = y, .ldc = O, .bias = bias});
}

void cpu_linear_gelu_forward(backend *be, int64_t T, int64_t I, int64_t O, const float *x, const float *weight, const float *bias, float *pre, float *y)
{
    cpu_backend *cpu = cpu_of(be);
    gemm_run(cpu->product, &(gemm_product){.m = T, .n = O, .k = I, .a = x, .a_row = I, .a_k = 1, .b = weight, .b_k = 1, .b_col = I,
                                           .c = y, .ldc = O, .bias = bias, .pre = pre, .ldpre = O, .map = cpu->kernel->gelu});
}

void cpu_linear_backward_input(backend *be, int64_t T, int64_t I, int64_t O, const float *dy, const float *weight, float *dx, int continue_sum)
{
    gemm_run(cpu_of(be)->product, &(gemm_product){.m = T, .n = I, .k = O, .a = dy, .a_row = O, .a_k = 1, .b = weight, .b_k = I, .b_col = 1,
                                                  .c = dx, .ldc = I, .accumulate = continue_sum != 0});
}

void cpu_linear_gelu_backward_input(backend *be, int64_t T, int64_t I, int64_t O, const float *dy, const float *weight, const float *pre, float *dpre)
{
    cpu_backend *cpu = cpu_of(be);
    gemm_run(cpu->product, &(gemm_product){.m = T, .n = I, .k = O, .a = dy, .a_row = O, .a_k = 1, .b = weight, .b_k = I, .b_col = 1,
                                           .c = dpre, .ldc = I, .with = pre, .ldwith = I, .join = cpu->kernel->gelu_join});
}

void cpu_linear_fold_weight(backend *be, int64_t T, int64_t I, int64_t O, const float *x, const float *dy, float *dweight, float *dbias, bool begin,
                            int folds, float *const *fold)
{
    gemm_run(cpu_of(be)->product, &(gemm_product){.m = O, .n = I, .k = T, .a = dy, .a_row = 1, .a_k = O, .b = x, .b_k = I, .b_col = 1,
                                                  .c = dweight, .ldc = I, .accumulate = !begin, .folds = folds, .fold = fold, .row_sums = dbias});
}

void cpu_linear_backward_weight(backend *be, int64_t T, int64_t I, int64_t O, const float *x, const float *dy, float *dweight, float *dbias)
{
    cpu_linear_fold_weight(be, T, I, O, x, dy, dweight, dbias, false, 0, NULL);
}

void cpu_gelu_backward(backend *be, int64_t n, const float *pre, const float *dy, float *dpre)
{
    cpu_backend *cpu = cpu_of(be);
    cpu_run(cpu, cpu->kernel->gelu_backward, &(point_job){.x = pre, .dy = dy, .y = dpre}, n, GRAIN_ELEMENTS);
}

void cpu_adamw(backend *be, int64_t n, int64_t first_index, const adamw_step *s, int decayed, const float *grad, float *m, float *v, float *p,
               uint64_t *hash)
{
    cpu_backend *cpu = cpu_of(be);
    for (int w = 0; w < cpu->workers; w++)
        cpu->scratch[w].hash = 0;
    cpu_run(cpu, cpu->kernel->adamw, &(adamw_job){s, first_index, decayed, grad, m, v, p}, n, GRAIN_PARAMETERS);
    for (int w = 0; w < cpu->workers; w++)
        *hash += cpu->scratch[w].hash;
}
