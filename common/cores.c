#include "common/cores.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first two numbers of a control group's file ("max" reads as none): how many were read. */
static int read_numbers(const char *path, double *first, double *second)
{
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    int n = fscanf(f, "%lf %lf", first, second);
    fclose(f);
    return n < 0 ? 0 : n;
}

/* Lowers *cores to the quota of the group `group` and of every group above it. */
static void apply_quota(const char *mount, const char *group, bool unified, double *cores)
{
    char path[3 * PATH_MAX], name[PATH_MAX];
    snprintf(name, sizeof name, "%s", strcmp(group, "/") == 0 ? "" : group);
    for (;;) {
        double quota = 0, period = 0, ignored = 0;
        bool known;
        if (unified) {
            snprintf(path, sizeof path, "%s%s/cpu.max", mount, name);
            known = read_numbers(path, &quota, &period) == 2;
        } else {
            snprintf(path, sizeof path, "%s%s/cpu.cfs_quota_us", mount, name);
            known = read_numbers(path, &quota, &ignored) >= 1;
            snprintf(path, sizeof path, "%s%s/cpu.cfs_period_us", mount, name);
            known = known && read_numbers(path, &period, &ignored) >= 1;
        }
        if (known && quota > 0 && period > 0 && quota / period < *cores)
            *cores = quota / period;
        char *slash = strrchr(name, '/');
        if (!slash)
            return;
        *slash = 0;
    }
}

/* Whether "cpu" is among names with commas between them. */
static bool lists_cpu(const char *names)
{
    for (const char *at = names; *at;) {
        size_t n = strcspn(at, ",");
        if (n == 3 && memcmp(at, "cpu", 3) == 0)
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

double cores_quota(const char *groups, const char *root)
{
    double cores = INFINITY;
    char line[PATH_MAX + 256], mount[PATH_MAX];
    FILE *f = fopen(groups, "re");
    while (f && fgets(line, sizeof line, f)) { /* number:controllers:group */
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0;
        controllers++;
        if (!*controllers) {
            apply_quota(root, group, true, &cores);
            snprintf(mount, sizeof mount, "%s/unified", root); /* version 2 beside version 1 */
            apply_quota(mount, group, true, &cores);
        } else if (lists_cpu(controllers)) {
            snprintf(mount, sizeof mount, "%s/cpu", root);
            apply_quota(mount, group, false, &cores);
            snprintf(mount, sizeof mount, "%s/%s", root, controllers); /* where no link "cpu" stands for "cpu,cpuacct" */
            apply_quota(mount, group, false, &cores);
        }
    }
    if (f)
        fclose(f);
    return cores;
}

int cores_available(void)
{
    cpu_set_t set;
    double cores = 1, quota = cores_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        cores = CPU_COUNT(&set);
    else if (errno == EINVAL) /* more processors than a cpu_set_t holds */
        cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
    cores = ceil(quota < cores ? quota : cores);
    return cores < 1 ? 1 : (int)cores;
}

int cores_core_of(int processor)
{
    char path[128];
    double first = processor, ignored;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", processor);
    return read_numbers(path, &first, &ignored) >= 1 ? (int)first : processor;
}
