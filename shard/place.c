#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/count.h"
#include "common/files.h"
#include "common/log.h"
#include "common/space.h"
#include "common/stop.h"
#include "shard/output.h"
#include "shard/select.h"
#include "shard/spill.h"

/* What the libraries, a reader and a writer of row files take of --memory; the rest holds rows. */
enum { FIXED_BYTES = 40 << 20, CLAIM_SECONDS = 10 };

typedef struct work {
    const shard_options *o;
    selection *rows;
    output out;
    char *folder;         /* of the runs on their way */
    rowfile_meta meta;    /* of every shard */
    manifest about;       /* what the manifest says of the work; all borrowed */
    bool all_missing;     /* every shard is to be made */
    spill_writer *spill;
    spill_runs *runs;
    rowfile_writer *shard;
    progress *progress;
    made_folder made;
    int claim;            /* of the folder of shards */
} work;

static int64_t working_memory(const work *w)
{
    int64_t block = (ROWFILE_CHUNK * 4 * 3) * selection_meta(w->rows)->labels; /* labels in reader, writer and filter */
    int64_t left = w->o->memory - FIXED_BYTES - block;
    return left > 8 << 20 ? left : 8 << 20;
}

/* ---- parts to sorted runs ---- */

/* The shard that holds a position: the last whose first position is not above it. */
static int64_t shard_of(const output *out, int64_t position)
{
    int64_t n = out->first[out->shards];
    return (int64_t)((((__int128)position + 1) * out->shards - 1) / n);
}

static bool wants(void *job, int64_t position)
{
    const work *w = job;
    return w->all_missing || !w->out.whole[shard_of(&w->out, position)];
}

/* Memory of a rank for a run. Fresh memory is slow and a run is copied out in random order, so a small run that stays near the processor is
 * quicker than all the memory there is, as long as the runs to merge are not too many. */
static int64_t run_memory(const work *w)
{
    enum { RUNS = 16 };
    static const int64_t least = 32 << 20;
    int64_t most = working_memory(w) / 10 * 8, wanted = selection_bytes(w->rows) / comm_size() / RUNS;
    wanted = wanted < least ? least : wanted;
    return wanted < most ? wanted : most;
}

static status send(void *job, int64_t position, const rowfile_row *r)
{
    return spill_add(((work *)job)->spill, position, r);
}

static status route_units(work *w)
{
    int64_t first, end;
    selection_units(w->rows, &first, &end);
    w->all_missing = output_missing(&w->out) == w->out.shards;
    TRY(spill_create(w->folder, selection_meta(w->rows)->labels, run_memory(w), w->out.first, w->out.shards, &w->spill));
    for (int64_t i = first; i < end && !stop_wanted(); i++) {
        TRY(selection_visit(w->rows, i, wants, send, w));
        /* the others are about as far */
        progress_set(w->progress, selection_visited(w->rows) * comm_size() < selection_rows(w->rows) ? selection_visited(w->rows) * comm_size()
                                                                                                     : selection_rows(w->rows), NULL);
    }
    return STATUS_OK;
}

static status route(work *w)
{
    w->progress = progress_begin("read", "rows", selection_rows(w->rows));
    status st = comm_agree(route_units(w));
    if (st == STATUS_OK && !stop_wanted())
        progress_set(w->progress, selection_rows(w->rows), NULL);
    progress_end(w->progress);
    TRY(st);
    if (comm_any(stop_wanted()))
        return STATUS_STOPPED;
    spill_writer *full = w->spill;
    w->spill = NULL;
    return spill_share(full, &w->runs);
}

/* ---- runs to shards ---- */

static status append(void *job, const rowfile_row *r)
{
    return rowfile_append(((work *)job)->shard, r);
}

static status write_shard(work *w, int64_t shard)
{
    char *path;
    TRY(output_path(&w->out, shard, &path));
    status st = rowfile_create(path, &w->meta, &w->shard);
    free(path);
    TRY(st);
    st = rowfile_leave_hashes(w->shard);
    if (st == STATUS_OK)
        st = spill_merge(w->runs, shard, working_memory(w) / 2, append, w);
    if (st != STATUS_OK) {
        rowfile_abandon(w->shard);
        return st;
    }
    TRY(rowfile_close(w->shard, &w->out.done[shard]));
    w->out.whole[shard] = true;
    return STATUS_OK;
}

static status write_shards(work *w)
{
    /* Shards in the order of their numbers are dealt to ranks in turn; those that stand already are passed over. */
    int64_t turn = 0, mine = 0, missing = output_missing(&w->out);
    for (int64_t i = 0; i < w->out.shards && !stop_wanted(); i++) {
        if (w->out.whole[i] || turn++ % comm_size() != comm_rank())
            continue;
        TRY(write_shard(w, i));
        progress_set(w->progress, (mine += comm_size()) < missing ? mine : missing, NULL);
    }
    return STATUS_OK;
}

static status write_all(work *w)
{
    w->progress = progress_begin("write", "shards", output_missing(&w->out));
    status st = comm_agree(write_shards(w));
    progress_end(w->progress);
    TRY(st);
    return comm_any(stop_wanted()) ? STATUS_STOPPED : STATUS_OK;
}

/* ---- the whole ---- */

static status describe(work *w, const char *identity)
{
    const rowfile_meta *all = selection_meta(w->rows);
    TRY(rowfile_meta_copy(all, &w->meta));
    free(w->meta.identity_text);
    w->meta.identity_text = NULL;
    w->meta.seed = (uint64_t)w->o->seed;
    static char stage[] = "shard";
    w->about = (manifest){.stage = stage, .inputs = (char *)(uintptr_t)selection_inputs(w->rows), .identity = (char *)(uintptr_t)identity,
                          .tokenizer = w->meta.tokenizer, .read_with = (char *)(uintptr_t)selection_read_with(w->rows)};
    if (asprintf(&w->meta.identity_text, "%s# rows of: %s\n", identity, selection_inputs(w->rows)) < 0)
        return fail(STATUS_RESOURCE, "out of memory: the description of the shards");
    return file_join(w->o->out, ".on-the-way", &w->folder);
}

static void say_done(const work *w, const char *how)
{
    int64_t rows = 0, tokens = 0;
    uint64_t bytes = 0;
    for (int64_t i = 0; i < w->out.shards; i++) {
        rows += w->out.done[i].rows;
        tokens += w->out.done[i].tokens;
        bytes += w->out.done[i].bytes;
    }
    log_info("%s: %s: %s, %s in %s, %.1f MB; identity %.16s", w->o->out, how, count_of(rows, "row"), count_of(tokens, "token"),
             count_of(w->out.shards, "shard"), (double)bytes / 1e6, w->out.data_identity);
}

/* No manifest will be written, so nobody asks for the hashes beside the shards. Returns `st`. */
static status forget_hashes(const work *w, status st)
{
    char *path;
    for (int64_t i = 0; i < w->out.shards && output_path(&w->out, i, &path) == STATUS_OK; i++) {
        rowfile_forget_hashes(path);
        free(path);
    }
    return st;
}

static status make_missing(work *w)
{
    /* Folders of runs are of no use to a later run: a kill leaves one behind, the next run clears it. */
    status st = STATUS_OK;
    if (comm_rank() == 0)
        st = file_remove_tree(w->folder);
    if (st == STATUS_OK && comm_rank() == 0)
        st = file_make_folder(w->folder);
    TRY(comm_agree(st));
    st = route(w);
    if (st == STATUS_OK)
        st = write_all(w);
    if (st == STATUS_STOPPED)
        log_warn("%s: stopped by %s; the shards that are whole stay: run the same command again", w->o->out,
                 stop_wanted() ? stop_reason() : "a signal to another rank");
    spill_remove_file(w->folder); /* each rank its own: letting go of so many pages takes a while */
    comm_barrier();
    if (comm_rank() == 0 && file_remove_tree(w->folder) != STATUS_OK)
        log_warn("%s", status_message());
    return st == STATUS_OK || comm_rank() != 0 ? st : forget_hashes(w, st);
}

static status claim_folder(work *w)
{
    TRY(made_folder_begin(&w->made, w->o->out));
    return file_claim_folder(w->o->out, CLAIM_SECONDS, &w->claim);
}

static status look_around(work *w)
{
    TRY(output_look_by_manifest(&w->out, &w->about));
    if (w->out.agrees && output_missing(&w->out) == 0)
        return STATUS_OK;
    TRY(selection_count(w->rows));
    int64_t kept = selection_kept(w->rows), chosen = selection_chosen(w->rows);
    output_divide(&w->out, chosen);
    if (w->o->sample > kept)
        log_info("--sample %lld: no more than %s to take from, all of them are taken", (long long)w->o->sample, count_of(kept, "row"));
    if (chosen < w->out.shards)
        log_warn("%s in %s: some shards are empty", count_of(chosen, "row"), count_of(w->out.shards, "shard"));
    TRY(comm_agree(comm_rank() == 0 ? claim_folder(w) : STATUS_OK));
    if (w->out.agrees)
        log_info("%s: %lld of %lld shards are missing or damaged and are made again", w->o->out, (long long)output_missing(&w->out),
                 (long long)w->out.shards);
    else
        TRY(output_look_by_files(&w->out, w->meta.identity_text, w->meta.tokenizer));
    if (!w->out.agrees && output_missing(&w->out) < w->out.shards)
        log_info("%s: %s left whole by an interrupted run", w->o->out, count_of(w->out.shards - output_missing(&w->out), "shard"));
    return output_clear(&w->out);
}

static status make(work *w, const char *identity)
{
    TRY(comm_agree(describe(w, identity)));
    TRY(comm_agree(output_open(&w->out, w->o)));
    TRY(look_around(w));
    if (output_missing(&w->out) == 0 && w->out.agrees) {
        say_done(w, "already done and whole");
        return STATUS_OK;
    }
    if (output_missing(&w->out) > 0)
        TRY(make_missing(w));
    TRY(output_finish(&w->out, &w->about));
    say_done(w, "done");
    return STATUS_OK;
}

status shard_make(const shard_options *o, const char *identity, char *const *folders, int64_t count)
{
    work w = {.o = o, .claim = -1};
    stop_open(0, 0);
    status st = selection_open(o, folders, count, &w.rows);
    if (st == STATUS_OK)
        st = make(&w, identity);
    spill_writer_free(w.spill);
    spill_free(w.runs);
    output_free(&w.out);
    rowfile_meta_free(&w.meta);
    selection_free(w.rows);
    free(w.folder);
    file_release_folder(&w.claim);
    made_folder_end(&w.made, st != STATUS_OK);
    return st;
}
