/* fretsaw: the one name on the PATH. It finds the programs beside itself, so that the whole tree can be moved, and becomes the one named:
 *
 *     fretsaw train --recipe my.conf ...      is      lib/fretsaw/bin/train --recipe my.conf ...
 *
 * Linked statically (FRETSAW_STATIC) it holds all of them itself: one file to carry. Else it links nothing, so that it can say what is wrong where a library of the programs is missing, and costs a launcher nothing.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct command {
    const char *name, *purpose;
} command;

static const command commands[] = {
    {"preprocess", "comment CSVs to parts of tokens; preprocess view shows how a text is cut"},
    {"shard", "parts to shuffled shards; --info, --verify, --export csv"},
    {"train", "shards to a run: a BERT fine-tuned, resumable"},
    {"infer", "a run and rows to submission.csv; blends and checks submissions"},
    {"report", "runs to a page that one can look at"},
    {"doctor", "checks whether this machine can do all that, and says what to do where not"},
    {"share", "prints the folder of recipes, sample and job scripts"},
    {"help", "help COMMAND explains a command"},
};
enum { COMMANDS = sizeof commands / sizeof *commands, EXIT_USAGE = 2, EXIT_FILES = 4, EXIT_MEMORY = 5, EXIT_LOADER = 127 };

static char home[PATH_MAX]; /* the folder this program lies in, once it is looked for */

static bool find_home(void)
{
    ssize_t n = readlink("/proc/self/exe", home, sizeof home - 1);
    if (n <= 0) {
        fprintf(stderr, "fretsaw: /proc/self/exe cannot be read (%s): mount /proc, or start the programs in lib/fretsaw/bin themselves\n",
                strerror(errno));
        return false;
    }
    home[n] = 0;
    *strrchr(home, '/') = 0;
    return true;
}

/* The first of the places, below the folder above, that is there; NULL where none is. */
static char *find(const char *name, const char *const *place)
{
    if (!*home && !find_home())
        return NULL;
    for (; *place; place++) {
        char *path;
        if (asprintf(&path, "%s/%s/%s", home, *place, name) < 0)
            return NULL;
        if (access(path, F_OK) == 0)
            return path;
        free(path);
    }
    return NULL;
}

static char *find_program(const char *name)
{
    return find(name, (const char *const[]){"../lib/fretsaw/bin", ".", NULL}); /* installed; as built */
}

typedef int (*entry)(int argc, char **argv);

#ifdef FRETSAW_ONE_PROGRAM
#include "front/mains.h"

static entry built_in(const char *name)
{
    static const struct {
        const char *name;
        entry main;
    } all[] = {{"preprocess", fretsaw_main_preprocess}, {"shard", fretsaw_main_shard}, {"train", fretsaw_main_train},
               {"infer", fretsaw_main_infer},           {"report", fretsaw_main_report}, {"doctor", fretsaw_main_doctor}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].main;
    return NULL;
}
#else
static entry built_in(const char *name)
{
    (void)name;
    return NULL;
}
#endif

static bool is_here(const command *c)
{
    if (built_in(c->name) || strcmp(c->name, "share") == 0 || strcmp(c->name, "help") == 0)
        return true;
    char *path = find_program(c->name);
    free(path);
    return path != NULL;
}

static int print_help(void)
{
    printf("fretsaw: comment CSVs to submission.csv by fine-tuning BERT, without Python or network\n\n"
           "usage: fretsaw COMMAND [options]\n       mpirun -np N fretsaw COMMAND [options]\n\n");
    for (int i = 0; i < COMMANDS; i++)
        if (is_here(&commands[i]))
            printf("  %-12s%s\n", commands[i].name, commands[i].purpose);
    printf("\nfretsaw --version prints the version. Start with: fretsaw doctor\n");
    return 0;
}

static int print_manual(void)
{
    printf(".TH FRETSAW 1 \"\" \"fretsaw %s\" \"Fretsaw\"\n.SH NAME\nfretsaw \\- comment CSVs to submission.csv by fine\\-tuning BERT\n"
           ".SH SYNOPSIS\n.B fretsaw\n.I COMMAND\n[options]\n.br\n.B mpirun \\-np\n.I N\n.B fretsaw\n.I COMMAND\n[options]\n"
           ".SH DESCRIPTION\nEach command is a program in lib/fretsaw/bin, found beside this one, and has a page of its own.\n.SH COMMANDS\n",
           FRETSAW_VERSION);
    for (int i = 0; i < COMMANDS; i++)
        if (is_here(&commands[i]))
            printf(".TP\n.B %s\n%s\n", commands[i].name, commands[i].purpose);
    printf(".SH SEE ALSO\n");
    const char *comma = "";
    for (int i = 0; i < COMMANDS - 2; i++)
        if (is_here(&commands[i])) {
            printf("%s.BR fretsaw\\-%s (1)", comma, commands[i].name);
            comma = ",\n";
        }
    printf("\n");
    return 0;
}

static int print_words(void)
{
    for (int i = 0; i < COMMANDS; i++)
        if (is_here(&commands[i]))
            printf("%s\n", commands[i].name);
    return 0;
}

static int print_share(void)
{
    char *path = find("recipes", (const char *const[]){"../share/fretsaw", NULL}), real[PATH_MAX];
    if (!path || !realpath(path, real)) {
        char *source = find("recipes", (const char *const[]){"../../..", NULL}); /* build/NAME/bin of a source folder */
        bool named = source && realpath(source, real);
        if (named)
            *strrchr(real, '/') = 0;
        fprintf(stderr, "fretsaw: no share/fretsaw beside this program: it is not installed; recipes, sample and jobs lie in the source folder%s%s\n",
                named ? ", " : "", named ? real : "");
        free(source);
        free(path);
        return EXIT_FILES;
    }
    *strrchr(real, '/') = 0;
    printf("%s\n", real);
    free(path);
    return 0;
}

/* Waits for the doctor, whose own libraries may be what is missing: the dynamic loader then ends it with 127. */
static int run_doctor(const char *path, char **argv)
{
    pid_t child = fork();
    if (child == 0) {
        execv(path, argv);
        _exit(126);
    }
    int how;
    if (child < 0 || waitpid(child, &how, 0) < 0) {
        fprintf(stderr, "fretsaw: no process for %s: %s\n", path, strerror(errno));
        return EXIT_MEMORY;
    }
    int code = WIFEXITED(how) ? WEXITSTATUS(how) : 1;
    if (code == EXIT_LOADER)
        printf("FIX   libraries   the programs cannot start: a library that they need is missing (named above)\n"
               "      do          on Debian: apt-get install ./fretsaw_*.deb brings them all; or take the bundle of jobs/kaggle, which needs none\n");
    else if (WIFSIGNALED(how))
        printf("FIX   processor   %s was ended by signal %d (%s)\n"
               "      do          4 (SIGILL) means a processor without what the build took for granted: build from source on this machine\n",
               path, WTERMSIG(how), strsignal(WTERMSIG(how)));
    return code == 0 ? 0 : code == EXIT_USAGE ? EXIT_USAGE : 1;
}

static int run(const char *name, int argc, char **argv)
{
    entry here = built_in(name);
    if (here)
        return here(argc, argv);
    char *path = strchr(name, '/') || *name == '-' || !*name ? NULL : find_program(name);
    if (!path) {
        fprintf(stderr, "fretsaw: no command '%s'; there are:", name);
        for (int i = 0; i < COMMANDS; i++)
            if (is_here(&commands[i]))
                fprintf(stderr, " %s", commands[i].name);
        fprintf(stderr, "\nfretsaw help explains them\n");
        return EXIT_USAGE;
    }
    if (strcmp(name, "doctor") == 0)
        return run_doctor(path, argv);
    execv(path, argv);
    fprintf(stderr, "fretsaw: %s cannot be started: %s\n", path, strerror(errno));
    return EXIT_FILES;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (argc < 2 || strcmp(name, "--help") == 0 || (strcmp(name, "help") == 0 && argc == 2))
        return argc < 2 ? (print_help(), EXIT_USAGE) : print_help();
    if (strcmp(name, "--version") == 0)
        return printf("fretsaw %s\n", FRETSAW_VERSION) < 0;
    if (strcmp(name, "--help-man") == 0)
        return print_manual();
    if (strcmp(name, "--help-words") == 0)
        return print_words();
    if (strcmp(name, "share") == 0)
        return print_share();
    if (strcmp(name, "help") == 0)
        return run(argv[2], 2, (char *[]){argv[2], (char[]){"--help"}, NULL});
    return run(name, argc - 1, argv + 1);
}
