/* Asking a program to stop with everything saved: SIGTERM, SIGINT, SIGUSR1, SIGUSR2, --time-limit, Slurm's end time.
 *
 *     stop_open(time_limit_seconds);                    // installs the handlers; 0: no limit of our own
 *     if (stop_wanted()) ...                            // local, cheap: this rank knows of a reason
 *     if (comm_any(stop_wanted())) save and return STATUS_STOPPED;   // collective: all agree
 */
#ifndef FRETSAW_COMMON_STOP_H
#define FRETSAW_COMMON_STOP_H

#include <stdbool.h>
#include <stdint.h>

/* Local. The limit counts from now; SLURM_JOB_END_TIME (seconds since 1970), where set, is obeyed with `grace` seconds to spare. */
void stop_open(int64_t limit_seconds, int64_t grace_seconds);
bool stop_wanted(void);
/* "SIGUSR1", "time limit of 3600 s", "end of the Slurm job in 60 s": valid after stop_wanted() is true. */
const char *stop_reason(void);

#endif
