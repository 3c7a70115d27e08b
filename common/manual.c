#include "common/manual.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Text in man's language: dashes and backslashes as themselves, no line that begins with a command. */
static void put(const char *text)
{
    for (const char *c = text; *c; c++) {
        if ((c == text || c[-1] == '\n') && (*c == '.' || *c == '\''))
            fputs("\\&", stdout);
        if (*c == '\\')
            fputs("\\e", stdout);
        else if (*c == '-')
            fputs("\\-", stdout);
        else
            putchar(*c);
    }
}

static void put_option(const option *o)
{
    const char *unit = option_unit(o);
    printf(".TP\n\\fB\\-\\-");
    put(o->name);
    printf("\\fR");
    if (unit) {
        printf(" \\fI");
        put(unit);
        printf("\\fR");
    }
    printf("\n");
    put(o->help ? o->help : "");
    if (o->fallback) {
        printf(" [");
        put(o->fallback);
        printf("]");
    }
    printf("\n");
}

static void put_upper(const char *text)
{
    for (; *text; text++)
        putchar(toupper((unsigned char)*text));
}

static void print_page(const option_program *program, const option *table)
{
    printf(".TH FRETSAW\\-");
    put_upper(program->name);
    printf(" 1 \"\" \"fretsaw %s\" \"Fretsaw\"\n.SH NAME\nfretsaw\\-%s \\- ", FRETSAW_VERSION, program->name);
    put(program->purpose);
    printf("\n.SH SYNOPSIS\n.B fretsaw %s\n[options] ", program->name);
    put(program->usage ? program->usage : "");
    printf("\n.SH OPTIONS\n");
    const char *group = "";
    for (const option *o = table; o->name; o++) {
        if (o->group && strcmp(o->group, group) != 0) {
            printf(".SS \"");
            put(group = o->group);
            printf("\"\n");
        }
        put_option(o);
    }
    printf(".SS \"General\"\n");
    for (const option *o = options_general; o->name; o++)
        put_option(o);
    printf(".SH EXIT STATUS\n");
    put(options_exit_codes);
    if (program->examples) {
        const char *text = strncmp(program->examples, "Examples:\n", 10) == 0 ? program->examples + 10 : program->examples;
        printf(".SH EXAMPLES\n.nf\n");
        put(text);
        printf("\n.fi\n");
    }
    printf(".SH SEE ALSO\n.BR fretsaw (1)\n");
}

static bool names_a_path(const char *unit)
{
    return unit && (strstr(unit, "FILE") || strstr(unit, "FOLDER") || strstr(unit, "RUN") || strstr(unit, "CSV"));
}

static void print_word(const option *o)
{
    if (o->type == OPTION_FLAG) {
        printf("--%s\tnone\n", o->name);
    } else if (o->type == OPTION_CHOICE) {
        printf("--%s\tchoice\t", o->name);
        for (const char *c = o->choices; *c; c++)
            putchar(*c == '|' ? ' ' : *c);
        putchar('\n');
    } else {
        printf("--%s\t%s\n", o->name, names_a_path(option_unit(o)) ? "path" : "value");
    }
}

static void print_words(const option *table)
{
    for (const option *o = table; o->name; o++) {
        print_word(o);
        if (o->type == OPTION_FLAG)
            printf("--no-%s\tnone\n", o->name);
    }
    for (const option *o = options_general; o->name; o++)
        print_word(o);
}

bool manual_print(const char *word, const option_program *program, const option *table)
{
    if (strcmp(word, "--help-man") == 0)
        print_page(program, table);
    else if (strcmp(word, "--help-words") == 0)
        print_words(table);
    else
        return false;
    return true;
}
