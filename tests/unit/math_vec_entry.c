/* The inline functions of math_vec.h as ordinary ones, compiled for each instruction set. */
#include "model/cpu/math_vec.h"

#include "unit/math_vec_entry.h"

static void entry_exp(int64_t n, const float *x, float *y)
{
    for (int64_t i = 0; i < n; i += 16)
        vec_store(y + i, vec_exp(vec_load(x + i, n - i)), n - i);
}

static void entry_gelu(int64_t n, const float *x, float *y)
{
    for (int64_t i = 0; i < n; i += 16)
        vec_store(y + i, vec_gelu(vec_load(x + i, n - i)), n - i);
}

static void entry_slope(int64_t n, const float *x, float *y)
{
    for (int64_t i = 0; i < n; i += 16)
        vec_store(y + i, vec_gelu_slope(vec_load(x + i, n - i)), n - i);
}

static float entry_sum(int64_t n, const float *x)
{
    vec16 sum = vec_zero();
    for (int64_t i = 0; i < n; i += 16)
        sum = vec_add(sum, vec_load(x + i, n - i));
    return vec_sum(sum);
}

static void entry_philox(uint64_t seed, const uint32_t c[4], uint32_t words[64])
{
    veci w[4];
    const philox_keys key = philox_keys_of(seed);
    vec_philox(&key, c[0], c[1], c[2], c[3], w);
    for (int k = 0; k < 4; k++)
        veci_store_full(words + 16 * k, w[k]);
}

static uint32_t entry_bits(uint32_t bits)
{
    return vecm_bits(vecm_and(vecm_from_bits(bits), vecm_first(16)));
}

const math_vec_entry ISA(math_vec_entry) = {entry_exp, entry_gelu, entry_slope, entry_sum, entry_philox, entry_bits};
