#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/cores.h"
#include "front/doctor.h"
#include "model/cpu/isa.h"
#include "model/device_library.h"

/* The value behind "key" in a file of "key : value" lines, as /proc has them; an empty text where there is none. */
static void read_line(const char *path, const char *key, char *to, size_t room)
{
    char line[512];
    FILE *f = fopen(path, "re");
    *to = 0;
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0) {
            const char *at = strchr(line, ':');
            at = at ? at + 1 + strspn(at + 1, " \t") : line;
            snprintf(to, room, "%.*s", (int)strcspn(at, "\n"), at);
            break;
        }
    if (f)
        fclose(f);
}

void check_processor(finding *f)
{
    char model[256];
    cpu_isa isa;
    read_line("/proc/cpuinfo", "model name", model, sizeof model);
    if (isa_choose(CPU_ISA_AUTO, &isa) != STATUS_OK)
        isa = CPU_ISA_PLAIN;
    if (isa == CPU_ISA_PLAIN)
        finding_set(f, FINDING_NOTE, "the results are the same bits as elsewhere, but training takes many times as long: take a machine with AVX2",
                    "%s has neither AVX2 nor AVX-512: plain kernels", model[0] ? model : "the processor");
    else
        finding_set(f, FINDING_OK, NULL, "%s: %s kernels", model[0] ? model : "x86-64", isa_name(isa));
}

void check_cores(finding *f)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int mine = cores_available();
    if (mine < online)
        finding_set(f, FINDING_NOTE, "raise the job's cores (--cpus-per-task, docker --cpus, taskset) to use the others",
                    "%d of %ld cores, by affinity or the control group's quota; threads follow that", mine, online);
    else
        finding_set(f, FINDING_OK, NULL, "%d cores, all of this machine's", mine);
}

static double read_number(const char *path)
{
    char text[64];
    double v = -1;
    FILE *f = fopen(path, "re");
    if (f && fgets(text, sizeof text, f) && text[0] >= '0' && text[0] <= '9')
        v = strtod(text, NULL);
    if (f)
        fclose(f);
    return v;
}

/* Lowers *limit to that of `group` and of every control group above it. */
static void apply_group(const char *mount, const char *group, const char *file, double *limit)
{
    char name[1024], path[1200];
    snprintf(name, sizeof name, "%s", group);
    for (;;) {
        snprintf(path, sizeof path, "%s%s/%s", mount, name, file);
        double v = read_number(path);
        if (v > 0 && v < *limit)
            *limit = v;
        char *slash = strrchr(name, '/');
        if (!slash || !*name)
            return;
        *slash = 0;
    }
}

static double group_limit(void)
{
    char line[1200];
    double limit = 0x1p62;
    FILE *f = fopen("/proc/self/cgroup", "re");
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0;
        if (controllers[1] == 0)
            apply_group("/sys/fs/cgroup", group, "memory.max", &limit);
        else if (strcmp(controllers + 1, "memory") == 0)
            apply_group("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes", &limit);
    }
    if (f)
        fclose(f);
    apply_group("/sys/fs/cgroup", "", "memory.max", &limit); /* a container sees its own group as the root */
    apply_group("/sys/fs/cgroup/memory", "", "memory.limit_in_bytes", &limit);
    return limit;
}

void check_memory(finding *f)
{
    const double gib = 0x1p30;
    char text[64];
    struct rlimit space;
    read_line("/proc/meminfo", "MemAvailable", text, sizeof text);
    double available = strtod(text, NULL) * 1024, limit = group_limit(), most = available;
    const char *by = "free now";
    if (limit < most) {
        most = limit;
        by = "by the control group (job or container)";
    }
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY && (double)space.rlim_cur < most) {
        most = (double)space.rlim_cur;
        by = "by ulimit -v";
    }
    if (most < 1.5 * gib)
        finding_set(f, FINDING_FIX, "ask for more (--mem, docker --memory, ulimit -v unlimited); train --plan says what a run needs",
                    "%.1f GiB %s: too little for any but a toy network", most / gib, by);
    else
        finding_set(f, FINDING_OK, NULL, "%.1f GiB %s; train --plan says what a run needs", most / gib, by);
}

void check_limits(finding *f)
{
    struct rlimit files, size, stack;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || getrlimit(RLIMIT_FSIZE, &size) != 0 || getrlimit(RLIMIT_STACK, &stack) != 0) {
        finding_set(f, FINDING_NOTE, NULL, "the limits of this shell cannot be read");
        return;
    }
    if (files.rlim_cur < 256)
        finding_set(f, FINDING_FIX, "ulimit -n 1024", "%llu open files a process: shards and launchers need more", (unsigned long long)files.rlim_cur);
    else if (size.rlim_cur != RLIM_INFINITY)
        finding_set(f, FINDING_FIX, "ulimit -f unlimited", "a file may have %llu bytes at most; a checkpoint of a large network has 2 GB",
                    (unsigned long long)size.rlim_cur);
    else if (stack.rlim_cur < 1 << 20)
        finding_set(f, FINDING_FIX, "ulimit -s 8192", "the stack is limited to %llu bytes", (unsigned long long)stack.rlim_cur);
    else
        finding_set(f, FINDING_OK, NULL, "open files, file size and stack suffice");
}

/* What train and infer would compute on. */
static void list_devices(const device_library *library, int count, finding *f)
{
    char text[400] = "";
    size_t used = 0;
    for (int i = 0; i < count && used < sizeof text; i++) {
        device_card card;
        if (library->describe(i, &card) != STATUS_OK) {
            finding_set(f, FINDING_FIX, "look at it with nvidia-smi, or leave it out with CUDA_VISIBLE_DEVICES", "%s", status_message());
            return;
        }
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s (%.1f GiB, sm_%d)", i ? ", " : "", card.name, (double)card.memory / (1 << 30), card.sm);
    }
    finding_set(f, FINDING_OK, NULL, "%d to compute on, a rank each: %s", count, text);
}

void check_gpu(finding *f)
{
    char version[200];
    glob_t devices = {0};
    size_t count = glob("/dev/nvidia[0-9]*", 0, NULL, &devices) == 0 ? devices.gl_pathc : 0;
    globfree(&devices);
    read_line("/proc/driver/nvidia/version", "NVRM version", version, sizeof version);
    const device_library *library;
    int usable = 0;
    if (device_library_open(&library) == STATUS_OK && library->count(&usable) == STATUS_OK)
        list_devices(library, usable, f);
    else if (count == 0)
        finding_set(f, FINDING_OK, NULL, "none: the CPU does the work");
    else
        finding_set(f, FINDING_NOTE, status_message(), "%zu NVIDIA devices (%s), which train and infer cannot use: the CPU does the work", count,
                    version[0] ? version : "no driver loaded");
}
