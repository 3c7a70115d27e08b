#include "train/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/comm.h"
#include "common/files.h"
#include "common/log.h"
#include "model/pointer.h"
#include "model/weights.h"
#include "train/checkpoint_write.h"
#include "train/state.h"
#include "train/stripe.h"

void checkpoint_name(int64_t step, char name[32])
{
    snprintf(name, 32, "step-%06" PRId64, step);
}

uint64_t checkpoint_bytes(const tensor_table *table, bool optimizer_too)
{
    uint64_t weights = (uint64_t)table->parameters * sizeof(float) + (uint64_t)table->count * 256;
    return weights + (optimizer_too ? stripe_bytes(table->trainable) : 0);
}

status checkpoint_point(const checkpoint_place *place, const char *name, const char *folder)
{
    status st = STATUS_OK;
    if (comm_rank() == 0) {
        char *path, text[POINTER_BYTES];
        pointer_text(folder, text);
        st = file_join(place->run, name, &path);
        if (st == STATUS_OK) {
            st = file_write_atomic(path, text, strlen(text));
            free(path);
        }
    }
    return comm_agree(st);
}

/* ---- writing ---- */

static status write_copy(const char *from, const char *folder, const char *name)
{
    char *text, *path;
    size_t bytes;
    TRY(file_read_all(from, 0, &text, &bytes));
    status st = file_join(folder, name, &path);
    if (st == STATUS_OK) {
        st = file_write_atomic(path, text, bytes);
        free(path);
    }
    free(text);
    return st;
}

static status write_state(const checkpoint_place *place, const checkpoint_state *state, const optimizer *o, const char *folder)
{
    char *text, *path;
    TRY(state_text(state, place->table, o->tensor_hash, o->state, &text));
    status st = file_join(folder, "state.json", &path);
    if (st == STATUS_OK) {
        st = file_write_atomic(path, text, strlen(text));
        free(path);
    }
    free(text);
    return st;
}

/* Puts `temporary` in the place of `folder`, which may be there from before. */
static status swap_in(const char *temporary, const char *folder)
{
    char *aside = NULL;
    if (file_exists(folder)) {
        size_t n = strlen(temporary) + 5;
        TRY(memory_new(&aside, n, "a path"));
        snprintf(aside, n, "%s.old", temporary);
        status st = file_remove_tree(aside);
        if (st == STATUS_OK)
            st = file_rename(folder, aside);
        if (st != STATUS_OK) {
            free(aside);
            return st;
        }
    }
    status st = file_rename(temporary, folder);
    if (st == STATUS_OK && aside)
        st = file_remove_tree(aside);
    free(aside);
    return st;
}

static int newest_first(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

/* Steps of the checkpoints in a run, newest first. */
static status list_steps(const char *run, int64_t **steps, int64_t *count)
{
    char **names;
    size_t n;
    *steps = NULL;
    *count = 0;
    if (!file_exists(run)) /* a new run's folder is made once all else is well */
        return STATUS_OK;
    TRY(file_list(run, &names, &n));
    status st = memory_new(steps, (n + 1) * sizeof **steps, "the list of checkpoints");
    for (size_t i = 0; st == STATUS_OK && i < n; i++) {
        long long step;
        char end, same[32];
        if (sscanf(names[i], "step-%lld%c", &step, &end) != 1 || step < 0)
            continue;
        checkpoint_name(step, same);
        if (strcmp(same, names[i]) == 0)
            (*steps)[(*count)++] = step;
    }
    file_free_names(names, n);
    if (st == STATUS_OK)
        qsort(*steps, (size_t)*count, sizeof **steps, newest_first);
    return st;
}

status checkpoint_count(const char *run, int64_t *count)
{
    int64_t *steps;
    TRY(list_steps(run, &steps, count));
    free(steps);
    return STATUS_OK;
}

/* Leaves its name first, so that no checkpoint is ever half there. */
static status remove_one(const checkpoint_place *place, int64_t step)
{
    char name[32], *from = NULL, *to = NULL;
    status st;
    checkpoint_name(step, name);
    TRY_DONE(file_join(place->run, name, &from));
    TRY_DONE(file_join(place->run, ".removed", &to));
    TRY_DONE(file_remove_tree(to));
    TRY_DONE(file_rename(from, to));
    st = file_remove_tree(to);
done:
    free(from);
    free(to);
    return st;
}

/* Removes all checkpoints but the newest `keep`, and those of more than `last` steps. */
static status remove_others(const checkpoint_place *place, int64_t last)
{
    int64_t *steps, count, kept = 0;
    TRY(list_steps(place->run, &steps, &count));
    status st = STATUS_OK;
    for (int64_t i = 0; st == STATUS_OK && i < count; i++) {
        bool stays = steps[i] <= last && kept < place->keep;
        kept += stays;
        if (!stays)
            st = remove_one(place, steps[i]);
    }
    free(steps);
    return st;
}

static status begin_folder(const char *temporary)
{
    TRY(file_remove_tree(temporary));
    return file_make_folder(temporary);
}

static status finish_folder(const char *temporary, const char *folder)
{
    TRY(file_sync_folder(temporary));
    return swap_in(temporary, folder);
}

status checkpoint_save(const checkpoint_place *place, const checkpoint_state *state, optimizer *o)
{
    status st;
    optimizer_to_host(o);
    TRY(comm_agree(o->be->ops->check(o->be))); /* what a lost device gave back must not be saved */
    char name[32], hidden[40], *temporary = NULL, *folder = NULL;
    bool first = comm_rank() == 0;
    checkpoint_state whole = *state;
    checkpoint_name(state->step, name);
    snprintf(hidden, sizeof hidden, ".%s.tmp", name);
    TRY(file_join(place->run, hidden, &temporary));
    TRY_DONE(file_join(place->run, name, &folder));
    TRY_DONE(comm_agree(first ? begin_folder(temporary) : STATUS_OK));
    st = checkpoint_write_files(place, temporary, o, first, &whole);
    TRY_DONE(comm_agree(st == STATUS_OK ? o->be->ops->check(o->be) : st)); /* moments came from the device meanwhile */
    if (first) {
        st = write_state(place, &whole, o, temporary);
        if (st == STATUS_OK)
            st = finish_folder(temporary, folder);
    }
    TRY_DONE(comm_agree(st));
    TRY_DONE(checkpoint_point(place, "last", name));
    TRY_DONE(comm_agree(first ? remove_others(place, INT64_MAX) : STATUS_OK));
done:
    if (st != STATUS_OK && first && temporary) {
        char message[4096]; /* clearing up must not hide why */
        snprintf(message, sizeof message, "%s", status_message());
        if (file_remove_tree(temporary) != STATUS_OK)
            log_warn("%s is left over: %s", temporary, status_message());
        status_set_message(message);
    }
    free(temporary);
    free(folder);
    return st;
}

status checkpoint_settle(const checkpoint_place *place, int64_t step)
{
    char name[32];
    checkpoint_name(step, name);
    TRY(comm_agree(comm_rank() == 0 ? remove_others(place, step) : STATUS_OK));
    return checkpoint_point(place, "last", name);
}

/* ---- an epoch's weights ---- */

/* A second name for the same bytes; a copy where the file system has no links. */
static status link_file(const char *from_folder, const char *to_folder, const char *name)
{
    char *from, *to = NULL;
    TRY(file_join(from_folder, name, &from));
    status st = file_join(to_folder, name, &to);
    if (st == STATUS_OK && link(from, to) != 0)
        st = write_copy(from, to_folder, name);
    free(from);
    free(to);
    return st;
}

static status keep_weights(const checkpoint_place *place, const char *name, int64_t step)
{
    static const char *const files[] = {"config.json", "vocab.txt", "model.safetensors", "state.json"};
    status st;
    char saved[32], hidden[40], *from = NULL, *temporary = NULL, *folder = NULL;
    checkpoint_name(step, saved);
    snprintf(hidden, sizeof hidden, ".%s.tmp", name);
    TRY_DONE(file_join(place->run, saved, &from));
    TRY_DONE(file_join(place->run, hidden, &temporary));
    TRY_DONE(file_join(place->run, name, &folder));
    TRY_DONE(begin_folder(temporary));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        TRY_DONE(link_file(from, temporary, files[i]));
    st = finish_folder(temporary, folder);
done:
    free(from);
    free(temporary);
    free(folder);
    return st;
}

status checkpoint_keep_epoch(const checkpoint_place *place, int64_t epoch, int64_t step)
{
    char name[32];
    snprintf(name, sizeof name, "epoch-%" PRId64, epoch);
    return comm_agree(comm_rank() == 0 ? keep_weights(place, name, step) : STATUS_OK);
}

/* ---- what a killed run left ---- */

/* ".step-000812.tmp" or ".epoch-1.tmp", as checkpoint_save and checkpoint_keep_epoch name what they write; *stem is the length of "step-000812". */
static bool is_half_written(const char *name, const char *end, size_t *stem)
{
    char same[40];
    long long number;
    size_t n = strlen(name), e = strlen(end);
    if (n < e + 2 || n - e >= sizeof same || name[0] != '.' || strcmp(name + n - e, end) != 0)
        return false;
    *stem = n - e - 1;
    if (sscanf(name, ".step-%lld", &number) == 1)
        snprintf(same, sizeof same, ".step-%06lld%s", number, end);
    else if (sscanf(name, ".epoch-%lld", &number) == 1)
        snprintf(same, sizeof same, ".epoch-%lld%s", number, end);
    else
        return false;
    return strcmp(same, name) == 0;
}

static status clear_one(const char *run, const char *name)
{
    char *path, *back = NULL, stem_name[40];
    size_t stem;
    status st;
    bool aside = is_half_written(name, ".tmp.old", &stem);
    if (!aside && !is_half_written(name, ".tmp", &stem) && strcmp(name, ".removed") != 0)
        return STATUS_OK;
    TRY(file_join(run, name, &path));
    if (aside) { /* moved out of the way: it goes back where nothing came into its place */
        snprintf(stem_name, sizeof stem_name, "%.*s", (int)stem, name + 1);
        TRY_DONE(file_join(run, stem_name, &back));
        if (!file_exists(back)) {
            st = file_rename(path, back);
            goto done;
        }
    }
    st = file_remove_tree(path);
done:
    free(path);
    free(back);
    return st;
}

status checkpoint_clear(const char *run)
{
    char **names;
    size_t n;
    TRY(file_list(run, &names, &n));
    status st = STATUS_OK;
    for (size_t i = 0; st == STATUS_OK && i < n; i++)
        st = clear_one(run, names[i]);
    file_free_names(names, n);
    return st;
}

/* ---- reading ---- */

static status read_stripes(const char *folder, optimizer *o, int64_t step)
{
    for (int64_t first = o->first; first < o->end; first += o->stripe) {
        int64_t count = o->end - first < o->stripe ? o->end - first : o->stripe;
        char name[32], *path;
        float *m, *v;
        stripe_name(first / o->stripe, name);
        TRY(file_join(folder, name, &path));
        optimizer_show_moments(o, first, count, &m, &v);
        status st = stripe_read(path, &(stripe){first / o->stripe, first, count, step}, m, v);
        free(path);
        TRY(st);
        optimizer_take_moments(o, first, count);
    }
    return STATUS_OK;
}

static status read_parameters(const checkpoint_place *place, const char *folder)
{
    weights_file *file;
    weights_report report;
    char *path;
    TRY(file_join(folder, "model.safetensors", &path));
    status st = weights_file_open(path, &file);
    if (st == STATUS_OK) {
        st = weights_load_threads(file, place->table, 0, place->parameters, &report, place->pool);
        if (st == STATUS_OK && !report.head_loaded)
            st = fail(STATUS_INPUT, "%s: the output layer is missing", path);
        weights_file_close(file);
    }
    free(path);
    return st;
}

/* Rank 0's view of state.json, then everybody's. */
static status read_state(const checkpoint_place *place, const char *folder, checkpoint_state *state, uint64_t *hashes)
{
    char *path;
    status st = STATUS_OK;
    if (comm_rank() == 0) {
        st = file_join(folder, "state.json", &path);
        if (st == STATUS_OK) {
            st = state_read(path, place->table, state, hashes);
            free(path);
        }
    }
    TRY(comm_agree(st));
    comm_broadcast(state, sizeof *state, 0);
    comm_broadcast(hashes, (size_t)place->table->count * sizeof *hashes, 0);
    return STATUS_OK;
}

static status compare(const checkpoint_state *state, const checkpoint_state *expected, const char *folder)
{
    if (strcmp(state->run, expected->run) != 0)
        return fail(STATUS_CHECK, "%s: belongs to another run (its run.json was another); use another --out", folder);
    if (state->probe != expected->probe)
        return fail(STATUS_CHECK,
                    "%s: was computed with other arithmetic (probe %016" PRIx64 ", here %016" PRIx64
                    "): going on would mix two kinds of rounding; continue with the program that began the run",
                    folder, state->probe, expected->probe);
    return STATUS_OK;
}

static status load_one(const checkpoint_place *place, const char *folder, const checkpoint_state *expected, checkpoint_state *state, optimizer *o)
{
    uint64_t *hashes;
    TRY(memory_new(&hashes, (size_t)place->table->count * sizeof *hashes, "state hashes"));
    status st = read_state(place, folder, state, hashes);
    if (st == STATUS_OK)
        st = compare(state, expected, folder);
    if (st == STATUS_OK) {
        st = read_stripes(folder, o, state->step);
        if (st == STATUS_OK && comm_rank() == 0)
            st = checkpoint_check_files(folder, state);
        if (st == STATUS_OK && comm_rank() == 0)
            st = read_parameters(place, folder);
        st = comm_agree(st);
    }
    if (st == STATUS_OK) {
        comm_shared_broadcast(place->parameters, (size_t)place->table->parameters * sizeof(float));
        optimizer_hash_all(o, place->pool);
        for (int t = 0; st == STATUS_OK && t < place->table->count; t++)
            if (o->tensor_hash[t] != hashes[t])
                st = fail(STATUS_INPUT, "%s/model.safetensors: tensor %s is damaged (its state hash differs)", folder, place->table->tensors[t].name);
    }
    free(hashes);
    return st;
}

/* The checkpoints there are, as rank 0 sees them. */
static status share_steps(const checkpoint_place *place, int64_t **steps, int64_t *count)
{
    *steps = NULL;
    *count = 0;
    TRY(comm_agree(comm_rank() == 0 ? list_steps(place->run, steps, count) : STATUS_OK));
    comm_broadcast(count, sizeof *count, 0);
    if (comm_rank() != 0)
        TRY(memory_new(steps, (size_t)(*count + 1) * sizeof **steps, "the list of checkpoints"));
    comm_broadcast(*steps, (size_t)*count * sizeof **steps, 0);
    return STATUS_OK;
}

status checkpoint_load_newest(const checkpoint_place *place, int64_t last, const checkpoint_state *expected, checkpoint_state *state,
                              optimizer *o, bool *found)
{
    int64_t *steps, count;
    *found = false;
    TRY(share_steps(place, &steps, &count));
    status st = STATUS_OK;
    for (int64_t i = 0; i < count && !*found; i++) {
        char name[32], *folder;
        if (steps[i] > last)
            continue;
        checkpoint_name(steps[i], name);
        st = file_join(place->run, name, &folder);
        if (st != STATUS_OK)
            break;
        st = load_one(place, folder, expected, state, o);
        free(folder);
        *found = st == STATUS_OK;
        if (st == STATUS_INPUT) /* damaged: the one before may be whole */
            log_warn("checkpoint %s is damaged and not used: %s", name, status_message());
        else if (st != STATUS_OK)
            break;
    }
    free(steps);
    if (st == STATUS_INPUT)
        return fail(STATUS_INPUT, "%s: none of its %" PRId64 " checkpoints is whole; train again into a new folder", place->run, count);
    return st;
}
