#include "model/cpu/vec.h"

#include "model/cpu/kernels.h"

const cpu_kernels ISA(cpu_kernels) = {
#define CPU_KERNEL_ENTRY(name) .name = ISA(cpu_##name),
    CPU_KERNELS(CPU_KERNEL_ENTRY).gelu = ISA(cpu_gelu), .gelu_join = ISA(cpu_gelu_join),
};
