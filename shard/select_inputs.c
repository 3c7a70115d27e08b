#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/files.h"
#include "shard/inputs.h"
#include "shard/repeats.h"
#include "shard/select_inside.h"
#include "store/meta.h"

/* ---- inputs ---- */

static status add_units(selection *s, int64_t rows)
{
    int64_t more = (rows + ROWFILE_CHUNK - 1) / ROWFILE_CHUNK;
    TRY(memory_grow(&s->unit, (size_t)(s->units + more) * sizeof *s->unit, "pieces of the parts"));
    for (int64_t i = 0; i < more; i++) {
        int64_t left = rows - i * ROWFILE_CHUNK;
        s->unit[s->units++] = (unit){.part = s->parts, .first = i * ROWFILE_CHUNK, .rows = left < ROWFILE_CHUNK ? left : ROWFILE_CHUNK};
    }
    return STATUS_OK;
}

static status add_folder(selection *s, const char *folder)
{
    manifest m;
    TRY(manifest_read(folder, &m));
    status st = comm_rank() == 0 ? manifest_check(folder, &m, false) : STATUS_OK;
    TRY_DONE(st);
    if (s->meta.tokenizer)
        TRY_DONE(meta_same_tokenizer(s->meta.tokenizer, m.tokenizer, folder));
    TRY_DONE(inputs_add(&s->inputs, "", folder, &m));
    TRY_DONE(memory_grow(&s->part, (size_t)(s->parts + m.files) * sizeof *s->part, "the list of parts"));
    for (int64_t i = 0; i < m.files; i++) {
        s->part[s->parts] = (part){.rows = m.file[i].rows, .tokens = m.file[i].tokens};
        TRY_DONE(file_join(folder, m.file[i].name, &s->part[s->parts].path));
        TRY_DONE(add_units(s, m.file[i].rows));
        s->parts++;
    }
    s->rows += m.rows;
    if (!s->read_with) {
        s->read_with = m.read_with;
        m.read_with = NULL;
    }
    if (!s->meta.tokenizer) {
        s->meta.tokenizer = m.tokenizer;
        m.tokenizer = NULL;
    }
done:
    manifest_free(&m);
    return st;
}

static status merge_parts(selection *s)
{
    rowfile_meta all = {0};
    status st = STATUS_OK;
    for (int64_t i = 0; i < s->parts; i++) {
        rowfile *f;
        TRY_DONE(rowfile_open(s->part[i].path, &f));
        st = meta_merge(&all, rowfile_get_meta(f), s->part[i].path);
        if (st == STATUS_OK && (rowfile_rows(f) != s->part[i].rows || rowfile_tokens(f) != s->part[i].tokens))
            st = fail(STATUS_INPUT, "%s: holds %lld rows and %lld tokens, its manifest says %lld and %lld; run the stage that makes it again",
                      s->part[i].path, (long long)rowfile_rows(f), (long long)rowfile_tokens(f), (long long)s->part[i].rows,
                      (long long)s->part[i].tokens);
        rowfile_free(f);
        TRY_DONE(st);
    }
    if (all.tokenizer) {
        TRY_DONE(meta_same_tokenizer(s->meta.tokenizer, all.tokenizer, s->part[0].path));
        rowfile_meta_free(&s->meta);
        s->meta = all;
        return STATUS_OK;
    }
done:
    rowfile_meta_free(&all);
    return st;
}

/* Rank 0 opens all parts once; the others are told what it found. */
static status share_meta(selection *s)
{
    TRY(comm_agree(comm_rank() == 0 ? merge_parts(s) : STATUS_OK));
    return meta_share(&s->meta);
}

/* ---- filters ---- */

static status no_such(const char *name_of_option, const char *asked, char *const *have, int64_t count, size_t stride)
{
    char list[1000] = "";
    size_t used = 0;
    for (int64_t i = 0; i < count && used < sizeof list - 1; i++) {
        char *const *name = (char *const *)(const void *)((const char *)have + (size_t)i * stride);
        int n = snprintf(list + used, sizeof list - used, "%s'%s'", i > 0 ? ", " : "", *name);
        used += n > 0 ? (size_t)n : 0;
    }
    return fail(STATUS_INPUT, "--%s %s: no input has it; there are: %s", name_of_option, asked, list);
}

static status set_langs(selection *s)
{
    const option_list *wanted = &s->o->lang;
    TRY(memory_new(&s->lang_fits, (size_t)s->meta.langs, "filters"));
    for (int64_t i = 0; i < s->meta.langs; i++)
        s->lang_fits[i] = wanted->count == 0;
    for (size_t k = 0; k < wanted->count; k++) {
        bool found = false;
        for (int64_t i = 0; i < s->meta.langs; i++)
            if (strcmp(s->meta.lang[i], wanted->item[k]) == 0)
                found = s->lang_fits[i] = true;
        if (!found)
            return no_such("lang", wanted->item[k], s->meta.lang, s->meta.langs, sizeof *s->meta.lang);
    }
    return STATUS_OK;
}

/* A source is named by its CSV's base name or by its number in the order of the command line, from 0. */
static status set_sources(selection *s)
{
    const option_list *wanted = &s->o->source;
    TRY(memory_new(&s->source_fits, (size_t)s->meta.sources, "filters"));
    for (int64_t i = 0; i < s->meta.sources; i++)
        s->source_fits[i] = wanted->count == 0;
    for (size_t k = 0; k < wanted->count; k++) {
        bool found = false;
        for (int64_t i = 0; i < s->meta.sources; i++) {
            char number[24];
            snprintf(number, sizeof number, "%lld", (long long)i);
            if (strcmp(s->meta.source[i].name, wanted->item[k]) == 0 || strcmp(number, wanted->item[k]) == 0)
                found = s->source_fits[i] = true;
        }
        if (!found)
            return no_such("source", wanted->item[k], s->meta.sources > 0 ? &s->meta.source[0].name : NULL, s->meta.sources,
                           sizeof *s->meta.source);
    }
    return STATUS_OK;
}

static status prepare(selection *s)
{
    TRY(set_langs(s));
    TRY(set_sources(s));
    TRY(fold_read("fold", s->o->fold, &s->fold));
    TRY(fold_read("without-fold", s->o->without_fold, &s->without_fold));
    s->folds = s->fold.of > 0 || s->without_fold.of > 0;
    s->filters = s->folds || s->o->lang.count > 0 || s->o->source.count > 0 || s->o->labelled != LABELLED_ANY;
    TRY(memory_new(&s->source, ROWFILE_CHUNK * sizeof *s->source, "a block of rows"));
    TRY(memory_new(&s->lang, ROWFILE_CHUNK * sizeof *s->lang, "a block of rows"));
    TRY(memory_new(&s->label, ROWFILE_CHUNK * (size_t)s->meta.labels * sizeof *s->label, "a block of rows"));
    s->repeats = s->o->duplicates != REPEATS_KEEP || s->o->exclude.count > 0;
    s->filters = s->filters || s->repeats;
    for (int64_t i = 1; i < s->units; i++)
        s->unit[i].at = s->unit[i - 1].at + s->unit[i - 1].rows;
    if (s->repeats || s->folds)
        TRY(memory_new(&s->text, ROWFILE_CHUNK * sizeof *s->text, "a block of rows"));
    return memory_new(&s->keep, ROWFILE_CHUNK * sizeof *s->keep, "a block of rows");
}

status selection_open_inputs(selection *s, char *const *folders, int64_t count)
{
    status st = STATUS_OK;
    for (int64_t i = 0; st == STATUS_OK && i < count; i++)
        st = add_folder(s, folders[i]);
    for (size_t i = 0; st == STATUS_OK && i < s->o->exclude.count; i++) {
        manifest m;
        st = manifest_read(s->o->exclude.item[i], &m);
        if (st != STATUS_OK)
            break;
        st = repeats_comparable(s->meta.tokenizer, m.tokenizer, s->o->exclude.item[i]);
        if (st == STATUS_OK)
            st = inputs_add(&s->inputs, "without ", s->o->exclude.item[i], &m);
        manifest_free(&m);
    }
    TRY(comm_agree(st));
    TRY(share_meta(s));
    return comm_agree(prepare(s));
}
