#include "model/placement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/log.h"
#include "model/cpu/cpu.h"

/* What the ranks tell each other. */
typedef struct report {
    int node, index, count;
    char host[128];
    device_card card;
} report;

const char *place_type_name(backend_type type)
{
    static const char *const names[] = {"float32", "bfloat16", "float16"};
    return names[type];
}

/* This rank's device, looked at but not opened. */
static status find_device(placement *p, int *count)
{
    TRY(device_library_open(&p->library));
    TRY(p->library->count(count));
    p->index = comm_node_rank() % *count;
    return p->library->describe(p->index, &p->card);
}

static status check_map(const report *all, bool share)
{
    for (int r = 0; r < comm_size(); r++) {
        for (int q = 0; q < r && !share; q++)
            if (all[q].node == all[r].node && strcmp(all[q].card.bus, all[r].card.bus) == 0)
                return fail(STATUS_USAGE,
                            "ranks %d and %d on %s would both compute on device %s (%s), the node's ranks see %d: start at most one rank a device, give each "
                            "task its own (Slurm: --gpus-per-task=1), or allow it with --share-device",
                            q, r, all[r].host, all[r].card.bus, all[r].card.name, all[r].count);
        if (strcmp(all[r].card.name, all[0].card.name) != 0 || all[r].card.sm != all[0].card.sm)
            return fail(STATUS_USAGE, "rank %d on %s has %s and rank 0 has %s: they compute with other bits; use devices of one model (CUDA_VISIBLE_DEVICES)", r,
                        all[r].host, all[r].card.name, all[0].card.name);
    }
    return STATUS_OK;
}

static void print_map(const report *all)
{
    for (int r = 0; r < comm_size(); r++)
        log_info("rank %d on %s: device %d of %d, %s, %.1f GiB, sm_%d, %s", r, all[r].host, all[r].index, all[r].count, all[r].card.name,
                 (double)all[r].card.memory / (1 << 30), all[r].card.sm, all[r].card.bus);
}

static status agree_on_map(const placement *p, int count, bool share)
{
    report mine = {.node = comm_node(), .index = p->index, .count = count, .card = p->card}, *all;
    snprintf(mine.host, sizeof mine.host, "%s", comm_host());
    TRY(comm_agree(memory_new(&all, (size_t)comm_size() * sizeof *all, "the map of devices")));
    comm_all_gather(&mine, sizeof mine, all);
    status st = check_map(all, share); /* the same everywhere */
    if (st == STATUS_OK)
        print_map(all);
    free(all);
    return comm_agree(st);
}

/* Whether a device was found but cannot be used: worth a word even when nobody asked for one. */
static void say_why_not(void)
{
    const char *why = status_message();
    if (strstr(why, "driver here knows"))
        log_warn("%s", why);
}

status place_choose(place_wish wish, backend_type type, bool share, placement *out)
{
    int count = 0;
    *out = (placement){.type = type};
    if (wish != PLACE_CPU) {
        status st = find_device(out, &count);
        if (wish == PLACE_CUDA)
            TRY(comm_agree(st));
        if (!comm_any(st != STATUS_OK))
            return agree_on_map(out, count, share);
        if (st != STATUS_OK)
            say_why_not();
        out->library = NULL;
    }
    if (type != TYPE_FLOAT32)
        return comm_agree(fail(STATUS_USAGE, "--type %s is for devices, and %s: give --type float32, or a machine with a device", place_type_name(type),
                               wish == PLACE_CPU ? "--device cpu was given" : "not every rank has one here (--device cuda says why)"));
    return STATUS_OK;
}

status place_attention(attention_wish wish, placement *p)
{
    if (wish == ATTENTION_OWN)
        return STATUS_OK;
    if (!p->library && wish == ATTENTION_AUTO)
        return STATUS_OK;
    if (!p->library)
        return comm_agree(fail(STATUS_USAGE, "--attention cudnn is for devices, and this computes on the CPU: leave it out"));
    status st = p->library->can_fuse(p->index, p->type);
    if (st != STATUS_OK && wish == ATTENTION_CUDNN)
        st = fail_context(STATUS_RESOURCE, "--attention cudnn (with auto the own kernel would serve)");
    if (wish == ATTENTION_CUDNN)
        TRY(comm_agree(st));
    p->fused = !comm_any(st != STATUS_OK);
    if (!p->fused)
        log_info("attention: by the own kernel on all devices, since %s", st != STATUS_OK ? status_message() : "not every rank has cuDNN for it");
    return STATUS_OK;
}

static backend_limits with_choices(const placement *p, const backend_limits *limits)
{
    backend_limits all = *limits;
    all.fused = p->fused;
    return all;
}

size_t place_bytes(const placement *p, const backend_limits *limits)
{
    const backend_limits all = with_choices(p, limits);
    return p->library->bytes(p->type, &all);
}

status place_open(const placement *p, const backend_limits *limits, backend **out)
{
    const backend_limits all = with_choices(p, limits);
    if (p->library)
        return p->library->open(p->index, p->type, &all, out);
    return backend_open_cpu(limits, p->pool, p->isa, out);
}

status place_identity(const placement *p, const backend_limits *limits, char text[DEVICE_NAME])
{
    const backend_limits all = with_choices(p, limits);
    text[0] = 0;
    return p->library ? p->library->identity(p->index, p->type, &all, text) : STATUS_OK;
}
