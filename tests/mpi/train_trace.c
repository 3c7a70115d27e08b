/* A few steps of a training over a wrapped back end: prints each lane's chain of calls and the state of the weights, for train_trace.sh to compare.
 *
 *     [mpirun -np N] train_trace FOLDER trace|quiet|address|calls|time
 *
 * FOLDER is what train_make_data wrote, its rows named train.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "support/wrapped_backend.h"
#include "train/optimizer.h"
#include "train/step.h"

enum { LANES = 4, BATCH = 6, STEPS = 3 };

/* Which lane a row of the step at hand was dealt to, from a feeder of its own. */
typedef struct dealt {
    feeder *feeder;
    int64_t lane[LANES * BATCH];
} dealt;

static status deal_step(dealt *d, int64_t step)
{
    const int32_t *ids;
    int64_t n;
    TRY(feeder_begin_step(d->feeder, step));
    for (int64_t lane = 0; lane < LANES; lane++) {
        TRY(feeder_begin_lane(d->feeder, lane, &ids, &n));
        for (const batch *b; (b = feeder_next(d->feeder));)
            for (int64_t row = 0; row < b->rows; row++)
                d->lane[b->sample[row] % (LANES * BATCH)] = lane;
    }
    return STATUS_OK;
}

static int64_t lane_of(void *user, const batch *b)
{
    return ((dealt *)user)->lane[b->sample[0] % (LANES * BATCH)];
}

static status run_steps(trainer *t, dealt *d)
{
    bert_set_dropout(t->net, &t->dropout);
    for (int64_t step = 0; step < STEPS; step++) {
        step_result r;
        TRY(deal_step(d, step));
        TRY(step_run(t, &r));
        if (!r.done)
            return fail(STATUS_CHECK, "step %" PRId64 " was not done", step);
    }
    return STATUS_OK;
}

static status run(wrapped_mode mode)
{
    static trainer t;
    dealt d;
    uint64_t hash[LANES] = {0};
    TRY(train_options_check(&(option_list){0}));
    TRY(trainer_open(&train_given, &t));
    TRY(trainer_build_state(&t));
    t.be = wrapped_open(&(wrapped_setting){.inner = t.be, .mode = mode, .lane_of = lane_of, .user = &d, .lane_hash = hash});
    if (!t.be)
        return fail(STATUS_RESOURCE, "out of memory: the wrapped back end");
    TRY(trainer_load_initial(&t));
    optimizer_hash_all(t.optimizer, t.pool);
    TRY(trainer_build_step(&t));
    feeder_setting setting = trainer_feeder_setting(&t);
    TRY(feeder_create(&setting, &d.feeder));
    TRY(run_steps(&t, &d));
    comm_sum_uint64(hash, LANES); /* each lane's is at one rank, zero elsewhere */
    if (comm_rank() == 0) {
        for (int lane = 0; lane < LANES; lane++)
            printf("lane %d %016" PRIx64 "\n", lane, hash[lane]);
        printf("state %016" PRIx64 "\n", t.optimizer->state);
    }
    feeder_free(d.feeder);
    trainer_close(&t);
    return STATUS_OK;
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"trace", "quiet", "address", "calls", "time"};
    char config[4096], data[4096];
    option_list rest;
    bool stop, quiet;
    int mode = 0;
    if (comm_open(&argc, &argv) != STATUS_OK || argc != 3)
        return 2;
    while (mode < 4 && strcmp(argv[2], modes[mode]) != 0)
        mode++;
    snprintf(config, sizeof config, "--config=%s", argv[1]);
    snprintf(data, sizeof data, "--train=%s/train", argv[1]);
    char *words[] = {argv[0], (char[]){"--init=random"}, config, data, (char[]){"--out=none"}, (char[]){"--lanes=4"}, (char[]){"--batch=6"},
                     (char[]){"--max-length=40"}, (char[]){"--lr=1e-3"}, (char[]){"--micro-tokens=70"}, (char[]){"--threads=2"}, NULL};
    status st = options_parse(&train_about, train_table, (int)(sizeof words / sizeof *words) - 1, words, &rest, &stop, &quiet);
    if (st == STATUS_OK)
        st = run((wrapped_mode)mode);
    if (st != STATUS_OK) {
        fprintf(stderr, "%s\n", status_message());
        comm_abort(st);
    }
    comm_close();
    return 0;
}
