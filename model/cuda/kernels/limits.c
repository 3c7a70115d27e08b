/* What the kernels can take, and how much scratch they use. The pieces' sizes are those of norm.cu, linear.cu and update.cu. */
#include "model/cuda/kernels.h"

const char *cuda_kernels_refuse(const backend_limits *l, cuda_type type, int sm)
{
    if (sm < 75)
        return "the device is older than compute capability 7.5";
    if (type == CUDA_BFLOAT16 && sm < 80)
        return "bfloat16 needs compute capability 8.0; this device takes float16 or float32";
    if (l->longest < 1 || l->longest > CUDA_MAX_ROW)
        return "a row has more than 512 tokens; set the maximum length";
    if (l->rows > 65535)
        return "a micro-batch has more than 65,535 rows; use fewer tokens a micro-batch";
    if (l->heads < 1 || l->hidden < 1 || l->hidden % l->heads)
        return "the heads do not divide the hidden size: check config.json";
    if (l->hidden % 8 || l->hidden > CUDA_MAX_HIDDEN || l->feed_forward % 8)
        return "the device's kernels take hidden sizes up to 1024 and feed-forward sizes, both multiples of 8";
    if (l->hidden / l->heads % 8 || l->hidden / l->heads > CUDA_MAX_HEAD)
        return "the device's kernels take heads of up to 64 values, a multiple of 8";
    return NULL;
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

size_t cuda_scratch_bytes(const backend_limits *l)
{
    enum { NORM_TOKENS = 64, UPDATE_BLOCKS = 1024 };
    int64_t norm = (l->tokens + NORM_TOKENS - 1) / NORM_TOKENS * 2 * l->hidden;
    int64_t column = (l->tokens + CUDA_COLUMN_ROWS - 1) / CUDA_COLUMN_ROWS * greater(3 * l->hidden, l->feed_forward);
    int64_t attention = l->tokens * l->heads;
    size_t floats = (size_t)greater(norm, greater(column, attention)) * sizeof(float);
    return floats > UPDATE_BLOCKS * sizeof(uint64_t) ? floats : UPDATE_BLOCKS * sizeof(uint64_t);
}
