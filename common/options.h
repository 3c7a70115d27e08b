/* Options of a program: one table drives the command line, the recipe file, --help, the printed set and recipe.conf.
 *
 *     static const option table[] = {
 *         {.name = "shards", .type = OPTION_INT, .field = &o.shards, .fallback = "64", .min = 1, .max = 99999, .kind = OPTION_IDENTITY,
 *          .group = "Output", .unit = "N", .help = "number of shard files"}, ..., {0}};
 *     TRY(options_parse(&program, table, argc, argv, &rest));
 *
 * Order of strength: fallback, then the program's section of --recipe, then the command line. Every program has --help, --version,
 * --recipe FILE, --quiet, --log FILE without naming them in its table. Conversions are checked; STATUS_USAGE names the option and what it takes.
 */
#ifndef FRETSAW_COMMON_OPTIONS_H
#define FRETSAW_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

typedef enum option_type {
    OPTION_FLAG,     /* bool; --name, --no-name, and "name = yes|no" in a recipe */
    OPTION_INT,      /* int64_t within min..max */
    OPTION_SIZE,     /* int64_t bytes: 300M, 64K, 2G (powers of 1024), plain bytes */
    OPTION_SECONDS,  /* int64_t: 90, 90s, 15m, 2h, 1-02:03:04, 02:03:04 */
    OPTION_REAL,     /* double within min..max */
    OPTION_TEXT,     /* const char *, NULL when not given and no fallback */
    OPTION_CHOICE,   /* int: index into `choices` ("a|b|c") */
    OPTION_LIST,     /* option_list: comma-separated texts */
} option_type;

/* Identity can change results: it goes to recipe.conf, is hashed and checked on resume. Execution: threads, paths, limits, logging. */
typedef enum option_kind { OPTION_EXECUTION, OPTION_IDENTITY } option_kind;

typedef struct option_list {
    char **item;
    size_t count;
} option_list;

typedef struct option_entry { /* the tag `option` belongs to getopt_long */
    const char *name;
    option_type type;
    option_kind kind;
    void *field;          /* where the value goes, of the type named above */
    const char *fallback; /* text as a user would give it; NULL: zero, NULL or empty */
    double min, max;      /* INT, REAL, SIZE, SECONDS; both 0: any value (SIZE, SECONDS: >= 0) */
    const char *choices;  /* CHOICE */
    const char *unit;     /* shown after the name in --help */
    const char *group;    /* heading in --help; entries of a group stand together */
    const char *help;
    bool *given;          /* optional: set when recipe or command line named it */
} option;

typedef struct option_program {
    const char *name;     /* also the recipe's section */
    const char *purpose;  /* one line */
    const char *usage;    /* what follows the options: "CSV..." */
    const char *examples; /* shown at the end of --help, or NULL */
} option_program;

/* Local (every rank sees the same words). Positional words come back in *rest (an option_list owned by the options module).
 * --help and --version print on stdout (rank 0 alone, see options_set_printer) and return STATUS_OK with *stop set. */
status options_parse(const option_program *program, const option *table, int argc, char **argv, option_list *rest, bool *stop, bool *quiet);
/* The FILE of --log, NULL without one. */
const char *options_log_file(void);
/* A recipe's text, of the file `name`, into those options that neither recipe nor command line has named. Local; after options_parse. */
status options_underlay(const option_program *program, const option *table, const char *name, const char *text);
/* The set in the recipe's form, sorted by name: `identity_only` for recipe.conf, else all. The caller frees. A section head comes first. */
status options_text(const option_program *program, const option *table, bool identity_only, char **text);
/* SHA-256 of the identity text. */
status options_hash(const option_program *program, const option *table, char hex[65]);
/* Value of one identity or execution option as text (a fresh string), for messages. */
status options_value(const option *o, char **text);
/* Of two such sets in the recipe's form the options that are not alike, in `names`: "--lr, --seed"; cut where `room` ends, empty where none is. Returns
 * how many bytes. */
size_t options_differing(const char *text, const char *other, char *names, size_t room);
/* Frees what parse kept (lists, texts). Fields must not be used afterwards. */
void options_free(void);
/* False keeps --help and --version silent on this rank. Default true. */
void options_set_printer(bool prints);

/* What --help shows, on stdout. */
void options_print_help(const option_program *program, const option *table);
/* What it shows besides the table: the options of every program (no fields; an empty name ends them) and the exit codes. */
extern const option options_general[];
extern const char options_exit_codes[];
/* What stands for an option's value in --help: "FILE", "N", "a|b"; NULL for a flag. */
const char *option_unit(const option *o);

/* Checked conversions, also for CSV-free uses; STATUS_USAGE with `name` in the message. */
status option_read_int(const char *name, const char *text, int64_t *value);
status option_read_size(const char *name, const char *text, int64_t *value);
status option_read_seconds(const char *name, const char *text, int64_t *value);
status option_read_real(const char *name, const char *text, double *value);

#endif
