#include "train/startup.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"

enum { PARTS = 12, START_TIME_FIELD = 22 };

static struct {
    int parts;
    const char *name[PARTS];
    double seconds[PARTS], before;
    bool over;
} startup;

/* Seconds since the machine's start at which this process was made an image of this program, give or take a tick; 0 where unknown. */
static double exec_time(void)
{
    char text[1024];
    FILE *f = fopen("/proc/self/stat", "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = 0;
    const char *at = strrchr(text, ')'); /* behind the name, which may hold anything: field 3 follows */
    for (int field = 2; at && field < START_TIME_FIELD; field++)
        at = strchr(at + 1, ' ');
    return at ? (double)strtoull(at, NULL, 10) / (double)sysconf(_SC_CLK_TCK) : 0;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void startup_mark(const char *part)
{
    if (startup.over || startup.parts == PARTS)
        return;
    double time = now();
    if (startup.parts == 0)
        startup.before = exec_time();
    startup.name[startup.parts] = part;
    startup.seconds[startup.parts++] = time - startup.before;
    startup.before = time;
}

void startup_end(void)
{
    char line[512];
    size_t used = 0;
    double all = 0;
    if (startup.over)
        return;
    startup_mark("first rows");
    startup.over = true;
    for (int i = 0; i < startup.parts; i++) {
        all += startup.seconds[i];
        if (used < sizeof line)
            used += (size_t)snprintf(line + used, sizeof line - used, "%s%s %.2f", i ? ", " : "", startup.name[i], startup.seconds[i]);
    }
    log_info("first forward pass %.2f s after the program's start (%s)", all, line);
}
