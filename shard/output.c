#include "shard/output.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/files.h"
#include "common/log.h"
#include "shard/inputs.h"
#include "store/identity.h"

#define INPUTS_HEAD "# rows of: "

status output_open(output *out, const shard_options *o)
{
    *out = (output){.folder = o->out, .shards = o->shards};
    TRY(memory_new(&out->first, (size_t)(o->shards + 1) * sizeof *out->first, "the list of shards"));
    TRY(memory_new(&out->done, (size_t)o->shards * sizeof *out->done, "the list of shards"));
    TRY(memory_new(&out->told, (size_t)o->shards * sizeof *out->told, "the list of shards"));
    return memory_new(&out->whole, (size_t)o->shards * sizeof *out->whole, "the list of shards");
}

void output_free(output *out)
{
    free(out->first);
    free(out->done);
    free(out->whole);
    free(out->told);
    free(out->inputs);
    *out = (output){0};
}

void output_divide(output *out, int64_t rows)
{
    for (int64_t i = 0; i <= out->shards; i++)
        out->first[i] = (int64_t)((__int128)i * rows / out->shards);
}

static void shard_name(const output *out, int64_t shard, char to[64])
{
    snprintf(to, 64, "shard-%05lld-of-%05lld.h5", (long long)shard, (long long)out->shards);
}

status output_path(const output *out, int64_t shard, char **path)
{
    char name[64];
    shard_name(out, shard, name);
    return file_join(out->folder, name, path);
}

int64_t output_missing(const output *out)
{
    int64_t missing = 0;
    for (int64_t i = 0; i < out->shards; i++)
        missing += !out->whole[i];
    return missing;
}

/* A shard is found or made by one rank, and told to all by adding up: whoever does not know it, and all but one who do, bring zeros. */
static void share_found(output *out)
{
    static_assert(sizeof(rowfile_summary) % sizeof(uint64_t) == 0, "summaries are added up as words");
    for (int64_t i = 0; i < out->shards; i++)
        if (!out->whole[i] || (out->told[i] && comm_rank() != 0))
            out->done[i] = (rowfile_summary){0};
    comm_sum_uint64((uint64_t *)(void *)out->done, (size_t)out->shards * sizeof *out->done / sizeof(uint64_t));
    for (int64_t i = 0; i < out->shards; i++)
        out->whole[i] = out->told[i] = out->done[i].bytes > 0;
}

/* ---- what is there ---- */

static void check_shard(output *out, const manifest *m, int64_t i)
{
    if (manifest_check_file(out->folder, m, i, true) != STATUS_OK) {
        log_always("%s", status_message());
        return;
    }
    out->done[i] = (rowfile_summary){.rows = m->file[i].rows, .tokens = m->file[i].tokens, .bytes = m->file[i].bytes};
    memcpy(out->done[i].sha256, m->file[i].sha256, sizeof m->file[i].sha256);
    out->whole[i] = true;
}

static status use_manifest(output *out, const manifest *m, const manifest *wanted)
{
    manifest same = *wanted;
    if (inputs_fit(wanted->inputs, m->inputs))
        same.inputs = m->inputs;
    TRY(manifest_check_same(out->folder, m, &same));
    if (!(out->inputs = strdup(m->inputs)))
        return fail(STATUS_RESOURCE, "out of memory: the list of inputs");
    if (m->files != out->shards)
        return fail(STATUS_INPUT, "%s: its manifest.json names %lld files, not --shards %lld; remove it", out->folder, (long long)m->files,
                    (long long)out->shards);
    memcpy(out->data_identity, m->data_identity, sizeof m->data_identity);
    for (int64_t i = comm_rank(); i < out->shards; i += comm_size())
        check_shard(out, m, i);
    return STATUS_OK;
}

status output_look_by_manifest(output *out, const manifest *about)
{
    manifest m;
    char *path;
    TRY(comm_agree(file_join(out->folder, "manifest.json", &path)));
    bool there = file_exists(path);
    free(path);
    /* A damaged manifest is as none: the shards speak for themselves. */
    bool read = there && manifest_read(out->folder, &m) == STATUS_OK;
    if (there && !read)
        log_warn("%s", status_message());
    out->agrees = !comm_any(!read);
    status st = STATUS_OK;
    if (out->agrees)
        st = comm_agree(use_manifest(out, &m, about));
    if (out->agrees && st == STATUS_OK)
        share_found(out);
    if (read)
        manifest_free(&m);
    return st;
}

status output_describe(const manifest *about, char **text)
{
    if (asprintf(text, "%s" INPUTS_HEAD "%s\n", about->identity, about->inputs) < 0)
        return fail(STATUS_RESOURCE, "out of memory: the description of the shards");
    return STATUS_OK;
}

/* What a shard says it is, where it may be one of this work; *text NULL: it is not there, or of another. */
static status look_into(const output *out, int64_t shard, const char *path, const char *description, const char *tokenizer, char **text)
{
    rowfile *f;
    *text = NULL;
    if (!file_exists(path) || rowfile_open(path, &f) != STATUS_OK)
        return STATUS_OK;
    const rowfile_meta *m = rowfile_get_meta(f);
    bool fits = m->identity_text && inputs_fit(description, m->identity_text) && strcmp(m->tokenizer, tokenizer) == 0 &&
                rowfile_rows(f) == out->first[shard + 1] - out->first[shard];
    if (fits)
        *text = strdup(m->identity_text);
    rowfile_free(f);
    return fits && !*text ? fail(STATUS_RESOURCE, "out of memory: the description of the shards") : STATUS_OK;
}

/* *said, NULL before the first, is what the whole ones say they are: all have to say the same. */
static status look_at_left(output *out, int64_t shard, const char *description, const char *tokenizer, char **said)
{
    char *path, *text = NULL;
    TRY(output_path(out, shard, &path));
    status st = look_into(out, shard, path, description, tokenizer, &text);
    out->whole[shard] = text && (!*said || strcmp(text, *said) == 0) && rowfile_verify(path, &out->done[shard]) == STATUS_OK;
    if (out->whole[shard] && !*said)
        *said = text;
    else
        free(text);
    free(path);
    return st;
}

/* Ranks that found shards of other inputs than the lowest one that found any leave theirs. Of what those say, *out keeps the inputs. */
static status agree_on_inputs(output *out, const manifest *about, const char *said)
{
    int64_t from = said ? comm_rank() : comm_size();
    comm_min_int64(&from, 1);
    if (from == comm_size())
        return STATUS_OK;
    size_t head = strlen(about->identity) + sizeof INPUTS_HEAD - 1, bytes = said ? strlen(said) - head : 0;
    comm_broadcast(&bytes, sizeof bytes, (int)from);
    TRY(comm_agree(memory_new(&out->inputs, bytes + 1, "the list of inputs")));
    if (from == comm_rank())
        memcpy(out->inputs, said + head, bytes);
    comm_broadcast(out->inputs, bytes, (int)from);
    bool other = said && strcmp(said + head, out->inputs) != 0;
    for (int64_t i = 0; other && i < out->shards; i++)
        out->whole[i] = false;
    out->inputs[bytes - 1] = 0; /* the end of its line */
    return STATUS_OK;
}

status output_look_by_files(output *out, const manifest *about)
{
    char *description = NULL, *said = NULL;
    status st = output_describe(about, &description);
    for (int64_t i = comm_rank(); st == STATUS_OK && i < out->shards; i += comm_size())
        st = look_at_left(out, i, description, about->tokenizer, &said);
    st = comm_agree(st);
    if (st == STATUS_OK)
        st = agree_on_inputs(out, about, said);
    if (st == STATUS_OK)
        share_found(out);
    free(description);
    free(said);
    return st;
}

/* ---- writing ---- */

static status remove_old(const output *out)
{
    char **name, *path, ours[32];
    size_t count;
    status st = STATUS_OK;
    snprintf(ours, sizeof ours, "-of-%05lld.h5", (long long)out->shards);
    TRY(file_list(out->folder, &name, &count));
    for (size_t i = 0; st == STATUS_OK && i < count; i++) {
        bool shard = fnmatch("shard-*-of-*.h5", name[i], 0) == 0 && !strstr(name[i], ours);
        bool half = fnmatch("shard-*.h5.tmp-*", name[i], 0) == 0 || fnmatch("manifest.json.tmp-*", name[i], 0) == 0;
        if (!shard && !half && strcmp(name[i], "manifest.json") != 0)
            continue;
        st = file_join(out->folder, name[i], &path);
        if (st == STATUS_OK) {
            st = file_remove(path);
            free(path);
        }
    }
    file_free_names(name, count);
    return st;
}

status output_clear(const output *out)
{
    return comm_agree(comm_rank() == 0 ? remove_old(out) : STATUS_OK);
}

static status describe_shards(const output *out, manifest *m, char **path)
{
    for (int64_t i = 0; i < out->shards; i++) {
        const rowfile_summary *s = &out->done[i];
        TRY(output_path(out, i, &path[i]));
        m->file[i] = (manifest_file){.name = (char *)(uintptr_t)file_base(path[i]), .rows = s->rows, .tokens = s->tokens, .bytes = s->bytes};
        memcpy(m->file[i].sha256, s->sha256, sizeof s->sha256);
        m->rows += s->rows;
        m->tokens += s->tokens;
    }
    return data_identity_of_written(m->tokenizer, m->rows, path, out->shards, m->data_identity);
}

static status write_manifest(output *out, const manifest *about)
{
    char **path = NULL;
    manifest m = *about;
    status st;
    m.files = out->shards;
    TRY_DONE(memory_new(&m.file, (size_t)out->shards * sizeof *m.file, "the manifest"));
    TRY_DONE(memory_new(&path, (size_t)out->shards * sizeof *path, "the manifest"));
    TRY_DONE(describe_shards(out, &m, path));
    TRY_DONE(manifest_write(out->folder, &m));
    memcpy(out->data_identity, m.data_identity, sizeof m.data_identity);
done:
    file_free_names(path, path ? (size_t)out->shards : 0);
    free(m.file);
    return st;
}

status output_finish(output *out, const manifest *about)
{
    share_found(out);
    status st = STATUS_OK;
    if (comm_rank() == 0)
        st = write_manifest(out, about);
    return comm_agree(st);
}
