#include "unit/cuda_case.h"

#include <stdio.h>

#include "common/rng.h"

static void *host_bytes(cuda_case *c, size_t bytes)
{
    void *p = calloc(1, bytes + 1);
    ck_assert(p != NULL && c->host_count < CASE_BLOCKS);
    return c->host[c->host_count++] = p;
}

double *case_doubles(cuda_case *c, int64_t n)
{
    return host_bytes(c, (size_t)n * sizeof(double));
}

void *case_launch_bytes(cuda_case *c, size_t bytes)
{
    void *p = launch_memory_new(bytes);
    ck_assert(p != NULL && c->launch_count < CASE_BLOCKS);
    return c->launch[c->launch_count++] = p;
}

void *case_keep(cuda_case *c, const void *from, size_t bytes)
{
    return memcpy(host_bytes(c, bytes), from, bytes);
}

/* ---- types ---- */

uint16_t case_bits(cuda_type type, double x)
{
    const int digits = type == CUDA_BFLOAT16 ? 8 : 11, least = type == CUDA_BFLOAT16 ? -126 : -14, most = type == CUDA_BFLOAT16 ? 128 : 16;
    uint16_t sign = signbit(x) ? 0x8000 : 0, infinite = type == CUDA_BFLOAT16 ? 0x7f80 : 0x7c00;
    if (isnan(x))
        return 0x7fff;
    x = fabs(x);
    int exponent;
    frexp(x, &exponent);
    if (exponent <= least)
        exponent = least + 1;
    double unit = ldexp(1, exponent - digits), rounded = rint(x / unit) * unit;
    if (rounded >= ldexp(1, most))
        return sign | infinite;
    frexp(rounded, &exponent);
    if (rounded == 0 || exponent <= least)
        return sign | (uint16_t)(rounded / ldexp(1, least + 1 - digits));
    return sign | (uint16_t)((exponent - least) << (digits - 1)) | (uint16_t)(rounded / ldexp(1, exponent - digits) - ldexp(1, digits - 1));
}

double case_value(cuda_type type, uint16_t bits)
{
    const int digits = type == CUDA_BFLOAT16 ? 8 : 11, least = type == CUDA_BFLOAT16 ? -126 : -14;
    const int whole = bits & 0x7fff, field = whole >> (digits - 1), fraction = whole & ((1 << (digits - 1)) - 1);
    const double sign = bits & 0x8000 ? -1 : 1;
    if (whole >= (type == CUDA_BFLOAT16 ? 0x7f80 : 0x7c00))
        return fraction ? NAN : sign * INFINITY;
    return sign * (field ? ldexp((1 << (digits - 1)) + fraction, field + least - digits) : ldexp(fraction, least + 1 - digits));
}

double case_half_unit(cuda_type type)
{
    return type == CUDA_FLOAT32 ? 0x1p-24 : type == CUDA_BFLOAT16 ? 0x1p-8 : 0x1p-11;
}

static double as_stored(cuda_type type, double x)
{
    return type == CUDA_FLOAT32 ? (double)(float)x : case_value(type, case_bits(type, x));
}

double *case_normal(cuda_case *c, int64_t n, double scale)
{
    double *p = case_doubles(c, n);
    for (int64_t i = 0; i < n; i++)
        p[i] = as_stored(c->type, scale * support_normal());
    return p;
}

double *case_normal_float(cuda_case *c, int64_t n, double scale)
{
    double *p = case_doubles(c, n);
    for (int64_t i = 0; i < n; i++)
        p[i] = (float)(scale * support_normal());
    return p;
}

void *case_room(cuda_case *c, int64_t n)
{
    return case_launch_bytes(c, (size_t)n * cuda_type_bytes(c->type));
}

float *case_room_float(cuda_case *c, int64_t n)
{
    return case_launch_bytes(c, (size_t)n * sizeof(float));
}

float *case_put_float(cuda_case *c, const double *values, int64_t n)
{
    float *p = case_room_float(c, n);
    for (int64_t i = 0; i < n; i++)
        p[i] = (float)values[i];
    return p;
}

void *case_put(cuda_case *c, const double *values, int64_t n)
{
    if (c->type == CUDA_FLOAT32)
        return case_put_float(c, values, n);
    uint16_t *p = case_room(c, n);
    for (int64_t i = 0; i < n; i++)
        p[i] = case_bits(c->type, values[i]);
    return p;
}

double *case_get_float(cuda_case *c, const float *from, int64_t n)
{
    double *p = case_doubles(c, n);
    for (int64_t i = 0; i < n; i++)
        p[i] = from[i];
    return p;
}

double *case_get(cuda_case *c, const void *from, int64_t n)
{
    if (c->type == CUDA_FLOAT32)
        return case_get_float(c, from, n);
    double *p = case_doubles(c, n);
    for (int64_t i = 0; i < n; i++)
        p[i] = case_value(c->type, ((const uint16_t *)from)[i]);
    return p;
}

/* ---- batches ---- */

static void make_rows(cuda_case *c)
{
    const cuda_shape *s = &c->shape;
    const int64_t B = s->rows;
    int64_t *offset = case_launch_bytes(c, (size_t)(B + 1) * 8);
    int32_t *keys = case_launch_bytes(c, (size_t)B * 4);
    uint64_t *sample = case_launch_bytes(c, (size_t)B * 8);
    float *label = case_room_float(c, B * s->outputs);
    offset[0] = 0;
    for (int64_t r = 0; r < B; r++) {
        int64_t length = r == 0 || s->longest < 3 ? s->longest : 2 + (int64_t)support_below((uint64_t)s->longest - 1);
        keys[r] = (int32_t)length;
        if (s->padded && r != 1)
            length = s->longest;
        if (s->padded && r == 0)
            keys[r] = 1 + (int32_t)support_below((uint64_t)length);
        offset[r + 1] = offset[r] + length;
        sample[r] = support_random() >> 20; /* over 32 bits, so that the high part is used too */
        for (int64_t i = 0; i < s->outputs; i++)
            label[r * s->outputs + i] = (float)support_uniform();
    }
    c->T = offset[B];
    int32_t *id = case_launch_bytes(c, (size_t)c->T * 4), *place = case_launch_bytes(c, (size_t)c->T * 4),
            *row = case_launch_bytes(c, (size_t)c->T * 4);
    for (int64_t r = 0; r < B; r++)
        for (int64_t t = offset[r]; t < offset[r + 1]; t++) {
            place[t] = (int32_t)(t - offset[r]);
            row[t] = (int32_t)r;
            id[t] = place[t] < keys[r] ? 1 + (int32_t)support_below(CASE_VOCABULARY - 1) : 0;
        }
    c->rows = (cuda_rows){B, c->T, s->longest, CASE_EPOCH, id, place, row, offset, keys, sample, label};
}

void cuda_case_begin(cuda_case *c, cuda_type type, const cuda_shape *shape, double drop)
{
    *c = (cuda_case){.type = type, .shape = *shape, .drop_probability = drop};
    if (c->shape.outputs == 0)
        c->shape.outputs = 1;
    c->B = shape->rows, c->N = shape->heads, c->D = shape->head_size, c->H = c->N * c->D, c->C = c->shape.outputs;
    uint64_t seed = support_random();
    for (uint32_t site = 0; site < 5; site++)
        c->drop[site] = (dropout){(uint32_t)(drop * 0x1p32), (float)(1 / (1 - drop)), seed, CASE_LAYER, site};
    make_rows(c);
    backend_limits limits = {c->T, c->B, c->shape.longest, c->H, c->N, 4 * c->H, CASE_VOCABULARY, c->C, false};
    const char *no = cuda_kernels_refuse(&limits, type, 80);
    ck_assert_msg(no == NULL, "%s", no);
    c->scratch = case_launch_bytes(c, cuda_scratch_bytes(&limits));
    fprintf(stderr, "type %d, rows %d, longest %d, heads %d of %d, padded %d, dropout %g\n", (int)type, (int)c->B, (int)shape->longest, (int)c->N,
            (int)c->D, shape->padded, drop);
}

void cuda_case_end(cuda_case *c)
{
    while (c->launch_count)
        launch_memory_free(c->launch[--c->launch_count]);
    while (c->host_count)
        free(c->host[--c->host_count]);
}

cuda_shape case_shape(int64_t most, int padded)
{
    static const int64_t sizes[] = {8, 16, 24, 32, 40, 64};
    return (cuda_shape){.rows = 1 + (int64_t)support_below(4),
                        .longest = 2 + (int64_t)support_below((uint64_t)most - 1),
                        .heads = 1 + (int64_t)support_below(3),
                        .head_size = sizes[support_below(6)],
                        .outputs = 1 + (int64_t)support_below(3),
                        .padded = padded};
}

cuda_groups case_groups(cuda_case *c, const int32_t *number, int32_t numbers)
{
    int32_t *first = case_launch_bytes(c, (size_t)(numbers + 1) * 4), *token = case_launch_bytes(c, (size_t)c->T * 4);
    int32_t *target = case_launch_bytes(c, (size_t)numbers * 4);
    int64_t count = 0, at = 0;
    for (int32_t n = 0; n < numbers; n++) {
        int64_t begin = at;
        for (int32_t t = 0; t < c->T; t++)
            if (number[t] == n)
                token[at++] = t;
        if (at > begin) {
            first[count] = (int32_t)begin;
            target[count++] = n;
        }
    }
    first[count] = (int32_t)at;
    return (cuda_groups){count, first, token, target};
}

/* ---- references ---- */

double case_kept(const cuda_case *c, int site, int64_t row, uint32_t element)
{
    if (c->drop[site].threshold == 0)
        return 1;
    uint32_t w[4];
    uint64_t sample = c->rows.sample[row];
    rng_philox(c->drop[site].seed,
               (uint32_t[4]){element / 4, 3u << 24 | (uint32_t)CASE_LAYER << 12 | (uint32_t)site, (uint32_t)sample,
                             (uint32_t)CASE_EPOCH << 16 | (uint32_t)(sample >> 32)},
               w);
    return w[element % 4] >= c->drop[site].threshold ? (double)c->drop[site].scale : 0;
}

void case_close(const char *name, const double *got, const double *want, int64_t n, double bound)
{
    case_close_beside(name, got, want, n, bound, 1e-30);
}

void case_close_beside(const char *name, const double *got, const double *want, int64_t n, double bound, double least)
{
    double greatest = least, worst = 0;
    int64_t where = 0;
    for (int64_t i = 0; i < n; i++)
        greatest = fmax(greatest, fabs(want[i]));
    for (int64_t i = 0; i < n; i++) {
        ck_assert_msg(isfinite(got[i]), "%s[%lld] is not finite", name, (long long)i);
        if (fabs(got[i] - want[i]) / greatest > worst) {
            worst = fabs(got[i] - want[i]) / greatest;
            where = i;
        }
    }
    if (getenv("FRETSAW_SHOW"))
        fprintf(stderr, "%-24s %.3g of %.3g\n", name, worst, bound);
    ck_assert_msg(worst <= bound, "%s[%lld]: %g, not %g: relative error %g, bound %g", name, (long long)where, got[where], want[where], worst, bound);
}

void case_within(const char *name, const double *got, const double *want, const double *bound, int64_t n)
{
    double worst = 0;
    for (int64_t i = 0; i < n; i++) {
        const double off = fabs(got[i] - want[i]);
        ck_assert_msg(off <= bound[i], "%s[%lld]: %g, not %g: off by %g, bound %g", name, (long long)i, got[i], want[i], off, bound[i]);
        worst = fmax(worst, bound[i] > 0 ? off / bound[i] : 0);
    }
    if (getenv("FRETSAW_SHOW"))
        fprintf(stderr, "%-24s %.3g of its bound\n", name, worst);
}

void case_no_fault(const char *where)
{
    const char *fault = launch_fault();
    ck_assert_msg(fault == NULL, "%s: %s", where, fault);
}

/* ---- the CPU back end beside it ---- */

batch case_batch(const cuda_case *c)
{
    return (batch){c->B, c->T, c->shape.longest, CASE_EPOCH, c->rows.id, c->rows.place, c->rows.offset, c->rows.keys, c->rows.sample, NULL};
}

backend *case_open_cpu(const cuda_case *c)
{
    backend *be;
    ck_ok(backend_open_cpu(&(backend_limits){.tokens = c->T,
                                             .rows = c->B,
                                             .longest = c->shape.longest,
                                             .hidden = c->H,
                                             .heads = c->N,
                                             .feed_forward = 8,
                                             .vocabulary = CASE_VOCABULARY,
                                             .outputs = 1},
                           NULL, CPU_ISA_AUTO, &be));
    return be;
}
