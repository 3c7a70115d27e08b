/* Attention: a task is one row and some heads, one after another, each in tiles of queries; a tile's scores stay in the worker's scratch. */
#include <math.h>
#include <string.h>

#include "model/cpu/cpu_internal.h"

/* Heads a task: enough that most are fetched ahead, few enough that the last tasks end together. */
enum { HEADS_TOGETHER = 4 };

typedef struct attention_job {
    cpu_backend *cpu;
    const batch *b;
    int64_t H, N, D;
    const dropout *drop;
    float scale;
    const float *q, *k, *v;
    float *out, *row_max, *row_sum;              /* forward */
    const float *saved_max, *saved_sum, *dout;   /* backward */
    float *dq, *dk, *dv;
} attention_job;

/* One tile of one row and head. */
typedef struct tile {
    int64_t first, queries, keys, length;
    int64_t base; /* of the row's first token and the head's first column in a T x H matrix */
    int64_t at;   /* the same of the tile's first query */
    softmax_job soft;
} tile;

/* Row numbers into row_order, longest first (counting sort), so that the last tasks are short ones. */
static void order_rows(cpu_backend *cpu, const batch *b)
{
    int64_t start[LONGEST_ROW + 1] = {0};
    for (int64_t r = 0; r < b->rows; r++)
        start[b->offset[r + 1] - b->offset[r]]++;
    int64_t before = 0;
    for (int length = LONGEST_ROW; length >= 0; length--) {
        int64_t count = start[length];
        start[length] = before;
        before += count;
    }
    for (int64_t r = 0; r < b->rows; r++)
        cpu->row_order[start[b->offset[r + 1] - b->offset[r]]++] = r;
}

static tile tile_of_head(const attention_job *j, int64_t row, int64_t head)
{
    int64_t offset = j->b->offset[row];
    tile t = {.keys = j->b->keys[row], .length = j->b->offset[row + 1] - offset, .base = offset * j->H + head * j->D};
    t.soft = (softmax_job){.b = j->b, .drop = j->drop, .row = row, .head = head, .keys = t.keys, .stride = j->N, .scale = j->scale};
    return t;
}

/* Moves the tile to the queries from `first` on; 0 past the end. */
static int tile_at(const attention_job *j, tile *t, int64_t first)
{
    if (first >= t->length)
        return 0;
    int64_t place = (j->b->offset[t->soft.row] + first) * j->N + t->soft.head;
    t->first = t->soft.first_query = first;
    t->queries = t->length - first < ATTENTION_TILE ? t->length - first : ATTENTION_TILE;
    t->at = t->base + first * j->H;
    if (j->dout) {
        t->soft.saved_max = j->saved_max + place;
        t->soft.saved_sum = j->saved_sum + place;
    } else {
        t->soft.row_max = j->row_max + place;
        t->soft.row_sum = j->row_sum + place;
    }
    return 1;
}

/* to (queries x keys) = scale * a (queries x D) b (keys x D)^T */
static void product_with_keys(const attention_job *j, int worker, const tile *t, const float *a, const float *b, float scale, float *to)
{
    gemm_run_worker(j->cpu->product, worker, &(gemm_product){.m = t->queries, .n = t->keys, .k = j->D, .a = a + t->at, .a_row = j->H, .a_k = 1,
                    .b = b + t->base, .b_k = 1, .b_col = j->H, .c = to, .ldc = j->cpu->scratch[worker].width, .scale = scale});
}

/* to (queries x D) = weights (queries x keys) b (keys x D) */
static void product_over_keys(const attention_job *j, int worker, const tile *t, const float *weights, const float *b, float *to)
{
    gemm_run_worker(j->cpu->product, worker, &(gemm_product){.m = t->queries, .n = j->D, .k = t->keys, .a = weights,
                    .a_row = j->cpu->scratch[worker].width, .a_k = 1, .b = b + t->base, .b_k = j->H, .b_col = 1, .c = to + t->at, .ldc = j->H});
}

/* to (keys x D) (+)= weights (queries x keys)^T b (queries x D); later tiles run the chains on, queries ascending. */
static void product_over_queries(const attention_job *j, int worker, const tile *t, const float *weights, const float *b, float *to)
{
    gemm_run_worker(j->cpu->product, worker, &(gemm_product){.m = t->keys, .n = j->D, .k = t->queries, .a = weights, .a_row = 1,
                    .a_k = j->cpu->scratch[worker].width, .b = b + t->at, .b_k = j->H, .b_col = 1, .c = to + t->base, .ldc = j->H,
                    .accumulate = t->first > 0});
}

static void forward_head(const attention_job *j, int64_t row, int64_t head, int worker)
{
    cpu_scratch *scratch = &j->cpu->scratch[worker];
    tile t = tile_of_head(j, row, head);
    for (int64_t first = 0; tile_at(j, &t, first); first += ATTENTION_TILE) {
        product_with_keys(j, worker, &t, j->q, j->k, j->scale, scratch->scores);
        j->cpu->kernel->softmax_forward(&t.soft, 0, t.queries, scratch);
        product_over_keys(j, worker, &t, scratch->scores, j->v, j->out);
    }
}

static void backward_head(const attention_job *j, int64_t row, int64_t head, int worker)
{
    cpu_scratch *scratch = &j->cpu->scratch[worker];
    tile t = tile_of_head(j, row, head);
    for (int64_t first = 0; tile_at(j, &t, first); first += ATTENTION_TILE) {
        product_with_keys(j, worker, &t, j->q, j->k, j->scale, scratch->scores);
        j->cpu->kernel->softmax_again(&t.soft, 0, t.queries, scratch);
        product_over_queries(j, worker, &t, scratch->gradients, j->dout, j->dv);
        product_with_keys(j, worker, &t, j->dout, j->v, 1.0f, scratch->gradients);
        j->cpu->kernel->softmax_backward(&t.soft, 0, t.queries, scratch);
        product_over_keys(j, worker, &t, scratch->gradients, j->k, j->dq);
        product_over_queries(j, worker, &t, scratch->gradients, j->q, j->dk);
    }
    for (int64_t i = t.keys; i < t.length; i++) { /* padding is never a key */
        memset(j->dk + t.base + i * j->H, 0, (size_t)j->D * sizeof(float));
        memset(j->dv + t.base + i * j->H, 0, (size_t)j->D * sizeof(float));
    }
}

/* A head's values lie in short runs a row of H floats apart, where no hardware foresees the next: fetched into L2 while the head before is worked on. */
static void fetch_head(const attention_job *j, int64_t row, int64_t head)
{
    enum { LINE = 16 };
    const float *const arrays[] = {j->q, j->k, j->v, j->dout};
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays && arrays[a]; a++)
        for (int64_t t = j->b->offset[row]; t < j->b->offset[row + 1]; t++)
            for (int64_t c = 0; c < j->D; c += LINE)
                __builtin_prefetch(arrays[a] + t * j->H + head * j->D + c, 0, 2);
}

static void attention_task(void *job, int64_t task, int worker)
{
    const attention_job *j = job;
    int64_t groups = (j->N + HEADS_TOGETHER - 1) / HEADS_TOGETHER, row = j->cpu->row_order[task / groups];
    int64_t head = task % groups * HEADS_TOGETHER, end = head + HEADS_TOGETHER < j->N ? head + HEADS_TOGETHER : j->N;
    fetch_head(j, row, head);
    for (; head < end; head++) {
        if (head + 1 < end)
            fetch_head(j, row, head + 1);
        if (j->dout)
            backward_head(j, row, head, worker);
        else
            forward_head(j, row, head, worker);
    }
}

static void run_attention(attention_job *j)
{
    j->D = j->H / j->N;
    j->scale = 1.0f / sqrtf((float)j->D);
    order_rows(j->cpu, j->b);
    threads_run(j->cpu->pool, j->b->rows * ((j->N + HEADS_TOGETHER - 1) / HEADS_TOGETHER), attention_task, j);
}

void cpu_attention_forward(backend *be, const batch *b, int64_t H, int64_t N, const float *q, const float *k, const float *v, const dropout *drop,
                           float *out, float *row_max, float *row_sum)
{
    attention_job j = {.cpu = cpu_of(be), .b = b, .H = H, .N = N, .drop = drop, .q = q, .k = k, .v = v, .out = out, .row_max = row_max,
                       .row_sum = row_sum};
    run_attention(&j);
}

void cpu_attention_backward(backend *be, const batch *b, int64_t H, int64_t N, const float *q, const float *k, const float *v, const dropout *drop,
                            const float *out, const float *row_max, const float *row_sum, const float *dout, float *dq, float *dk, float *dv)
{
    (void)out; /* the sum over keys of P dP is taken from P and dP (kernel_softmax.c) */
    attention_job j = {.cpu = cpu_of(be), .b = b, .H = H, .N = N, .drop = drop, .q = q, .k = k, .v = v, .saved_max = row_max,
                       .saved_sum = row_sum, .dout = dout, .dq = dq, .dk = dk, .dv = dv};
    run_attention(&j);
}
