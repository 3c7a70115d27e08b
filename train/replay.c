#include "train/replay.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/files.h"
#include "common/log.h"
#include "common/sealed.h"
#include "train/records.h"
#include "train/state.h"
#include "train/step.h"

status replay_options(const char *folder)
{
    char *path = NULL;
    json_t *object = NULL;
    status st;
    TRY_DONE(file_join(folder, "run.json", &path));
    if (!file_exists(path))
        TRY_DONE(fail(STATUS_INPUT, "%s: no run.json in it: not the folder of a run; give the --out of train", folder));
    free(path);
    TRY_DONE(file_join(folder, "environment.json", &path));
    if (file_exists(path)) {
        st = sealed_read(path, &object, NULL);
        if (st == STATUS_INPUT)
            TRY_DONE(fail(st, "%s; remove it and give the run's options to --replay yourself", status_message()));
        TRY_DONE(st);
        const char *options = json_string_value(json_object_get(object, "options"));
        if (options)
            TRY_DONE(options_underlay(&train_about, train_table, path, options));
    }
    train_given.out = folder;
done:
    json_decref(object);
    free(path);
    return st;
}

/* The run's line of a step, without its newline; the caller frees. */
static status read_line(const trainer *t, int64_t step, char **line)
{
    char *path, *text = NULL, head[48];
    size_t bytes;
    TRY(file_join(t->o->out, "metrics.jsonl", &path));
    status st = file_read_all(path, 0, &text, &bytes);
    snprintf(head, sizeof head, "{\"step\":%" PRId64 ",", step);
    *line = NULL;
    for (char *at = text; st == STATUS_OK && *at && !*line;) {
        size_t n = strcspn(at, "\n");
        if (strncmp(at, head, strlen(head)) == 0 && !(*line = strndup(at, n)))
            st = fail(STATUS_RESOURCE, "out of memory: a line of metrics.jsonl");
        at += n + (at[n] != 0);
    }
    if (st == STATUS_OK && !*line)
        st = fail(STATUS_INPUT, "%s: has no line of step %" PRId64 ": the run has not come that far; give an earlier --replay", path, step);
    free(text);
    free(path);
    return st;
}

/* ": tensor NAME differs" where a checkpoint of this step is there to tell, else "". */
static void name_tensor(const trainer *t, char *text, size_t room)
{
    char name[64], *path;
    checkpoint_state state;
    uint64_t *hashes;
    text[0] = 0;
    snprintf(name, sizeof name, "step-%06" PRId64 "/state.json", t->state.step);
    if (memory_new(&hashes, (size_t)t->table->count * sizeof *hashes, "state hashes") != STATUS_OK)
        return;
    if (file_join(t->o->out, name, &path) == STATUS_OK) {
        if (file_exists(path) && state_read(path, t->table, &state, hashes) == STATUS_OK)
            for (int i = 0; i < t->table->count && !text[0]; i++)
                if (hashes[i] != t->optimizer->tensor_hash[i])
                    snprintf(text, room, "; the first tensor that differs from its checkpoint is %s", t->table->tensors[i].name);
        free(path);
    }
    free(hashes);
}

static status compare_step(const trainer *t, const step_result *r)
{
    char *line, now[RECORD_BYTES], where[160];
    int64_t epoch = sampler_epoch(&t->order, t->state.step - 1) + 1;
    TRY(read_line(t, t->state.step, &line));
    records_step_text(&(record_step){t->state.step, epoch, r->loss, r->rate, t->o->lanes * t->o->batch, r->tokens, t->optimizer->state}, now);
    status st = STATUS_OK;
    if (!records_same_line(line, now)) {
        name_tensor(t, where, sizeof where);
        st = fail(STATUS_CHECK, "step %" PRId64 " of %s comes out otherwise%s\n  then: %s\n  now:  %s", t->state.step, t->o->out, where, line, now);
    }
    free(line);
    return st;
}

status replay_steps(trainer *t, int64_t step)
{
    if (step > t->total)
        return fail(STATUS_USAGE, "--replay %" PRId64 ": the run has %" PRId64 " steps", step, t->total);
    log_info("replaying steps %" PRId64 " to %" PRId64 " from %s", t->state.step + 1, step, t->state.step ? "a checkpoint" : "the initial weights");
    t->saved_at = clock_seconds();
    bert_set_dropout(t->net, &t->dropout);
    while (t->state.step < step) {
        step_result r;
        TRY(step_run(t, &r));
        if (!r.done) {
            log_always("stopped (%s): nothing was written", r.reason);
            return STATUS_STOPPED;
        }
        TRY(comm_agree(comm_rank() == 0 ? compare_step(t, &r) : STATUS_OK));
    }
    if (comm_rank() == 0)
        printf("step %" PRId64 " of %s: the same loss and the same state %016" PRIx64 "\n", step, t->o->out, t->optimizer->state);
    return STATUS_OK;
}
