/* Where a rank computes: on the CPU, or on a device of its own, by its number among the node's ranks.
 *
 *     placement p; TRY(place_choose(PLACE_AUTO, TYPE_BFLOAT16, false, &p));    // collective; the map of ranks and devices is in the log
 *     p.pool = pool; p.isa = CPU_ISA_AUTO;
 *     backend *be; TRY(place_open(&p, &limits, &be));
 *
 * CUDA_VISIBLE_DEVICES and a Slurm job's own share decide which devices a process sees; among those the rank with number k on its node takes the
 * k-th. Two ranks never compute on one device unless that is asked for: they would halve its memory without being faster.
 */
#ifndef FRETSAW_MODEL_PLACEMENT_H
#define FRETSAW_MODEL_PLACEMENT_H

#include <stdbool.h>

#include "common/threads.h"
#include "model/cpu/isa.h"
#include "model/device_library.h"

/* As in --device. */
typedef enum place_wish { PLACE_AUTO, PLACE_CPU, PLACE_CUDA } place_wish;
/* As in --attention. */
typedef enum attention_wish { ATTENTION_OWN, ATTENTION_CUDNN, ATTENTION_AUTO } attention_wish;

typedef struct placement {
    const device_library *library; /* NULL: the CPU */
    int index;                     /* of the device, as this process sees it */
    backend_type type;
    bool fused; /* attention without dropout by cuDNN */
    device_card card;
    /* the CPU's; the caller's to set */
    threads *pool;
    cpu_isa isa;
} placement;

/* Collective; the same answer on every rank, but for the device. PLACE_AUTO takes devices when every rank has one, else the CPU. `share`: several
 * ranks may take one device. Errors: STATUS_RESOURCE (no device, with the reason), STATUS_USAGE (more ranks than devices on a node; a 16-bit type on
 * the CPU; devices of several models). */
status place_choose(place_wish wish, backend_type type, bool share, placement *out);
/* Collective, after place_choose; the same answer on every rank. On the CPU attention is always the own. ATTENTION_AUTO: cuDNN where every rank can, else
 * said in the log. Errors: STATUS_USAGE (cuDNN asked for on the CPU), STATUS_RESOURCE (or where a rank cannot, with the reason). */
status place_attention(attention_wish wish, placement *p);
/* Bytes on the device that place_open takes; needs a library, p->library. */
size_t place_bytes(const placement *p, const backend_limits *limits);
/* Local. Errors as backend_open_cpu and device_library's open. */
status place_open(const placement *p, const backend_limits *limits, backend **out);
/* Local. What bits depend on besides the recipe; "" on the CPU, where they depend on nothing else. */
status place_identity(const placement *p, const backend_limits *limits, char text[DEVICE_NAME]);
const char *place_type_name(backend_type type);

#endif
