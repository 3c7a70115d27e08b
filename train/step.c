#include "train/step.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/comm.h"
#include "common/log.h"
#include "common/stop.h"
#include "train/startup.h"

/* ---- stopping ---- */

bool step_stop_noticed(void)
{
    if (stop_wanted())
        comm_flag_raise();
    return comm_flag_seen();
}

void step_agree(step_report *mine, step_report *all)
{
    const struct timespec nap = {.tv_nsec = 200000};
    comm_arrive();
    while (!comm_arrived()) { /* a signal that comes in here still reaches the ranks that compute */
        step_stop_noticed();
        nanosleep(&nap, NULL); /* leaves the core to them where ranks share one */
    }
    mine->stop = step_stop_noticed();
    if (stop_wanted())
        snprintf(mine->reason, sizeof mine->reason, "%s", stop_reason());
    comm_all_gather(mine, sizeof *mine, all);
    mine->incomplete = mine->stop = 0;
    mine->save = all[0].save;
    for (int r = comm_size() - 1; r >= 0; r--) {
        mine->incomplete += all[r].incomplete;
        mine->stop += all[r].stop;
        if (all[r].reason[0])
            memcpy(mine->reason, all[r].reason, sizeof mine->reason);
    }
}

/* ---- a lane ---- */

static status bad_loss(trainer *t, int64_t lane, const batch *b, int64_t row)
{
    char id[64] = "";
    size_t bytes;
    int64_t data_row = feeder_row(t->feeder, row);
    if (dataset_id(t->train, data_row, id, sizeof id, &bytes) != STATUS_OK)
        id[0] = 0;
    return fail(
        STATUS_CHECK,
        "step %" PRId64 ", lane %" PRId64 ": the loss of row %" PRId64 " (id %s, row %" PRId64 " of %" PRId64 " in its micro-batch) is %g: "
        "training has diverged or the weights are damaged; lower --lr or --scale-lr, or raise --warmup, and go on from the last checkpoint in %s",
        t->state.step + 1, lane, data_row, id, row + 1, b->rows, t->row_loss[row], t->o->out);
}

static status add_losses(trainer *t, int64_t lane, const batch *b, double *loss)
{
    for (int64_t row = 0; row < b->rows; row++) {
        if (!isfinite(t->row_loss[row]))
            return bad_loss(t, lane, b, row);
        *loss += t->row_loss[row];
    }
    return STATUS_OK;
}

/* The way back of this rank's last lane has left something behind: it sets out for its owners. */
static void send_ready(void *arg, int64_t first)
{
    trainer *t = arg;
    sums_fold_dense(t->sums, first);
    reduce_early(t->reduce, t->sums, first);
}

static status run_lane(trainer *t, int64_t lane, bool *stopped)
{
    const int32_t *ids;
    int64_t n;
    double loss = 0, clock = phase_clock();
    gradient *sum = sums_next(t->sums);
    TRY(feeder_begin_lane(t->feeder, lane, &ids, &n));
    clock = phase_add(t->timer, PHASE_DATA, clock);
    phase_count(t->timer, PHASE_CLEAR, 0, (double)gradient_begin(sum, ids, n) * sizeof(float));
    phase_add(t->timer, PHASE_CLEAR, clock);
    for (const batch *b; !*stopped && (b = feeder_next(t->feeder));) {
        startup_end();
        bert_forward(t->net, b);
        bert_loss(t->net, b, t->factor, t->row_loss);
        const bool ends = feeder_lane_ends(t->feeder), early = ends && lane == t->end_lane - 1 && reduce_is_early(t->reduce);
        bert_tell(t->net, early ? send_ready : NULL, t);
        if (ends && !early)
            sums_last(t->sums);
        bert_backward(t->net, b, sum);
        bert_wait_loss(t->net);
        TRY(t->be->ops->check(t->be)); /* a device that is lost gives no losses to judge */
        TRY(add_losses(t, lane, b, &loss));
        *stopped = !early && step_stop_noticed(); /* what has set out is finished */
    }
    if (!*stopped) {
        clock = phase_clock();
        sums_fold(t->sums, loss);
        phase_add(t->timer, PHASE_REDUCE, clock);
    }
    return t->be->ops->check(t->be);
}

static status run_lanes(trainer *t, bool *stopped)
{
    double clock = phase_clock();
    TRY(feeder_begin_step(t->feeder, t->state.step));
    phase_add(t->timer, PHASE_DATA, clock);
    sums_begin(t->sums);
    for (int64_t lane = t->first_lane; lane < t->end_lane && !*stopped; lane++)
        TRY(run_lane(t, lane, stopped));
    return STATUS_OK;
}

/* ---- all ranks ---- */

/* The lanes' losses by the tree that their gradients take. */
static double fold_losses(const trainer *t, const step_report *all)
{
    int64_t start[2 * TREE_DEPTH], count[2 * TREE_DEPTH];
    double sum[TREE_DEPTH];
    tree order;
    int older, newer;
    tree_begin(&order, 0);
    for (int r = 0; r < comm_size(); r++) {
        int pieces = tree_pieces(deal_first_lane(r, comm_size(), t->o->lanes), deal_first_lane(r + 1, comm_size(), t->o->lanes), start, count);
        for (int i = 0; i < pieces; i++) {
            sum[tree_push(&order, count[i])] = all[r].loss[i];
            while (tree_fold(&order, &older, &newer))
                sum[older] += sum[newer];
        }
    }
    while (tree_finish(&order, &older, &newer))
        sum[older] += sum[newer];
    return sum[0];
}

/* float16: gradients come `scale` times too large. The folded gradient, which all ranks see alike, says whether that was too much: then the step leaves
 * everything as it was, at half the scale; after many steps without, twice the scale is tried. */
static status update_or_skip(trainer *t)
{
    loss_scale *s = &t->state.scale;
    bool overflowed;
    TRY(optimizer_overflowed(t->optimizer, &overflowed));
    if (overflowed) {
        s->good_steps = 0;
        s->value = s->value > 1 ? s->value / 2 : 1;
        log_info("step %" PRId64 ": a gradient overflowed and nothing was updated; the loss scale is %g now", t->state.step + 1, s->value);
    } else {
        optimizer_update_kept(t->optimizer);
        if (++s->good_steps == LOSS_SCALE_PATIENCE && s->value < LOSS_SCALE_MOST) {
            s->good_steps = 0;
            s->value *= 2;
        }
    }
    return STATUS_OK;
}

static status reduce_and_update(trainer *t, double rate)
{
    adamw_step scalars = adamw_scalars(&t->adamw, rate, t->state.step + 1);
    bool scaled = t->state.scale.value > 0;
    double clock = phase_clock();
    optimizer_begin(t->optimizer, &scalars);
    reduce_begin(t->reduce, t->sums);
    for (reduce_slice slice; reduce_next(t->reduce, &slice);) {
        clock = phase_add(t->timer, PHASE_REDUCE, clock);
        if (scaled)
            optimizer_keep(t->optimizer, &slice);
        else
            optimizer_update(t->optimizer, &slice);
        phase_count(t->timer, PHASE_UPDATE, 0, (double)slice.count * (slice.gradient ? 7 : 6) * sizeof(float)); /* p, m, v: both ways */
        clock = phase_add(t->timer, PHASE_UPDATE, clock);
    }
    clock = phase_add(t->timer, PHASE_REDUCE, clock);
    if (scaled)
        TRY(update_or_skip(t));
    TRY(optimizer_end(t->optimizer));
    phase_add(t->timer, PHASE_UPDATE, clock);
    return STATUS_OK;
}

status step_run(trainer *t, step_result *result)
{
    bool stopped = false;
    double clock;
    const train_options *o = t->o;
    uint64_t sent = comm_bytes_sent();
    if (t->state.scale.value > 0)
        t->be->device->set_scale(t->be, (float)t->state.scale.value);
    TRY(run_lanes(t, &stopped));

    step_report mine = {.incomplete = stopped};
    mine.save = o->checkpoint_minutes > 0 && clock_seconds() - t->saved_at >= 60.0 * (double)o->checkpoint_minutes;
    for (int i = 0; !stopped && i < t->sums->pieces; i++)
        mine.loss[i] = t->sums->loss[i];
    clock = phase_clock();
    step_agree(&mine, t->reports);
    phase_add(t->timer, PHASE_WAIT, clock); /* for the slowest rank's lanes */
    *result = (step_result){.stop = mine.stop > 0, .save = mine.save};
    memcpy(result->reason, mine.reason, sizeof result->reason);
    if (mine.incomplete)
        return STATUS_OK;

    result->loss = fold_losses(t, t->reports) / ((double)(o->lanes * o->batch) * dataset_labels(t->train));
    result->rate = schedule_rate(&t->schedule, t->state.step);
    result->tokens = feeder_step_tokens(t->feeder);
    TRY(reduce_and_update(t, result->rate));
    t->state.step++;
    if (t->moved_first == 0)
        t->moved_first = (int64_t)(comm_bytes_sent() - sent);
    result->done = true;
    return STATUS_OK;
}
