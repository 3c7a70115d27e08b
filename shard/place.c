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
#include "shard/place.h"
#include "shard/spill.h"

/* What the libraries, a reader and a writer of row files take of --memory; the rest holds rows. */
enum { FIXED_BYTES = 40 << 20, CLAIM_SECONDS = 10 };

typedef struct work {
    const shard_options *o;
    const row_source *from;
    row_counts rows;      /* once they are counted */
    output out;
    char *folder;         /* of the runs on their way */
    rowfile_meta meta;    /* of every shard */
    manifest about;       /* what the manifest says of the work; all borrowed */
    char *inputs;         /* of it, where they had blanks */
    bool all_missing;     /* every shard is to be made */
    spill_writer *spill;
    spill_runs *runs;
    rowfile_writer *shard;
    progress *progress;   /* of the shards */
    made_folder made;
    int claim;            /* of the folder of shards */
} work;

static int64_t working_memory(const work *w)
{
    int64_t block = (ROWFILE_CHUNK * 4 * 3) * w->rows.meta->labels; /* labels in reader, writer and filter */
    int64_t left = w->o->memory - FIXED_BYTES - block;
    return left > 8 << 20 ? left : 8 << 20;
}

/* ---- rows to sorted runs ---- */

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

/* Most memory of a rank for a run. */
static int64_t most_memory(const work *w)
{
    static const int64_t least = 8 << 20;
    int64_t most = working_memory(w) / 10 * 8 - w->from->held;
    return most > least ? most : least;
}

/* Fresh memory is slow and a run is copied out in random order, so a small run that stays near the processor is quicker than all the memory there is,
 * as long as the runs to merge are not too many. */
static int64_t run_memory(const work *w)
{
    enum { RUNS = 16 };
    static const int64_t least = 32 << 20;
    int64_t most = most_memory(w), wanted = w->rows.bytes / comm_size() / RUNS;
    wanted = wanted < least ? least : wanted;
    return wanted < most ? wanted : most;
}

static status send(void *job, int64_t position, const rowfile_row *r)
{
    return spill_add(((work *)job)->spill, position, r);
}

static status route_mine(work *w)
{
    w->all_missing = output_missing(&w->out) == w->out.shards;
    TRY(spill_create(w->folder, w->rows.meta->labels, run_memory(w), most_memory(w), w->out.first, w->out.shards, &w->spill));
    return w->from->route(w->from->with, w->folder, wants, send, w);
}

static status route(work *w)
{
    TRY(comm_agree(route_mine(w)));
    if (comm_any(stop_wanted()))
        return STATUS_STOPPED;
    spill_writer *full = w->spill;
    w->spill = NULL;
    return spill_share(full, &w->runs);
}

/* Collective. The inputs as the rows have turned out to be; what is there already has to be of the same. */
static status settle(work *w)
{
    if (!w->from->settle)
        return STATUS_OK;
    TRY(w->from->settle(w->from->with, w->folder, &w->inputs));
    w->about.inputs = w->inputs;
    if (w->out.inputs && strcmp(w->out.inputs, w->inputs) != 0)
        return comm_agree(fail(STATUS_INPUT, "%s: its shards hold other tokens than are made of the same inputs now (by another version?); remove it",
                               w->o->out));
    return STATUS_OK;
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

/* What every shard says of itself. */
static status describe(work *w)
{
    TRY(rowfile_meta_copy(w->rows.meta, &w->meta));
    free(w->meta.identity_text);
    w->meta.identity_text = NULL;
    w->meta.seed = (uint64_t)w->o->seed;
    return output_describe(&w->about, &w->meta.identity_text);
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
        st = settle(w);
    if (st == STATUS_OK)
        st = comm_agree(describe(w));
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
    if (w->from->inputs)
        TRY(output_look_by_manifest(&w->out, &w->about));
    if (w->out.agrees && output_missing(&w->out) == 0)
        return STATUS_OK;
    TRY(comm_agree(comm_rank() == 0 ? claim_folder(w) : STATUS_OK));
    TRY(w->from->count(w->from->with, &w->rows));
    w->about.inputs = (char *)(uintptr_t)w->rows.inputs;
    output_divide(&w->out, w->rows.chosen);
    if (w->o->sample > w->rows.kept)
        log_info("--sample %lld: no more than %s to take from, all of them are taken", (long long)w->o->sample, count_of(w->rows.kept, "row"));
    if (w->rows.chosen < w->out.shards)
        log_warn("%s in %s: some shards are empty", count_of(w->rows.chosen, "row"), count_of(w->out.shards, "shard"));
    if (w->out.agrees)
        log_info("%s: %lld of %lld shards are missing or damaged and are made again", w->o->out, (long long)output_missing(&w->out),
                 (long long)w->out.shards);
    else
        TRY(output_look_by_files(&w->out, &w->about));
    if (!w->out.agrees && output_missing(&w->out) < w->out.shards)
        log_info("%s: %s left whole by an interrupted run", w->o->out, count_of(w->out.shards - output_missing(&w->out), "shard"));
    return output_clear(&w->out);
}

static status make(work *w, const char *identity)
{
    static char stage[] = "shard";
    const row_source *from = w->from;
    w->about = (manifest){.stage = stage, .inputs = (char *)(uintptr_t)from->inputs, .identity = (char *)(uintptr_t)identity,
                          .tokenizer = (char *)(uintptr_t)from->tokenizer, .read_with = (char *)(uintptr_t)from->read_with};
    TRY(comm_agree(file_join(w->o->out, ".on-the-way", &w->folder)));
    TRY(comm_agree(output_open(&w->out, w->o)));
    TRY(look_around(w));
    if (output_missing(&w->out) == 0 && w->out.agrees) {
        say_done(w, "already done and whole");
        return STATUS_OK;
    }
    if (output_missing(&w->out) > 0)
        TRY(make_missing(w));
    else
        w->about.inputs = w->out.inputs;
    TRY(output_finish(&w->out, &w->about));
    say_done(w, "done");
    return STATUS_OK;
}

status place_rows(const shard_options *o, const char *identity, const row_source *from)
{
    work w = {.o = o, .from = from, .claim = -1};
    status st = make(&w, identity);
    if (from->close)
        from->close(from->with);
    spill_writer_free(w.spill);
    spill_free(w.runs);
    output_free(&w.out);
    rowfile_meta_free(&w.meta);
    free(w.inputs);
    free(w.folder);
    file_release_folder(&w.claim);
    made_folder_end(&w.made, st != STATUS_OK);
    return st;
}
