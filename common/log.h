/* What a person sees while a program runs: from rank 0 alone, on stderr. Results go to stdout or files, never through here.
 *
 *     log_info("reading %s", path);
 *     progress *p = progress_begin("tokenize", "rows", total);       // total 0: not known
 *     progress_set(p, done, "loss 0.41");                            // shows rate and ETA; cheap to call often
 *     progress_end(p);
 *
 * On a terminal one line is rewritten; elsewhere a plain line every few seconds. --quiet keeps all but warnings silent; --log FILE keeps every
 * line, quiet or not, with the time before it. Local.
 */
#ifndef FRETSAW_COMMON_LOG_H
#define FRETSAW_COMMON_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"

/* Called once by program_begin: `speaks` on rank 0, `quiet` from the option, `name` of the program. */
void log_open(const char *name, bool speaks, bool quiet);
/* Appends all lines to `path` (kept by pointer) too. Every rank calls it, rank 0 tries it at once: STATUS_IO when it cannot be opened. */
status log_open_file(const char *path);
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* From any rank, quiet or not: for what must not be lost. */
void log_always(const char *format, ...) __attribute__((format(printf, 1, 2)));

typedef struct progress progress;
/* NULL is the silent one (other ranks, --quiet, no memory), which the functions below accept. `what` and `unit` are kept by pointer. */
progress *progress_begin(const char *what, const char *unit, int64_t total);
/* `done` was finished before this start: no part of the rate. */
void progress_resume(progress *p, int64_t done);
void progress_set(progress *p, int64_t done, const char *note);
void progress_end(progress *p); /* frees */

/* Seconds since some fixed moment, monotonic. */
double clock_seconds(void);

#endif
