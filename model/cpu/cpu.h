/* The CPU back end: fills the table of model/backend.h with kernels for plain x86-64, AVX2 or AVX-512, all with the same bits.
 *
 *     backend *be;
 *     TRY(backend_open_cpu(&limits, pool, CPU_ISA_AUTO, &be));
 *     log_line("kernels: %s", isa_name(backend_cpu_isa(be)));
 *     be->ops->linear_forward(be, T, I, O, x, weight, bias, y);
 *     be->ops->close(be);
 */
#ifndef FRETSAW_MODEL_CPU_CPU_H
#define FRETSAW_MODEL_CPU_CPU_H

#include <stddef.h>

#include "common/threads.h"
#include "model/backend.h"
#include "model/cpu/isa.h"

/* Local. `pool` (NULL: the caller's thread alone) is borrowed and must outlive the back end. All working memory is allocated here.
 * Errors: STATUS_USAGE (isa not on this machine, rows over 512 tokens, heads that do not divide hidden), STATUS_RESOURCE. */
status backend_open_cpu(const backend_limits *limits, threads *pool, cpu_isa isa, backend **out);
/* Local. The set in use, never AUTO. `be` is one that backend_open_cpu made. */
cpu_isa backend_cpu_isa(const backend *be);
/* Local. Bytes of working memory that backend_open_cpu allocates for `workers` threads, the product's buffers among them. */
size_t backend_cpu_bytes(const backend_limits *limits, cpu_isa isa, int workers);

/* Local. From here on the time inside other operations is counted too: GELU in the products' epilogue, dropout's random words. Costs under 1%. */
void backend_cpu_profile(backend *be);
/* Local. Seconds that the threads have spent there since, divided by the number of threads: comparable with time on the wall. Zeros before
 * backend_cpu_profile. */
void backend_cpu_inside(const backend *be, double *gelu, double *words);

#endif
