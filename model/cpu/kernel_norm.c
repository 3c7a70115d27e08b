/* Layer norm with what surrounds it: the embedding's or the residual's sum before it, dropout before or after it, and the way back.
 * One row (768 floats) stays in the first-level cache, so that the sweeps over it are free. */
#include "model/cpu/dropout_vec.h"
#include "model/cpu/kernels.h"

/* The row that holds token t. */
static int64_t row_of_token(const batch *b, int64_t t)
{
    int64_t low = 0, high = b->rows - 1;
    while (low < high) {
        int64_t middle = (low + high + 1) / 2;
        if (b->offset[middle] <= t)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static int is_on(const dropout *d)
{
    return d && d->threshold != 0;
}

/* The dropout words of token t, whose elements are place * H + column. *row moves on with t. */
static const uint32_t *token_words(const norm_job *j, int64_t t, int64_t *row, dropout_stream *stream, cpu_scratch *scratch)
{
    while (t >= j->b->offset[*row + 1])
        ++*row;
    *stream = dropout_begin(j->drop, j->b, *row);
    return dropout_words(stream, (uint32_t)(j->b->place[t] * j->H), j->H, scratch);
}

static void drop_row(int64_t H, const dropout_stream *s, const uint32_t *w, const float *x, float *y)
{
    for (int64_t c = 0; c < H; c += 16)
        vec_store(y + c, dropout_scaled(s, vec_load(x + c, H - c), dropout_kept(s, w + c)), H - c);
}

/* Two passes: the mean, then the mean square distance from it. */
static void normalise_row(const norm_job *j, int64_t t)
{
    const int64_t H = j->H;
    const float *x = j->sum + t * H;
    vec16 sum = vec_zero();
    for (int64_t c = 0; c < H; c += 16)
        sum = vec_add(sum, vec_load(x + c, H - c));
    float mean = vec_sum(sum) / (float)H;
    vec16 centre = vec_set(mean), square = vec_zero();
    for (int64_t c = 0; c < H; c += 16) {
        vec16 d = vec_keep(vec_sub(vec_load(x + c, H - c), centre), H - c);
        square = vec_fma(d, d, square);
    }
    float rstd = 1.0f / sqrtf(vec_sum(square) / (float)H + j->epsilon);
    vec16 factor = vec_set(rstd);
    float *z = j->z + t * H;
    for (int64_t c = 0; c < H; c += 16) {
        vec16 hat = vec_mul(vec_sub(vec_load(x + c, H - c), centre), factor);
        vec_store(z + c, vec_fma(hat, vec_load(j->gamma + c, H - c), vec_load(j->beta + c, H - c)), H - c);
    }
    j->mean[t] = mean;
    j->rstd[t] = rstd;
}

void ISA(cpu_embed_forward)(const void *job, int64_t from, int64_t to, cpu_scratch *scratch)
{
    const norm_job *j = job;
    const int64_t H = j->H;
    int64_t row = row_of_token(j->b, from);
    for (int64_t t = from; t < to; t++) {
        const float *word = j->word + j->b->id[t] * H, *position = j->position + j->b->place[t] * H;
        float *sum = j->sum + t * H;
        for (int64_t c = 0; c < H; c += 16) {
            vec16 s = vec_add(vec_load(word + c, H - c), vec_load(j->type + c, H - c));
            vec_store(sum + c, vec_add(s, vec_load(position + c, H - c)), H - c);
        }
        normalise_row(j, t);
        if (is_on(j->drop)) {
            dropout_stream s;
            const uint32_t *w = token_words(j, t, &row, &s, scratch);
            drop_row(H, &s, w, j->z + t * H, j->z + t * H);
        }
    }
}

void ISA(cpu_residual_forward)(const void *job, int64_t from, int64_t to, cpu_scratch *scratch)
{
    const norm_job *j = job;
    const int64_t H = j->H;
    int64_t row = row_of_token(j->b, from);
    for (int64_t t = from; t < to; t++) {
        const float *x = j->x + t * H, *y = j->y + t * H;
        float *sum = j->sum + t * H;
        if (is_on(j->drop)) {
            dropout_stream s;
            const uint32_t *w = token_words(j, t, &row, &s, scratch);
            for (int64_t c = 0; c < H; c += 16) {
                vec16 kept = dropout_scaled(&s, vec_load(y + c, H - c), dropout_kept(&s, w + c));
                vec_store(sum + c, vec_add(vec_load(x + c, H - c), kept), H - c);
            }
        } else {
            for (int64_t c = 0; c < H; c += 16)
                vec_store(sum + c, vec_add(vec_load(x + c, H - c), vec_load(y + c, H - c)), H - c);
        }
        normalise_row(j, t);
    }
}

/* dsum = rstd (g - mean g - hat mean(g hat)) with g = dz gamma. This form does not cancel where a row is nearly constant. */
static void normalise_back_row(const norm_job *j, int64_t t)
{
    const int64_t H = j->H;
    const float *x = j->saved_sum + t * H, *dz = j->dz + t * H;
    vec16 centre = vec_set(j->saved_mean[t]), factor = vec_set(j->saved_rstd[t]);
    vec16 sum = vec_zero(), product = vec_zero();
    for (int64_t c = 0; c < H; c += 16) {
        vec16 g = vec_mul(vec_load(dz + c, H - c), vec_load(j->gamma + c, H - c)); /* +-0 beyond the row */
        vec16 hat = vec_keep(vec_mul(vec_sub(vec_load(x + c, H - c), centre), factor), H - c);
        sum = vec_add(sum, g);
        product = vec_fma(g, hat, product);
    }
    vec16 mean = vec_set(vec_sum(sum) / (float)H), slope = vec_set(vec_sum(product) / (float)H);
    float *dx = j->dx + t * H;
    for (int64_t c = 0; c < H; c += 16) {
        vec16 g = vec_mul(vec_load(dz + c, H - c), vec_load(j->gamma + c, H - c));
        vec16 hat = vec_mul(vec_sub(vec_load(x + c, H - c), centre), factor);
        vec_store(dx + c, vec_mul(factor, vec_fma(vec_negate(hat), slope, vec_sub(g, mean))), H - c);
    }
}

void ISA(cpu_norm_backward)(const void *job, int64_t from, int64_t to, cpu_scratch *scratch)
{
    const norm_job *j = job;
    const int64_t H = j->H;
    int64_t row = row_of_token(j->b, from);
    for (int64_t t = from; t < to; t++) {
        normalise_back_row(j, t);
        if (!j->dy)
            continue;
        if (is_on(j->drop)) {
            dropout_stream s;
            const uint32_t *w = token_words(j, t, &row, &s, scratch);
            drop_row(H, &s, w, j->dx + t * H, j->dy + t * H);
        } else {
            memcpy(j->dy + t * H, j->dx + t * H, (size_t)H * sizeof(float));
        }
    }
}

void ISA(cpu_drop_tokens)(const void *job, int64_t from, int64_t to, cpu_scratch *scratch)
{
    const norm_job *j = job;
    const int64_t H = j->H;
    int64_t row = row_of_token(j->b, from);
    for (int64_t t = from; t < to; t++) {
        dropout_stream s;
        const uint32_t *w = token_words(j, t, &row, &s, scratch);
        drop_row(H, &s, w, j->dz + t * H, j->dx + t * H);
    }
}

/* dgamma += sum of dz hat, dbeta += sum of dz: each column a chain over the tokens in order. */
void ISA(cpu_norm_columns)(const void *job, int64_t from, int64_t to, cpu_scratch *scratch)
{
    const norm_job *j = job;
    const int64_t H = j->H, T = j->b->tokens;
    (void)scratch;
    for (int64_t c = from; c < to; c += 32) {
        int64_t n0 = to - c, n1 = n0 > 16 ? n0 - 16 : 0;
        vec16 gamma0 = vec_load(j->dgamma + c, n0), beta0 = vec_load(j->dbeta + c, n0);
        vec16 gamma1 = n1 ? vec_load(j->dgamma + c + 16, n1) : vec_zero(), beta1 = n1 ? vec_load(j->dbeta + c + 16, n1) : vec_zero();
        for (int64_t t = 0; t < T; t++) {
            const float *dz = j->dz + t * H + c, *x = j->saved_sum + t * H + c;
            vec16 centre = vec_set(j->saved_mean[t]), factor = vec_set(j->saved_rstd[t]), g = vec_load(dz, n0);
            gamma0 = vec_fma(g, vec_mul(vec_sub(vec_load(x, n0), centre), factor), gamma0);
            beta0 = vec_add(beta0, g);
            if (n1) {
                g = vec_load(dz + 16, n1);
                gamma1 = vec_fma(g, vec_mul(vec_sub(vec_load(x + 16, n1), centre), factor), gamma1);
                beta1 = vec_add(beta1, g);
            }
        }
        vec_store(j->dgamma + c, gamma0, n0);
        vec_store(j->dbeta + c, beta0, n0);
        if (n1) {
            vec_store(j->dgamma + c + 16, gamma1, n1);
            vec_store(j->dbeta + c + 16, beta1, n1);
        }
    }
}

/* Table rows += dsum, token after token; a task owns columns, so that no two tasks meet in a row. */
void ISA(cpu_embed_columns)(const void *job, int64_t from, int64_t to, cpu_scratch *scratch)
{
    const norm_job *j = job;
    const int64_t H = j->H;
    (void)scratch;
    for (int64_t t = 0; t < j->b->tokens; t++) {
        const float *d = j->dx + t * H;
        float *position = j->dposition + j->b->place[t] * H, *word = j->slot[t] < 0 ? NULL : j->dword + j->slot[t] * H;
        for (int64_t c = from; c < to; c += 16) {
            vec16 x = vec_load(d + c, to - c);
            vec_store(position + c, vec_add(vec_load(position + c, to - c), x), to - c);
            vec_store(j->dtype_row + c, vec_add(vec_load(j->dtype_row + c, to - c), x), to - c);
            if (word)
                vec_store(word + c, vec_add(vec_load(word + c, to - c), x), to - c);
        }
    }
}
