/* Linear layers: products through one door, bias and gelu around them, and dW in pieces over tokens. */
#include "model/cuda/cuda_internal.h"

enum { TILE = 128, TILES_WANTED = 288, CHUNK_LEAST = 512, CHUNK_UNIT = 64 };

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Tokens of a piece of dW. A dW has few tiles beside a large device's processors, so its sum over tokens is cut until there are about TILES_WANTED.
 * It follows from shapes and the largest micro-batch alone: the device and the tokens at hand have no say, nor has the library. */
static int64_t chunk_tokens(const backend_limits *l, int64_t I, int64_t O)
{
    int64_t pieces = divide_up(TILES_WANTED, divide_up(I, TILE) * divide_up(O, TILE));
    pieces = pieces < CUDA_MAX_PIECES ? pieces : CUDA_MAX_PIECES;
    int64_t tokens = divide_up(divide_up(l->tokens, pieces), CHUNK_UNIT) * CHUNK_UNIT;
    return tokens > CHUNK_LEAST ? tokens : CHUNK_LEAST;
}

/* The layers' sizes. */
static void shapes_of(const backend_limits *l, int64_t shape[CUDA_SHAPES][2])
{
    const int64_t all[CUDA_SHAPES][2] = {{l->hidden, l->hidden}, {l->hidden, l->feed_forward}, {l->feed_forward, l->hidden}};
    for (int i = 0; i < CUDA_SHAPES; i++) {
        shape[i][0] = all[i][0];
        shape[i][1] = all[i][1];
    }
}

size_t cuda_split_floats(const backend_limits *l)
{
    int64_t shape[CUDA_SHAPES][2], most = 0;
    shapes_of(l, shape);
    for (int i = 0; i < CUDA_SHAPES; i++) {
        int64_t I = shape[i][0], O = shape[i][1], floats = divide_up(l->tokens, chunk_tokens(l, I, O)) * I * O;
        most = floats > most ? floats : most;
    }
    return (size_t)most;
}

static status open_one(cuda_backend *c, cuda_linear *y, int64_t I, int64_t O)
{
    const int64_t T = c->limits.tokens;
    *y = (cuda_linear){.I = I, .O = O, .chunk = chunk_tokens(&c->limits, I, O)};
    product forward = {.name = "a layer forward", .m = T, .n = O, .k = I, .b_transposed = true, .bias = true, .times = 1};
    TRY(products_plan(c->products, &forward, &y->forward));
    product input = {.name = "the way back to a layer's input", .m = T, .n = I, .k = O, .times = 1};
    TRY(products_plan(c->products, &input, &y->input));
    input.accumulate = true;
    TRY(products_plan(c->products, &input, &y->input_added));
    product weight = {.name = "a weight's gradient", .m = O, .n = I, .k = y->chunk, .a_transposed = true, .times = 1};
    weight.varies = PRODUCT_K;
    weight.c_float = true;
    TRY(products_plan(c->products, &weight, &y->weight_rest));
    weight.times = divide_up(T, y->chunk);
    weight.a_step = y->chunk * O;
    weight.b_step = y->chunk * I;
    weight.c_step = O * I;
    return products_plan(c->products, &weight, &y->weight);
}

status cuda_linear_open(cuda_backend *c)
{
    int64_t shape[CUDA_SHAPES][2];
    void *p;
    shapes_of(&c->limits, shape);
    for (int i = 0; i < CUDA_SHAPES; i++)
        TRY(open_one(c, &c->linear[i], shape[i][0], shape[i][1]));
    TRY(cuda_take(c, cuda_split_floats(&c->limits) * sizeof(float), "pieces of weight gradients", &p));
    c->split = p;
    return STATUS_OK;
}

static const cuda_linear *find(cuda_backend *c, int64_t I, int64_t O)
{
    for (int i = 0; i < CUDA_SHAPES; i++)
        if (c->linear[i].I == I && c->linear[i].O == O)
            return &c->linear[i];
    gpu_fail(c->gpu, "a layer from %lld to %lld: not one of this network's", (long long)I, (long long)O);
    return NULL;
}

/* ---- weights ---- */

status cuda_keep_parameters(backend *be, const float *parameters, int64_t n)
{
    cuda_backend *c = cuda_of(be);
    c->parameters = parameters;
    c->parameters_count = n;
    c->fresh_first = c->fresh_end = 0;
    if (c->type == CUDA_FLOAT32)
        return STATUS_OK;
    TRY(cuda_take(c, (size_t)n * cuda_type_bytes(c->type), "weights in 16 bits", &c->copy));
    cuda_parameters_changed(be);
    return STATUS_OK;
}

static void cast_range(cuda_backend *c, int64_t first, int64_t end)
{
    if (end > first)
        cuda_cast(gpu_stream(c->gpu), c->type, end - first, c->parameters + first, (char *)c->copy + (size_t)first * cuda_type_bytes(c->type));
}

/* What adamw has updated it has copied already. */
void cuda_parameters_changed(backend *be)
{
    cuda_backend *c = cuda_of(be);
    if (!c->copy)
        return;
    cast_range(c, 0, c->fresh_first);
    cast_range(c, c->fresh_end, c->parameters_count);
    c->fresh_first = c->fresh_end = 0;
}

/* A weight in the type of the products. */
static const void *as_read(cuda_backend *c, const float *weight)
{
    if (c->type == CUDA_FLOAT32)
        return weight;
    if (!c->copy || weight < c->parameters || weight >= c->parameters + c->parameters_count) {
        gpu_fail(c->gpu, "a weight that is none of the parameters");
        return weight;
    }
    return (const char *)c->copy + (size_t)(weight - c->parameters) * cuda_type_bytes(c->type);
}

/* ---- operations ---- */

void cuda_linear_forward(backend *be, int64_t T, int64_t I, int64_t O, const float *x, const float *weight, const float *bias, float *y)
{
    cuda_backend *c = cuda_of(be);
    const cuda_linear *l = find(c, I, O);
    if (l)
        products_run(c->products, l->forward, T, 1, x, as_read(c, weight), as_read(c, bias), y);
}

void cuda_linear_gelu_forward(backend *be, int64_t T, int64_t I, int64_t O, const float *x, const float *weight, const float *bias, float *pre,
                              float *y)
{
    float *before = pre ? pre : y;
    cuda_linear_forward(be, T, I, O, x, weight, bias, before);
    cuda_bias_gelu_forward(gpu_stream(cuda_of(be)->gpu), cuda_of(be)->type, T, O, before, NULL, NULL, y);
}

void cuda_linear_backward_input(backend *be, int64_t T, int64_t I, int64_t O, const float *dy, const float *weight, float *dx, int continue_sum)
{
    cuda_backend *c = cuda_of(be);
    const cuda_linear *l = find(c, I, O);
    if (l)
        products_run(c->products, continue_sum ? l->input_added : l->input, T, 1, dy, as_read(c, weight), NULL, dx);
}

void cuda_linear_backward_weight(backend *be, int64_t T, int64_t I, int64_t O, const float *x, const float *dy, float *dweight, float *dbias)
{
    cuda_backend *c = cuda_of(be);
    const cuda_linear *l = find(c, I, O);
    if (!l)
        return;
    const int64_t whole = T / l->chunk, rest = T % l->chunk;
    const size_t bytes = cuda_type_bytes(c->type);
    if (whole > 0)
        products_run(c->products, l->weight, l->chunk, whole, dy, x, NULL, c->split);
    if (rest > 0)
        products_run(c->products, l->weight_rest, rest, 1, (const char *)dy + (size_t)(whole * l->chunk * O) * bytes,
                     (const char *)x + (size_t)(whole * l->chunk * I) * bytes, NULL, c->split + whole * O * I);
    cuda_fold_split(gpu_stream(c->gpu), O * I, (int)(whole + (rest > 0)), O * I, c->split, dweight);
    cuda_column_sum(gpu_stream(c->gpu), c->type, T, O, dy, dbias, c->scratch);
}

void cuda_gelu_back(backend *be, int64_t n, const float *pre, const float *dy, float *dpre)
{
    cuda_gelu_backward(gpu_stream(cuda_of(be)->gpu), cuda_of(be)->type, n, pre, dy, dpre);
}
