#include "model/cpu/isa.h"

#include <string.h>

static const char *const names[] = {[CPU_ISA_AUTO] = "auto", [CPU_ISA_PLAIN] = "plain", [CPU_ISA_AVX2] = "avx2", [CPU_ISA_AVX512] = "avx512"};

status isa_parse(const char *text, cpu_isa *out)
{
    for (int i = CPU_ISA_AUTO; i <= CPU_ISA_AVX512; i++) {
        if (strcmp(text, names[i]) == 0) {
            *out = (cpu_isa)i;
            return STATUS_OK;
        }
    }
    return fail(STATUS_USAGE, "--cpu %s: give auto, plain, avx2 or avx512", text);
}

int isa_supported(cpu_isa isa)
{
    /* The compiler's run-time test asks xgetbv as well: true only where the operating system saves the registers. */
    __builtin_cpu_init();
    switch (isa) {
    case CPU_ISA_AUTO:
    case CPU_ISA_PLAIN: return 1;
    case CPU_ISA_AVX2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case CPU_ISA_AVX512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
    }
    return 0;
}

status isa_choose(cpu_isa wanted, cpu_isa *out)
{
    if (wanted == CPU_ISA_AUTO) {
        *out = isa_supported(CPU_ISA_AVX512) ? CPU_ISA_AVX512 : isa_supported(CPU_ISA_AVX2) ? CPU_ISA_AVX2 : CPU_ISA_PLAIN;
        return STATUS_OK;
    }
    if (!isa_supported(wanted))
        return fail(STATUS_USAGE, "--cpu %s: this processor or its operating system lacks it; use --cpu auto (the results are the same)",
                    isa_name(wanted));
    *out = wanted;
    return STATUS_OK;
}

const char *isa_name(cpu_isa isa)
{
    return names[isa];
}
