#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/comm.h"
#include "common/log.h"
#include "common/cores.h"
#include "front/doctor.h"

static const char answer_mark[] = "fretsaw-ranks";

/* ---- in a rank ---- */

int ranks_answer(int *argc, char ***argv)
{
    status st = comm_open(argc, argv);
    if (st != STATUS_OK) {
        fprintf(stderr, "doctor: %s\n", status_message());
        return st;
    }
    cpu_set_t mine, *all, together;
    void *window;
    bool shared;
    int size = comm_size(), fewest = CPU_SETSIZE;
    CPU_ZERO(&mine);
    CPU_ZERO(&together);
    sched_getaffinity(0, sizeof mine, &mine);
    st = comm_agree(memory_new(&all, (size_t)size * sizeof *all, "processor sets"));
    if (st == STATUS_OK)
        st = comm_shared_create(1 << 20, "a trial", &window, &shared);
    if (st != STATUS_OK)
        comm_abort(st);
    comm_all_gather(&mine, sizeof mine, all);
    for (int r = 0; r < size; r++) {
        int n = CPU_COUNT(&all[r]);
        fewest = n < fewest ? n : fewest;
        CPU_OR(&together, &together, &all[r]);
    }
    if (comm_rank() == 0)
        printf("%s %d %d %d %d\n", answer_mark, size, fewest, CPU_COUNT(&together), shared ? 1 : 0);
    fflush(stdout);
    free(all);
    comm_shared_free(window);
    comm_close();
    return 0;
}

/* ---- outside ---- */

/* Runs a command, both its outputs into `text` (its end, where it is longer than the room), at most `seconds`. -1: it did not come to an end by itself. */
static int capture(char *const argv[], double seconds, char *text, size_t room)
{
    int ends[2], how = -1;
    size_t n = 0;
    *text = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(ends[1]);
    for (double end = clock_seconds() + seconds; child > 0;) {
        double left = end - clock_seconds();
        struct pollfd wait = {.fd = ends[0], .events = POLLIN};
        int ready = left > 0 ? poll(&wait, 1, (int)(left * 1000) + 1) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0) {
            kill(-child, SIGKILL);
            break;
        }
        if (n > room / 2) { /* the end of what is said tells most */
            memmove(text, text + n - room / 4, room / 4);
            n = room / 4;
        }
        ssize_t got = read(ends[0], text + n, room - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
        text[n] = 0;
    }
    close(ends[0]);
    if (child < 0 || waitpid(child, &how, 0) < 0 || !WIFEXITED(how))
        return -1;
    return WEXITSTATUS(how);
}

/* First line of `text`, in place. */
static char *first_line(char *text)
{
    text[strcspn(text, "\n")] = 0;
    return text;
}

#ifdef FRETSAW_WITH_MPI

void check_launcher(finding *f)
{
    char text[8192];
    int code = capture((char *[]){(char[]){"mpirun"}, (char[]){"--version"}, NULL}, 30, text, sizeof text);
    if (code != 0)
        finding_set(f, FINDING_FIX, "apt-get install openmpi-bin, or load your site's module of Open MPI; without it the programs run as one rank",
                    "mpirun is not on the PATH or does not start");
    else if (!strstr(text, "Open MPI") && !strstr(text, "OpenRTE"))
        finding_set(f, FINDING_FIX, "put Open MPI's mpirun first on the PATH: the programs are built over Open MPI", "another MPI's launcher: %s",
                    first_line(text));
    else
        finding_set(f, FINDING_OK, NULL, "%s", first_line(text));
}

/* What mpirun says stands between lines of dashes: its words in one line. */
static void squeeze(const char *text, char *to, size_t room)
{
    size_t n = 0;
    for (const char *c = text; *c && n + 1 < room; c++) {
        bool dashes = strncmp(c, "----", 4) == 0;
        if (dashes) {
            c += strspn(c, "-") - 1;
            continue;
        }
        char letter = *c == '\n' || *c == '\t' ? ' ' : *c;
        if (letter != ' ' || (n && to[n - 1] != ' '))
            to[n++] = letter;
    }
    to[n] = 0;
}

void ranks_ask(int ranks, rank_report *r)
{
    char self[PATH_MAX], number[16], text[8192];
    *r = (rank_report){.asked = ranks};
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return;
    self[n] = 0;
    snprintf(number, sizeof number, "%d", ranks);
    int code = capture((char *[]){(char[]){"mpirun"}, (char[]){"-np"}, number, self, (char[]){"--as-rank"}, NULL}, 60, text, sizeof text);
    const char *at = strstr(text, answer_mark);
    if (at && sscanf(at + sizeof answer_mark, "%d %d %d %d", &r->size, &r->fewest, &r->together, &r->shared) != 4)
        r->size = 0;
    if (r->size == 0)
        squeeze(code < 0 && !*text ? "nothing within 60 seconds" : text, r->said, sizeof r->said);
}

void check_mpi(const rank_report *r, finding *f)
{
    char cure[400];
    if (r->size == r->asked && r->shared) {
        finding_set(f, FINDING_OK, NULL, "mpirun -np %d gave %d ranks that share memory", r->asked, r->size);
    } else if (r->size == r->asked) {
        finding_set(f, FINDING_NOTE, "every rank then keeps its own copy of the weights: fewer ranks with more threads need less memory",
                    "%d ranks, but they cannot share memory", r->size);
    } else if (r->size > 0) {
        finding_set(f, FINDING_FIX, "the mpirun on the PATH is another than the library the programs load: use the mpirun of that Open MPI",
                    "mpirun -np %d gave ranks that see %d", r->asked, r->size);
    } else {
        const char *root = geteuid() == 0 ? "as root: export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; " : "";
        snprintf(cure, sizeof cure, "%swith fewer cores than ranks: export OMPI_MCA_rmaps_base_oversubscribe=1; jobs/mpi.sh sets both (in the folder that fretsaw share prints)", root);
        finding_set(f, FINDING_FIX, cure, "mpirun -np %d did not come up: %.400s", r->asked, r->said);
    }
}

void check_binding(const rank_report *r, finding *f)
{
    static const char cure[] = "export OMPI_MCA_hwloc_base_binding_policy=none, or mpirun --bind-to none (jobs/mpi.sh sets it)";
    int cores = cores_available(), share = cores / r->size > 0 ? cores / r->size : 1;
    if (r->together < r->size && r->together < cores)
        finding_set(f, FINDING_FIX, cure, "mpirun binds %d ranks to %d of %d cores: they take turns", r->size, r->together, cores);
    else if (r->fewest < share)
        finding_set(f, FINDING_FIX, cure, "mpirun binds a rank to %d of its %d cores: its threads take turns", r->fewest, share);
    else
        finding_set(f, FINDING_OK, NULL, "%d ranks may use %d of %d cores, each at least %d", r->size, r->together, cores, r->fewest);
}

void check_srun(finding *f)
{
    char text[8192];
    int code = capture((char *[]){(char[]){"srun"}, (char[]){"--mpi=list"}, NULL}, 20, text, sizeof text);
    if (code == 127)
        finding_set(f, FINDING_OK, NULL, "no srun here: mpirun or a bare start");
    else if (code != 0)
        finding_set(f, FINDING_OK, NULL, "srun is here, but no cluster answers: mpirun or a bare start");
    else if (strstr(text, "pmix"))
        finding_set(f, FINDING_OK, NULL, "srun can start ranks: srun --mpi=pmix");
    else
        finding_set(f, FINDING_NOTE, "start ranks by mpirun inside the job (LAUNCHER=mpirun in the settings of jobs/slurm)",
                    "srun has no PMIx, so it cannot start ranks of Open MPI");
}

#else

void check_launcher(finding *f)
{
    finding_set(f, FINDING_NOTE, NULL, "this build has no MPI: one rank, all cores as threads");
}

void ranks_ask(int ranks, rank_report *r)
{
    *r = (rank_report){.asked = ranks};
}

void check_mpi(const rank_report *r, finding *f)
{
    (void)r;
    finding_set(f, FINDING_NOTE, NULL, "none in this build");
}

void check_binding(const rank_report *r, finding *f)
{
    (void)r;
    finding_set(f, FINDING_NOTE, NULL, "no ranks in this build");
}

void check_srun(finding *f)
{
    char text[8192];
    int code = capture((char *[]){(char[]){"srun"}, (char[]){"--version"}, NULL}, 20, text, sizeof text);
    if (code != 0)
        finding_set(f, FINDING_OK, NULL, "no srun that answers");
    else
        finding_set(f, FINDING_NOTE, "give each job one task and many cores: --ntasks=1 --cpus-per-task=N", "%s, but this build runs as one rank",
                    first_line(text));
}

#endif
