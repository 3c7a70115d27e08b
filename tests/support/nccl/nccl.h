/* Of NCCL's interface what link_nccl.c calls, for machines without its header: the same values and signatures, to which nccl_host.c holds whichever
 * header is there. */
#ifndef FRETSAW_TESTS_SUPPORT_NCCL_NCCL_H
#define FRETSAW_TESTS_SUPPORT_NCCL_NCCL_H

#include <stddef.h>

typedef struct CUstream_st *cudaStream_t;
typedef struct ncclComm *ncclComm_t;
typedef struct {
    char internal[128];
} ncclUniqueId;

typedef enum {
    ncclSuccess,
    ncclUnhandledCudaError,
    ncclSystemError,
    ncclInternalError,
    ncclInvalidArgument,
    ncclInvalidUsage,
    ncclRemoteError,
    ncclInProgress
} ncclResult_t;
typedef enum { ncclSum } ncclRedOp_t;
typedef enum { ncclFloat = 7 } ncclDataType_t;

ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
ncclResult_t ncclCommInitRank(ncclComm_t *ranks, int count, ncclUniqueId id, int rank);
ncclResult_t ncclCommAbort(ncclComm_t ranks);
ncclResult_t ncclCommGetAsyncError(ncclComm_t ranks, ncclResult_t *error);
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);
ncclResult_t ncclSend(const void *p, size_t count, ncclDataType_t type, int to, ncclComm_t ranks, cudaStream_t stream);
ncclResult_t ncclRecv(void *p, size_t count, ncclDataType_t type, int from, ncclComm_t ranks, cudaStream_t stream);
ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t ranks, cudaStream_t stream);
const char *ncclGetErrorString(ncclResult_t result);
const char *ncclGetLastError(ncclComm_t ranks);

#endif
