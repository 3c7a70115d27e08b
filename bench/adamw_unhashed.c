/* AdamW as model/cpu/kernel_point.c has it, but without the state hash: what hash_bench sets beside it. Compiled for one instruction set at a time. */
#include "common/hash.h"
#include "model/cpu/vec.h"

#undef ISA
#if defined(FRETSAW_ISA_AVX512)
#define ISA(name) name##_unhashed_avx512
#elif defined(FRETSAW_ISA_AVX2)
#define ISA(name) name##_unhashed_avx2
#else
#define ISA(name) name##_unhashed_plain
#endif
#define hash_mix64(index, bits) ((void)(index), (void)(bits), (uint64_t)0)

#include "model/cpu/kernel_point.c"
