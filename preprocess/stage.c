#include "preprocess/stage.h"

#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/count.h"
#include "common/files.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/space.h"
#include "preprocess/parts.h"
#include "preprocess/report.h"
#include "preprocess/stage_inside.h"
#include "store/identity.h"
#include "store/manifest.h"

enum { CLAIM_SECONDS = 10 };

/* What there is besides on the way to parts. */
typedef struct part_stage {
    stage_state *s;
    token_parts parts;
    made_folder made;
    int claim; /* of the folder of parts */
} part_stage;

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

static status write_manifest(const stage_state *s, const token_parts *p)
{
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

static status claim_folder(part_stage *w)
{
    TRY(made_folder_begin(&w->made, w->s->o->out));
    return file_claim_folder(w->s->o->out, CLAIM_SECONDS, &w->claim);
}

status stage_look(stage_state *s, bool *there)
{
    TRY(has_manifest(s, there));
    if (!*there)
        return STATUS_OK;
    TRY(sources_share_hashes(&s->sources, sources_hash_mine(&s->sources)));
    return comm_agree(sources_list(&s->sources, &s->inputs));
}

/* Hashing so many bytes takes as long as checking this many: 1.5 and 0.35 GB/s, with and without instructions for it, beside 0.8. */
static uint64_t hashing_work(uint64_t bytes)
{
    return hash_sha256_is_fast() ? bytes / 8 * 5 : bytes * 2;
}

/* The hashes and the check at once: the ranks that hash have the less to check. */
static status hash_and_check(stage_state *s)
{
    uint64_t *busy = NULL;
    status st = memory_new(&busy, (size_t)comm_size() * sizeof *busy, "the shares of the ranks");
    TRY_DONE(comm_agree(st)); /* the last time that ranks wait for each other before their checks are done */
    for (int64_t i = 0; i < s->sources.count; i++)
        busy[i % comm_size()] += hashing_work(s->sources.source[i].stored);
    st = sources_hash_mine(&s->sources);
    status checked = check_inputs(&s->splits, &s->o->rules, busy, &s->checked);
    TRY_DONE(sources_share_hashes(&s->sources, st));
    TRY_DONE(checked);
    st = comm_agree(sources_list(&s->sources, &s->inputs));
done:
    free(busy);
    return st;
}

static status claim_clean_folder(part_stage *w)
{
    TRY(claim_folder(w));
    return sources_remove_left(w->s->o->out);
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

status stage_check(stage_state *s)
{
    const stage_options *o = s->o;
    if (sources_packed(&s->sources))
        TRY(sources_unpack(&s->sources, o->out, o->rules.memory));
    TRY(open_splits(s));
    TRY(s->inputs ? check_inputs(&s->splits, &o->rules, NULL, &s->checked) : hash_and_check(s));
    TRY(comm_agree(describe(s)));
    s->job = (parts_job){.splits = &s->splits, .rules = &o->rules, .checked = &s->checked, .tokenizer = s->tokenizer, .meta = &s->meta, .fill = &o->fill,
                         .clean = o->tokenizer.clean != 0, .out = o->out};
    return comm_agree(survey_create(s->checked.langs.count, s->checked.labels, o->report_length, tokenizer_special_ids(s->tokenizer).unk, &s->counts));
}

void stage_close_inputs(stage_state *s)
{
    splits_close(&s->splits);
    sources_close(&s->sources);
}

static status write_parts(part_stage *w, FILE *report)
{
    stage_state *s = w->s;
    duplicate_counts duplicates;
    bool there, done = false, packed = sources_packed(&s->sources);
    TRY(stage_look(s, &there));
    if (there)
        TRY(look_at_earlier(s, report, &done));
    if (done)
        return STATUS_OK;
    if (packed)
        TRY(comm_agree(comm_rank() == 0 ? claim_folder(w) : STATUS_OK));
    TRY(stage_check(s));
    TRY(comm_agree(parts_plan(&s->job, &w->parts)));
    if (!packed)
        TRY(comm_agree(comm_rank() == 0 ? claim_clean_folder(w) : STATUS_OK));
    TRY(parts_write(&w->parts, &s->counts));
    TRY(comm_agree(comm_rank() == 0 ? write_manifest(s, &w->parts) : STATUS_OK));
    survey_unite(&s->counts);
    TRY(duplicates_of_parts(&w->parts, s->checked.rows, s->o->rules.memory, &duplicates));
    return report_print(&(report_about){.job = &s->job, .inputs = s->o->inputs, .input_count = s->o->input_count, .files = w->parts.count, .file = "part"},
                        &s->counts, &duplicates, report);
}

static status make_parts(stage_state *s, FILE *report)
{
    part_stage w = {.s = s, .claim = -1};
    status st = write_parts(&w, report);
    stage_close_inputs(s); /* before the folder is another one's */
    file_release_folder(&w.claim);
    made_folder_end(&w.made, st != STATUS_OK);
    parts_free(&w.parts);
    return st;
}

static status run(stage_state *s, FILE *report)
{
    const stage_options *o = s->o;
    TRY(comm_agree(check_options(o)));
    TRY(comm_agree(identify_tokens(s)));
    TRY(comm_agree(sources_open(o->inputs, o->input_count, &s->sources)));
    return o->shards ? direct_run(s, report) : make_parts(s, report);
}

status stage_run(const stage_options *o, FILE *report)
{
    stage_state s = {.o = o};
    status st = run(&s, report);
    stage_close_inputs(&s);
    survey_free(&s.counts);
    rowfile_meta_free(&s.meta);
    check_free(&s.checked, o->input_count);
    tokenizer_free(s.tokenizer);
    free(s.inputs);
    return st;
}
