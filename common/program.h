/* The frame of every program's main: open, options, run, close; one place that ends a job.
 *
 *     int main(int argc, char **argv)
 *     {
 *         return program_main(&(program){.options = &about, .table = table, .run = run}, argc, argv);
 *     }
 *     static status run(const option_list *words) { ... TRY(...); return STATUS_OK; }     // collective
 *
 * An error from run() on one rank alone ends all ranks at once, with the rank, host and reason. STATUS_STOPPED must be returned by all ranks.
 */
#ifndef FRETSAW_COMMON_PROGRAM_H
#define FRETSAW_COMMON_PROGRAM_H

#include "common/options.h"

typedef struct program {
    const option_program *options;
    const option *table;
    status (*run)(const option_list *words);
    const char *const *commands; /* words that, as the first one, are left alone: passed to run with the rest; NULL-ended or NULL */
} program;

/* Collective. Returns the exit code. */
int program_main(const program *p, int argc, char **argv);

#endif
