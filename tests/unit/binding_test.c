/* Threads and warnings by how ranks are bound, on made-up nodes; quotas of control groups, versions 1 and 2, on made-up files. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/binding.h"
#include "common/cores.h"
#include "common/files.h"
#include "support/support.h"

static int cores[CPU_SETSIZE];
static const int numbers[] = {4, 5, 6, 7, 8, 9, 10, 11};

static cpu_set_t set(int first, int end)
{
    cpu_set_t s;
    CPU_ZERO(&s);
    for (int p = first; p < end; p++)
        CPU_SET(p, &s);
    return s;
}

/* `siblings`: that many processors in a row are one core. */
static int64_t judge(int ranks, const cpu_set_t *mask, cpu_set_t allowed, int siblings, double quota, int mine, char warning[512])
{
    for (int p = 0; p < CPU_SETSIZE; p++)
        cores[p] = p / siblings * siblings;
    return binding_judge(&(binding_view){ranks, mask, numbers, &allowed, cores, quota, "node3"}, mine, warning, 512);
}

static void expect(int64_t got, int64_t want, const char *warning, const char *text)
{
    ck_assert_msg(got == want, "%lld threads, not %lld", (long long)got, (long long)want);
    ck_assert_msg(text ? strstr(warning, text) != NULL : !warning[0], "warning '%s'", warning);
}

START_TEST(shares_of_cores)
{
    char w[512];
    cpu_set_t all = set(0, 16);
    /* Unbound: all cores shared out; more ranks than cores get a thread each and no warning. */
    expect(judge(1, &all, all, 1, INFINITY, 0, w), 16, w, NULL);
    expect(judge(3, (cpu_set_t[]){all, all, all}, all, 1, INFINITY, 2, w), 5, w, NULL);
    cpu_set_t two = set(0, 2);
    expect(judge(3, (cpu_set_t[]){two, two, two}, two, 1, INFINITY, 1, w), 1, w, NULL);
    /* Two processors a core count once. */
    expect(judge(1, &all, all, 2, INFINITY, 0, w), 8, w, NULL);
    expect(judge(2, (cpu_set_t[]){set(0, 2), set(2, 4)}, set(0, 4), 2, INFINITY, 0, w), 1, w, NULL);
    /* Bound to a socket each: its cores are the rank's alone; two a socket halve them. */
    expect(judge(2, (cpu_set_t[]){set(0, 8), set(8, 16)}, all, 1, INFINITY, 1, w), 8, w, NULL);
    expect(judge(4, (cpu_set_t[]){set(0, 8), set(0, 8), set(8, 16), set(8, 16)}, all, 1, INFINITY, 3, w), 4, w, NULL);
    /* The quota is shared; of a single rank's, a part of a core is a thread. */
    expect(judge(2, (cpu_set_t[]){all, all}, all, 1, 6, 0, w), 3, w, NULL);
    expect(judge(1, &all, all, 1, 1.5, 0, w), 2, w, NULL);
    expect(judge(4, (cpu_set_t[]){all, all, all, all}, all, 1, 2, 0, w), 1, w, NULL);
}
END_TEST

START_TEST(wasted_cores_are_told)
{
    char w[512];
    cpu_set_t all = set(0, 16), one = set(0, 1), other = set(1, 2);
    expect(judge(2, (cpu_set_t[]){one, one}, all, 1, INFINITY, 0, w), 1, w, "ranks 4 and 5 on node3 are bound to the same core");
    ck_assert(strstr(w, "2 ranks use 1 of 16 cores") && strstr(w, "--bind-to none") && strstr(w, "--map-by slot:PE=8"));
    expect(judge(2, (cpu_set_t[]){one, other}, all, 1, INFINITY, 0, w), 1, w, "bound to 2 of its 16 cores");
    ck_assert(strstr(w, "--bind-to none") && strstr(w, "--map-by slot:PE=8"));
    expect(judge(1, &one, all, 1, INFINITY, 0, w), 1, w, "bound to 1 of its 16 cores");
    expect(judge(4, (cpu_set_t[]){one, other, one, other}, set(0, 2), 1, INFINITY, 0, w), 1, w, "ranks 4 and 6 on node3");
    ck_assert(strstr(w, "4 ranks have 2 cores; start 2 ranks there"));
    expect(judge(2, (cpu_set_t[]){one, other}, set(0, 2), 1, INFINITY, 0, w), 1, w, NULL);
    /* A launcher of unknown means: what ranks have is all there is. */
    cpu_set_t none = set(0, 0);
    expect(judge(2, (cpu_set_t[]){one, other}, none, 1, INFINITY, 0, w), 1, w, NULL);
    /* Two processors of one core are the same core. */
    expect(judge(2, (cpu_set_t[]){one, other}, all, 2, INFINITY, 0, w), 1, w, "bound to the same core");
}
END_TEST

static const char *scratch;

static void put(const char *name, const char *text)
{
    char path[900];
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    ck_ok(file_write_atomic(path, text, strlen(text)));
}

static double quota(const char *groups)
{
    char list[900], root[900];
    put("groups", groups);
    snprintf(list, sizeof list, "%s/groups", scratch);
    snprintf(root, sizeof root, "%s/fs", scratch);
    return cores_quota(list, root);
}

START_TEST(quotas_of_control_groups)
{
    scratch = support_scratch();
    put("fs/cpu.max", "max 100000\n");
    put("fs/a/cpu.max", "350000 100000\n");
    put("fs/a/b/cpu.max", "max 100000\n");
    put("fs/a/c/cpu.max", "50000 100000\n");
    ck_assert(isinf(quota("0::/\n")));
    ck_assert(quota("0::/a\n") == 3.5);
    ck_assert(quota("0::/a/b\n") == 3.5);
    ck_assert(quota("0::/a/c\n") == 0.5);
    ck_assert(quota("0::/elsewhere/of/the/host\n") == INFINITY); /* a container that sees its own group as the root */
    put("fs/cpu.max", "200000 100000\n");
    ck_assert(quota("0::/elsewhere/of/the/host\n") == 2);
    put("fs/cpu.max", "max 100000\n");
    put("fs/unified/u/cpu.max", "150000 100000\n");
    ck_assert(quota("0::/u\n") == 1.5);
    put("fs/cpu/cpu.cfs_quota_us", "-1\n");
    put("fs/cpu/cpu.cfs_period_us", "100000\n");
    put("fs/cpu/job/cpu.cfs_quota_us", "400000\n");
    put("fs/cpu/job/cpu.cfs_period_us", "100000\n");
    put("fs/cpu/job/step/cpu.cfs_quota_us", "-1\n");
    put("fs/cpu/job/step/cpu.cfs_period_us", "100000\n");
    ck_assert(isinf(quota("4:cpu,cpuacct:/\n")));
    ck_assert(quota("5:memory:/job\n4:cpu,cpuacct:/job/step\n") == 4);
    ck_assert(quota("4:cpuacct,cpu:/job\n") == 4 && quota("2:cpu:/job\n") == 4);
    ck_assert(isinf(quota("4:cpuset:/job\n3:cpuacct:/job\n")));
    put("fs/cpuacct,cpu/only/cpu.cfs_quota_us", "250000\n");
    put("fs/cpuacct,cpu/only/cpu.cfs_period_us", "100000\n");
    ck_assert(quota("4:cpuacct,cpu:/only\n") == 2.5);
    ck_assert(quota("0::/a\n4:cpu:/job\n") == 3.5); /* both versions: the lower one */
    ck_assert(isinf(cores_quota("/nowhere", "/nowhere")));
    ck_assert_int_ge(cores_available(), 1);
    ck_assert_int_le(cores_available(), (int)sysconf(_SC_NPROCESSORS_CONF));
}
END_TEST

int main(void)
{
    return support_run("binding", (const TTest *[]){shares_of_cores, wasted_cores_are_told, quotas_of_control_groups, NULL});
}
