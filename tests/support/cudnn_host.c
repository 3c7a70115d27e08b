/* A stand-in for cuDNN, built under its name: what fused_cudnn.c calls of it, on the host's memory. It holds every descriptor and call to what the
 * library asks for and says what is wrong as the library does, by a status and its last error's text; and it computes attention in float64 and
 * rounds once. FRETSAW_STAND_CUDNN is the version that it gives itself out for (91900), FRETSAW_STAND_CUDNN_OFFERS how many engines it offers (4). */
#include <cudnn_graph.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cudnn_host.h"

extern stand_cudnn_record stand_cudnn;
stand_cudnn_record stand_cudnn;

enum { ATTRIBUTES = 16, BYTES = 160 };

typedef struct attribute {
    int name, type;
    int64_t count;
    char value[BYTES];
} attribute;

typedef struct descriptor {
    int type;
    bool final;
    int count;
    attribute list[ATTRIBUTES];
    int64_t engine; /* of an engine, its configuration and its plan */
    struct descriptor *graph;
} descriptor;

static char last[300];
static bool stream_given;
static int handle;

static cudnnStatus_t wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
static cudnnStatus_t wrong(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(last, sizeof last, format, list);
    va_end(list);
    stand_cudnn.faults++;
    return CUDNN_STATUS_BAD_PARAM;
}

size_t cudnnGetVersion(void)
{
    const char *text = getenv("FRETSAW_STAND_CUDNN");
    return text ? strtoull(text, NULL, 10) : 91900;
}

const char *cudnnGetErrorString(cudnnStatus_t s)
{
    return s == CUDNN_STATUS_SUCCESS ? "success" : "the stand-in refuses";
}

void cudnnGetLastErrorString(char *text, size_t most)
{
    snprintf(text, most, "%s", last);
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *out)
{
    *out = (cudnnHandle_t)&handle;
    stand_cudnn.descriptors++;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t h)
{
    stand_cudnn.descriptors--;
    return h == (cudnnHandle_t)&handle ? CUDNN_STATUS_SUCCESS : wrong("no handle");
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t h, cudaStream_t stream)
{
    (void)stream;
    stream_given = true;
    return h == (cudnnHandle_t)&handle ? CUDNN_STATUS_SUCCESS : wrong("no handle");
}

/* ---- descriptors ---- */

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *out)
{
    descriptor *d = calloc(1, sizeof *d);
    if (!d)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    d->type = (int)type;
    *out = d;
    stand_cudnn.descriptors++;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t d)
{
    free(d);
    stand_cudnn.descriptors--;
    return CUDNN_STATUS_SUCCESS;
}

static const attribute *look(const descriptor *d, int name)
{
    for (int i = 0; i < d->count; i++)
        if (d->list[i].name == name)
            return &d->list[i];
    return NULL;
}

static descriptor *linked(const descriptor *d, int name)
{
    const attribute *a = look(d, name);
    descriptor *other = NULL;
    if (a && a->type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        memcpy(&other, a->value, sizeof other);
    return other;
}

static int64_t number(const descriptor *d, int name, int i)
{
    const attribute *a = look(d, name);
    int64_t n = INT64_MIN;
    int32_t small;
    if (a && a->type == CUDNN_TYPE_INT64 && i < a->count)
        memcpy(&n, a->value + 8 * i, sizeof n);
    if (a && (a->type == CUDNN_TYPE_DATA_TYPE || a->type == CUDNN_TYPE_HEUR_MODE)) {
        memcpy(&small, a->value, sizeof small);
        n = small;
    }
    return n;
}

static size_t bytes_of(cudnnBackendAttributeType_t type)
{
    switch (type) {
    case CUDNN_TYPE_BOOLEAN: return sizeof(bool);
    case CUDNN_TYPE_DATA_TYPE:
    case CUDNN_TYPE_HEUR_MODE: return sizeof(int);
    case CUDNN_TYPE_INT64: return sizeof(int64_t);
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR: return sizeof(void *);
    default: return 0;
    }
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t given, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                       int64_t count, const void *values)
{
    descriptor *d = given;
    const size_t bytes = bytes_of(type) * (size_t)count;
    if (d->final || bytes == 0 || bytes > BYTES || d->count == ATTRIBUTES || look(d, (int)name))
        return wrong("attribute %d of a descriptor of type %d: set late, twice, or of no known type", (int)name, d->type);
    attribute *a = &d->list[d->count++];
    *a = (attribute){.name = (int)name, .type = (int)type, .count = count};
    memcpy(a->value, values, bytes);
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR && !linked(d, (int)name)->final)
        return wrong("attribute %d points to a descriptor that is not finalized", (int)name);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t check_tensor(const descriptor *d)
{
    const attribute *size = look(d, CUDNN_ATTR_TENSOR_DIMENSIONS), *stride = look(d, CUDNN_ATTR_TENSOR_STRIDES);
    if (!size || size->count != 4 || !stride || stride->count != 4 || number(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, 0) < 1 ||
        number(d, CUDNN_ATTR_TENSOR_DATA_TYPE, 0) < 0 || number(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 0) != 16)
        return wrong("a tensor without name, type, four sizes and strides, or alignment");
    for (int i = 0; i < 4; i++)
        if (number(d, CUDNN_ATTR_TENSOR_DIMENSIONS, i) < 1 || number(d, CUDNN_ATTR_TENSOR_STRIDES, i) < 1)
            return wrong("a tensor with a size or stride below 1");
    return CUDNN_STATUS_SUCCESS;
}

static bool is(const descriptor *t, int type, int64_t a, int64_t b, int64_t c, int64_t d)
{
    const int64_t want[4] = {a, b, c, d};
    for (int i = 0; t && i < 4; i++)
        if (number(t, CUDNN_ATTR_TENSOR_DIMENSIONS, i) != want[i])
            return false;
    return t && number(t, CUDNN_ATTR_TENSOR_DATA_TYPE, 0) == type;
}

/* Ragged rows: a list of one more number than rows, of int64. */
static bool ragged(const descriptor *t, int64_t rows)
{
    return is(linked(t, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC), CUDNN_DATA_INT64, rows + 1, 1, 1, 1);
}

static cudnnStatus_t check_operation(const descriptor *d)
{
    const int names[4] = {CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC,
                          CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC};
    const descriptor *q = linked(d, names[0]), *scale = linked(d, CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC),
                     *lse = linked(d, CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC);
    if (!q)
        return wrong("attention without queries");
    const int64_t B = number(q, CUDNN_ATTR_TENSOR_DIMENSIONS, 0), N = number(q, CUDNN_ATTR_TENSOR_DIMENSIONS, 1),
                  S = number(q, CUDNN_ATTR_TENSOR_DIMENSIONS, 2), D = number(q, CUDNN_ATTR_TENSOR_DIMENSIONS, 3);
    const int type = (int)number(q, CUDNN_ATTR_TENSOR_DATA_TYPE, 0);
    if ((type != CUDNN_DATA_BFLOAT16 && type != CUDNN_DATA_HALF) || D % 8 || D > 128)
        return wrong("attention of type %d with heads of %lld", type, (long long)D);
    for (int i = 0; i < 4; i++) {
        const descriptor *t = linked(d, names[i]);
        if (!is(t, type, B, N, S, D) || !ragged(t, B) || number(t, CUDNN_ATTR_TENSOR_STRIDES, 3) != 1)
            return wrong("matrix %d of attention is not like the queries, or not ragged", i);
    }
    if (!is(lse, CUDNN_DATA_FLOAT, B, N, S, 1) || !ragged(lse, B))
        return wrong("the softmax's sums are no float32 of %lld x %lld x %lld x 1, ragged", (long long)B, (long long)N, (long long)S);
    if (!is(scale, CUDNN_DATA_FLOAT, 1, 1, 1, 1) || !look(scale, CUDNN_ATTR_TENSOR_IS_BY_VALUE))
        return wrong("the scale is no float32 by value");
    if (!is(linked(d, CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_QDESC), CUDNN_DATA_INT32, B, 1, 1, 1) ||
        !is(linked(d, CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_KVDESC), CUDNN_DATA_INT32, B, 1, 1, 1))
        return wrong("ragged rows without their lengths in int32");
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t given)
{
    descriptor *d = given, *other;
    cudnnStatus_t s = CUDNN_STATUS_SUCCESS;
    if (d->final)
        return wrong("a descriptor of type %d is finalized twice", d->type);
    if (d->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR)
        s = check_tensor(d);
    if (d->type == CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR)
        s = check_operation(d);
    if (d->type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR &&
        (!look(d, CUDNN_ATTR_OPERATIONGRAPH_HANDLE) || !linked(d, CUDNN_ATTR_OPERATIONGRAPH_OPS)))
        s = wrong("a graph without handle or operation");
    if (d->type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR)
        d->graph = linked(d, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    if (d->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
        other = linked(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
        if (!other)
            return wrong("a plan of no engine");
        d->engine = other->engine;
        d->graph = other->graph;
        if (d->engine == STAND_CUDNN_BROKEN)
            return CUDNN_STATUS_NOT_SUPPORTED;
    }
    d->final = s == CUDNN_STATUS_SUCCESS;
    return s;
}

/* All engines as the answer to mode A, none to the fallback. */
static cudnnStatus_t advise(const descriptor *question, int64_t room, int64_t *count, descriptor **out)
{
    const char *text = getenv("FRETSAW_STAND_CUDNN_OFFERS");
    const int64_t offers = text ? strtoll(text, NULL, 10) : STAND_CUDNN_GOOD;
    *count = 0;
    if (number(question, CUDNN_ATTR_ENGINEHEUR_MODE, 0) != CUDNN_HEUR_MODE_A)
        return CUDNN_STATUS_SUCCESS;
    for (; *count < offers && *count < room; (*count)++) {
        out[*count]->engine = *count + 1;
        out[*count]->graph = question->graph;
        out[*count]->final = true;
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t given, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t room,
                                       int64_t *count, void *values)
{
    const descriptor *d = given;
    if (!d->final)
        return wrong("a descriptor of type %d is asked before it is finalized", d->type);
    *count = 1;
    if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS && type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        return advise(d, room, count, values);
    if (name == CUDNN_ATTR_ENGINECFG_ENGINE && type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        (*(descriptor **)values)->engine = d->engine;
        (*(descriptor **)values)->final = true;
    } else if (name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX && type == CUDNN_TYPE_INT64) {
        *(int64_t *)values = d->engine;
    } else if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && type == CUDNN_TYPE_NUMERICAL_NOTE && room >= 2) {
        ((cudnnBackendNumericalNote_t *)values)[0] = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
        ((cudnnBackendNumericalNote_t *)values)[1] = CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
        *count = d->engine == STAND_CUDNN_RANDOM ? 2 : 1;
    } else if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && type == CUDNN_TYPE_INT64) {
        *(int64_t *)values = d->engine == STAND_CUDNN_LARGE ? (int64_t)1 << 30 : 66304;
    } else {
        return wrong("attribute %d of type %d is asked of a descriptor of type %d", (int)name, (int)type, d->type);
    }
    return CUDNN_STATUS_SUCCESS;
}

/* ---- attention ---- */

/* A tensor and its memory in this call. */
typedef struct view {
    int type;
    int64_t size[4], stride[4];
    char *p;
    const int64_t *ragged;
} view;

static double get(const view *t, int64_t at)
{
    float x;
    uint32_t bits;
    if (t->type == CUDNN_DATA_HALF)
        return (double)((const _Float16 *)(void *)t->p)[at];
    bits = (uint32_t)((const uint16_t *)(void *)t->p)[at] << 16;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

static void set(const view *t, int64_t at, double value)
{
    const float x = (float)value;
    uint32_t bits;
    if (t->type == CUDNN_DATA_FLOAT) {
        ((float *)(void *)t->p)[at] = x;
    } else if (t->type == CUDNN_DATA_HALF) {
        ((_Float16 *)(void *)t->p)[at] = (_Float16)value;
    } else {
        memcpy(&bits, &x, sizeof bits);
        ((uint16_t *)(void *)t->p)[at] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
}

static void *memory_of(const descriptor *pack, int64_t name)
{
    const attribute *names = look(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    void *p = NULL;
    for (int i = 0; names && i < names->count; i++)
        if (number(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, i) == name)
            memcpy(&p, look(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)->value + 8 * i, sizeof p);
    return p;
}

static cudnnStatus_t open_view(const descriptor *pack, const descriptor *t, view *v)
{
    const descriptor *r = linked(t, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC);
    *v = (view){.type = (int)number(t, CUDNN_ATTR_TENSOR_DATA_TYPE, 0), .p = memory_of(pack, number(t, CUDNN_ATTR_TENSOR_UNIQUE_ID, 0))};
    for (int i = 0; i < 4; i++) {
        v->size[i] = number(t, CUDNN_ATTR_TENSOR_DIMENSIONS, i);
        v->stride[i] = number(t, CUDNN_ATTR_TENSOR_STRIDES, i);
    }
    if (r)
        v->ragged = memory_of(pack, number(r, CUDNN_ATTR_TENSOR_UNIQUE_ID, 0));
    if (!v->p || (r && !v->ragged))
        return wrong("tensor %lld has no memory in this call", (long long)number(t, CUDNN_ATTR_TENSOR_UNIQUE_ID, 0));
    if (!look(t, CUDNN_ATTR_TENSOR_IS_BY_VALUE) && ((uintptr_t)v->p % 16 || (uintptr_t)v->ragged % 16))
        return wrong("tensor %lld is not aligned to 16 bytes", (long long)number(t, CUDNN_ATTR_TENSOR_UNIQUE_ID, 0));
    return CUDNN_STATUS_SUCCESS;
}

static void one_query(const view v[4], const view *lse, int64_t row, int64_t head, int64_t query, int32_t keys, float scale)
{
    double p[512], greatest = -INFINITY, sum = 0;
    int64_t at[4], base[4];
    for (int i = 0; i < 4; i++)
        base[i] = v[i].ragged[row] + head * v[i].stride[1];
    at[0] = base[0] + query * v[0].stride[2];
    at[3] = base[3] + query * v[3].stride[2];
    for (int64_t k = 0; k < keys; k++) {
        p[k] = 0;
        for (int64_t d = 0; d < v[0].size[3]; d++)
            p[k] += get(&v[0], at[0] + d * v[0].stride[3]) * get(&v[1], base[1] + k * v[1].stride[2] + d * v[1].stride[3]);
        p[k] *= (double)scale;
        greatest = fmax(greatest, p[k]);
    }
    for (int64_t k = 0; k < keys; k++)
        sum += p[k] = exp(p[k] - greatest);
    for (int64_t d = 0; d < v[0].size[3]; d++) {
        double x = 0;
        for (int64_t k = 0; k < keys; k++)
            x += p[k] / sum * get(&v[2], base[2] + k * v[2].stride[2] + d * v[2].stride[3]);
        set(&v[3], at[3] + d * v[3].stride[3], x);
    }
    set(lse, lse->ragged[row] + head * lse->stride[1] + query * lse->stride[2], greatest + log(sum));
}

static cudnnStatus_t check_rows(const view v[4], const view *lse, const int32_t *queries, const int32_t *keys)
{
    for (int64_t r = 0; r < v[0].size[0]; r++) {
        for (int i = 0; i < 5; i++) {
            const view *t = i < 4 ? &v[i] : lse;
            if (t->ragged[r + 1] - t->ragged[r] < queries[r] * t->stride[2] || (i < 4 && t->ragged[r] * 2 % 16))
                return wrong("row %lld of matrix %d has %lld elements and %d queries, or is not aligned", (long long)r, i,
                             (long long)(t->ragged[r + 1] - t->ragged[r]), queries[r]);
        }
        if (queries[r] < 0 || queries[r] > v[0].size[2] || keys[r] > queries[r] || (queries[r] > 0) != (keys[r] > 0))
            return wrong("row %lld has %d queries and %d keys of at most %lld", (long long)r, queries[r], keys[r], (long long)v[0].size[2]);
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t h, cudnnBackendDescriptor_t given_plan, cudnnBackendDescriptor_t given_pack)
{
    const descriptor *plan = given_plan, *pack = given_pack, *op;
    static const int names[] = {CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC,
                                CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC,
                                CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_QDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_KVDESC,
                                CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC};
    view v[8];
    void *workspace = NULL;
    if (h != (cudnnHandle_t)&handle || !plan->final || !pack->final || !stream_given)
        return wrong("a call without plan, pack, handle or stream");
    stream_given = false; /* it is asked for anew at every use of the device */
    op = linked(plan->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
    memcpy(&workspace, look(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE)->value, sizeof workspace);
    if (!workspace || (uintptr_t)workspace % 256)
        return wrong("no workspace, or not aligned");
    memset(workspace, 0x7f, 66304); /* it is the call's to spoil */
    for (int i = 0; i < 8; i++)
        if (open_view(pack, linked(op, names[i]), &v[i]) != CUDNN_STATUS_SUCCESS)
            return CUDNN_STATUS_BAD_PARAM;
    const int32_t *queries = (const int32_t *)(void *)v[5].p, *keys = (const int32_t *)(void *)v[6].p;
    if (check_rows(v, &v[4], queries, keys) != CUDNN_STATUS_SUCCESS)
        return CUDNN_STATUS_BAD_PARAM;
    for (int64_t row = 0; row < v[0].size[0]; row++)
        for (int64_t head = 0; head < v[0].size[1]; head++)
            for (int64_t query = 0; query < queries[row]; query++)
                one_query(v, &v[4], row, head, query, keys[row], *(const float *)(void *)v[7].p);
    stand_cudnn.calls++;
    stand_cudnn.engine = plan->engine;
    stand_cudnn.heads = v[0].size[1], stand_cudnn.longest = v[0].size[2], stand_cudnn.head_size = v[0].size[3], stand_cudnn.type = v[0].type;
    return CUDNN_STATUS_SUCCESS;
}
