#include "infer/input.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/count.h"
#include "common/files.h"
#include "common/log.h"
#include "preprocess/clean.h"
#include "preprocess/read_with.h"
#include "preprocess/stage.h"

enum { CSV_MEMORY = 300 << 20, CSV_SPLIT = 4 << 20 };

status input_work_folder(const settings *s, char **folder)
{
    if (s->folder) {
        *folder = strdup(s->folder);
        return *folder ? STATUS_OK : fail(STATUS_RESOURCE, "out of memory for a path");
    }
    int beside = (int)(file_base(s->out) - s->out);
    if (asprintf(folder, "%.*spredictions", beside, s->out) < 0) {
        *folder = NULL;
        return fail(STATUS_RESOURCE, "out of memory for a path");
    }
    return STATUS_OK;
}

/* ---- a run's tokenizer, from its identity ---- */

/* The value of a line key=value, with its escapes undone; NULL (and no error) when there is no such line. The caller frees. */
static status identity_value(const char *identity, const char *key, char **value)
{
    size_t n = strlen(key);
    *value = NULL;
    for (const char *line = identity; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, key, n) != 0 || line[n] != '=')
            continue;
        const char *from = line + n + 1, *end = from + strcspn(from, "\n");
        TRY(memory_new(value, (size_t)(end - from) + 1, "a tokenizer's identity"));
        for (char *to = *value; from < end; from++) {
            if (*from == '\\' && from + 1 < end) {
                from++;
                *to++ = *from == 'n' ? '\n' : *from == 'r' ? '\r' : *from;
            } else {
                *to++ = *from;
            }
        }
        return STATUS_OK;
    }
    return STATUS_OK;
}

static status identity_choice(const char *identity, const char *key, tokenizer_choice *out)
{
    char *value;
    TRY(identity_value(identity, key, &value));
    *out = value && strcmp(value, "yes") == 0 ? TOKENIZER_YES : TOKENIZER_NO;
    free(value);
    return STATUS_OK;
}

/* What a CSV's way into parts is made of. */
typedef struct csv_stage {
    stage_options o;
    char *fill, *na, *max_tokens;
    read_with_names label;
    char *out, identity[600];
} csv_stage;

static void csv_stage_free(csv_stage *c)
{
    free(c->fill);
    free(c->na);
    free(c->max_tokens);
    read_with_free_labels(&c->label);
    free(c->out);
}

static status set_tokenizer(const run *r, csv_stage *c)
{
    TRY(identity_choice(r->tokenizer, "lower", &c->o.tokenizer.lower_case));
    TRY(identity_choice(r->tokenizer, "strip_accents", &c->o.tokenizer.strip_accents));
    TRY(identity_choice(r->tokenizer, "cjk", &c->o.tokenizer.tokenize_chinese_chars));
    char *match, *clean;
    TRY(identity_value(r->tokenizer, "match", &match));
    c->o.tokenizer.match = match && strcmp(match, "rust") == 0 ? TOKENIZER_MATCH_RUST : TOKENIZER_MATCH_PYTHON;
    free(match);
    TRY(identity_value(r->tokenizer, "clean", &clean));
    status st = clean_read(clean ? clean : "none", &c->o.tokenizer.clean);
    free(clean);
    if (st != STATUS_OK)
        return fail_context(STATUS_INPUT, "%s: its texts were cleaned in a way that this version does not know", r->folder);
    TRY(identity_value(r->tokenizer, "na", &c->na));
    TRY(identity_value(r->tokenizer, "fill", &c->fill));
    TRY(identity_value(r->tokenizer, "max_tokens", &c->max_tokens));
    if (c->max_tokens && strcmp(c->max_tokens, "none") != 0)
        return fail(STATUS_INPUT, "%s: its tokens were cut at %s, which --csv does not do; run preprocess and give its folder as --input", r->folder,
                    c->max_tokens);
    if (c->fill && strchr(c->fill, ','))
        return fail(STATUS_INPUT,
                    "%s: its training CSVs had texts of their own for missing ones (%s); run preprocess with the one for these rows and give its "
                    "folder as --input",
                    r->folder, c->fill);
    c->o.rules.na_keep = c->na && strcmp(c->na, "keep") == 0;
    c->o.rules.na_old = c->na && strcmp(c->na, "pandas1") == 0;
    c->o.fill = (option_list){&c->fill, c->fill && !c->o.rules.na_keep ? 1 : 0};
    return STATUS_OK;
}

/* Labels are read where the CSV has them: then the AUC is known. */
static status set_columns(const settings *s, const run *r, csv_stage *c)
{
    c->o.rules.columns = (columns_wanted){
        .id = s->id_column, .text = s->text_column, .lang = s->lang_column, .lang_given = s->lang_given, .labels = {r->label, (size_t)r->labels}};
    c->o.rules.columns.first_counts = s->dialect == CSV_PANDAS;
    c->o.rules.label = (label_rule){s->unlabelled_given, s->unlabelled};
    c->o.dialect = (csv_dialect)s->dialect;
    c->o.delimiter = csv_delimiters[s->delimiter];
    TRY(read_with_labels(r->read_with, r->label, r->labels, &c->label));
    c->o.rules.columns.labels.item = c->label.item;
    return STATUS_OK;
}

__attribute__((format(printf, 2, 3))) static void add(csv_stage *c, const char *format, ...)
{
    size_t used = strlen(c->identity);
    va_list rest;
    va_start(rest, format);
    vsnprintf(c->identity + used, sizeof c->identity - used, format, rest);
    va_end(rest);
}

static void add_names(csv_stage *c, const char *what, const option_list *names)
{
    add(c, "%s =", what);
    for (size_t i = 0; i < names->count; i++)
        add(c, "%s%s", i ? "," : " ", names->item[i]);
    add(c, "\n");
}

/* A folder of its own for other CSVs, tokens or columns, so that parts are never taken for those of something else. */
static status name_parts(const settings *s, const char *folder, const run *r, csv_stage *c)
{
    hash_sha256 *h;
    char hex[HASH_HEX] = "", name[40];
    status st = STATUS_OK;
    snprintf(c->identity, sizeof c->identity, "[infer]\n");
    add_names(c, "id-column", &s->id_column);
    add_names(c, "lang-column", &s->lang_column);
    add_names(c, "text-column", &s->text_column);
    if (s->dialect)
        add(c, "csv = pandas\n");
    if (s->delimiter)
        add(c, "delimiter = %c\n", csv_delimiters[s->delimiter]);
    if (s->unlabelled_given)
        add(c, "unlabelled = %.17g\n", s->unlabelled);
    TRY(hash_sha256_begin(&h));
    hash_sha256_add(h, c->identity, strlen(c->identity) + 1);
    hash_sha256_add(h, r->tokenizer, strlen(r->tokenizer) + 1);
    for (int64_t i = 0; i < r->labels; i++)
        hash_sha256_add(h, r->label[i], strlen(r->label[i]) + 1);
    for (size_t i = 0; st == STATUS_OK && i < s->csv.count; i++) {
        char file[HASH_HEX];
        if (!file_exists(s->csv.item[i]))
            st = fail(STATUS_INPUT, "%s: no such file; --csv takes CSVs", s->csv.item[i]);
        else
            st = hash_sha256_file(s->csv.item[i], file);
        hash_sha256_add(h, file_base(s->csv.item[i]), strlen(file_base(s->csv.item[i])) + 1);
        if (st == STATUS_OK)
            hash_sha256_add(h, file, HASH_HEX);
    }
    hash_sha256_end(h, hex);
    TRY(st);
    snprintf(name, sizeof name, "tokens-%.16s", hex);
    return file_join(folder, name, &c->out);
}

static status set_stage(const settings *s, const char *folder, const run *r, csv_stage *c)
{
    TRY(set_tokenizer(r, c));
    TRY(set_columns(s, r, c));
    TRY(name_parts(s, folder, r, c));
    c->o.inputs = s->csv.item;
    c->o.input_count = (int64_t)s->csv.count;
    c->o.vocab = r->weights_folder;
    c->o.out = c->out;
    c->o.split_bytes = CSV_SPLIT;
    c->o.rules.memory = CSV_MEMORY;
    c->o.identity = c->identity;
    c->o.report_length = r->input.max_length;
    return STATUS_OK;
}

status input_open(const settings *s, const char *folder, const ensemble *e, dataset **out)
{
    csv_stage c = {0};
    const option_list *folders = &s->input;
    option_list parts = {0};
    dataset *d = NULL;
    status st = STATUS_OK;
    if (s->csv.count) {
        st = comm_agree(set_stage(s, folder, &e->member[0], &c));
        if (st == STATUS_OK)
            st = stage_run(&c.o, NULL);
        parts = (option_list){&c.out, 1};
        folders = &parts;
    }
    if (st == STATUS_OK)
        st = dataset_open(folders->item, (int64_t)folders->count, &(dataset_limits){.memory = s->data_memory}, &d);
    if (st == STATUS_OK) {
        st = comm_agree(ensemble_check_data(e, folders->item[0], dataset_tokenizer(d)));
        if (st == STATUS_OK)
            log_info("%s: %s", s->csv.count ? s->csv.item[0] : folders->item[0], count_of(dataset_rows(d), "row"));
        else
            dataset_free(d);
    }
    if (st == STATUS_OK)
        *out = d;
    csv_stage_free(&c);
    return st;
}
