/* The head: pooling, its dropout and linear layer, the loss. Rows and outputs are few, so the loss is plain double arithmetic. */
#include <string.h>

#include "model/cpu/cpu_internal.h"
#include "model/math_double.h"

void cpu_pool_forward(backend *be, const batch *b, int64_t H, const float *x, float *pooled, int32_t *argmax)
{
    cpu_backend *cpu = cpu_of(be);
    cpu_run(cpu, cpu->kernel->pool_forward, &(pool_job){.b = b, .H = H, .x = x, .pooled = pooled, .argmax = argmax}, b->rows, 1);
}

void cpu_pool_backward(backend *be, const batch *b, int64_t H, const float *dpooled, const int32_t *argmax, float *dx)
{
    cpu_backend *cpu = cpu_of(be);
    cpu_run(cpu, cpu->kernel->pool_backward, &(pool_job){.b = b, .H = H, .dpooled = dpooled, .saved_argmax = argmax, .dx = dx}, b->rows, 1);
}

/* to = dropout(from), B x 2H; to may be from. */
static void drop_pooled(cpu_backend *cpu, const batch *b, int64_t H, const dropout *drop, const float *from, float *to)
{
    if (drop && drop->threshold)
        cpu_run(cpu, cpu->kernel->drop_rows, &(pool_job){.b = b, .H = H, .drop = drop, .x = from, .pooled = to}, b->rows, 1);
    else if (to != from)
        memcpy(to, from, (size_t)(b->rows * 2 * H) * sizeof(float));
}

void cpu_head_forward(backend *be, const batch *b, int64_t H, int64_t C, const float *pooled, const dropout *drop, const float *weight,
                      const float *bias, float *dropped, float *logits)
{
    drop_pooled(cpu_of(be), b, H, drop, pooled, dropped);
    cpu_linear_forward(be, b->rows, 2 * H, C, dropped, weight, bias, logits);
}

void cpu_head_backward(backend *be, const batch *b, int64_t H, int64_t C, const float *dlogits, const float *dropped, const dropout *drop,
                       const float *weight, float *dpooled, float *dweight, float *dbias)
{
    cpu_linear_backward_weight(be, b->rows, 2 * H, C, dropped, dlogits, dweight, dbias);
    cpu_linear_backward_input(be, b->rows, 2 * H, C, dlogits, weight, dpooled, 0);
    drop_pooled(cpu_of(be), b, H, drop, dpooled, dpooled);
}

void cpu_loss_forward(backend *be, const batch *b, int64_t C, const float *logits, float factor, double *row_loss_host, float *dlogits)
{
    (void)be;
    for (int64_t r = 0; r < b->rows; r++) {
        double sum = 0;
        for (int64_t i = r * C; i < (r + 1) * C; i++) {
            double z = logits[i], y = b->label[i];
            sum += (z > 0 ? z : z != z ? z : 0.0) - z * y + math_log1p(math_exp(z > 0 ? -z : z)); /* NaN must reach the loss */
            if (dlogits)
                dlogits[i] = (float)((math_sigmoid(z) - y) * (double)factor);
        }
        row_loss_host[r] = sum;
    }
}

void cpu_sigmoid(backend *be, int64_t n, const float *logits, float *probability)
{
    (void)be;
    for (int64_t i = 0; i < n; i++)
        probability[i] = (float)math_sigmoid(logits[i]);
}
