/* doctor: one line for each thing the programs need, ok or what to do. Exit 0 when all is well, 1 when something wants fixing. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/launcher.h"
#include "common/manual.h"
#include "common/options.h"
#include "common/threads.h"
#include "front/doctor.h"

static struct {
    const char *folder;
    int64_t ranks;
} o;

static const option table[] = {
    {.name = "folder", .type = OPTION_TEXT, .field = &o.folder, .fallback = ".", .unit = "FOLDER", .group = "What is looked at",
     .help = "where runs, shards and submissions will be written"},
    {.name = "ranks", .type = OPTION_INT, .field = &o.ranks, .fallback = "2", .min = 2, .max = 1024, .unit = "N", .group = "What is looked at",
     .help = "ranks that mpirun is asked to start"},
    {0},
};

static const option_program about = {
    .name = "doctor",
    .purpose = "checks whether this machine can run fretsaw, and says what to do where not",
    .usage = "",
    .examples = "  fretsaw doctor\n  fretsaw doctor --folder /scratch/me --ranks 8\n\nExit code 1 here: at least one line says FIX.\n",
};

void finding_set(finding *f, verdict v, const char *cure, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(f->text, sizeof f->text, format, list);
    va_end(list);
    snprintf(f->cure, sizeof f->cure, "%s", cure ? cure : "");
    f->verdict = v;
}

static int fixes;

static void show(const char *name, const finding *f)
{
    static const char *const word[] = {"ok", "note", "FIX"};
    printf("%-6s%-12s%s\n", word[f->verdict], name, f->text);
    if (f->cure[0])
        printf("      %-12s%s\n", "do", f->cure);
    fixes += f->verdict == FINDING_FIX;
    fflush(stdout);
}

static void look_at_machine(void)
{
    finding f;
    check_processor(&f);
    show("processor", &f);
    check_cores(&f);
    show("cores", &f);
    check_memory(&f);
    show("memory", &f);
    check_limits(&f);
    show("limits", &f);
    check_gpu(&f);
    show("gpu", &f);
    check_shared_memory(&f);
    show("shared", &f);
}

static void look_at_files(void)
{
    finding f;
    check_folder(o.folder, &f);
    show("folder", &f);
    if (f.verdict == FINDING_FIX)
        return;
    check_locks(o.folder, &f);
    show("locks", &f);
    check_row_file(o.folder, &f);
    show("hdf5", &f);
}

static void look_at_ranks(void)
{
    finding f;
    rank_report r;
    check_launcher(&f);
    show("launcher", &f);
    if (f.verdict == FINDING_OK) {
        ranks_ask((int)o.ranks, &r);
        check_mpi(&r, &f);
        show("mpi", &f);
        if (r.size > 0) {
            check_binding(&r, &f);
            show("binding", &f);
        }
    }
    check_srun(&f);
    show("slurm", &f);
}

int main(int argc, char **argv)
{
    option_list words;
    bool stop, quiet;
    threads_set_rounding();
    if (argc == 2 && strcmp(argv[1], "--as-rank") == 0)
        return ranks_answer(&argc, &argv);
    if (argc == 2 && manual_print(argv[1], &about, table))
        return 0;
    status st = options_parse(&about, table, argc, argv, &words, &stop, &quiet);
    if (st == STATUS_OK && !stop && words.count)
        st = fail(STATUS_USAGE, "\"%s\" is no option", words.item[0]);
    if (st == STATUS_OK && !stop && launcher_tasks() > 1)
        st = fail(STATUS_USAGE, "started by %s as one of %d tasks: start it bare, it starts ranks itself", launcher_name(), launcher_tasks());
    if (st != STATUS_OK)
        fprintf(stderr, "doctor: %s\n", status_message());
    if (st != STATUS_OK || stop)
        return st;
    look_at_machine();
    look_at_files();
    look_at_ranks();
    printf("%s\n", fixes ? "\nLines with FIX want doing." : "\nAll is well.");
    options_free();
    return fixes ? 1 : 0;
}
