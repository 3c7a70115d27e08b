/* Where a run comes from: its recipe against the defaults, the machine, the hashes, and the command that makes it again. */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "report/page.h"
#include "report/recipe.h"

/* ---- recipe ---- */

static void recipe_row(FILE *out, const char *name, const char *const *value, int runs, const char *usual, bool marked)
{
    fputs(marked ? "<tr class=\"marked\"><td>" : "<tr><td>", out);
    html_text(out, name);
    fputs("</td>", out);
    for (int r = 0; r < runs; r++) {
        fputs("<td>", out);
        html_text(out, value[r] ? value[r] : "–");
        fputs("</td>", out);
    }
    fputs("<td>", out);
    html_text(out, usual ? usual : "–");
    fputs("</td></tr>\n", out);
}

static void recipe_head(FILE *out, const page *p)
{
    fputs("<div class=\"wide\"><table><tr><th>Option</th>", out);
    for (int r = 0; r < p->runs; r++) {
        fputs("<th>", out);
        if (p->runs > 1) {
            fprintf(out, "<i class=\"key c%d\"></i>", r);
            html_text(out, p->run[r].name);
        } else {
            fputs("Value", out);
        }
        fputs("</th>", out);
    }
    fputs("<th>Default</th></tr>\n", out);
}

/* Whether the runs disagree on the option, or the only one has it not as by default. */
static bool stands_out(const char *const *value, int runs, const char *usual)
{
    for (int r = 1; r < runs; r++)
        if (!recipe_same(value[0], value[r]))
            return true;
    return runs == 1 && !recipe_same(value[0], usual);
}

/* Options of the first run in their order; what another has besides is behind them. */
static int recipe_table(FILE *out, const page *p, const recipe *recipes, bool all)
{
    int rows = 0;
    recipe_head(out, p);
    for (int owner = 0; owner < p->runs; owner++)
        for (size_t i = 0; i < recipes[owner].count; i++) {
            const char *name = recipes[owner].line[i].name, *value[REPORT_RUNS], *usual = recipe_default(name);
            bool seen = false;
            for (int r = 0; r < owner; r++)
                seen |= recipe_value(&recipes[r], name) != NULL;
            for (int r = 0; r < p->runs; r++)
                value[r] = recipe_value(&recipes[r], name);
            bool marked = stands_out(value, p->runs, usual);
            if (seen || (!all && !marked))
                continue;
            recipe_row(out, name, value, p->runs, usual, all && marked);
            rows++;
        }
    fputs("</table></div>\n", out);
    return rows;
}

static status write_recipe(FILE *out, const page *p)
{
    recipe recipes[REPORT_RUNS] = {{0}};
    status st = STATUS_OK;
    for (int r = 0; r < p->runs && st == STATUS_OK; r++)
        st = recipe_read(history_text(p->run[r].about, "recipe"), &recipes[r]);
    if (st == STATUS_OK) {
        html_begin_section(out, "Recipe", p->runs > 1 ? "Options in which the runs differ." : "Options that are not as by default.");
        if (recipe_table(out, p, recipes, false) == 0)
            fprintf(out, "<p>%s</p>\n", p->runs > 1 ? "None: the recipes are the same." : "None.");
        fputs("<details><summary>All options that can change results</summary>\n", out);
        recipe_table(out, p, recipes, true);
        fputs("</details>\n", out);
        html_end_section(out);
    }
    for (int r = 0; r < p->runs; r++)
        recipe_free(&recipes[r]);
    return st;
}

/* ---- hashes ---- */

static void hash_line(FILE *out, const char *what, const char *name, const char *hash)
{
    if (!hash)
        return;
    fputs("<dt>", out);
    html_text(out, what);
    if (name) {
        putc(' ', out);
        html_text(out, name);
    }
    fputs("</dt><dd class=\"mono\">", out);
    html_text(out, hash);
    fputs("</dd>\n", out);
}

static void data_hashes(FILE *out, const json_t *sets, const char *what)
{
    size_t i, k;
    json_t *set, *source;
    json_array_foreach(sets, i, set)
    {
        hash_line(out, what, history_text(set, "name"), history_text(set, "identity"));
        json_array_foreach(json_object_get(set, "sources"), k, source)
            hash_line(out, "from", history_text(source, "name"), history_text(source, "sha256"));
    }
}

static void write_hashes(FILE *out, const history *h)
{
    const json_t *made = h->provenance, *model = json_object_get(h->provenance ? h->provenance : h->about, "model");
    const char *name;
    json_t *value;
    fputs("<details><summary>Hashes</summary><dl>\n", out);
    hash_line(out, "Run", NULL, history_text(made, "run"));
    hash_line(out, "Recipe", NULL, history_text(h->about, "recipe_sha256"));
    hash_line(out, "Vocabulary", NULL, history_text(json_object_get(h->about, "vocabulary"), "sha256"));
    hash_line(out, "Begun from", history_text(model, "file"), history_text(model, "sha256"));
    data_hashes(out, json_object_get(made, "train"), "Training rows");
    data_hashes(out, json_object_get(made, "valid"), "Validation rows");
    if (!made)
        hash_line(out, "Result", "metrics.jsonl, so far", h->metrics_hash);
    hash_line(out, "State of the weights", NULL, history_text(made, "state"));
    json_object_foreach(json_object_get(made, "results"), name, value) hash_line(out, "Result", name, json_string_value(value));
    fputs("</dl></details>\n", out);
}

/* ---- command and machine ---- */

/* The run as the commands name it: by its path from the folder that it was made in, where that still leads to it; else by all of its path. */
static void find_run(const history *h, const char *folder, const char *given, char to[PATH_MAX])
{
    char path[2 * PATH_MAX], here[PATH_MAX], there[PATH_MAX];
    snprintf(to, PATH_MAX, "%.4000s", h->folder);
    if (!folder || !given || !realpath(h->folder, here))
        return;
    snprintf(path, sizeof path, "%s%s%s", *given == '/' ? "" : folder, *given == '/' ? "" : "/", given);
    bool same = realpath(path, there) && strcmp(here, there) == 0;
    snprintf(to, PATH_MAX, "%s", same ? given : here);
    for (size_t n = strlen(to); n > 1 && to[n - 1] == '/'; n--)
        to[n - 1] = 0;
}

static status write_command(FILE *out, const history *h)
{
    static const char *const inputs[] = {"model", "config", "vocab", "init-from", "train", "valid", "micro-tokens"};
    recipe given;
    int64_t ranks = json_integer_value(json_object_get(h->environment, "ranks"));
    TRY(recipe_read(history_text(h->environment, "options"), &given));
    const char *folder = history_text(h->environment, "folder");
    char name[PATH_MAX];
    find_run(h, folder, recipe_value(&given, "out"), name);
    fputs("<pre>", out);
    if (folder) {
        fputs("cd ", out);
        html_shell_word(out, folder);
        putc('\n', out);
    }
    if (ranks > 1)
        fprintf(out, "mpirun -np %" PRId64 " ", ranks);
    fputs("train --recipe ", out);
    html_shell_word(out, name);
    fputs("/recipe.conf", out);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        const char *value = recipe_value(&given, inputs[i]);
        if (!value || recipe_same(value, recipe_default(inputs[i])))
            continue;
        fprintf(out, " \\\n  --%s ", inputs[i]);
        html_shell_word(out, value);
    }
    fputs(" \\\n  --out ", out);
    html_shell_word(out, name);
    fputs("-again\ncmp ", out);
    html_shell_word(out, name);
    fputs("/provenance.json ", out);
    html_shell_word(out, name);
    fputs("-again/provenance.json     # no word: every byte of the results is the same</pre>\n", out);
    recipe_free(&given);
    return STATUS_OK;
}

static void machine_line(FILE *out, const char *what, const json_t *value)
{
    if (json_is_integer(value))
        fprintf(out, "<dt>%s</dt><dd>%" JSON_INTEGER_FORMAT "</dd>\n", what, json_integer_value(value));
    else if (json_is_string(value)) {
        fprintf(out, "<dt>%s</dt><dd>", what);
        html_text(out, json_string_value(value));
        fputs("</dd>\n", out);
    }
}

static status write_origin(FILE *out, const page *p, int r)
{
    const history *h = &p->run[r];
    if (p->runs > 1) {
        fprintf(out, "<h3><i class=\"key c%d\"></i>", r);
        html_text(out, h->folder);
        fputs("</h3>\n", out);
    }
    if (h->environment) {
        TRY(write_command(out, h));
        fputs("<dl>\n", out);
        machine_line(out, "Fretsaw", json_object_get(h->environment, "version"));
        machine_line(out, "Ranks", json_object_get(h->environment, "ranks"));
        machine_line(out, "Nodes", json_object_get(h->environment, "nodes"));
        machine_line(out, "Threads a rank", json_object_get(h->environment, "threads"));
        machine_line(out, "Kernels", json_object_get(h->environment, "cpu"));
        machine_line(out, "First host", json_array_get(json_object_get(h->environment, "hosts"), 0));
        fputs("</dl>\n", out);
    }
    write_hashes(out, h);
    return STATUS_OK;
}

status origin_write(FILE *out, const page *p)
{
    TRY(write_recipe(out, p));
    html_begin_section(out, "Made by", "The commands that make the run again and compare it, from the folder that it was made in, and the hashes of "
                                       "all that went in and came out.");
    for (int r = 0; r < p->runs; r++)
        TRY(write_origin(out, p, r));
    html_end_section(out);
    return STATUS_OK;
}
