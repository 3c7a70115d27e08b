#include "train/loop.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/count.h"
#include "common/log.h"
#include "model/cpu/cpu.h"
#include "model/profile.h"
#include "train/evaluate.h"
#include "train/room.h"
#include "train/step.h"

/* ---- where to begin ---- */

status loop_resume(trainer *t, int64_t last, bool *resumed)
{
    checkpoint_state found;
    TRY(checkpoint_load_newest(&t->place, last, &t->state, &found, t->optimizer, resumed));
    if (*resumed) {
        t->state = found;
        t->saved_step = found.step;
        log_info("continuing after step %" PRId64 " of %" PRId64, found.step, t->total);
    }
    return STATUS_OK;
}

/* ---- saving ---- */

static status save(trainer *t)
{
    double clock = phase_clock();
    if (t->saved_step == t->state.step)
        return STATUS_OK;
    TRY(comm_agree(t->records ? records_flush(t->records) : STATUS_OK));
    TRY(checkpoint_save(&t->place, &t->state, t->optimizer));
    t->saved_step = t->state.step;
    t->saved_at = clock_seconds();
    phase_add(t->timer, PHASE_SAVE, clock);
    return STATUS_OK;
}

static status stop_here(trainer *t, const char *reason)
{
    if (t->state.step > 0)
        TRY(save(t));
    if (comm_rank() == 0) /* all ranks stop for the reason that they agreed on */
        log_always("stopped (%s) after step %" PRId64 " of %" PRId64 ", everything saved in %s: the same command goes on", reason, t->state.step,
                   t->total, t->o->out);
    return STATUS_STOPPED;
}

/* ---- an epoch's end ---- */

/* An epoch this much below the best one is worth a word: the rate is too high, or what is learned no longer carries over. */
static const double FALL = 0.01;

/* Which rows the epoch got most wrong, as ids that a person finds in the CSV. */
static void name_worst(trainer *t, const evaluation *e, char *text, size_t room)
{
    size_t used = 0, bytes;
    text[0] = 0;
    for (int i = 0; i < EVALUATION_WORST && e->worst[i] >= 0 && used < room; i++) {
        char id[48];
        if (dataset_id(t->valid, e->worst[i], id, sizeof id, &bytes) != STATUS_OK)
            id[0] = 0;
        used += (size_t)snprintf(text + used, room - used, "%s%" PRId64 " (id %s)", i ? ", " : "", e->worst[i], id);
    }
}

static void warn_of_fall(trainer *t, int64_t epoch, double auc, const evaluation *e)
{
    char rows[256];
    if (comm_rank() != 0 || !t->state.best || !(auc < t->state.best_auc - FALL))
        return;
    name_worst(t, e, rows, sizeof rows);
    log_warn("epoch %" PRId64 ": the AUC has fallen to %.6f from %.6f in epoch %" PRId64
             ", whose weights are kept as best; the validation rows that it "
             "gets most wrong: %s; try fewer epochs or a lower --lr",
             epoch, auc, t->state.best_auc, t->state.best, rows);
}

static status point_best(const trainer *t, int64_t epoch)
{
    char name[32];
    snprintf(name, sizeof name, "epoch-%" PRId64, epoch);
    return checkpoint_point(&t->place, "best", name);
}

static status settle_best(trainer *t, int64_t epoch, const evaluation *e)
{
    if (e->pooled.pairs == 0) {
        log_info("epoch %" PRId64 ": loss %.5f on %s; AUC undefined: one class", epoch, e->loss, count_of(e->rows, "validation row"));
        return STATUS_OK;
    }
    double auc = auc_value(&e->pooled);
    char error[48];
    log_info("epoch %" PRId64 ": loss %.5f, AUC %.6f%s on %s", epoch, e->loss, auc, auc_error_text(&e->pooled, error), count_of(e->rows, "validation row"));
    t->last_auc = auc;
    warn_of_fall(t, epoch, auc, e);
    if (t->state.best && auc <= t->state.best_auc)
        return STATUS_OK;
    t->state.best = epoch;
    t->state.best_auc = auc;
    return point_best(t, epoch);
}

static status write_epoch(trainer *t, int64_t epoch, const evaluation *e)
{
    char *line;
    if (!t->records)
        return STATUS_OK;
    TRY(events_epoch(t->events, t->state.step, e->loss, e->pooled.pairs ? auc_value(&e->pooled) : NAN));
    TRY(evaluate_line(t, epoch, e, &line));
    status st = records_epoch(t->records, line);
    free(line);
    return st == STATUS_OK ? records_flush(t->records) : st;
}

static status validate(trainer *t, int64_t epoch)
{
    evaluation e;
    double clock = phase_clock();
    status st = evaluate_run(t, &e);
    if (st == STATUS_OK && e.stopped)
        st = stop_here(t, e.reason);
    if (st == STATUS_OK)
        st = settle_best(t, epoch, &e);
    if (st == STATUS_OK)
        st = comm_agree(write_epoch(t, epoch, &e));
    evaluate_free(&e);
    phase_add(t->timer, PHASE_EVALUATE, clock);
    return st;
}

static status end_epoch(trainer *t)
{
    int64_t epoch = (t->state.step + t->order.steps_per_epoch - 1) / t->order.steps_per_epoch;
    phase_timer before = *t->timer;
    TRY(save(t));
    TRY(checkpoint_keep_epoch(&t->place, epoch, t->state.step));
    if (t->valid)
        TRY(validate(t, epoch));
    if (!t->records)
        return STATUS_OK;
    return records_epoch_timing(t->records, epoch, t->timer->seconds[PHASE_SAVE] - before.seconds[PHASE_SAVE],
                                t->timer->seconds[PHASE_EVALUATE] - before.seconds[PHASE_EVALUATE]);
}

/* ---- steps ---- */

static status record(trainer *t, const step_result *r, double seconds, const phase_timer *before)
{
    int64_t epoch = sampler_epoch(&t->order, t->state.step - 1) + 1;
    phase_timer spent = *t->timer;
    if (!t->records)
        return STATUS_OK;
    for (int i = 0; i < PHASES; i++)
        spent.seconds[i] -= before->seconds[i];
    int64_t rows = t->o->lanes * t->o->batch;
    TRY(records_step(t->records, &(record_step){t->state.step, epoch, r->loss, r->rate, rows, r->tokens, t->optimizer->state}));
    TRY(events_step(t->events, &(events_scalars){t->state.step, r->loss, r->rate, (double)rows / seconds}));
    return records_timing(t->records, t->state.step, seconds, &spent);
}

static bool checkpoint_due(const trainer *t, const step_result *r)
{
    return r->save || (t->o->checkpoint_every > 0 && t->state.step % t->o->checkpoint_every == 0);
}

static bool at_epoch_end(const trainer *t)
{
    return t->state.step % t->order.steps_per_epoch == 0 || t->state.step == t->total;
}

/* ---- --profile ---- */

/* The first step of a start touches its memory for the first time: forgotten as soon as there is a second. */
typedef struct watch {
    bool begun;
    profile sum;
    double gelu, words; /* at the end of the first step */
} watch;

static void watch_step(watch *w, const trainer *t, double seconds, const phase_timer *before)
{
    if (!t->o->profile)
        return;
    if (w->sum.steps == 1 && !w->begun) {
        w->begun = true;
        w->sum = (profile){0};
    }
    profile_add(&w->sum, seconds, before, t->timer);
    if (!w->begun && !t->be->device)
        backend_cpu_inside(t->be, &w->gelu, &w->words);
}

/* Collective. */
static status watch_report(watch *w, const trainer *t)
{
    char *line;
    if (!t->o->profile || w->sum.steps == 0)
        return STATUS_OK;
    if (!t->be->device)
        backend_cpu_inside(t->be, &w->sum.gelu, &w->sum.words);
    if (w->begun) {
        w->sum.gelu -= w->gelu;
        w->sum.words -= w->words;
    }
    profile_gather(&w->sum);
    if (!t->records)
        return STATUS_OK;
    profile_print(stdout, &w->sum);
    TRY(profile_json(&w->sum, &line));
    status st = records_profile(t->records, line);
    free(line);
    return st;
}

static status run_steps(trainer *t, progress *bar, watch *w)
{
    while (t->state.step < t->total) {
        phase_timer before = *t->timer;
        double begin = clock_seconds();
        step_result r;
        char note[64];
        TRY(step_run(t, &r));
        if (!r.done)
            return stop_here(t, r.reason);
        double seconds = clock_seconds() - begin;
        watch_step(w, t, seconds, &before);
        TRY(record(t, &r, seconds, &before));
        if (t->last_auc > 0)
            snprintf(note, sizeof note, "loss %.4f, AUC %.4f", r.loss, t->last_auc);
        else
            snprintf(note, sizeof note, "loss %.4f", r.loss);
        progress_set(bar, t->state.step * t->o->lanes * t->o->batch, note);
        if (at_epoch_end(t))
            TRY(end_epoch(t));
        else if (checkpoint_due(t, &r))
            TRY(save(t));
        if (r.stop && t->state.step < t->total)
            return stop_here(t, r.reason);
    }
    return STATUS_OK;
}

/* A device, or the way to another rank's, was lost in the middle. */
static status lost(const trainer *t)
{
    char why[3000];
    snprintf(why, sizeof why, "%s", status_message());
    if (t->saved_step <= 0)
        return fail(STATUS_RESOURCE, "%s; no checkpoint was written yet: the same command begins again", why);
    return fail(STATUS_RESOURCE, "%s; the checkpoint after step %" PRId64 " in %s is whole: the same command goes on from it", why, t->saved_step, t->o->out);
}

status loop_run(trainer *t)
{
    if (comm_rank() == 0) {
        TRY(records_open(t->o->out, t->state.step, t->order.steps_per_epoch, &t->records));
        TRY(events_open(t->o->out, t->state.step, &t->events));
    }
    if (t->state.step > 0) {
        TRY(checkpoint_settle(&t->place, t->state.step));
        TRY(room_check(t));
    }
    if (t->state.best > 0) /* as the checkpoint has it, whatever has become of the pointer */
        TRY(point_best(t, t->state.best));
    t->saved_at = clock_seconds();
    bert_set_dropout(t->net, &t->dropout);
    if (t->state.step > 0 && at_epoch_end(t)) /* the checkpoint was saved before its epoch was validated */
        TRY(end_epoch(t));
    progress *bar = progress_begin("train", "rows", t->total * t->o->lanes * t->o->batch);
    progress_resume(bar, t->state.step * t->o->lanes * t->o->batch);
    watch w = {0};
    if (t->o->profile && !t->be->device)
        backend_cpu_profile(t->be);
    status st = run_steps(t, bar, &w);
    progress_end(bar);
    if (st == STATUS_RESOURCE)
        st = lost(t);
    if (st == STATUS_OK || st == STATUS_STOPPED) { /* else one rank's own error: nothing collective may follow */
        status reported = comm_agree(watch_report(&w, t));
        st = reported == STATUS_OK ? st : reported;
    }
    return st;
}
