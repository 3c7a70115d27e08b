#include "common/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "common/nearest.h"
#include "common/share.h"

/* Texts and lists that fields point at; freed together by options_free. */
static void **kept;
static size_t kept_count;
static const option **named; /* by the recipe or the command line */
static size_t named_count;
static bool printer = true;
static const char *log_path; /* a word of the command line */

static status keep(void *p)
{
    status st = memory_grow(&kept, (kept_count + 1) * sizeof *kept, "options");
    if (st == STATUS_OK)
        kept[kept_count++] = p;
    else
        free(p);
    return st;
}

static status keep_text(const char *text, size_t n, char **out)
{
    char *copy = strndup(text, n);
    if (!copy)
        return fail(STATUS_RESOURCE, "out of memory for options");
    TRY(keep(copy));
    *out = copy;
    return STATUS_OK;
}

void options_free(void)
{
    for (size_t i = 0; i < kept_count; i++)
        free(kept[i]);
    free(kept);
    kept = NULL;
    kept_count = 0;
    free(named);
    named = NULL;
    named_count = 0;
}

void options_set_printer(bool prints)
{
    printer = prints;
}

/* ---- conversions ---- */

status option_read_int(const char *name, const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end == text || *end || errno || isspace((unsigned char)*text))
        return fail(STATUS_USAGE, "--%s: '%s' is not a whole number", name, text);
    *value = v;
    return STATUS_OK;
}

status option_read_size(const char *name, const char *text, int64_t *value)
{
    static const char units[] = "KMGT";
    char *end;
    errno = 0;
    double v = strtod(text, &end);
    double factor = 1;
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (unit && *unit) {
        factor = ldexp(1, 10 * (int)(unit - units + 1));
        end++;
        if (*end == 'i')
            end++;
        if (*end == 'B')
            end++;
    }
    v *= factor;
    if (end == text || *end || errno || !(v >= 0) || v > 0x1p62 || v != floor(v))
        return fail(STATUS_USAGE, "--%s: '%s' is not a size; give bytes, or 64K, 300M, 2G (powers of 1024)", name, text);
    *value = (int64_t)v;
    return STATUS_OK;
}

/* 90, 90s, 15m, 2h, 1d; Slurm's [days-]hours:minutes:seconds and minutes:seconds. */
status option_read_seconds(const char *name, const char *text, int64_t *value)
{
    long long days = 0, part[3], parts = 0;
    const char *at = text;
    char *end;
    bool good = isdigit((unsigned char)*at);
    while (good && parts < 3) {
        errno = 0;
        long long v = strtoll(at, &end, 10);
        good = end != at && !errno && v < 1000000000;
        if (good && *end == '-' && parts == 0 && days == 0) {
            days = v;
            at = end + 1;
            good = isdigit((unsigned char)*at);
            continue;
        }
        part[parts++] = v;
        at = end;
        if (*at != ':')
            break;
        at++;
        good = isdigit((unsigned char)*at);
    }
    long long seconds = 0;
    if (good && parts == 1 && days == 0) {
        static const char units[] = "smhd";
        static const long long scale[] = {1, 60, 3600, 86400};
        const char *unit = *at ? strchr(units, *at) : NULL;
        good = !*at || (unit && !at[1]);
        seconds = part[0] * (unit && *at ? scale[unit - units] : 1);
    } else if (good) {
        good = !*at && parts > 0;
        if (days) /* days-hours[:minutes[:seconds]] */
            seconds = part[0] * 3600 + (parts > 1 ? part[1] * 60 : 0) + (parts > 2 ? part[2] : 0);
        else
            for (int i = 0; i < parts; i++)
                seconds = seconds * 60 + part[i];
    }
    if (!good)
        return fail(STATUS_USAGE, "--%s: '%s' is not a time; give seconds, 15m, 2h or [days-]hours:minutes:seconds", name, text);
    *value = days * 86400 + seconds;
    return STATUS_OK;
}

status option_read_real(const char *name, const char *text, double *value)
{
    char *end;
    errno = 0;
    double v = strtod(text, &end);
    if (end == text || *end || !isfinite(v) || isspace((unsigned char)*text))
        return fail(STATUS_USAGE, "--%s: '%s' is not a number", name, text);
    *value = v;
    return STATUS_OK;
}

static status check_range(const option *o, double v, const char *text)
{
    bool bounded = o->min != 0 || o->max != 0;
    if (bounded && (v < o->min || v > o->max))
        return fail(STATUS_USAGE, "--%s: '%s' is outside %.10g to %.10g", o->name, text, o->min, o->max);
    return STATUS_OK;
}

static status read_choice(const option *o, const char *text, int *value)
{
    size_t n = strlen(text);
    int index = 0;
    for (const char *at = o->choices; at; index++) {
        const char *bar = strchr(at, '|');
        size_t length = bar ? (size_t)(bar - at) : strlen(at);
        if (length == n && memcmp(at, text, n) == 0) {
            *value = index;
            return STATUS_OK;
        }
        at = bar ? bar + 1 : NULL;
    }
    return fail(STATUS_USAGE, "--%s: '%s' is none of %s", o->name, text, o->choices);
}

static status read_flag(const option *o, const char *text, bool *value)
{
    if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
        return fail(STATUS_USAGE, "--%s: '%s' is neither yes nor no", o->name, text);
    *value = text[0] == 'y';
    return STATUS_OK;
}

static status read_list(const option *o, const char *text, option_list *list)
{
    size_t count = 1;
    for (const char *c = text; *c; c++)
        count += *c == ',';
    char **item;
    TRY(memory_new(&item, count * sizeof *item, "options"));
    TRY(keep(item));
    size_t n = 0;
    for (const char *at = text; at;) {
        const char *comma = strchr(at, ',');
        size_t length = comma ? (size_t)(comma - at) : strlen(at);
        if (length == 0)
            return fail(STATUS_USAGE, "--%s: '%s' has an empty entry; separate entries by single commas", o->name, text);
        TRY(keep_text(at, length, &item[n++]));
        at = comma ? comma + 1 : NULL;
    }
    *list = (option_list){.item = item, .count = n};
    return STATUS_OK;
}

static status set_value(const option *o, const char *text)
{
    int64_t n = 0;
    double v = 0;
    switch (o->type) {
    case OPTION_FLAG: return read_flag(o, text, o->field);
    case OPTION_CHOICE: return read_choice(o, text, o->field);
    case OPTION_LIST: return read_list(o, text, o->field);
    case OPTION_TEXT: return keep_text(text, strlen(text), o->field);
    case OPTION_REAL:
        TRY(option_read_real(o->name, text, &v));
        TRY(check_range(o, v, text));
        *(double *)o->field = v;
        return STATUS_OK;
    case OPTION_INT: TRY(option_read_int(o->name, text, &n)); break;
    case OPTION_SIZE: TRY(option_read_size(o->name, text, &n)); break;
    case OPTION_SECONDS: TRY(option_read_seconds(o->name, text, &n)); break;
    }
    TRY(check_range(o, (double)n, text));
    *(int64_t *)o->field = n;
    return STATUS_OK;
}

static status set_fallback(const option *o)
{
    if (o->given)
        *o->given = false;
    if (o->fallback)
        return set_value(o, o->fallback);
    switch (o->type) {
    case OPTION_FLAG: *(bool *)o->field = false; break;
    case OPTION_CHOICE: *(int *)o->field = 0; break;
    case OPTION_REAL: *(double *)o->field = 0; break;
    case OPTION_TEXT: *(const char **)o->field = NULL; break;
    case OPTION_LIST: *(option_list *)o->field = (option_list){0}; break;
    default: *(int64_t *)o->field = 0;
    }
    return STATUS_OK;
}

static status set_given(const option *o, const char *text)
{
    TRY(set_value(o, text));
    if (o->given)
        *o->given = true;
    TRY(memory_grow(&named, (named_count + 1) * sizeof *named, "options"));
    named[named_count++] = o;
    return STATUS_OK;
}

static bool is_named(const option *o)
{
    for (size_t i = 0; i < named_count; i++)
        if (named[i] == o)
            return true;
    return false;
}

/* ---- recipe ---- */

static const option *find(const option *table, const char *name)
{
    for (; table->name; table++)
        if (strcmp(table->name, name) == 0)
            return table;
    return NULL;
}

static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t n = strlen(text);
    while (n && isspace((unsigned char)text[n - 1]))
        text[--n] = 0;
    return text;
}

static status recipe_section(const char *path, int number, char *line, const char *also)
{
    static const char *const known[] = {"preprocess", "shard", "train", "infer"};
    size_t n = strlen(line);
    if (line[n - 1] != ']')
        return fail(STATUS_USAGE, "%s, line %d: a section is a name in brackets, as [train]", path, number);
    line[n - 1] = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], line + 1) == 0)
            return STATUS_OK;
    if (strcmp(also, line + 1) == 0)
        return STATUS_OK;
    return fail(STATUS_USAGE, "%s, line %d: no section [%s]; there are [preprocess], [shard], [train] and [infer]", path, number, line + 1);
}

static status recipe_line(const option_program *program, const option *table, const char *path, int number, char *line, bool below)
{
    char *equals = strchr(line, '=');
    if (!equals)
        return fail(STATUS_USAGE, "%s, line %d: 'name = value' expected, found '%s'", path, number, line);
    *equals = 0;
    char *name = trim(line), *value = trim(equals + 1);
    const option *o = find(table, name);
    if (!o) {
        nearest n = nearest_of(name, strlen(name));
        for (o = table; o->name; o++)
            nearest_add(&n, o->name);
        const char *meant = nearest_found(&n);
        return fail(STATUS_USAGE, "%s, line %d: %s has no option '%s';%s%s%s see %s --help", path, number, program->name, name,
                    meant ? " did you mean " : "", meant ? meant : "", meant ? "?" : "", program->name);
    }
    status st = below && is_named(o) ? STATUS_OK : set_given(o, value);
    return st == STATUS_OK ? st : fail_context(st, "%s, line %d", path, number);
}

/* `text` is cut into pieces. `below`: only options that have not been named. */
static status read_recipe_text(const option_program *program, const option *table, const char *path, char *text, bool below)
{
    status st = STATUS_OK;
    bool ours = false, any = false;
    int number = 0;
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        number++;
        char *hash = strchr(line, '#');
        if (hash)
            *hash = 0;
        line = trim(line);
        if (!*line)
            continue;
        if (*line == '[') {
            TRY_DONE(recipe_section(path, number, line, below ? program->name : ""));
            ours = strcmp(line + 1, program->name) == 0;
            any = true;
        } else if (!any) {
            TRY_DONE(fail(STATUS_USAGE, "%s, line %d: stands before the first section; begin with [%s]", path, number, program->name));
        } else if (ours) {
            TRY_DONE(recipe_line(program, table, path, number, line, below));
        }
    }
done:
    return st;
}

static status read_recipe(const option_program *program, const option *table, const char *path)
{
    char *text, *found;
    size_t bytes;
    TRY(share_find_recipe(path, &found));
    status st = file_read_all(found, 1 << 20, &text, &bytes);
    if (st == STATUS_OK) {
        st = read_recipe_text(program, table, found, text, false);
        free(text);
    }
    free(found);
    return st;
}

status options_underlay(const option_program *program, const option *table, const char *name, const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        return fail(STATUS_RESOURCE, "out of memory for options");
    status st = read_recipe_text(program, table, name, copy, true);
    free(copy);
    return st;
}

/* ---- command line ---- */

enum { CODE_HELP = 1, CODE_VERSION, CODE_RECIPE, CODE_QUIET, CODE_LOG, CODE_FIRST = 256 };

/* Entry 2i of an option is --name, 2i+1 is --no-name of a flag. */
static status long_options(const option *table, struct option **out)
{
    size_t n = 0;
    while (table[n].name)
        n++;
    struct option *list = NULL;
    TRY(memory_new(&list, (2 * n + 6) * sizeof *list, "options"));
    TRY(keep(list));
    size_t used = 0;
    list[used++] = (struct option){"help", no_argument, NULL, CODE_HELP};
    list[used++] = (struct option){"version", no_argument, NULL, CODE_VERSION};
    list[used++] = (struct option){"recipe", required_argument, NULL, CODE_RECIPE};
    list[used++] = (struct option){"quiet", no_argument, NULL, CODE_QUIET};
    list[used++] = (struct option){"log", required_argument, NULL, CODE_LOG};
    for (size_t i = 0; i < n; i++) {
        bool flag = table[i].type == OPTION_FLAG;
        list[used++] = (struct option){table[i].name, flag ? no_argument : required_argument, NULL, CODE_FIRST + 2 * (int)i};
        if (flag) {
            char *name;
            if (asprintf(&name, "no-%s", table[i].name) < 0)
                return fail(STATUS_RESOURCE, "out of memory for options");
            TRY(keep(name));
            list[used++] = (struct option){name, no_argument, NULL, CODE_FIRST + 2 * (int)i + 1};
        }
    }
    *out = list;
    return STATUS_OK;
}

typedef struct scan {
    const char *recipe;
    bool help, version, quiet;
} scan;

/* The word that getopt_long has just refused: behind it where a letter of it has been looked at, else the one before. */
static const char *refused_word(int argc, char *const *argv)
{
    bool inside = optopt && optind < argc && argv[optind][0] == '-' && argv[optind][1] != '-' && strchr(argv[optind], optopt);
    return argv[inside ? optind : optind - 1];
}

/* A name cut short is good as long as it is one option's alone, as GNU programs have it: else the message names those that it could be. */
static status refuse_word(const struct option *list, const char *word)
{
    char could[400] = "";
    size_t n = strcspn(word, "="), used = 0;
    int count = 0;
    nearest near = nearest_of(word + 2, n > 2 ? n - 2 : 0);
    if (strncmp(word, "--", 2) != 0)
        return fail(STATUS_USAGE, "no option '%s'; options have long names", word);
    for (; list->name; list++) {
        nearest_add(&near, list->name);
        if (strncmp(list->name, word + 2, n - 2) != 0)
            continue;
        if (used + strlen(list->name) + 5 < sizeof could)
            used += (size_t)snprintf(could + used, sizeof could - used, "%s--%s", count ? ", " : "", list->name);
        count++;
        if (strlen(list->name) == n - 2) /* the whole name: it was the value that was refused */
            return fail(STATUS_USAGE, "'%s': --%s takes no value", word, list->name);
    }
    if (count == 1)
        return fail(STATUS_USAGE, "'%s': %s takes no value", word, could);
    if (count)
        return fail(STATUS_USAGE, "'%.*s' could be %s: write more of the name", (int)n, word, could);
    const char *meant = nearest_found(&near);
    return meant ? fail(STATUS_USAGE, "no option '%s'; did you mean --%s?", word, meant) : fail(STATUS_USAGE, "no option '%s'; see --help", word);
}

/* One pass over the words. With `apply` false it only looks for the general options; errors are told in either pass. */
static status scan_words(const option *table, const struct option *list, int argc, char **argv, bool apply, scan *s)
{
    opterr = 0;
    optind = 0; /* a fresh start, words may be permuted */
    for (;;) {
        int code = getopt_long(argc, argv, ":", list, NULL);
        if (code == -1)
            return STATUS_OK;
        if (code == ':')
            return fail(STATUS_USAGE, "%s needs a value", argv[optind - 1]);
        if (code == '?')
            return refuse_word(list, refused_word(argc, argv));
        if (code == CODE_HELP)
            s->help = true;
        else if (code == CODE_VERSION)
            s->version = true;
        else if (code == CODE_QUIET)
            s->quiet = true;
        else if (code == CODE_LOG)
            log_path = optarg;
        else if (code == CODE_RECIPE)
            s->recipe = optarg;
        else if (apply) {
            const option *o = &table[(code - CODE_FIRST) / 2];
            TRY(set_given(o, o->type != OPTION_FLAG ? optarg : (code - CODE_FIRST) % 2 ? "no" : "yes"));
        }
    }
}

const char *options_log_file(void)
{
    return log_path;
}

status options_parse(const option_program *program, const option *table, int argc, char **argv, option_list *rest, bool *stop, bool *quiet)
{
    struct option *list = NULL;
    TRY(long_options(table, &list));
    for (const option *o = table; o->name; o++)
        TRY(set_fallback(o));
    scan s = {0};
    TRY(scan_words(table, list, argc, argv, false, &s));
    *stop = s.help || s.version;
    *quiet = s.quiet;
    *rest = (option_list){.item = argv + optind, .count = (size_t)(argc - optind)};
    if (*stop) {
        if (printer && s.help)
            options_print_help(program, table);
        else if (printer)
            printf("fretsaw %s %s\n", program->name, FRETSAW_VERSION);
        return STATUS_OK;
    }
    if (s.recipe)
        TRY(read_recipe(program, table, s.recipe));
    return scan_words(table, list, argc, argv, true, &s);
}
