#include "report/page.h"

#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "preprocess/csv.h"
#include "preprocess/read_with.h"
#include "report/html.h"
#include "report/recipe.h"

enum { DATA_MEMORY = 256 << 20 };

/* ---- opening ---- */

/* Cuts "a,b" at its commas, in place. */
static int64_t cut_list(char *text, char **item, int64_t room)
{
    int64_t n = 0;
    for (char *at = text; at && n < room;) {
        char *comma = strchr(at, ',');
        if (comma)
            *comma = 0;
        item[n++] = at;
        at = comma ? comma + 1 : NULL;
    }
    return n;
}

/* The rows that the run was validated on, where they still lie there. */
static status open_validation(const history *h, dataset **out)
{
    char *folder[64];
    recipe given;
    TRY(recipe_read(history_text(h->environment, "options"), &given));
    char *list = strdup(recipe_value(&given, "valid") ? recipe_value(&given, "valid") : "");
    recipe_free(&given);
    if (!list)
        return fail(STATUS_RESOURCE, "out of memory for the names of folders");
    status st = STATUS_OK;
    int64_t n = cut_list(list, folder, 64);
    for (int64_t i = 0; i < n && st == STATUS_OK; i++)
        if (!*folder[i] || !file_is_folder(folder[i]))
            st = fail(STATUS_USAGE,
                      "--predictions: the rows that were scored are not known (%s has no validation data at '%s'); give them by --input FOLDER",
                      h->folder, folder[i]);
    if (st == STATUS_OK)
        st = dataset_open(folder, n, &(dataset_limits){.memory = DATA_MEMORY}, out);
    free(list);
    return st;
}

static status open_scores(const report_choice *s, page *p)
{
    if (s->input.count)
        TRY(dataset_open(s->input.item, (int64_t)s->input.count, &(dataset_limits){.memory = DATA_MEMORY}, &p->data));
    else
        TRY(open_validation(&p->run[0], &p->data));
    for (int r = 0; r < p->runs; r++)
        TRY(judged_read(s->predictions.item[r], p->data, &p->judged[r]));
    if (s->csv.count)
        TRY(read_with_underlay(&report_program, report_options, "--csv", dataset_read_with(p->data), "the scored rows"));
    p->headings = (originals_columns){.id = s->id_column, .text = s->text_column, .delimiter = csv_delimiters[s->delimiter]};
    return STATUS_OK;
}

/* Runs of one name are told apart by their folders. */
static status name_runs(page *p)
{
    for (int r = 0; r < p->runs; r++)
        for (int other = 0; other < p->runs; other++)
            if (other != r && strcmp(file_base(p->run[r].folder), file_base(p->run[other].folder)) == 0) {
                free(p->run[r].name);
                p->run[r].name = strdup(p->run[r].folder);
                if (!p->run[r].name)
                    return fail(STATUS_RESOURCE, "out of memory for the name of a run");
                break;
            }
    return STATUS_OK;
}

status page_open(const report_choice *s, const option_list *runs, page *p)
{
    *p = (page){.mistakes = s->mistakes, .csv = s->csv};
    status st = STATUS_OK;
    for (size_t i = 0; i < runs->count && st == STATUS_OK; i++) {
        st = history_read(runs->item[i], &p->run[i]);
        p->runs += st == STATUS_OK;
    }
    if (st == STATUS_OK)
        st = name_runs(p);
    if (st == STATUS_OK && s->predictions.count)
        st = open_scores(s, p);
    if (st != STATUS_OK)
        page_close(p);
    return st;
}

void page_close(page *p)
{
    for (int r = 0; r < p->runs; r++) {
        judged_free(&p->judged[r]);
        history_free(&p->run[r]);
    }
    dataset_free(p->data);
    *p = (page){0};
}

/* ---- writing ---- */

static void write_title(FILE *out, const page *p, const char *title)
{
    const history *h = &p->run[0];
    fputs("<header><h1>", out);
    html_text(out, title);
    fputs("</h1><p>", out);
    if (p->runs == 1) {
        const json_t *train = json_object_get(h->about, "train"), *valid = json_object_get(h->about, "valid");
        char rows[HTML_NUMBER];
        html_count((double)json_integer_value(json_object_get(train, "rows")), rows);
        fprintf(out, "Trained on %s rows", rows);
        html_count((double)json_integer_value(json_object_get(valid, "rows")), rows);
        if (json_integer_value(json_object_get(valid, "rows")) > 0)
            fprintf(out, ", validated on %s", rows);
        fputs("; ", out);
        html_text(out, h->folder);
    } else {
        fprintf(out, "%d runs side by side", p->runs);
    }
    fputs("</p></header>\n", out);
}

static status write_sections(FILE *out, const page *p)
{
    char title[200];
    if (p->runs == 1)
        snprintf(title, sizeof title, "Run %.180s", p->run[0].name);
    else
        snprintf(title, sizeof title, "Comparison of %d runs", p->runs);
    html_open_page(out, title);
    write_title(out, p, title);
    curves_write_summary(out, p);
    TRY(curves_write_training(out, p));
    TRY(quality_write(out, p));
    curves_write_phases(out, p);
    TRY(origin_write(out, p));
    html_close_page(out);
    return STATUS_OK;
}

status page_write(const page *p, const char *path)
{
    atomic_file f;
    TRY(file_atomic_begin(path, &f));
    status st = write_sections(f.stream, p);
    if (st != STATUS_OK) {
        file_atomic_abandon(&f);
        return st;
    }
    return file_atomic_commit(&f);
}
