#include "model/cpu/normal.h"

#include <string.h>

void normal_fill(cpu_isa isa, uint64_t seed, uint32_t purpose, double deviation, int64_t first, int64_t count, float *out)
{
    static normal_block *const blocks[] = {
        [CPU_ISA_PLAIN] = normal_block_plain, [CPU_ISA_AVX2] = normal_block_avx2, [CPU_ISA_AVX512] = normal_block_avx512};
    if (isa == CPU_ISA_AUTO && isa_choose(CPU_ISA_AUTO, &isa) != STATUS_OK)
        isa = CPU_ISA_PLAIN;
    for (int64_t at = first, end = first + count; at < end;) {
        int64_t block = at / NORMAL_BLOCK * NORMAL_BLOCK, n = block + NORMAL_BLOCK < end ? block + NORMAL_BLOCK - at : end - at;
        float part[NORMAL_BLOCK];
        if (n == NORMAL_BLOCK) {
            blocks[isa](seed, purpose, deviation, block, out + (at - first));
        } else {
            blocks[isa](seed, purpose, deviation, block, part);
            memcpy(out + (at - first), part + (at - block), (size_t)n * sizeof *out);
        }
        at += n;
    }
}
