#include "preprocess/stage.h"

#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/count.h"
#include "common/files.h"
#include "common/log.h"
#include "common/space.h"
#include "preprocess/parts.h"
#include "preprocess/report.h"
#include "preprocess/sources.h"
#include "store/identity.h"
#include "store/manifest.h"

enum { CLAIM_SECONDS = 10 };

typedef struct stage_state {
    const stage_options *o;
    csv_sources sources;
    csv_splits splits;
    check_result checked;
    tokenizer *tokenizer;
    rowfile_meta meta;  /* freed as a whole: see describe() */
    char *inputs;       /* name, space, SHA-256, LF for each */
    parts_job job;
    token_parts parts;
    survey counts;
    made_folder made;
    int claim; /* of the folder of parts */
} stage_state;

/* ---- who we are: inputs, options, tokenizer ---- */

/* The texts of --fill in one line, for the identity of the tokens: one for all inputs is one text, however it was given. */
static status fill_text(const option_list *fill, char **out)
{
    size_t room = 1, used = 0, count = 1;
    for (size_t i = 0; i < fill->count; i++) {
        room += strlen(fill->item[i]) + 1;
        count = strcmp(fill->item[i], fill->item[0]) != 0 ? fill->count : count;
    }
    TRY(memory_new(out, room, "--fill"));
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(*out + used, room - used, "%s%s", i ? "," : "", fill->item[i]);
    return STATUS_OK;
}

static status identify_tokens(stage_state *s)
{
    bool keep = s->o->rules.na_keep;
    char *fill = NULL;
    TRY(tokenizer_create(s->o->vocab, &s->o->tokenizer, &s->tokenizer));
    if (!keep)
        TRY(fill_text(&s->o->fill, &fill));
    const char *na = keep ? "keep" : s->o->rules.na_old ? "pandas1" : "pandas";
    status st = tokenizer_identity(s->tokenizer, &(tokenizer_row_rules){.na = na, .fill = keep ? "" : fill}, &s->meta.tokenizer);
    free(fill);
    return st;
}

/* What the parts say of themselves; needs the check's languages and labels. */
static status describe(stage_state *s)
{
    rowfile_meta *m = &s->meta;
    TRY(memory_new(&m->source, (size_t)s->sources.count * sizeof *m->source, "the inputs"));
    m->sources = s->sources.count;
    for (int64_t i = 0; i < m->sources; i++) {
        const char *name = file_base(s->sources.source[i].path);
        TRY(memory_new(&m->source[i].name, strlen(name) + 1, "an input's name"));
        memcpy(m->source[i].name, name, strlen(name));
        memcpy(m->source[i].sha256, s->sources.source[i].sha256, HASH_HEX);
    }
    TRY(memory_new(&m->lang, (size_t)s->checked.langs.count * sizeof *m->lang, "the languages"));
    for (int64_t i = 0; i < s->checked.langs.count; i++) {
        const char *lang = s->checked.langs.text[i];
        TRY(memory_new(&m->lang[i], strlen(lang) + 1, "a language"));
        memcpy(m->lang[i], lang, strlen(lang));
        m->langs = i + 1;
    }
    TRY(memory_new(&m->label, (size_t)s->checked.labels * sizeof *m->label, "the labels"));
    for (int64_t i = 0; i < s->checked.labels; i++) {
        TRY(columns_label_name(&s->o->rules.columns, i, &m->label[i]));
        m->labels = i + 1;
    }
    TRY(memory_new(&m->identity_text, strlen(s->o->identity) + 1, "the options"));
    memcpy(m->identity_text, s->o->identity, strlen(s->o->identity));
    return STATUS_OK;
}

/* ---- what is there already ---- */

static status check_same(const stage_state *s, const manifest *m)
{
    return manifest_check_same(s->o->out, m, &(manifest){.stage = (char[]){"preprocess"}, .inputs = s->inputs, .identity = (char *)(uintptr_t)s->o->identity,
                                                        .tokenizer = s->meta.tokenizer});
}

/* Collective. Each rank looks at its share of the files. */
static bool files_are_whole(const stage_state *s, const manifest *m)
{
    bool damaged = false;
    for (int64_t i = comm_rank(); i < m->files; i += comm_size()) {
        manifest one = *m;
        one.files = 1;
        one.file = &m->file[i];
        if (manifest_check(s->o->out, &one, true) != STATUS_OK) {
            log_always("%s; it is made again", status_message());
            damaged = true;
        }
    }
    return !comm_any(damaged);
}

/* Collective. */
static status has_manifest(const stage_state *s, bool *there)
{
    char *path;
    TRY(comm_agree(file_join(s->o->out, "manifest.json", &path)));
    *there = comm_any(file_exists(path));
    free(path);
    return STATUS_OK;
}

/* Collective; there is a manifest. *done: it is of the same work and all that it names is there. */
static status look_at_earlier(stage_state *s, FILE *report, bool *done)
{
    manifest m = {0};
    bool damaged = manifest_read(s->o->out, &m) != STATUS_OK;
    if (damaged)
        log_warn("%s; it is made again", status_message());
    damaged = comm_any(damaged);
    status st = damaged ? STATUS_OK : comm_agree(check_same(s, &m));
    if (st == STATUS_OK && !damaged && files_are_whole(s, &m)) {
        *done = true;
        if (comm_rank() == 0 && report)
            fprintf(report, "%s: done already: %s in %s, all whole\n", s->o->out, count_of(m.rows, "row"), count_of(m.files, "part"));
    }
    manifest_free(&m);
    return st;
}

/* ---- the end ---- */

static status write_manifest(const stage_state *s)
{
    const token_parts *p = &s->parts;
    manifest m = {.stage = (char[]){"preprocess"}, .inputs = s->inputs, .identity = (char *)s->o->identity, .tokenizer = s->meta.tokenizer, .files = p->count};
    char **paths = NULL;
    status st;
    TRY(memory_new(&m.file, (size_t)p->count * sizeof *m.file, "the manifest"));
    TRY_DONE(memory_new(&paths, (size_t)p->count * sizeof *paths, "the manifest"));
    for (int64_t i = 0; i < p->count; i++) {
        const rowfile_summary *one = &p->part[i].summary;
        m.file[i] = (manifest_file){.name = p->part[i].name, .rows = one->rows, .tokens = one->tokens, .bytes = one->bytes};
        memcpy(m.file[i].sha256, one->sha256, sizeof m.file[i].sha256);
        m.rows += one->rows;
        m.tokens += one->tokens;
        paths[i] = p->part[i].path;
    }
    TRY_DONE(data_identity_of_written(m.tokenizer, m.rows, paths, p->count, m.data_identity));
    st = manifest_write(s->o->out, &m);
done:
    free(m.file);
    free(paths);
    return st;
}

static status check_options(const stage_options *o)
{
    if (o->input_count == 0)
        return fail(STATUS_USAGE, "no CSV is named; give one or more");
    if (!o->rules.na_keep && o->fill.count != 1 && (int64_t)o->fill.count != o->input_count)
        return fail(STATUS_USAGE, "--fill has %zu texts for %lld inputs; give one for all, or one for each", o->fill.count, (long long)o->input_count);
    return STATUS_OK;
}

static status claim_folder(stage_state *s)
{
    TRY(made_folder_begin(&s->made, s->o->out));
    return file_claim_folder(s->o->out, CLAIM_SECONDS, &s->claim);
}

/* Collective. Where there is a manifest, whether it is of this work and all that it names is there; needs the hashes, and takes them. */
static status look_around(stage_state *s, FILE *report, bool *hashed, bool *done)
{
    TRY(has_manifest(s, hashed));
    *done = false;
    if (!*hashed)
        return STATUS_OK;
    TRY(sources_share_hashes(&s->sources, sources_hash_mine(&s->sources)));
    TRY(comm_agree(sources_list(&s->sources, &s->inputs)));
    return look_at_earlier(s, report, done);
}

/* The hashes and the check at once: the ranks that hash have the less to check. */
static status hash_and_check(stage_state *s)
{
    uint64_t *busy = NULL;
    status st = memory_new(&busy, (size_t)comm_size() * sizeof *busy, "the shares of the ranks");
    TRY_DONE(comm_agree(st)); /* the last time that ranks wait for each other before their checks are done */
    for (int64_t i = 0; i < s->sources.count; i++)
        busy[i % comm_size()] += s->sources.source[i].stored; /* a byte takes about as long to hash as to check */
    st = sources_hash_mine(&s->sources);
    status checked = check_inputs(&s->splits, &s->o->rules, busy, &s->checked);
    TRY_DONE(sources_share_hashes(&s->sources, st));
    TRY_DONE(checked);
    st = comm_agree(sources_list(&s->sources, &s->inputs));
done:
    free(busy);
    return st;
}

static status claim_clean_folder(stage_state *s)
{
    TRY(claim_folder(s));
    return sources_remove_left(s->o->out);
}

static status unpack_sources(stage_state *s)
{
    if (!sources_packed(&s->sources))
        return STATUS_OK;
    TRY(comm_agree(comm_rank() == 0 ? claim_folder(s) : STATUS_OK));
    return sources_unpack(&s->sources, s->o->out, s->o->rules.memory);
}

static status open_splits(stage_state *s)
{
    char **plain = NULL;
    status st = memory_new(&plain, (size_t)s->sources.count * sizeof *plain, "the inputs");
    for (int64_t i = 0; i < s->sources.count && st == STATUS_OK; i++)
        plain[i] = s->sources.source[i].plain;
    st = comm_agree(st);
    if (st == STATUS_OK)
        st = splits_open(&(splits_request){.path = s->o->inputs, .plain = plain, .count = s->o->input_count, .split_bytes = s->o->split_bytes,
                                           .delimiter = s->o->delimiter, .dialect = s->o->dialect}, &s->splits);
    free(plain);
    return st;
}

static status write_parts(stage_state *s, FILE *report)
{
    const stage_options *o = s->o;
    TRY(comm_agree(describe(s)));
    s->job = (parts_job){.splits = &s->splits, .rules = &o->rules, .checked = &s->checked, .tokenizer = s->tokenizer, .meta = &s->meta, .fill = &o->fill,
                         .clean = o->tokenizer.clean != 0, .out = o->out};
    TRY(comm_agree(parts_plan(&s->job, &s->parts)));
    TRY(comm_agree(survey_create(s->checked.langs.count, s->checked.labels, o->report_length, tokenizer_special_ids(s->tokenizer).unk, &s->counts)));
    if (!sources_packed(&s->sources))
        TRY(comm_agree(comm_rank() == 0 ? claim_clean_folder(s) : STATUS_OK));
    TRY(parts_write(&s->parts, &s->counts));
    TRY(comm_agree(comm_rank() == 0 ? write_manifest(s) : STATUS_OK));
    survey_unite(&s->counts);
    return report_print(&s->parts, &s->counts, report);
}

static status run(stage_state *s, FILE *report)
{
    const stage_options *o = s->o;
    bool hashed, done;
    TRY(comm_agree(check_options(o)));
    TRY(comm_agree(identify_tokens(s)));
    TRY(comm_agree(sources_open(o->inputs, o->input_count, &s->sources)));
    TRY(look_around(s, report, &hashed, &done));
    if (done)
        return STATUS_OK;
    TRY(unpack_sources(s));
    TRY(open_splits(s));
    TRY(hashed ? check_inputs(&s->splits, &o->rules, NULL, &s->checked) : hash_and_check(s));
    return write_parts(s, report);
}

status stage_run(const stage_options *o, FILE *report)
{
    stage_state s = {.o = o, .claim = -1};
    status st = run(&s, report);
    splits_close(&s.splits);
    sources_close(&s.sources);
    file_release_folder(&s.claim);
    made_folder_end(&s.made, st != STATUS_OK);
    survey_free(&s.counts);
    parts_free(&s.parts);
    rowfile_meta_free(&s.meta);
    check_free(&s.checked, o->input_count);
    tokenizer_free(s.tokenizer);
    free(s.inputs);
    return st;
}
