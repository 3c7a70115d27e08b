/* Where there is no cuDNN to build with: the own kernel computes all attention. */
#include "model/cuda/fused.h"

const char *fused_refuses(cuda_type type, int sm)
{
    (void)type, (void)sm;
    return "this build has no cuDNN (it needs the header of 9.15 or newer)";
}

const char *fused_version(void)
{
    return "";
}

size_t fused_bytes(void)
{
    return 0;
}

status fused_open(gpu *g, cuda_type type, int64_t heads, int64_t head_size, int64_t longest, fused **out)
{
    (void)g, (void)heads, (void)head_size, (void)longest;
    *out = NULL;
    return fail(STATUS_RESOURCE, "%s", fused_refuses(type, 0));
}

void fused_close(fused *f)
{
    (void)f;
}

int64_t fused_engine(const fused *f)
{
    (void)f;
    return -1;
}

void fused_run(fused *f, const fused_rows *rows, const void *q, const void *k, const void *v, void *out, float *lse)
{
    (void)f, (void)rows, (void)q, (void)k, (void)v, (void)out, (void)lse;
}
