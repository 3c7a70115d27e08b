/* train: shards in, a run out. Options, open, resume or load, loop, close. */
#include <inttypes.h>
#include <stdio.h>

#include "common/comm.h"
#include "common/count.h"
#include "common/files.h"
#include "common/log.h"
#include "common/program.h"
#include "common/stop.h"
#include "store/overlap.h"
#include "train/describe.h"
#include "train/diff.h"
#include "train/loop.h"
#include "train/plan.h"
#include "train/probe.h"
#include "train/replay.h"
#include "train/room.h"
#include "train/startup.h"

static void announce(const trainer *t)
{
    const train_options *o = t->o;
    log_info("%s, %s of %s x %s, %" PRId64 " parameters, peak learning rate %g", count_of(t->order.rows, "row"), count_of(t->total, "step"),
             count_of(o->lanes, "lane"), count_of(o->batch, "row"), t->table->trainable, o->peak_rate);
    log_info("%s on %s, %s each, %s", count_of(comm_size(), "rank"), count_of(comm_nodes(), "node"), count_of(o->threads, "thread"),
             trainer_kernels(t));
    char few[SAMPLER_TEXT];
    sampler_describe_few(&t->order, few);
    if (few[0] && o->max_steps == 0) /* who gives the steps knows how many there are */
        log_warn("%s", few);
    if (t->order.unlabelled)
        log_info("left out: %s without labels", count_of(t->order.unlabelled, "training row"));
}

/* Rows that are validated on and trained on make the AUC look better than it is. */
static status warn_of_common_texts(const trainer *t)
{
    int64_t rows, all = t->valid ? dataset_rows(t->valid) : 0;
    if (!t->valid)
        return STATUS_OK;
    TRY(overlap_count(t->valid, t->train, OVERLAP_ROUND, &rows));
    if (rows > 0)
        log_warn("%" PRId64 " of the %" PRId64 " rows of --valid (%.2f%%) have a text that --train has too, so the AUC tells less of new texts; shard "
                 "--exclude %s leaves such rows out of training",
                 rows, all, 100.0 * (double)rows / (double)all, t->o->valid.item[0]);
    startup_mark("texts in common");
    return STATUS_OK;
}

/* From the newest checkpoint of at most `last` steps, or the initial weights. */
static status prepare(trainer *t, int64_t last)
{
    bool resumed;
    TRY(trainer_build_state(t));
    startup_mark("memory");
    TRY(comm_agree(probe_run(&t->where, &t->state.probe)));
    TRY(probe_compare(t->state.probe));
    startup_mark("probe");
    TRY(loop_resume(t, last, &resumed));
    if (!resumed) {
        TRY(trainer_load_initial(t));
        optimizer_hash_all(t->optimizer, t->pool);
    }
    optimizer_from_host(t->optimizer);
    startup_mark("weights");
    return trainer_build_step(t);
}

/* Other ranks than the first wait for its verdict. */
static status diff(const option_list *words)
{
    if (words->count != 1)
        return comm_agree(fail(STATUS_USAGE, "--diff takes the folders of two runs: train --diff runs/one runs/two"));
    return comm_agree(comm_rank() == 0 ? diff_runs(train_given.diff, words->item[0]) : STATUS_OK);
}

static status replay(const option_list *words)
{
    trainer t;
    bool finished;
    if (words->count != 1)
        return comm_agree(fail(STATUS_USAGE, "--replay takes a step and the folder of a run: train --replay 812 runs/one"));
    TRY(comm_agree(replay_options(words->item[0])));
    TRY(comm_agree(train_options_check(&(option_list){0})));
    stop_open(train_given.time_limit, train_given.grace);
    TRY(trainer_open(&train_given, &t));
    TRY(describe_begin(&t, &finished));
    TRY(prepare(&t, train_given.replay - 1));
    status st = replay_steps(&t, train_given.replay);
    if (st == STATUS_OK || st == STATUS_STOPPED)
        trainer_close(&t);
    return st;
}

/* The best epoch is not taken unless asked for: where it is not the last, the line to give has it. */
static void tell_end(const trainer *t)
{
    const char *out = t->o->out;
    int64_t each = t->order.steps_per_epoch, last = (t->total + each - 1) / each;
    bool other = t->state.best > 0 && t->state.best < last;
    if (other)
        log_info("validation was best after epoch %" PRId64 " of %" PRId64 ": AUC %.6f, after the last %.6f; infer takes the last unless told",
                 t->state.best, last, t->state.best_auc, t->last_auc);
    log_info("finished: %s has the weights (last, best, epoch-N), metrics.jsonl and provenance.json; next: infer --run %s%s", out, out,
             other ? " --weights best" : "");
}

static status run(const option_list *words)
{
    trainer t;
    bool finished;
    startup_mark("program and MPI");
    if (train_given.diff || train_given.plan)
        stop_release();
    if (train_given.diff)
        return diff(words);
    if (train_given.replay)
        return replay(words);
    TRY(comm_agree(train_options_check(words)));
    if (!train_given.plan)
        stop_open(train_given.time_limit, train_given.grace);
    TRY(trainer_open(&train_given, &t));
    startup_mark("data");
    if (train_given.plan) {
        TRY(warn_of_common_texts(&t));
        TRY(plan_print(&t));
        trainer_close(&t);
        return STATUS_OK;
    }
    TRY(describe_begin(&t, &finished));
    if (finished) {
        log_always("%s is finished already: nothing to do", train_given.out);
        trainer_close(&t);
        return STATUS_OK;
    }
    TRY(room_check_start(&t));
    TRY(warn_of_common_texts(&t));
    TRY(prepare(&t, INT64_MAX));
    startup_mark("network");
    TRY(describe_settle(&t));
    TRY(describe_environment(&t));
    announce(&t);
    status st = loop_run(&t);
    if (st != STATUS_OK && st != STATUS_STOPPED)
        return st;
    if (st == STATUS_OK) {
        TRY(describe_end(&t));
        tell_end(&t);
    }
    plan_report_peak(&t);
    trainer_close(&t);
    return st;
}

int main(int argc, char **argv)
{
    return program_main(&(program){.options = &train_about, .table = train_table, .run = run}, argc, argv);
}
