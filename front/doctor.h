/* The checks of `fretsaw doctor`: each says what it found in one line and, where something is wrong, what to do.
 *
 *     finding f;
 *     check_memory(&f);
 *     if (f.verdict == FINDING_FIX) printf("%s: do %s", f.text, f.cure);
 *
 * All local and quick; a check that fails in an unforeseen way is a finding too, never an error.
 */
#ifndef FRETSAW_FRONT_DOCTOR_H
#define FRETSAW_FRONT_DOCTOR_H

#include <sched.h>
#include <stdint.h>

typedef enum verdict {
    FINDING_OK,
    FINDING_NOTE, /* works; worth knowing */
    FINDING_FIX,  /* something will fail or crawl: the cure says what to do */
} verdict;

typedef struct finding {
    verdict verdict;
    char text[600], cure[600];
} finding;

/* Sets all three; cure may be NULL. */
void finding_set(finding *f, verdict v, const char *cure, const char *format, ...) __attribute__((format(printf, 4, 5)));

/* ---- this machine (check_machine.c) ---- */
void check_processor(finding *f);
void check_cores(finding *f);
void check_memory(finding *f);
void check_limits(finding *f);
void check_gpu(finding *f);

/* ---- memory and files (check_files.c); `folder` is where the runs will be written ---- */
void check_shared_memory(finding *f);
void check_folder(const char *folder, finding *f);
void check_locks(const char *folder, finding *f);
void check_row_file(const char *folder, finding *f);

/* ---- launcher and ranks (check_ranks.c) ---- */
/* What two or more ranks started by mpirun say of themselves. */
typedef struct rank_report {
    int asked, size;   /* size 0: none came up */
    int fewest;        /* processors that the most tightly bound rank may use */
    int together;      /* processors that all of them may use together */
    int shared;        /* 1: they share memory */
    char said[600];    /* the last lines of mpirun where they did not come up */
} rank_report;
void check_launcher(finding *f);
/* Starts `ranks` ranks of this very program through mpirun, at most 60 seconds. */
void ranks_ask(int ranks, rank_report *r);
void check_mpi(const rank_report *r, finding *f);
void check_binding(const rank_report *r, finding *f);
void check_srun(finding *f);
/* The other side, in a rank: collective; prints the report's line on rank 0. Returns the exit code. */
int ranks_answer(int *argc, char ***argv);

#endif
