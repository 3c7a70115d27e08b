#include "support/wrapped_backend.h"

#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/hash.h"

enum { ROOMS = 512, PADDING = 64 };

typedef struct wrapped {
    backend base;
    wrapped_setting set;
    int64_t lane;   /* of the micro-batch at hand */
    uint64_t calls; /* of this process */
    uint64_t noise;
    struct {
        char *given, *real;
    } room[ROOMS];
} wrapped;

static wrapped *self(backend *be)
{
    return (wrapped *)be;
}

static uint64_t draw(wrapped *w)
{
    w->noise = w->noise * 6364136223846793005u + 1442695040888963407u;
    return w->noise >> 33;
}

/* One call: its name, then shapes as pairs (NULL, number) and inputs as pairs (pointer, bytes), ended by (NULL, -1). */
static void call(wrapped *w, const char *name, ...)
{
    va_list list;
    uint64_t chain = w->set.lane_hash[w->lane] ^ hash_xxh3(name, strlen(name));
    va_start(list, name);
    for (;;) {
        const void *p = va_arg(list, const void *);
        int64_t n = va_arg(list, int64_t);
        if (!p && n < 0)
            break;
        uint64_t pair[2] = {chain, p ? hash_xxh3(p, (size_t)n) : (uint64_t)n};
        chain = hash_xxh3(pair, sizeof pair);
    }
    va_end(list);
    w->set.lane_hash[w->lane] = chain;
    w->calls++;
    if (w->set.mode == WRAPPED_QUIET && draw(w) % 4 == 0)
        sched_yield();
}

#define SHAPE(n) (const void *)NULL, (int64_t)(n)
#define FLOATS(p, n) (const void *)(p), (int64_t)((p) ? (size_t)(n) * sizeof(float) : 0)
#define END (const void *)NULL, (int64_t)-1

/* Before a result is written. */
static void soil(wrapped *w, float *p, int64_t n)
{
    if (w->set.mode == WRAPPED_QUIET && p)
        memset(p, (int)(draw(w) & 0xff), (size_t)n * sizeof *p);
}

/* After: the planted dependence. */
static void plant(wrapped *w, float *p, int64_t n)
{
    struct timespec now;
    uint32_t bits;
    bool turn = false;
    uintptr_t address = (uintptr_t)p;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (w->set.mode == WRAPPED_ADDRESS)
        turn = hash_xxh3(&address, sizeof address) & 1;
    else if (w->set.mode == WRAPPED_CALLS)
        turn = w->calls % 7 == 0;
    else if (w->set.mode == WRAPPED_TIME)
        turn = (now.tv_nsec >> 8) & 1;
    if (!turn || n == 0)
        return;
    memcpy(&bits, &p[n / 2], sizeof bits);
    bits ^= 1;
    memcpy(&p[n / 2], &bits, sizeof bits);
}

/* ---- memory ---- */

static status allocate(backend *be, size_t bytes, const char *what, void **out)
{
    wrapped *w = self(be);
    size_t pad = w->set.mode == WRAPPED_TRACE ? 0 : PADDING * (draw(w) % 64);
    int i = 0;
    while (i < ROOMS && w->room[i].given)
        i++;
    if (i == ROOMS)
        return fail(STATUS_RESOURCE, "the wrapped back end has no place for %s", what);
    void *real;
    TRY(w->set.inner->ops->allocate(w->set.inner, bytes + pad, what, &real));
    w->room[i].real = real;
    *out = w->room[i].given = w->room[i].real + pad;
    return STATUS_OK;
}

static void release(backend *be, void *p)
{
    wrapped *w = self(be);
    for (int i = 0; p && i < ROOMS; i++)
        if (w->room[i].given == p) {
            w->set.inner->ops->release(w->set.inner, w->room[i].real);
            w->room[i].given = NULL;
            return;
        }
}

static void upload(backend *be, void *to, const void *from, size_t bytes)
{
    self(be)->set.inner->ops->upload(self(be)->set.inner, to, from, bytes);
}

static void download(backend *be, void *to, const void *from, size_t bytes)
{
    self(be)->set.inner->ops->download(self(be)->set.inner, to, from, bytes);
}

static void zero(backend *be, void *p, size_t bytes)
{
    self(be)->set.inner->ops->zero(self(be)->set.inner, p, bytes);
}

static void add(backend *be, float *to, const float *from, int64_t n) /* between lanes: no lane's own */
{
    self(be)->set.inner->ops->add(self(be)->set.inner, to, from, n);
}

static status check(backend *be)
{
    return self(be)->set.inner->ops->check(self(be)->set.inner);
}

static void parameters_changed(backend *be)
{
    self(be)->set.inner->ops->parameters_changed(self(be)->set.inner);
}

static void close_wrapped(backend *be)
{
    self(be)->set.inner->ops->close(self(be)->set.inner);
    free(be);
}

/* ---- linear layers ---- */

static void linear_forward(backend *be, int64_t T, int64_t I, int64_t O, const float *x, const float *weight, const float *bias, float *y)
{
    wrapped *w = self(be);
    call(w, "linear", SHAPE(T), SHAPE(I), SHAPE(O), FLOATS(x, T * I), FLOATS(weight, O * I), FLOATS(bias, O), END);
    soil(w, y, T * O);
    w->set.inner->ops->linear_forward(w->set.inner, T, I, O, x, weight, bias, y);
    plant(w, y, T * O);
}

static void linear_gelu_forward(backend *be, int64_t T, int64_t I, int64_t O, const float *x, const float *weight, const float *bias, float *pre,
                                float *y)
{
    wrapped *w = self(be);
    call(w, "linear gelu", SHAPE(T), SHAPE(I), SHAPE(O), FLOATS(x, T * I), FLOATS(weight, O * I), FLOATS(bias, O), END);
    soil(w, y, T * O);
    w->set.inner->ops->linear_gelu_forward(w->set.inner, T, I, O, x, weight, bias, pre, y);
    plant(w, y, T * O);
}

static void linear_backward_input(backend *be, int64_t T, int64_t I, int64_t O, const float *dy, const float *weight, float *dx, int continue_sum)
{
    wrapped *w = self(be);
    call(w, "linear dx", SHAPE(T), SHAPE(I), SHAPE(O), SHAPE(continue_sum), FLOATS(dy, T * O), FLOATS(weight, O * I),
         FLOATS(continue_sum ? dx : NULL, T * I), END);
    if (!continue_sum)
        soil(w, dx, T * I);
    w->set.inner->ops->linear_backward_input(w->set.inner, T, I, O, dy, weight, dx, continue_sum);
    plant(w, dx, T * I);
}

static void linear_backward_weight(backend *be, int64_t T, int64_t I, int64_t O, const float *x, const float *dy, float *dweight, float *dbias)
{
    wrapped *w = self(be);
    call(w, "linear dw", SHAPE(T), SHAPE(I), SHAPE(O), FLOATS(x, T * I), FLOATS(dy, T * O), FLOATS(dweight, O * I), FLOATS(dbias, O), END);
    w->set.inner->ops->linear_backward_weight(w->set.inner, T, I, O, x, dy, dweight, dbias);
}

/* What it joins belongs to other lanes, and depends on the ranks: not traced. */
static void linear_fold_weight(backend *be, int64_t T, int64_t I, int64_t O, const float *x, const float *dy, float *dweight, float *dbias, bool begin,
                               int folds, float *const *fold)
{
    wrapped *w = self(be);
    call(w, "linear dw", SHAPE(T), SHAPE(I), SHAPE(O), FLOATS(x, T * I), FLOATS(dy, T * O), FLOATS(begin ? NULL : dweight, O * I), FLOATS(dbias, O), END);
    if (begin)
        soil(w, dweight, O * I);
    w->set.inner->ops->linear_fold_weight(w->set.inner, T, I, O, x, dy, dweight, dbias, begin, folds, fold);
    if (folds > 0)
        soil(w, dweight, O * I);
}

static void gelu_backward(backend *be, int64_t n, const float *pre, const float *dy, float *dpre)
{
    wrapped *w = self(be);
    call(w, "gelu d", SHAPE(n), FLOATS(pre, n), FLOATS(dy, n), END);
    w->set.inner->ops->gelu_backward(w->set.inner, n, pre, dy, dpre);
}

/* ---- embeddings, norms ---- */

static void embed_forward(backend *be, const batch *b, int64_t H, const float *word, const float *position, const float *type, const float *gamma,
                          const float *beta, float epsilon, const dropout *drop, float *sum, float *mean, float *rstd, float *y)
{
    wrapped *w = self(be);
    w->lane = w->set.lane_of(w->set.user, b);
    call(w, "embed", SHAPE(b->rows), SHAPE(b->tokens), SHAPE(b->epoch), SHAPE(H), FLOATS(b->id, b->tokens), FLOATS(b->place, b->tokens), SHAPE(drop->seed),
         (const void *)b->sample, (int64_t)((size_t)b->rows * sizeof *b->sample), FLOATS(b->label, b->rows), END);
    w->set.inner->ops->embed_forward(w->set.inner, b, H, word, position, type, gamma, beta, epsilon, drop, sum, mean, rstd, y);
}

static void embed_backward(backend *be, const batch *b, int64_t H, const float *dy, const float *sum, const float *mean, const float *rstd,
                           const float *gamma, const dropout *drop, const int32_t *slot, float *dsum, float *dgamma, float *dbeta, float *dword,
                           float *dposition, float *dtype_row)
{
    wrapped *w = self(be);
    call(w, "embed d", SHAPE(b->tokens), SHAPE(H), FLOATS(dy, b->tokens * H), FLOATS(slot, b->tokens), FLOATS(sum, b->tokens * H), END);
    w->set.inner->ops->embed_backward(w->set.inner, b, H, dy, sum, mean, rstd, gamma, drop, slot, dsum, dgamma, dbeta, dword, dposition, dtype_row);
}

static void residual_norm_forward(backend *be, const batch *b, int64_t H, const float *x, const float *y, const dropout *drop, const float *gamma,
                                  const float *beta, float epsilon, float *sum, float *mean, float *rstd, float *z)
{
    wrapped *w = self(be);
    call(w, "norm", SHAPE(b->tokens), SHAPE(H), SHAPE(drop->layer), SHAPE(drop->site), FLOATS(x, b->tokens * H), FLOATS(y, b->tokens * H), FLOATS(gamma, H),
         FLOATS(beta, H), END);
    w->set.inner->ops->residual_norm_forward(w->set.inner, b, H, x, y, drop, gamma, beta, epsilon, sum, mean, rstd, z);
}

static void residual_norm_backward(backend *be, const batch *b, int64_t H, const float *dz, const float *sum, const float *mean, const float *rstd,
                                   const float *gamma, const dropout *drop, float *dx, float *dy, float *dgamma, float *dbeta)
{
    wrapped *w = self(be);
    call(w, "norm d", SHAPE(b->tokens), SHAPE(H), SHAPE(drop->layer), SHAPE(drop->site), FLOATS(dz, b->tokens * H), FLOATS(sum, b->tokens * H),
         FLOATS(mean, b->tokens), FLOATS(rstd, b->tokens), END);
    w->set.inner->ops->residual_norm_backward(w->set.inner, b, H, dz, sum, mean, rstd, gamma, drop, dx, dy, dgamma, dbeta);
}

/* ---- attention ---- */

static void attention_forward(backend *be, const batch *b, int64_t H, int64_t N, const float *q, const float *k, const float *v, const dropout *drop,
                              float *out, float *row_max, float *row_sum)
{
    wrapped *w = self(be);
    call(w, "attention", SHAPE(b->tokens), SHAPE(H), SHAPE(N), SHAPE(drop->layer), FLOATS(q, b->tokens * H), FLOATS(k, b->tokens * H),
         FLOATS(v, b->tokens * H), END);
    soil(w, out, b->tokens * H);
    w->set.inner->ops->attention_forward(w->set.inner, b, H, N, q, k, v, drop, out, row_max, row_sum);
    plant(w, out, b->tokens * H);
}

static void attention_backward(backend *be, const batch *b, int64_t H, int64_t N, const float *q, const float *k, const float *v, const dropout *drop,
                               const float *out, const float *row_max, const float *row_sum, const float *dout, float *dq, float *dk, float *dv)
{
    wrapped *w = self(be);
    call(w, "attention d", SHAPE(b->tokens), SHAPE(H), SHAPE(N), FLOATS(q, b->tokens * H), FLOATS(out, b->tokens * H), FLOATS(dout, b->tokens * H),
         FLOATS(row_max, b->tokens * N), FLOATS(row_sum, b->tokens * N), END);
    w->set.inner->ops->attention_backward(w->set.inner, b, H, N, q, k, v, drop, out, row_max, row_sum, dout, dq, dk, dv);
}

/* ---- head, loss, optimizer ---- */

static void pool_forward(backend *be, const batch *b, int64_t H, const float *x, float *pooled, int32_t *argmax)
{
    wrapped *w = self(be);
    call(w, "pool", SHAPE(b->rows), SHAPE(H), FLOATS(x, b->tokens * H), END);
    soil(w, pooled, b->rows * 2 * H);
    w->set.inner->ops->pool_forward(w->set.inner, b, H, x, pooled, argmax);
}

static void pool_backward(backend *be, const batch *b, int64_t H, const float *dpooled, const int32_t *argmax, float *dx)
{
    wrapped *w = self(be);
    call(w, "pool d", SHAPE(b->rows), SHAPE(H), FLOATS(dpooled, b->rows * 2 * H), FLOATS(argmax, b->rows * H), END);
    soil(w, dx, b->tokens * H);
    w->set.inner->ops->pool_backward(w->set.inner, b, H, dpooled, argmax, dx);
}

static void head_forward(backend *be, const batch *b, int64_t H, int64_t C, const float *pooled, const dropout *drop, const float *weight,
                         const float *bias, float *dropped, float *logits)
{
    wrapped *w = self(be);
    call(w, "head", SHAPE(b->rows), SHAPE(H), SHAPE(C), FLOATS(pooled, b->rows * 2 * H), FLOATS(weight, C * 2 * H), FLOATS(bias, C), END);
    soil(w, logits, b->rows * C);
    w->set.inner->ops->head_forward(w->set.inner, b, H, C, pooled, drop, weight, bias, dropped, logits);
}

static void head_backward(backend *be, const batch *b, int64_t H, int64_t C, const float *dlogits, const float *dropped, const dropout *drop,
                          const float *weight, float *dpooled, float *dweight, float *dbias)
{
    wrapped *w = self(be);
    call(w, "head d", SHAPE(b->rows), SHAPE(H), SHAPE(C), FLOATS(dlogits, b->rows * C), FLOATS(dropped, b->rows * 2 * H), END);
    soil(w, dpooled, b->rows * 2 * H);
    w->set.inner->ops->head_backward(w->set.inner, b, H, C, dlogits, dropped, drop, weight, dpooled, dweight, dbias);
}

static void loss_forward(backend *be, const batch *b, int64_t C, const float *logits, float factor, double *row_loss, float *dlogits)
{
    wrapped *w = self(be);
    call(w, "loss", SHAPE(b->rows), SHAPE(C), FLOATS(logits, b->rows * C), (const void *)&factor, (int64_t)sizeof factor, END);
    w->set.inner->ops->loss_forward(w->set.inner, b, C, logits, factor, row_loss, dlogits);
}

static void sigmoid(backend *be, int64_t n, const float *logits, float *probability)
{
    self(be)->set.inner->ops->sigmoid(self(be)->set.inner, n, logits, probability);
}

static void adamw(backend *be, int64_t n, int64_t first, const adamw_step *s, int decayed, const float *grad, float *m, float *v, float *p,
                  uint64_t *hash)
{
    self(be)->set.inner->ops->adamw(self(be)->set.inner, n, first, s, decayed, grad, m, v, p, hash);
}

static void merge_rows(backend *be, int64_t width, float *older, const int32_t *older_ids, int64_t older_count, const float *newer,
                       const int32_t *newer_ids, int64_t newer_count)
{
    self(be)->set.inner->ops->merge_rows(self(be)->set.inner, width, older, older_ids, older_count, newer, newer_ids, newer_count);
}

static void fold_rows(backend *be, int64_t width, int64_t first, int64_t end, const row_piece *pieces, int count, float *to)
{
    self(be)->set.inner->ops->fold_rows(self(be)->set.inner, width, first, end, pieces, count, to);
}

static void wait_all(backend *be)
{
    self(be)->set.inner->ops->wait(self(be)->set.inner);
}

static void wait_loss(backend *be)
{
    self(be)->set.inner->ops->wait_loss(self(be)->set.inner);
}

static status keep_parameters(backend *be, const float *parameters, int64_t n)
{
    return self(be)->set.inner->ops->keep_parameters(self(be)->set.inner, parameters, n);
}

static const backend_ops operations = {
    .name = "wrapped",
    .allocate = allocate,
    .release = release,
    .upload = upload,
    .download = download,
    .zero = zero,
    .add = add,
    .check = check,
    .wait = wait_all,
    .wait_loss = wait_loss,
    .keep_parameters = keep_parameters,
    .parameters_changed = parameters_changed,
    .close = close_wrapped,
    .linear_forward = linear_forward,
    .linear_gelu_forward = linear_gelu_forward,
    .linear_backward_input = linear_backward_input,
    .linear_backward_weight = linear_backward_weight,
    .linear_fold_weight = linear_fold_weight,
    .gelu_backward = gelu_backward,
    .embed_forward = embed_forward,
    .embed_backward = embed_backward,
    .residual_norm_forward = residual_norm_forward,
    .residual_norm_backward = residual_norm_backward,
    .attention_forward = attention_forward,
    .attention_backward = attention_backward,
    .pool_forward = pool_forward,
    .pool_backward = pool_backward,
    .head_forward = head_forward,
    .head_backward = head_backward,
    .loss_forward = loss_forward,
    .sigmoid = sigmoid,
    .adamw = adamw,
    .merge_rows = merge_rows,
    .fold_rows = fold_rows,
};

backend *wrapped_open(const wrapped_setting *setting)
{
    wrapped *w = calloc(1, sizeof *w);
    struct timespec now;
    if (!w)
        return NULL;
    clock_gettime(CLOCK_REALTIME, &now);
    w->base.ops = &operations;
    w->set = *setting;
    w->noise = (uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 32;
    return &w->base;
}
