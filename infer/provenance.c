#include "infer/provenance.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "preprocess/csv.h"

static json_t *describe_members(const ensemble *e)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < e->count; i++) {
        const run *r = &e->member[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:I, s:s, s:i}", "run", r->identity, "recipe", r->recipe_hash, "weights", r->weights,
                                              "step", (json_int_t)r->step, "weights_state", r->weights_hash, "arithmetic", ARITHMETIC_VERSION));
    }
    return list;
}

static json_t *describe_data(dataset *d)
{
    json_t *folders = json_array();
    for (int64_t i = 0; i < dataset_folders(d); i++)
        json_array_append_new(folders, json_string(dataset_folder_identity(d, i)));
    json_t *sources = json_array();
    const rowfile_meta *meta = dataset_meta(d);
    for (int64_t i = 0; i < meta->sources; i++)
        json_array_append_new(sources, json_pack("{s:s, s:s}", "name", meta->source[i].name, "sha256", meta->source[i].sha256));
    return json_pack("{s:s, s:I, s:o, s:o}", "identity", dataset_identity(d), "rows", (json_int_t)dataset_rows(d), "folders", folders, "sources",
                     sources);
}

static json_t *list_of(const option_list *names)
{
    json_t *list = json_array();
    for (size_t i = 0; i < names->count; i++)
        json_array_append_new(list, json_string(names->item[i]));
    return list;
}

/* How --csv was read: what shapes its rows beside the run's tokenizer. */
static json_t *describe_reading(const settings *s)
{
    json_t *j = json_pack("{s:o, s:o, s:o}", "id-column", list_of(&s->id_column), "text-column", list_of(&s->text_column), "lang-column",
                          list_of(&s->lang_column));
    if (j && s->dialect)
        json_object_set_new(j, "dialect", json_string("pandas"));
    if (j && s->delimiter)
        json_object_set_new(j, "delimiter", json_stringn(&csv_delimiters[s->delimiter], 1));
    if (j && s->unlabelled_given)
        json_object_set_new(j, "unlabelled", json_real(s->unlabelled));
    return j;
}

status provenance_write(const outcome *o, const char *submission_sha256)
{
    const settings *s = o->settings;
    json_t *j =
        json_pack("{s:s, s:s, s:I, s:o, s:o}", "submission", file_base(s->out), "sha256", submission_sha256, "decimals",
                  (json_int_t)(s->decimals_given ? s->decimals : -1), "data", describe_data(o->data), "scored_by", describe_members(o->ensemble));
    if (j && s->sample)
        json_object_set_new(j, "sample", json_pack("{s:s, s:s}", "name", file_base(s->sample), "sha256", o->sample.sha256));
    if (j && s->csv.count)
        json_object_set_new(j, "csv", describe_reading(s));
    if (j && o->device[0])
        json_object_set_new(j, "device", json_string(o->device));
    char *text = j ? json_dumps(j, JSON_INDENT(1)) : NULL, *path = NULL;
    status st = STATUS_RESOURCE;
    if (!text || asprintf(&path, "%s.provenance.json", s->out) < 0)
        path = NULL, st = fail(STATUS_RESOURCE, "out of memory for the provenance");
    else
        st = outcome_put_file(path, text, strlen(text));
    json_decref(j);
    free(text);
    free(path);
    return st;
}
