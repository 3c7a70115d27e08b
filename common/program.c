#include "common/program.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/comm.h"
#include "common/launcher.h"
#include "common/log.h"
#include "common/manual.h"
#include "common/stop.h"
#include "common/threads.h"

static const option no_options[] = {{0}};

/* Options fail alike on every rank: rank 0 speaks and all leave together, so that no launcher adds a report of its own. */
static int leave(const program *p, status st)
{
    if (comm_rank() == 0) {
        log_always("%s", status_message());
        if (st == STATUS_USAGE)
            fprintf(stderr, "%s --help lists the options\n", p->options->name);
    }
    comm_close();
    return st;
}

static void fatal(const program *p, status st) __attribute__((noreturn));
static void fatal(const program *p, status st)
{
    const char *agreed = comm_agreed_message();
    if (comm_size() > 1 && agreed && strstr(status_message(), agreed))
        exit(leave(p, st));
    stop_forget(); /* the launcher's SIGTERM, once another rank has told the same, must end this one and not only its sleep */
    if (comm_rank() > 0) /* an error that every rank meets is told once: rank 0 ends the others while they wait */
        usleep(1500000);
    if (comm_size() > 1)
        log_always("rank %d on %s: %s", comm_rank(), comm_host(), status_message());
    else
        log_always("%s", status_message());
    comm_abort(st);
}

static bool is_command(const program *p, const char *word)
{
    for (const char *const *c = p->commands; c && *c; c++)
        if (strcmp(*c, word) == 0)
            return true;
    return false;
}

/* A descriptor that the caller closed would go to the next file opened, and messages into that file. Reading only: a write still fails. */
static void guard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0)
            return;
    signal(SIGXFSZ, SIG_IGN); /* a file at its size limit is an error of writing, told as such */
}

/* What was printed is on its way, or the output has failed: a full disk, a closed pipe. */
static status flush_output(void)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        return fail(STATUS_IO, "standard output could not be written; check where it goes");
    return STATUS_OK;
}

/* Before MPI: a build machine asks for it. */
static int print_manual(const program *p)
{
    status st = flush_output();
    if (st != STATUS_OK)
        fprintf(stderr, "%s: %s\n", p->options->name, status_message());
    return st;
}

static status parse(const program *p, int argc, char **argv, option_list *words, bool *stop)
{
    bool quiet = false;
    *stop = false;
    if (argc > 1 && is_command(p, argv[1])) /* a command of its own options: no table of ours applies */
        *words = (option_list){.item = argv + 1, .count = (size_t)argc - 1};
    else
        TRY(options_parse(p->options, p->table ? p->table : no_options, argc, argv, words, stop, &quiet));
    log_open(p->options->name, comm_rank() == 0, quiet);
    return STATUS_OK;
}

int program_main(const program *p, int argc, char **argv)
{
    stop_watch();
    if (argc == 2 && manual_print(argv[1], p->options, p->table ? p->table : no_options))
        return print_manual(p);
    threads_set_rounding();
    guard_descriptors();
    status st = comm_open(&argc, &argv);
    if (st != STATUS_OK) {
        fprintf(stderr, "%s: %s\n", p->options->name, status_message());
        return st;
    }
    log_open(p->options->name, comm_rank() == 0, false);
    options_set_printer(comm_rank() == 0);
    option_list words = {0};
    bool stop;
    st = parse(p, argc, argv, &words, &stop);
    if (st != STATUS_OK)
        return leave(p, st);
    if (!stop && options_log_file())
        st = log_open_file(options_log_file());
    if (st == STATUS_OK && !stop)
        st = p->run(&words);
    if (st != STATUS_OK && st != STATUS_STOPPED)
        fatal(p, st);
    status output = flush_output();
    if (output != STATUS_OK)
        fatal(p, output);
    options_free();
    comm_close();
    return st;
}
