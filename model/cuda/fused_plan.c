#include <inttypes.h>

#include "model/cuda/fused_plan.h"
#include "model/cuda/symbols.h"

cudnn_calls cudnn;

bool cudnn_find(void)
{
    static const library_symbol wanted[] = {
        {"cudnnGetVersion", &cudnn.GetVersion},
        {"cudnnGetErrorString", &cudnn.GetErrorString},
        {"cudnnGetLastErrorString", &cudnn.GetLastErrorString},
        {"cudnnCreate", &cudnn.Create},
        {"cudnnDestroy", &cudnn.Destroy},
        {"cudnnSetStream", &cudnn.SetStream},
        {"cudnnBackendCreateDescriptor", &cudnn.BackendCreateDescriptor},
        {"cudnnBackendDestroyDescriptor", &cudnn.BackendDestroyDescriptor},
        {"cudnnBackendSetAttribute", &cudnn.BackendSetAttribute},
        {"cudnnBackendGetAttribute", &cudnn.BackendGetAttribute},
        {"cudnnBackendFinalize", &cudnn.BackendFinalize},
        {"cudnnBackendExecute", &cudnn.BackendExecute},
    };
    static int known; /* 0: not looked for yet */
    if (!known)
        known = library_find("libcudnn.so.9", wanted, sizeof wanted / sizeof *wanted) ? 1 : -1;
    return known > 0;
}

status cudnn_say(const char *what, cudnnStatus_t s)
{
    char why[400] = "";
    cudnn.GetLastErrorString(why, sizeof why);
    return fail(STATUS_RESOURCE, "cuDNN, %s: %s%s%s; --attention own does without it", what, cudnn.GetErrorString(s), why[0] ? ", " : "", why);
}

/* ---- descriptors ---- */

status fused_plan_descriptor(fused_plan *p, cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *out)
{
    if (p->count == FUSED_DESCRIPTORS)
        return fail(STATUS_RESOURCE, "cuDNN: more descriptors than there is room for");
    CHECK_CUDNN("a descriptor", cudnn.BackendCreateDescriptor(type, out));
    p->owned[p->count++] = *out;
    return STATUS_OK;
}

static status set(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
    CHECK_CUDNN("an attribute", cudnn.BackendSetAttribute(d, name, type, count, values));
    return STATUS_OK;
}

static status point_to(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t other)
{
    return set(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other);
}

/* ---- tensors ---- */

typedef struct tensor {
    fused_tensor name;
    cudnnDataType_t type;
    int64_t size[4], stride[4];
    bool by_value;
    cudnnBackendDescriptor_t ragged; /* where each row begins; NULL: one row after another */
} tensor;

static status make_tensor(fused_plan *p, const tensor *t, cudnnBackendDescriptor_t *out)
{
    const int64_t id = t->name, alignment = 16;
    TRY(fused_plan_descriptor(p, CUDNN_BACKEND_TENSOR_DESCRIPTOR, out));
    TRY(set(*out, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id));
    TRY(set(*out, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &t->type));
    TRY(set(*out, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, t->size));
    TRY(set(*out, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, t->stride));
    TRY(set(*out, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment));
    if (t->by_value)
        TRY(set(*out, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &t->by_value));
    if (t->ragged)
        TRY(point_to(*out, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC, t->ragged));
    CHECK_CUDNN("a tensor", cudnn.BackendFinalize(*out));
    return STATUS_OK;
}

/* `count` numbers, one a row. */
static status make_list(fused_plan *p, fused_tensor name, cudnnDataType_t type, int64_t count, cudnnBackendDescriptor_t *out)
{
    return make_tensor(p, &(tensor){.name = name, .type = type, .size = {count, 1, 1, 1}, .stride = {1, 1, 1, 1}}, out);
}

/* The library's order is row, head, token, column; a token's heads lie side by side, so the rows of a packed matrix are ragged rows of it. */
static status make_operation(fused_plan *p, const fused_shape *s, cudnnBackendDescriptor_t *out)
{
    static const cudnnBackendAttributeName_t places[] = {
        [FUSED_Q] = CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, [FUSED_K] = CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC,
        [FUSED_V] = CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, [FUSED_OUT] = CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC};
    const int64_t B = s->rows, N = s->heads, S = s->longest, D = s->head_size, H = N * D;
    cudnnBackendDescriptor_t element, statistic, t;
    TRY(make_list(p, FUSED_ELEMENT, CUDNN_DATA_INT64, B + 1, &element));
    TRY(make_list(p, FUSED_STATISTIC, CUDNN_DATA_INT64, B + 1, &statistic));
    TRY(fused_plan_descriptor(p, CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, out));
    for (int i = FUSED_Q; i <= FUSED_OUT; i++) {
        TRY(make_tensor(p, &(tensor){.name = (fused_tensor)i, .type = s->type, .size = {B, N, S, D}, .stride = {S * H, D, H, 1}, .ragged = element}, &t));
        TRY(point_to(*out, places[i], t));
    }
    TRY(make_tensor(p, &(tensor){.name = FUSED_LSE, .type = CUDNN_DATA_FLOAT, .size = {B, N, S, 1}, .stride = {S * N, 1, N, 1}, .ragged = statistic}, &t));
    TRY(point_to(*out, CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC, t));
    TRY(make_tensor(p, &(tensor){.name = FUSED_SCALE, .type = CUDNN_DATA_FLOAT, .size = {1, 1, 1, 1}, .stride = {1, 1, 1, 1}, .by_value = true}, &t));
    TRY(point_to(*out, CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, t));
    TRY(make_list(p, FUSED_QUERIES, CUDNN_DATA_INT32, B, &t));
    TRY(point_to(*out, CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_QDESC, t));
    TRY(make_list(p, FUSED_KEYS, CUDNN_DATA_INT32, B, &t));
    TRY(point_to(*out, CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_KVDESC, t));
    CHECK_CUDNN("attention over packed rows", cudnn.BackendFinalize(*out));
    return STATUS_OK;
}

/* ---- the plan ---- */

/* Whether the same call gives the same bits, and which engine it is. */
static status look_at_engine(fused_plan *p, cudnnBackendDescriptor_t advice, bool *same, int64_t *number)
{
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    cudnnBackendDescriptor_t engine;
    int64_t count = 0;
    TRY(fused_plan_descriptor(p, CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine));
    CHECK_CUDNN("an engine", cudnn.BackendGetAttribute(advice, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine));
    CHECK_CUDNN("an engine", cudnn.BackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count, number));
    CHECK_CUDNN("an engine", cudnn.BackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                                       CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes));
    *same = true;
    for (int64_t i = 0; i < count; i++)
        if (notes[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)
            *same = false;
    return STATUS_OK;
}

/* p->plan where this advice does. That an engine cannot be built is no error: the next one is tried. */
static status try_advice(fused_plan *p, cudnnBackendDescriptor_t advice, cudnnHandle_t handle, cudnnBackendDescriptor_t device, int64_t most)
{
    cudnnBackendDescriptor_t plan;
    int64_t count, bytes = 0, number = 0;
    bool same = false;
    TRY(look_at_engine(p, advice, &same, &number));
    if (!same)
        return STATUS_OK;
    TRY(fused_plan_descriptor(p, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan));
    TRY(point_to(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, advice));
    if (handle)
        TRY(set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle));
    else
        TRY(point_to(plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, device));
    if (cudnn.BackendFinalize(plan) != CUDNN_STATUS_SUCCESS)
        return STATUS_OK;
    CHECK_CUDNN("a plan", cudnn.BackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &bytes));
    if (bytes > most)
        return STATUS_OK;
    p->plan = plan;
    p->workspace = bytes;
    p->engine = number;
    return STATUS_OK;
}

static status ask(fused_plan *p, cudnnBackendDescriptor_t graph, cudnnBackendHeurMode_t mode, cudnnHandle_t handle, cudnnBackendDescriptor_t device,
                  int64_t most, int64_t *offered)
{
    enum { ADVICE = 16 };
    cudnnBackendDescriptor_t question, advice[ADVICE];
    int64_t count = 0;
    TRY(fused_plan_descriptor(p, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &question));
    TRY(point_to(question, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph));
    TRY(set(question, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode));
    if (!handle)
        TRY(point_to(question, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device));
    CHECK_CUDNN("advice on attention", cudnn.BackendFinalize(question));
    for (int i = 0; i < ADVICE; i++)
        TRY(fused_plan_descriptor(p, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &advice[i]));
    CHECK_CUDNN("advice on attention",
                cudnn.BackendGetAttribute(question, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, ADVICE, &count, advice));
    for (int64_t i = 0; i < count && i < ADVICE && !p->plan; i++)
        TRY(try_advice(p, advice[i], handle, device, most));
    *offered += count;
    return STATUS_OK;
}

status fused_plan_make(const fused_shape *s, cudnnHandle_t handle, cudnnBackendDescriptor_t device, int64_t most, fused_plan *p)
{
    cudnnBackendDescriptor_t operation, graph;
    int64_t offered = 0;
    *p = (fused_plan){0};
    TRY(make_operation(p, s, &operation));
    TRY(fused_plan_descriptor(p, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, &graph));
    TRY(point_to(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, operation));
    if (handle)
        TRY(set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle));
    CHECK_CUDNN("attention over packed rows", cudnn.BackendFinalize(graph));
    TRY(ask(p, graph, CUDNN_HEUR_MODE_A, handle, device, most, &offered));
    if (!p->plan)
        TRY(ask(p, graph, CUDNN_HEUR_MODE_FALLBACK, handle, device, most, &offered));
    if (!p->plan)
        return fail(STATUS_RESOURCE,
                    "cuDNN has no plan for attention over packed rows (%" PRId64 " heads of %" PRId64 ", %" PRId64
                    " tokens) that gives the same bits each time: %" PRId64 " were offered; --attention own does without it",
                    s->heads, s->head_size, s->longest, offered);
    return STATUS_OK;
}

void fused_plan_free(fused_plan *p)
{
    while (p->count)
        cudnn.BackendDestroyDescriptor(p->owned[--p->count]);
    p->plan = NULL;
}
