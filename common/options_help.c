/* What --help prints of a program's table. */
#include <stdio.h>
#include <string.h>

#include "common/options.h"

const char *option_unit(const option *o)
{
    if (o->type == OPTION_FLAG)
        return NULL;
    if (o->unit)
        return o->unit;
    switch (o->type) {
    case OPTION_INT: return "N";
    case OPTION_SIZE: return "SIZE";
    case OPTION_SECONDS: return "TIME";
    case OPTION_REAL: return "X";
    case OPTION_LIST: return "A,B,...";
    case OPTION_CHOICE: return o->choices;
    default: return "TEXT";
    }
}

static void wrap(const char *text, int indent, int width)
{
    int column = indent;
    while (*text) {
        size_t word = strcspn(text, " ");
        if (column > indent && column + 1 + (int)word > width) {
            printf("\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            putchar(' ');
            column++;
        }
        printf("%.*s", (int)word, text);
        column += (int)word;
        text += word;
        text += strspn(text, " ");
    }
    putchar('\n');
}

const option options_general[] = {
    {.name = "recipe", .type = OPTION_TEXT, .unit = "FILE",
     .help = "options from the section of this name in FILE, one 'name = value' a line; the command line is stronger. A FILE that is not there is looked "
             "for among those that came along: recipes/jigsaw-mbert.conf"},
    {.name = "quiet", .type = OPTION_FLAG, .help = "no progress, only warnings and results"},
    {.name = "log", .type = OPTION_TEXT, .unit = "FILE",
     .help = "append what is said and the progress to FILE, as plain lines with the time (also under --quiet)"},
    {.name = "version", .type = OPTION_FLAG, .help = "print the version and stop"},
    {.name = "help", .type = OPTION_FLAG, .help = "print this and stop"},
    {0},
};

const char options_exit_codes[] = "0 done; 2 usage; 3 the input is bad; 4 I/O or no space; 5 out of memory or device;\n"
                                  "6 a check failed; 75 stopped with everything saved, run the same command again.\n";

static void help_entry(const option *o)
{
    enum { INDENT = 34, WIDTH = 110 };
    char head[160], body[1200];
    const char *unit = option_unit(o);
    snprintf(head, sizeof head, "  --%s%s%s", o->name, unit ? " " : "", unit ? unit : "");
    printf("%-*s", INDENT, head);
    if (strlen(head) >= INDENT)
        printf("\n%*s", INDENT, "");
    snprintf(body, sizeof body, "%s%s%s%s", o->help ? o->help : "", o->fallback ? " [" : "", o->fallback ? o->fallback : "", o->fallback ? "]" : "");
    wrap(body, INDENT, WIDTH);
}

void options_print_help(const option_program *program, const option *table)
{
    printf("%s: %s\n\nusage: %s [options] %s\n", program->name, program->purpose, program->name, program->usage ? program->usage : "");
    const char *group = "";
    for (const option *o = table; o->name; o++) {
        if (o->group && strcmp(o->group, group) != 0)
            printf("\n%s\n", group = o->group);
        help_entry(o);
    }
    printf("\nGeneral\n");
    for (const option *o = options_general; o->name; o++)
        help_entry(o);
    printf("\nExit codes: %s", options_exit_codes);
    if (program->examples)
        printf("\n%s\n", program->examples);
}
