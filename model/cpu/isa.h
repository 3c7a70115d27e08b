/* Which vector instructions the kernels use: chosen at run time, or forced by --cpu. The choice never changes a bit of a result.
 *
 *     cpu_isa isa;
 *     TRY(isa_parse("auto", &isa));        // the text of --cpu
 *     TRY(isa_choose(isa, &isa));          // now PLAIN, AVX2 or AVX512, and this machine has it
 *     log_line("kernels: %s", isa_name(isa));
 */
#ifndef FRETSAW_MODEL_CPU_ISA_H
#define FRETSAW_MODEL_CPU_ISA_H

#include "common/status.h"

typedef enum cpu_isa {
    CPU_ISA_AUTO = 0, /* the widest this machine has */
    CPU_ISA_PLAIN,    /* x86-64 as every compiler assumes it, with fmaf() */
    CPU_ISA_AVX2,     /* AVX2 and FMA */
    CPU_ISA_AVX512,   /* AVX-512 F, DQ, BW, VL, and FMA */
} cpu_isa;

/* Local. `text` is auto, plain, avx2 or avx512. Errors: STATUS_USAGE for any other. */
status isa_parse(const char *text, cpu_isa *out);
/* Local. Turns AUTO into what processor and kernel support; a set that they lack is STATUS_USAGE. */
status isa_choose(cpu_isa wanted, cpu_isa *out);
/* Local. 1 when processor and operating system support it (AUTO and PLAIN: always). */
int isa_supported(cpu_isa isa);
/* The word of --cpu. */
const char *isa_name(cpu_isa isa);

#endif
