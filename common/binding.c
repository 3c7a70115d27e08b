#include "common/binding.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/comm.h"
#include "common/cores.h"
#include "common/launcher.h"
#include "common/log.h"

/* ---- the verdict ---- */

/* The processors' cores: one bit a core. */
static cpu_set_t cores_in(const binding_view *v, const cpu_set_t *processors)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    for (int p = 0; p < CPU_SETSIZE; p++)
        if (CPU_ISSET(p, processors))
            CPU_SET(v->core_of[p], &cores);
    return cores;
}

/* The cores of one rank, each divided by those that may use it. */
static double share_of(const binding_view *v, const int *users, int r)
{
    double share = 0;
    cpu_set_t own = cores_in(v, &v->mask[r]);
    for (int c = 0; c < CPU_SETSIZE; c++)
        if (CPU_ISSET(c, &own))
            share += 1.0 / users[c];
    return share;
}

/* The first rank that is bound to less than one core of its own, and one that it shares with. */
static bool two_on_one(const binding_view *v, const int *users, int all, int *one, int *other)
{
    for (int a = 0; a < v->ranks; a++) {
        cpu_set_t both, mine = cores_in(v, &v->mask[a]);
        if (CPU_COUNT(&mine) == all || share_of(v, users, a) > 0.999)
            continue;
        for (int b = a + 1; b < v->ranks; b++) {
            cpu_set_t theirs = cores_in(v, &v->mask[b]);
            CPU_AND(&both, &mine, &theirs);
            if (CPU_COUNT(&both) > 0) {
                *one = v->rank[a];
                *other = v->rank[b];
                return true;
            }
        }
    }
    return false;
}

static void warn_of(const binding_view *v, const int *users, int used, int all, char *warning, size_t room)
{
    int one, other, each = all / v->ranks > 0 ? all / v->ranks : 1;
    if (two_on_one(v, users, all, &one, &other) && used < all)
        snprintf(warning, room,
                 "ranks %d and %d on %s are bound to the same core and take turns, while its %d ranks use %d of %d cores: add --bind-to none (or "
                 "--map-by slot:PE=%d) to mpirun",
                 one, other, v->host, v->ranks, used, all, each);
    else if (two_on_one(v, users, all, &one, &other) && v->ranks > all)
        snprintf(warning, room,
                 "ranks %d and %d on %s are bound to the same core and take turns: %d ranks have %d cores; start %d ranks there, or add --bind-to none "
                 "to mpirun, so that a waiting rank's core is free for others",
                 one, other, v->host, v->ranks, all, all);
    else if (used < all)
        snprintf(warning, room, "the ranks on %s are bound to %d of its %d cores: add --bind-to none (or --map-by slot:PE=%d) to mpirun to use the others",
                 v->host, used, all, each);
}

int64_t binding_judge(const binding_view *v, int mine, char *warning, size_t room)
{
    int users[CPU_SETSIZE] = {0};
    cpu_set_t used, all = cores_in(v, v->allowed);
    CPU_ZERO(&used);
    for (int r = 0; r < v->ranks; r++) {
        cpu_set_t cores = cores_in(v, &v->mask[r]);
        CPU_OR(&used, &used, &cores);
        for (int c = 0; c < CPU_SETSIZE; c++)
            users[c] += CPU_ISSET(c, &cores) != 0;
    }
    CPU_OR(&all, &all, &used);
    double share = share_of(v, users, mine), quota = v->quota / v->ranks;
    if (v->ranks == 1)
        quota = ceil(quota); /* a part of a core is worth a thread */
    share = quota < share ? quota : share;
    warning[0] = 0;
    warn_of(v, users, CPU_COUNT(&used), CPU_COUNT(&all), warning, room);
    return share < 1 ? 1 : (int64_t)(share + 1e-6);
}

/* ---- the ranks as they are ---- */

typedef struct rank_mask {
    int node;
    cpu_set_t mask;
} rank_mask;

/* The processors that this process may use: false where they are more than a cpu_set_t holds. */
static bool mask_of(pid_t process, cpu_set_t *mask)
{
    CPU_ZERO(mask);
    return sched_getaffinity(process, sizeof *mask, mask) == 0;
}

static int64_t judge_node(const rank_mask *all, bool *warned)
{
    static cpu_set_t mask[CPU_SETSIZE];
    static int rank[CPU_SETSIZE], core_of[CPU_SETSIZE];
    cpu_set_t allowed;
    char warning[512];
    int ranks = 0, mine = 0;
    for (int r = 0; r < comm_size() && ranks < CPU_SETSIZE; r++) {
        if (all[r].node != comm_node())
            continue;
        if (r == comm_rank())
            mine = ranks;
        mask[ranks] = all[r].mask;
        rank[ranks++] = r;
    }
    for (int p = 0; p < CPU_SETSIZE; p++)
        core_of[p] = CPU_ISSET(p, &mask[mine]) || comm_node_rank() == 0 ? cores_core_of(p) : p;
    /* mpirun's own processors are what it has to give; other launchers bind as they were asked to. */
    if (strcmp(launcher_name(), "mpirun") != 0 || !mask_of(getppid(), &allowed))
        CPU_ZERO(&allowed);
    binding_view v = {ranks, mask, rank, &allowed, core_of, cores_quota("/proc/self/cgroup", "/sys/fs/cgroup"), comm_host()};
    int64_t threads = binding_judge(&v, mine, warning, sizeof warning);
    if (warning[0] && comm_node_rank() == 0 && !*warned)
        log_always("warning: %s", warning);
    *warned = true;
    return threads;
}

status binding_threads(int64_t wanted, int64_t *threads)
{
    static bool warned;
    rank_mask mine = {.node = comm_node()}, *all;
    bool known = mask_of(0, &mine.mask);
    TRY(comm_agree(memory_new(&all, (size_t)comm_size() * sizeof *all, "what ranks are bound to")));
    comm_all_gather(&mine, sizeof mine, all);
    int64_t share = cores_available() / comm_node_size();
    if (!comm_any(!known))
        share = judge_node(all, &warned);
    free(all);
    *threads = wanted > 0 ? wanted : share > 1 ? share : 1;
    return STATUS_OK;
}
