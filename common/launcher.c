#include "common/launcher.h"

#include <stdlib.h>

static int number(const char *name)
{
    const char *text = getenv(name);
    return text ? (int)strtol(text, NULL, 10) : 0;
}

/* SLURM_STEP_NUM_TASKS is inherited by an mpirun or a bare program inside a step or batch script; SLURM_PROCID together with
 * SLURM_STEPID other than the batch step's tells that srun itself started this process. */
static int srun_tasks(void)
{
    const char *step = getenv("SLURM_STEP_ID");
    if (!getenv("SLURM_PROCID") || !step || getenv("OMPI_COMM_WORLD_SIZE"))
        return 0;
    return number("SLURM_STEP_NUM_TASKS");
}

int launcher_tasks(void)
{
    int tasks = number("OMPI_COMM_WORLD_SIZE");
    if (tasks < 1)
        tasks = number("PMI_SIZE");
    if (tasks < 1)
        tasks = srun_tasks();
    return tasks < 1 ? 1 : tasks;
}

const char *launcher_name(void)
{
    if (getenv("OMPI_COMM_WORLD_SIZE"))
        return "mpirun";
    if (srun_tasks() > 0)
        return "srun";
    return getenv("PMI_SIZE") ? "an MPI launcher" : "the command line";
}
