/* Embeddings and residuals, each with its layer norm. Sums over tokens are chains in token order: tasks own columns there. */
#include "model/cpu/cpu_internal.h"

void cpu_embed_forward(backend *be, const batch *b, int64_t H, const float *word, const float *position, const float *type, const float *gamma,
                       const float *beta, float epsilon, const dropout *drop, float *sum, float *mean, float *rstd, float *y)
{
    cpu_backend *cpu = cpu_of(be);
    norm_job job = {.b = b, .H = H, .drop = drop, .gamma = gamma, .beta = beta, .epsilon = epsilon, .word = word, .position = position,
                    .type = type, .sum = sum, .mean = mean, .rstd = rstd, .z = y};
    cpu_run(cpu, cpu->kernel->embed_forward, &job, b->tokens, GRAIN_TOKENS);
}

void cpu_embed_backward(backend *be, const batch *b, int64_t H, const float *dy, const float *sum, const float *mean, const float *rstd,
                        const float *gamma, const dropout *drop, const int32_t *slot, float *dsum, float *dgamma, float *dbeta, float *dword,
                        float *dposition, float *dtype_row)
{
    cpu_backend *cpu = cpu_of(be);
    norm_job job = {.b = b, .H = H, .drop = drop, .gamma = gamma, .dz = dy, .saved_sum = sum, .saved_mean = mean, .saved_rstd = rstd,
                    .dx = dsum, .dgamma = dgamma, .dbeta = dbeta, .slot = slot, .dword = dword, .dposition = dposition, .dtype_row = dtype_row};
    if (drop && drop->threshold) { /* dropout came after the norm: dsum holds its gradient until the norm's replaces it */
        cpu_run(cpu, cpu->kernel->drop_tokens, &job, b->tokens, GRAIN_TOKENS);
        job.dz = dsum;
    }
    cpu_run(cpu, cpu->kernel->norm_columns, &job, H, GRAIN_COLUMNS);
    cpu_run(cpu, cpu->kernel->norm_backward, &job, b->tokens, GRAIN_TOKENS);
    cpu_run(cpu, cpu->kernel->embed_columns, &job, H, GRAIN_COLUMNS);
}

void cpu_residual_norm_forward(backend *be, const batch *b, int64_t H, const float *x, const float *y, const dropout *drop, const float *gamma,
                               const float *beta, float epsilon, float *sum, float *mean, float *rstd, float *z)
{
    cpu_backend *cpu = cpu_of(be);
    norm_job job = {.b = b, .H = H, .drop = drop, .gamma = gamma, .beta = beta, .epsilon = epsilon, .x = x, .y = y, .sum = sum, .mean = mean,
                    .rstd = rstd, .z = z};
    cpu_run(cpu, cpu->kernel->residual_forward, &job, b->tokens, GRAIN_TOKENS);
}

void cpu_residual_norm_backward(backend *be, const batch *b, int64_t H, const float *dz, const float *sum, const float *mean, const float *rstd,
                                const float *gamma, const dropout *drop, float *dx, float *dy, float *dgamma, float *dbeta)
{
    cpu_backend *cpu = cpu_of(be);
    norm_job job = {.b = b, .H = H, .drop = drop, .gamma = gamma, .dz = dz, .saved_sum = sum, .saved_mean = mean, .saved_rstd = rstd,
                    .dx = dx, .dy = dy, .dgamma = dgamma, .dbeta = dbeta};
    cpu_run(cpu, cpu->kernel->norm_columns, &job, H, GRAIN_COLUMNS); /* first: dx may overwrite dz */
    cpu_run(cpu, cpu->kernel->norm_backward, &job, b->tokens, GRAIN_TOKENS);
}
