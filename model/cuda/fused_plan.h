/* What fused_cudnn.c and the tests share: cuDNN's calls, and the plan for attention as a graph of one operation.
 *
 *     if (!cudnn_find()) ...                                   // no libcudnn.so.9
 *     fused_plan p; TRY(fused_plan_make(&shape, handle, NULL, &p)); ... p.plan, p.workspace ...; fused_plan_free(&p);
 *
 * Private to model/cuda. Local.
 */
#ifndef FRETSAW_MODEL_CUDA_FUSED_PLAN_H
#define FRETSAW_MODEL_CUDA_FUSED_PLAN_H

#include <cudnn_graph.h>
#include <stdbool.h>

#include "common/status.h"

/* By the names that they have in the library, less "cudnn". */
typedef struct cudnn_calls {
    size_t (*GetVersion)(void);
    const char *(*GetErrorString)(cudnnStatus_t);
    void (*GetLastErrorString)(char *, size_t);
    cudnnStatus_t (*Create)(cudnnHandle_t *);
    cudnnStatus_t (*Destroy)(cudnnHandle_t);
    cudnnStatus_t (*SetStream)(cudnnHandle_t, cudaStream_t);
    cudnnStatus_t (*BackendCreateDescriptor)(cudnnBackendDescriptorType_t, cudnnBackendDescriptor_t *);
    cudnnStatus_t (*BackendDestroyDescriptor)(cudnnBackendDescriptor_t);
    cudnnStatus_t (*BackendSetAttribute)(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t, int64_t, const void *);
    cudnnStatus_t (*BackendGetAttribute)(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t, int64_t, int64_t *,
                                         void *);
    cudnnStatus_t (*BackendFinalize)(cudnnBackendDescriptor_t);
    cudnnStatus_t (*BackendExecute)(cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t);
} cudnn_calls;

extern cudnn_calls cudnn;

/* Opens the library once; false without it. */
bool cudnn_find(void);
/* STATUS_RESOURCE in the library's words. */
status cudnn_say(const char *what, cudnnStatus_t s);

#define CHECK_CUDNN(what, call)               \
    do {                                      \
        cudnnStatus_t dnn_ = (call);          \
        if (dnn_ != CUDNN_STATUS_SUCCESS)     \
            return cudnn_say(what, dnn_);     \
    } while (0)

/* The tensors of the operation: their names in a call. */
typedef enum fused_tensor {
    FUSED_Q = 1, FUSED_K, FUSED_V, FUSED_OUT, FUSED_LSE, FUSED_ELEMENT, FUSED_STATISTIC, FUSED_QUERIES, FUSED_KEYS, FUSED_SCALE, FUSED_TENSORS = FUSED_SCALE
} fused_tensor;

typedef struct fused_shape {
    cudnnDataType_t type;
    int64_t rows, heads, longest, head_size;
} fused_shape;

enum { FUSED_DESCRIPTORS = 160 };

typedef struct fused_plan {
    cudnnBackendDescriptor_t owned[FUSED_DESCRIPTORS], plan;
    int count;
    int64_t workspace, engine;
} fused_plan;

/* For the handle's device, or (handle NULL) for one that a finalized device-properties descriptor tells of, which needs no device. The plan is the first
 * of the library's advice that it can build, that is not nondeterministic and needs at most `most` bytes. Free also after an error. */
status fused_plan_make(const fused_shape *shape, cudnnHandle_t handle, cudnnBackendDescriptor_t device, int64_t most, fused_plan *out);
void fused_plan_free(fused_plan *p);
/* A descriptor that the plan owns. */
status fused_plan_descriptor(fused_plan *p, cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *out);

#endif
