#include "common/stop.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/log.h"

static volatile sig_atomic_t caught;
static double deadline;      /* of clock_seconds(); 0: none */
static int64_t limit;        /* seconds, for the message */
static double job_end;       /* wall clock; 0: none */
static int64_t grace;

static void on_signal(int number)
{
    caught = number;
}

static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static void set_handlers(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < NUMBERS; i++)
        if (numbers[i] != SIGHUP || sigaction(SIGHUP, NULL, &old) != 0 || old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
}

void stop_watch(void)
{
    set_handlers(on_signal);
}

void stop_forget(void)
{
    set_handlers(SIG_DFL);
}

void stop_release(void)
{
    stop_forget();
    if (caught)
        raise(caught);
}

void stop_open(int64_t limit_seconds, int64_t grace_seconds)
{
    stop_watch();
    limit = limit_seconds;
    grace = grace_seconds;
    deadline = limit_seconds > 0 ? clock_seconds() + (double)limit_seconds : 0;
    const char *end = getenv("SLURM_JOB_END_TIME");
    job_end = end ? strtod(end, NULL) : 0;
}

bool stop_wanted(void)
{
    return caught || (deadline > 0 && clock_seconds() >= deadline) || (job_end > 0 && (double)time(NULL) + (double)grace >= job_end);
}

const char *stop_reason(void)
{
    static char text[96];
    if (caught)
        snprintf(text, sizeof text, "SIG%s", sigabbrev_np(caught));
    else if (deadline > 0 && clock_seconds() >= deadline)
        snprintf(text, sizeof text, "time limit of %lld s", (long long)limit);
    else
        snprintf(text, sizeof text, "end of the Slurm job in less than %lld s", (long long)grace);
    return text;
}
