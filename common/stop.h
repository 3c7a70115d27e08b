/* Asking a program to stop with everything saved: SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, --time-limit, Slurm's end time.
 *
 *     stop_watch();                                     // first of all: from here on a signal is kept until somebody asks
 *     stop_open(time_limit_seconds, grace);             // work that asks; 0: no limit of our own. Other work: stop_release()
 *     if (stop_wanted()) ...                            // local, cheap: this rank knows of a reason
 *     if (comm_any(stop_wanted())) save and return STATUS_STOPPED;   // collective: all agree
 */
#ifndef FRETSAW_COMMON_STOP_H
#define FRETSAW_COMMON_STOP_H

#include <stdbool.h>
#include <stdint.h>

/* All local. program_main watches before it enters MPI, so that a signal during a slow start is not lost. A SIGHUP that was ignored at the start
 * (nohup) stays so. */
void stop_watch(void);
/* For work that never asks: signals end the process as they do by default, and one that has come meanwhile does so now. */
void stop_release(void);
/* The same, but what has come meanwhile is forgotten: for a process that ends anyway. */
void stop_forget(void);
/* Watches too. The limit counts from now; SLURM_JOB_END_TIME (seconds since 1970), where set, is obeyed with `grace` seconds to spare. */
void stop_open(int64_t limit_seconds, int64_t grace_seconds);
bool stop_wanted(void);
/* "SIGUSR1", "time limit of 3600 s", "end of the Slurm job in 60 s": valid after stop_wanted() is true. */
const char *stop_reason(void);

#endif
