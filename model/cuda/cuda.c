/* The CUDA back end: what the library exports, opening and closing, the table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/cuda/cuda_internal.h"
#include "model/device_library.h"

static status check(backend *be)
{
    return gpu_check(cuda_of(be)->gpu);
}

static void close_cuda(backend *be)
{
    cuda_backend *c = cuda_of(be);
    if (!c)
        return;
    if (c->gpu) {
        link_close(c->link); /* first: the work may wait for a message that never comes */
        if (gpu_stream(c->gpu))
            gpu_wait(c->gpu);
        cuda_gradient_close(c);
        cuda_batch_close(c);
        cuda_memory_close(c);
        products_close(c->products);
        fused_close(c->fused);
        void *const own[] = {c->scratch, c->split, c->copy};
        for (size_t i = 0; i < sizeof own / sizeof *own; i++)
            if (own[i])
                gpu_release(c->gpu, own[i]);
    }
    gpu_close(c->gpu);
    free(c);
}

static const backend_ops cuda_ops = {
    .name = "cuda",
    .allocate = cuda_allocate,
    .release = cuda_release,
    .upload = cuda_upload,
    .download = cuda_download,
    .zero = cuda_zero_op,
    .add = cuda_add_op,
    .check = check,
    .wait = cuda_wait,
    .wait_loss = cuda_wait_loss,
    .keep_parameters = cuda_keep_parameters,
    .parameters_changed = cuda_parameters_changed,
    .close = close_cuda,
    .linear_forward = cuda_linear_forward,
    .linear_gelu_forward = cuda_linear_gelu_forward,
    .linear_backward_input = cuda_linear_backward_input,
    .linear_backward_weight = cuda_linear_backward_weight,
    .gelu_backward = cuda_gelu_back,
    .embed_forward = cuda_embed,
    .embed_backward = cuda_embed_back,
    .residual_norm_forward = cuda_residual_norm,
    .residual_norm_backward = cuda_residual_norm_back,
    .attention_forward = cuda_attention,
    .attention_backward = cuda_attention_back,
    .pool_forward = cuda_pool,
    .pool_backward = cuda_pool_back,
    .head_forward = cuda_head,
    .head_backward = cuda_head_back,
    .loss_forward = cuda_loss,
    .sigmoid = cuda_sigmoid_op,
    .adamw = cuda_adamw_op,
    .merge_rows = cuda_merge,
    .fold_rows = cuda_fold_rows,
};

static const cuda_type types[] = {[TYPE_FLOAT32] = CUDA_FLOAT32, [TYPE_BFLOAT16] = CUDA_BFLOAT16, [TYPE_FLOAT16] = CUDA_FLOAT16};
static const char *const type_names[CUDA_TYPES] = {"float32", "bfloat16", "float16"};

static void identify(const gpu_properties *p, cuda_type type, const backend_limits *l, char text[DEVICE_NAME])
{
    snprintf(text, DEVICE_NAME, "%s sm_%d, CUDA %d.%d, %s, %s, %lld tokens a micro-batch%s%s", p->name, p->sm, p->runtime / 1000,
             p->runtime % 1000 / 10, products_version(), type_names[type], (long long)l->tokens, l->fused ? ", attention by " : "",
             l->fused ? fused_version() : "");
}

static status can_fuse(int index, backend_type type)
{
    gpu_properties p;
    TRY(gpu_describe(index, &p));
    const char *why = fused_refuses(types[type], p.sm);
    return why ? fail(STATUS_RESOURCE, "%s", why) : STATUS_OK;
}

static status identity(int index, backend_type type, const backend_limits *limits, char text[DEVICE_NAME])
{
    gpu_properties p;
    TRY(gpu_describe(index, &p));
    identify(&p, types[type], limits, text);
    return STATUS_OK;
}

static void name_it(cuda_backend *c)
{
    const gpu_properties *p = gpu_about(c->gpu);
    int n = snprintf(c->about, sizeof c->about, "%s, %.1f GiB, sm_%d, %s", p->name, (double)p->memory / (1 << 30), p->sm, p->bus);
    if (c->fused && n > 0 && (size_t)n < sizeof c->about)
        snprintf(c->about + n, sizeof c->about - (size_t)n, ", attention without dropout by %s (engine %lld)", fused_version(),
                 (long long)fused_engine(c->fused));
    identify(p, c->type, &c->limits, c->identity);
}

static status open_parts(cuda_backend *c, int index)
{
    TRY(gpu_open(index, &c->gpu));
    const char *refused = cuda_kernels_refuse(&c->limits, c->type, gpu_about(c->gpu)->sm);
    if (refused)
        return fail(STATUS_USAGE, "%s (%s): %s; --device cpu and, on another device, --type float32 take it", gpu_about(c->gpu)->name,
                    type_names[c->type], refused);
    TRY(products_open(c->gpu, c->type, &c->products));
    if (c->limits.fused) {
        TRY(can_fuse(index, c->base.type));
        TRY(fused_open(c->gpu, c->type, c->limits.heads, c->limits.hidden / c->limits.heads, c->limits.longest, &c->fused));
        c->used += fused_bytes();
    }
    TRY(cuda_memory_open(c));
    TRY(cuda_batch_open(c));
    TRY(cuda_gradient_open(c));
    TRY(cuda_take(c, cuda_scratch_bytes(&c->limits), "the kernels' scratch", &c->scratch));
    TRY(cuda_linear_open(c));
    c->used += products_bytes();
    name_it(c);
    return gpu_check(c->gpu);
}

static status open_cuda(int index, backend_type type, const backend_limits *limits, backend **out)
{
    cuda_backend *c;
    *out = NULL;
    TRY(memory_new(&c, sizeof *c, "the CUDA back end"));
    c->base = (backend){.ops = &cuda_ops, .type = type, .device = &cuda_device};
    c->type = types[type];
    c->limits = *limits;
    status st = open_parts(c, index);
    if (st != STATUS_OK) {
        char message[1024]; /* clearing up must not hide why */
        snprintf(message, sizeof message, "%s", status_message());
        close_cuda(&c->base);
        status_set_message(message);
        return st;
    }
    *out = &c->base;
    return STATUS_OK;
}

static size_t bytes(backend_type type, const backend_limits *l)
{
    (void)type;
    size_t lists = CUDA_LISTS * cuda_round(CUDA_LIST), slots = CUDA_SLOTS * cuda_round(cuda_slot_bytes(l));
    size_t promises = cuda_round((size_t)l->rows * sizeof(double)) + cuda_round(CUDA_HASHES * sizeof(uint64_t)) + 256;
    size_t spare = (size_t)(CUDA_MERGE_ROWS + 1) * (size_t)l->hidden * sizeof(float);
    return lists + slots + promises + spare + cuda_scratch_bytes(l) + cuda_split_floats(l) * sizeof(float) + products_bytes() +
           (l->fused ? fused_bytes() : 0);
}

static status describe(int index, device_card *card)
{
    gpu_properties p;
    TRY(gpu_describe(index, &p));
    *card = (device_card){.sm = p.sm, .memory = p.memory, .driver = p.driver, .runtime = p.runtime};
    snprintf(card->name, sizeof card->name, "%s", p.name);
    snprintf(card->bus, sizeof card->bus, "%s", p.bus);
    return STATUS_OK;
}

static const device_library library = {.version = DEVICE_LIBRARY_VERSION,
                                       .count = gpu_count,
                                       .describe = describe,
                                       .can_fuse = can_fuse,
                                       .identity = identity,
                                       .open = open_cuda,
                                       .bytes = bytes};

device_library_entry fretsaw_device_library;

const device_library *fretsaw_device_library(void)
{
    return &library;
}
