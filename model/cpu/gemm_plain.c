/* Plain x86-64: fmaf() of the C library, which is exact with and without an FMA unit. For machines without AVX2, and the tests' reference. */
#include <math.h>
#include <stdint.h>

typedef struct reg4 {
    float f[4];
} reg4;

#define REG      reg4
#define LANES    4
#define ROWS     4
#define A_STRIDE 4
#ifndef KC
#define KC 384
#endif
#define KERNELS gemm_kernels_plain
#define INLINE  static inline __attribute__((always_inline))
#define EACH(value)                 \
    reg4 r;                         \
    for (int i = 0; i < LANES; i++) \
        r.f[i] = (value);           \
    return r

INLINE REG reg_zero(void)
{
    return (reg4){{0}};
}
INLINE REG reg_set(float x)
{
    EACH(x);
}
INLINE REG reg_load(const float *p)
{
    EACH(p[i]);
}
INLINE REG reg_load_part(const float *p, int64_t n)
{
    EACH(i < n ? p[i] : 0.0f);
}
INLINE void reg_store_part(float *p, int64_t n, REG v)
{
    for (int i = 0; i < n; i++)
        p[i] = v.f[i];
}
INLINE void reg_store(float *p, REG v)
{
    reg_store_part(p, LANES, v);
}
INLINE REG reg_fma(REG a, REG b, REG c)
{
    EACH(fmaf(a.f[i], b.f[i], c.f[i]));
}
INLINE REG reg_mul(REG a, REG b)
{
    EACH(a.f[i] * b.f[i]);
}
INLINE REG reg_add(REG a, REG b)
{
    EACH(a.f[i] + b.f[i]);
}
#define reg_keep(v)     (void)0
#define keep_address(p) (void)0

INLINE void reg_transpose(REG v[LANES])
{
    for (int i = 0; i < LANES; i++) {
        for (int j = 0; j < i; j++) {
            float t = v[i].f[j];
            v[i].f[j] = v[j].f[i];
            v[j].f[i] = t;
        }
    }
}

#include "model/cpu/gemm_template.h"
