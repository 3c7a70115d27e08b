#include "model/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "model/model_init.h"
#include "model/safetensors.h"

/* ---- which file ---- */

/* A whole file: *out is its path. A model in several pieces: refused. Neither: *out stays NULL. */
static status try_file(const char *folder, const char *name, char **out)
{
    char *path, index_name[64];
    TRY(file_join(folder, name, &path));
    if (file_exists(path)) {
        *out = path;
        return STATUS_OK;
    }
    free(path);
    snprintf(index_name, sizeof index_name, "%s.index.json", name);
    TRY(file_join(folder, index_name, &path));
    bool pieces = file_exists(path);
    status st = pieces ? fail(STATUS_INPUT,
                              "%s: weights in several files are not supported; save the model as one file (max_shard_size above its size)", path)
                       : STATUS_OK;
    free(path);
    return st;
}

status weights_find(const char *folder, char **out)
{
    *out = NULL;
    if (!file_is_folder(folder)) {
        *out = strdup(folder); /* opening it says what is wrong */
        return *out ? STATUS_OK : fail(STATUS_RESOURCE, "out of memory: a path");
    }
    TRY(try_file(folder, "model.safetensors", out));
    if (!*out)
        TRY(try_file(folder, "pytorch_model.bin", out));
    return *out ? STATUS_OK : fail(STATUS_INPUT, "%s: neither model.safetensors nor pytorch_model.bin in this folder", folder);
}

status weights_open(const char *folder, weights_file **out)
{
    char *path;
    TRY(weights_find(folder, &path));
    status st = weights_file_open(path, out);
    free(path);
    return st;
}

/* ---- names ---- */

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

/* The table's name for a name of the file; an encoder's tensor gets its "bert.". False when it is too long to be one. */
static bool table_name(const char *name, char out[TENSOR_NAME_BYTES])
{
    bool bare = starts_with(name, "embeddings.") || starts_with(name, "encoder.") || starts_with(name, "pooler.");
    size_t n = (size_t)snprintf(out, TENSOR_NAME_BYTES, "%s%s", bare ? "bert." : "", name);
    if (n >= TENSOR_NAME_BYTES)
        return false;
    const char *old = NULL, *fresh = NULL;
    if (ends_with(out, "LayerNorm.gamma")) {
        old = "gamma";
        fresh = "weight";
    } else if (ends_with(out, "LayerNorm.beta")) {
        old = "beta";
        fresh = "bias";
    }
    if (!old)
        return true;
    size_t stem = n - strlen(old);
    return (size_t)snprintf(out + stem, TENSOR_NAME_BYTES - stem, "%s", fresh) < TENSOR_NAME_BYTES - stem;
}

bool weights_have_pooler(const weights_file *file)
{
    const bool weight = weights_file_find(file, "bert.pooler.dense.weight") || weights_file_find(file, "pooler.dense.weight");
    const bool bias = weights_file_find(file, "bert.pooler.dense.bias") || weights_file_find(file, "pooler.dense.bias");
    return weight && bias;
}

/* ---- matching the file with the table ---- */

typedef struct matching {
    const weights_file *file;
    const tensor_table *table;
    const weights_entry **entry; /* one for each tensor of the table, NULL without */
    weights_report *report;
} matching;

static void note(weights_report *report, const char *text)
{
    size_t used = strlen(report->notes);
    snprintf(report->notes + used, sizeof report->notes - used, "%s\n", text);
}

/* A name that the table lacks: harmless outside the encoder, a wrong config inside. */
static status check_stranger(const matching *m, const char *name)
{
    if (starts_with(name, "bert.encoder.") || starts_with(name, "bert.embeddings."))
        return fail(STATUS_INPUT,
                    "%s: tensor %s has no place in a model of %lld layers as the config says; take the config.json that belongs to these weights",
                    m->file->path, name, (long long)m->table->config.layers);
    return STATUS_OK;
}

static bool is_buffer(const char *name)
{
    return ends_with(name, "embeddings.position_ids") || ends_with(name, "embeddings.token_type_ids");
}

static status match_entries(matching *m)
{
    int ignored = 0;
    const char *first = NULL;
    char name[TENSOR_NAME_BYTES], line[256];
    for (size_t i = 0; i < m->file->count; i++) {
        const weights_entry *e = &m->file->entries[i];
        bool short_enough = table_name(e->name, name);
        const tensor *t = short_enough ? tensor_table_find(m->table, name) : NULL;
        if (!t) {
            if (is_buffer(e->name))
                continue;
            TRY(check_stranger(m, name));
            if (ignored++ == 0)
                first = e->name;
            continue;
        }
        const weights_entry **slot = &m->entry[t - m->table->tensors];
        if (*slot)
            return fail(STATUS_INPUT, "%s: %s and %s are the same tensor", m->file->path, (*slot)->name, e->name);
        *slot = e;
    }
    if (ignored) {
        snprintf(line, sizeof line, "%d tensors of the file are no part of the model and were left out, %.80s the first of them", ignored, first);
        note(m->report, line);
    }
    return STATUS_OK;
}

static bool same_shape(const tensor *t, const weights_entry *e)
{
    return e->dims == t->dims && e->shape[0] == t->shape[0] && (t->dims == 1 || e->shape[1] == t->shape[1]);
}

/* Forgets a head that doesn't fit; both of its tensors come from the file or none. */
static void settle_head(matching *m)
{
    const tensor *weight = tensor_out_weight(m->table), *bias = tensor_out_bias(m->table);
    const weights_entry **w = &m->entry[weight - m->table->tensors], **b = &m->entry[bias - m->table->tensors];
    bool there = *w || *b, fits = *w && *b && same_shape(weight, *w) && same_shape(bias, *b);
    m->report->head_loaded = fits;
    if (fits)
        return;
    char line[700];
    snprintf(line, sizeof line, there ? "%.400s: its output layer (out.*) has another shape, as for other labels: a new one is made from --seed"
                                      : "%.400s: has no output layer (out.*), as is usual of a pretrained model: a new one is made from --seed",
             m->file->path);
    note(m->report, line);
    *w = *b = NULL;
}

static bool is_head(const tensor_table *table, int i)
{
    const tensor *t = &table->tensors[i];
    return t == tensor_out_weight(table) || t == tensor_out_bias(table);
}

/* Every tensor but the head's must be there; all that are not are listed, as far as a message holds. */
static status check_complete(const matching *m)
{
    char list[1500] = "";
    int missing = 0;
    for (int i = 0; i < m->table->count; i++) {
        if (m->entry[i] || is_head(m->table, i))
            continue;
        size_t used = strlen(list);
        if (used + TENSOR_NAME_BYTES + 2 < sizeof list)
            snprintf(list + used, sizeof list - used, "%s%s", missing ? ", " : "", m->table->tensors[i].name);
        else if (list[used - 1] != '.')
            snprintf(list + used, sizeof list - used, ", ...");
        missing++;
    }
    if (missing == 0)
        return STATUS_OK;
    return fail(STATUS_INPUT, "%s: %d of %d tensors are missing: %s", m->file->path, missing, m->table->count - 2, list);
}

static status check_shapes(const matching *m)
{
    char have[160], want[160];
    for (int i = 0; i < m->table->count; i++) {
        const weights_entry *e = m->entry[i];
        const tensor *t = &m->table->tensors[i];
        if (!e)
            continue;
        if (!same_shape(t, e)) {
            weights_shape_text(e->dims, e->shape, have, sizeof have);
            weights_shape_text(t->dims, t->shape, want, sizeof want);
            return fail(STATUS_INPUT, "%s: tensor %s has shape %s, the config says %s; take the config.json that belongs to these weights",
                        m->file->path, e->name, have, want);
        }
        if (e->type == WEIGHTS_OTHER)
            return fail(STATUS_INPUT, "%s: tensor %s has type %s; float32, float16, bfloat16 and float64 can be read", m->file->path, e->name,
                        e->type_name);
    }
    return STATUS_OK;
}

/* A piece of the arena that one thread fills. */
typedef struct part {
    const tensor *tensor;
    const weights_entry *entry;
    int64_t first, n; /* elements of the tensor */
} part;

typedef struct copying {
    const weights_file *file;
    const part *parts;
    float *arena;
} copying;

enum { PART = 1 << 18 };

static void copy_part(void *job, int64_t task, int worker)
{
    const copying *c = job;
    const part *p = &c->parts[task];
    const tensor *t = p->tensor;
    float *to = c->arena + t->first + p->first;
    (void)worker;
    /* The type has been looked at (check_shapes): reading cannot fail. */
    if (weights_entry_in_order(p->entry)) {
        (void)weights_entry_read_part(c->file, p->entry, p->first, p->n, to);
        weights_entry_forget(p->entry, p->first, p->n); /* else the file would count beside the parameters */
    } else {
        (void)weights_entry_read(c->file, p->entry, to);
    }
    if (p->first + p->n == t->count)
        memset(to + p->n, 0, (size_t)(t->span - t->count) * sizeof *to);
}

/* Cuts the tensors that come from the file; `parts` NULL only counts. */
static int64_t cut_parts(const matching *m, part *parts)
{
    int64_t count = 0;
    for (int i = 0; i < m->table->count; i++) {
        const tensor *t = &m->table->tensors[i];
        if (!m->entry[i])
            continue;
        int64_t size = weights_entry_in_order(m->entry[i]) ? PART : t->count;
        for (int64_t first = 0; first < t->count; first += size, count++)
            if (parts)
                parts[count] = (part){t, m->entry[i], first, t->count - first < size ? t->count - first : size};
    }
    return count;
}

static status copy_tensors(const matching *m, uint64_t seed, float *arena, threads *pool)
{
    part *parts;
    int64_t count = cut_parts(m, NULL);
    TRY(memory_new(&parts, (size_t)(count + 1) * sizeof *parts, "loading weights"));
    cut_parts(m, parts);
    threads_run(pool, count, copy_part, &(copying){m->file, parts, arena});
    free(parts);
    for (int i = 0; i < m->table->count; i++) {
        const tensor *t = &m->table->tensors[i];
        if (m->entry[i])
            m->report->loaded++;
        else
            model_init_range(m->table, seed, t->first, t->span, arena + t->first);
    }
    return STATUS_OK;
}

status weights_load_threads(const weights_file *file, const tensor_table *table, uint64_t seed, float *arena, weights_report *report, threads *pool)
{
    status st;
    matching m = {.file = file, .table = table, .report = report};
    *report = (weights_report){0};
    TRY(memory_new(&m.entry, (size_t)table->count * sizeof *m.entry, "matching weights"));
    TRY_DONE(match_entries(&m));
    settle_head(&m);
    TRY_DONE(check_complete(&m));
    TRY_DONE(check_shapes(&m));
    TRY_DONE(weights_file_check(file, pool));
    TRY_DONE(copy_tensors(&m, seed, arena, pool));
done:
    free(m.entry);
    return st;
}

status weights_load(const weights_file *file, const tensor_table *table, uint64_t seed, float *arena, weights_report *report)
{
    return weights_load_threads(file, table, seed, arena, report, NULL);
}

/* ---- out ---- */

status weights_save(const char *path, const tensor_table *table, const float *arena, large_file *file)
{
    safetensors_item *items = NULL;
    TRY(memory_new(&items, (size_t)table->count * sizeof *items, "saving weights"));
    for (int i = 0; i < table->count; i++) {
        const tensor *t = &table->tensors[i];
        items[i] = (safetensors_item){t->name, t->dims, t->shape, arena + t->first};
    }
    status st = large_file_begin(path, (uint64_t)table->parameters * sizeof *arena, LARGE_FILE_HASHED, file);
    if (st == STATUS_OK) {
        st = safetensors_write(file, items, (size_t)table->count);
        if (st != STATUS_OK)
            large_file_abandon(file);
    }
    free(items);
    return st;
}
