/* Which launcher started this process and how many tasks it started, by its environment alone (before or without MPI).
 *
 *     int tasks = launcher_tasks();        // 1 when started bare
 */
#ifndef FRETSAW_COMMON_LAUNCHER_H
#define FRETSAW_COMMON_LAUNCHER_H

/* Tasks of this step: OMPI_COMM_WORLD_SIZE, PMIX/PMI sizes or SLURM_STEP_NUM_TASKS (only where SLURM_PROCID says that srun started us). Local. */
int launcher_tasks(void);
/* "mpirun", "srun" or "the command line". */
const char *launcher_name(void);

#endif
