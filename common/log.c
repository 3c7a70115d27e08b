#include "common/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOG_SECONDS = 15 }; /* between two lines of progress in the file of --log */

static struct {
    const char *name;
    bool speaks, quiet, terminal;
    bool line_open;   /* a progress line stands on the terminal without its line end */
    const char *path; /* of --log */
} me = {.name = "fretsaw", .speaks = true};

struct progress {
    const char *what, *unit;
    int64_t total, done, first;
    double start, shown, logged;
};

double clock_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void log_open(const char *name, bool speaks, bool quiet)
{
    me.name = name;
    me.speaks = speaks;
    me.quiet = quiet;
    me.terminal = isatty(STDERR_FILENO);
}

status log_open_file(const char *path)
{
    me.path = path;
    if (!me.speaks)
        return STATUS_OK;
    FILE *file = fopen(path, "ae");
    if (!file || fclose(file) != 0)
        return fail_errno(STATUS_IO, errno, "--log %s: cannot be written to", path);
    return STATUS_OK;
}

/* The log's lines carry the time, since nobody watched. The file is opened for each: any rank may have a last word. */
static void keep(const char *line)
{
    char stamp[32];
    struct tm utc;
    time_t now = time(NULL);
    FILE *file = me.path ? fopen(me.path, "ae") : NULL;
    if (!file)
        return;
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    fprintf(file, "%s %s\n", stamp, line);
    fclose(file);
}

static void say(const char *prefix, bool shown, const char *format, va_list list)
{
    char text[4600], kept[4800];
    vsnprintf(text, sizeof text, format, list);
    snprintf(kept, sizeof kept, "%s: %s%s", me.name, prefix, text);
    keep(kept);
    if (!shown)
        return;
    /* One write a line, so that ranks that speak at once do not mix their letters. */
    char line[4800];
    int n = snprintf(line, sizeof line, "%s%s: %s%s\n", me.line_open ? "\n" : "", me.name, prefix, text);
    me.line_open = false;
    fflush(stdout);
    fwrite(line, 1, n < (int)sizeof line ? (size_t)n : sizeof line - 1, stderr);
    fflush(stderr);
}

void log_info(const char *format, ...)
{
    if (!me.speaks)
        return;
    va_list list;
    va_start(list, format);
    say("", !me.quiet, format, list);
    va_end(list);
}

void log_warn(const char *format, ...)
{
    if (!me.speaks)
        return;
    va_list list;
    va_start(list, format);
    say("warning: ", true, format, list);
    va_end(list);
}

void log_always(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say("", true, format, list);
    va_end(list);
}

progress *progress_begin(const char *what, const char *unit, int64_t total)
{
    progress *p = me.speaks && (!me.quiet || me.path) ? calloc(1, sizeof *p) : NULL;
    double now = clock_seconds();
    if (p)
        *p = (progress){.what = what, .unit = unit, .total = total, .start = now, .shown = now, .logged = now};
    return p; /* NULL is the silent one: the functions below accept it */
}

static void span(char *to, size_t capacity, double seconds)
{
    int64_t s = (int64_t)(seconds + 0.5);
    if (s >= 3600)
        snprintf(to, capacity, "%lld h %02lld min", (long long)(s / 3600), (long long)(s / 60 % 60));
    else if (s >= 60)
        snprintf(to, capacity, "%lld min %02lld s", (long long)(s / 60), (long long)(s % 60));
    else
        snprintf(to, capacity, "%lld s", (long long)s);
}

static void write_line(const progress *p, double now, const char *note, bool last, char *line, size_t room)
{
    char eta[48] = "", share[48] = "";
    double passed = now - p->start, rate = passed > 0 ? (double)(p->done - p->first) / passed : 0;
    if (p->total > 0) {
        snprintf(share, sizeof share, " of %lld (%d%%)", (long long)p->total, (int)(100.0 * (double)p->done / (double)p->total));
        if (!last && rate > 0) {
            char text[40];
            span(text, sizeof text, (double)(p->total - p->done) / rate);
            snprintf(eta, sizeof eta, ", %s left", text);
        }
    }
    snprintf(line, room, "%s: %s %lld%s %s, %.*f %s/s%s%s%s", me.name, p->what, (long long)p->done, share, p->unit, rate < 10 ? 2 : 0, rate, p->unit,
             eta, note && *note ? ", " : "", note ? note : "");
}

static void show(progress *p, double now, const char *note, bool last)
{
    char line[512];
    write_line(p, now, note, last, line, sizeof line);
    if (last || now - p->logged >= LOG_SECONDS) {
        keep(line);
        p->logged = now;
    }
    if (me.quiet) {
        p->shown = now;
        return;
    }
    if (me.terminal) {
        fprintf(stderr, "\r%s\033[K%s", line, last ? "\n" : "");
        me.line_open = !last;
    } else {
        fprintf(stderr, "%s\n", line);
    }
    fflush(stderr);
    p->shown = now;
}

void progress_resume(progress *p, int64_t done)
{
    if (p)
        p->first = p->done = done;
}

void progress_set(progress *p, int64_t done, const char *note)
{
    if (!p)
        return;
    double now = clock_seconds();
    p->done = done;
    if (now - p->shown >= (me.terminal ? 0.2 : 5.0))
        show(p, now, note, false);
}

void progress_end(progress *p)
{
    if (!p)
        return;
    show(p, clock_seconds(), NULL, true);
    free(p);
}
