#include "infer/predict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/comm.h"
#include "common/count.h"
#include "common/log.h"
#include "common/stop.h"
#include "infer/blocks.h"
#include "store/difference.h"

/* One call of predict_rows. */
typedef struct job {
    dataset *data;
    const run *run;
    const predict_settings *settings;
    blocks blocks;
    float *score;
    int64_t *done; /* a block: 1 when its scores are in `score` at some rank, which alone has them */
    int64_t *mine; /* blocks that this rank scores, in order */
    int64_t mine_count;
    int64_t missing;
} job;

int64_t predict_room(const dataset *d, const run *r)
{
    return (dataset_rows(d) * r->labels + 1) / 2 * 2;
}

status predict_check_tokenizer(const char *data_name, const char *data_tokenizer, const run *r)
{
    char text[DIFFERENCE_TEXT];
    if (strcmp(data_tokenizer, r->tokenizer) == 0)
        return STATUS_OK;
    difference_settings(data_tokenizer, r->tokenizer, " where the run has ", text);
    return fail(STATUS_INPUT, "%s was made by another tokenizer than the run %s: it has %s; make the tokens again with the run's vocabulary and options "
                "(%s/vocab.txt)", data_name, r->folder, text[0] ? text : "the same lines in another order", r->weights_folder);
}

/* All that the scores depend on. Not the text of file names: a run that was moved is the same run. */
static status open_blocks(job *j)
{
    const run *r = j->run;
    const char *on_device = j->settings->network.device_identity;
    char text[800 + DEVICE_NAME];
    snprintf(text, sizeof text,
             "scores 1\ndata %s\nrun %s\nweights %s step %lld\narithmetic %d %d\nlength %lld truncate %d padded %d\nspecials %d %d %d\n"
             "rows %lld labels %lld block %lld\n%s%s%s",
             dataset_identity(j->data), r->identity, r->weights_hash, (long long)r->step, r->arithmetic, ARITHMETIC_VERSION,
             (long long)r->input.max_length, (int)r->input.truncate, (int)r->padded, r->input.cls, r->input.sep, r->input.pad,
             (long long)dataset_rows(j->data), (long long)r->labels, (long long)j->settings->block_rows, on_device[0] ? "device " : "", on_device, on_device[0] ? "\n" : "");
    TRY(blocks_open(j->settings->folder, text, dataset_rows(j->data), j->settings->block_rows, r->labels, &j->blocks));
    TRY(memory_new(&j->done, (size_t)j->blocks.count * sizeof *j->done, "the list of blocks"));
    return memory_new(&j->mine, (size_t)j->blocks.count * sizeof *j->mine, "the list of blocks");
}

static float *block_scores(const job *j, int64_t block)
{
    return j->score + block * j->settings->block_rows * j->run->labels;
}

/* Each rank looks for its share of the finished blocks. */
static status read_finished(job *j)
{
    for (int64_t b = comm_rank(); b < j->blocks.count; b += comm_size()) {
        bool there;
        TRY(blocks_read(&j->blocks, b, block_scores(j, b), &there));
        j->done[b] = there;
    }
    return STATUS_OK;
}

typedef struct block_cost {
    int64_t block, cost;
} block_cost;

static int compare_costs(const void *a, const void *b)
{
    const block_cost *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost > y->cost ? -1 : 1;
    return (x->block > y->block) - (x->block < y->block);
}

/* Tokens, with attention's share growing with the length of their row: about 1 in 6 H of a layer's work for each key (H = 768 stands for all). */
static int64_t cost_of(const job *j, int64_t block)
{
    int64_t first, end, cost = 0;
    blocks_range(&j->blocks, block, &first, &end);
    for (int64_t row = first; row < end; row++) {
        int64_t n = j->run->padded ? j->run->input.max_length : input_length(&j->run->input, dataset_length(j->data, row));
        cost += n * (6 * 768 + n);
    }
    return cost;
}

/* Dearest first, each to the rank with the least so far: all ranks find the same. */
static status deal_missing(job *j)
{
    block_cost *list = NULL;
    int64_t *load = NULL;
    status st;
    TRY_DONE(memory_new(&list, (size_t)j->blocks.count * sizeof *list, "the list of blocks"));
    TRY_DONE(memory_new(&load, (size_t)comm_size() * sizeof *load, "the ranks' loads"));
    for (int64_t b = 0; b < j->blocks.count; b++)
        if (!j->done[b])
            list[j->missing++] = (block_cost){b, cost_of(j, b)};
    qsort(list, (size_t)j->missing, sizeof *list, compare_costs);
    for (int64_t i = 0; i < j->missing; i++) {
        int least = 0;
        for (int r = 1; r < comm_size(); r++)
            least = load[r] < load[least] ? r : least;
        load[least] += list[i].cost;
        if (least == comm_rank())
            j->mine[j->mine_count++] = list[i].block;
    }
done:
    free(list);
    free(load);
    return st;
}

/* A reason to stop that any rank has reaches all of them through the flag. */
static bool must_stop(void)
{
    if (stop_wanted())
        comm_flag_raise();
    return comm_flag_seen();
}

/* Rows in their order: they are packed, so sorting them by length would save nothing. *stopped: the block is not finished. */
static status score_block(job *j, network *net, int32_t *ids, int64_t block, bool *stopped)
{
    int64_t first, end, scored;
    blocks_range(&j->blocks, block, &first, &end);
    scored = first;
    for (int64_t row = first; row < end; row++) {
        int64_t n;
        TRY(input_read(&j->run->input, j->data, row, ids, &n));
        TRY(input_check_ids(ids, n, network_vocabulary(net), "row", row));
        if (!network_fits(net, n)) {
            TRY(network_score(net, j->score + scored * j->run->labels));
            scored = row;
            *stopped = must_stop();
            if (*stopped)
                return STATUS_OK;
        }
        network_add(net, ids, n);
    }
    return network_score(net, j->score + scored * j->run->labels);
}

/* What all ranks have scored so far. */
static void show(progress *p, const network *net)
{
    char note[96];
    snprintf(note, sizeof note, "%d rank%s, %s", comm_size(), comm_size() > 1 ? "s" : "", network_what(net));
    progress_set(p, comm_tally_total(), note);
}

static int64_t rows_of(const job *j, const int64_t *block, int64_t count)
{
    int64_t rows = 0, first, end;
    for (int64_t i = 0; i < count; i++) {
        blocks_range(&j->blocks, block[i], &first, &end);
        rows += end - first;
    }
    return rows;
}

static status score_mine(job *j, network *net, progress *p)
{
    int32_t *ids;
    bool stopped = must_stop();
    TRY(memory_new(&ids, (size_t)j->run->input.max_length * sizeof *ids, "ids of a row"));
    status st = STATUS_OK;
    for (int64_t i = 0; st == STATUS_OK && !stopped && i < j->mine_count; i++) {
        float *to = block_scores(j, j->mine[i]);
        int64_t rows = rows_of(j, &j->mine[i], 1);
        st = score_block(j, net, ids, j->mine[i], &stopped);
        if (stopped)
            memset(to, 0, (size_t)(rows * j->run->labels) * sizeof *to); /* zeros may be summed over ranks */
        else if (st == STATUS_OK)
            st = blocks_write(&j->blocks, j->mine[i], to);
        if (st == STATUS_OK && !stopped) {
            j->done[j->mine[i]] = 1;
            comm_tally_add(rows);
            show(p, net);
            stopped = i + 1 < j->mine_count && must_stop();
        }
    }
    free(ids);
    return st;
}

/* Waits for the others, and for signals meanwhile. */
static void wait_for_all(progress *p, const network *net)
{
    comm_tally_add(0);
    comm_arrive();
    while (!comm_arrived()) {
        must_stop();
        show(p, net);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    show(p, net);
}

/* Collective. */
static void report_profile(const network *net, double seconds)
{
    profile p = {0};
    network_profile(net, &p);
    p.seconds = seconds;
    profile_gather(&p);
    if (comm_rank() == 0)
        profile_print(stdout, &p);
}

static status score_missing(job *j)
{
    network *net;
    TRY(network_open(j->run, &j->settings->network, &net));
    if (j->settings->profile)
        network_watch(net);
    double begin = clock_seconds();
    int64_t rows = rows_of(j, j->mine, j->mine_count);
    comm_sum_int64(&rows, 1);
    comm_tally_begin();
    progress *p = progress_begin("score", "rows", rows);
    status st = score_mine(j, net, p);
    if (st != STATUS_OK)
        return st; /* one rank's error ends the job: nothing collective may follow */
    wait_for_all(p, net);
    progress_end(p);
    if (j->settings->profile)
        report_profile(net, clock_seconds() - begin);
    network_close(net);
    return STATUS_OK;
}

/* Each score lies at one rank, and zeros at all others: sums of whole words carry nothing from one float to the next. */
static void gather_scores(job *j)
{
    comm_sum_int64((int64_t *)j->score, (size_t)predict_room(j->data, j->run) / 2);
}

static status predict(job *j)
{
    TRY(comm_agree(open_blocks(j)));
    TRY(comm_agree(read_finished(j)));
    /* What a rank has read is its own to keep; all learn what is done. */
    comm_sum_int64(j->done, (size_t)j->blocks.count);
    TRY(comm_agree(deal_missing(j)));
    int64_t kept = j->blocks.count - j->missing;
    if (kept)
        log_info("%s: %lld of %s of %s were finished before", j->blocks.folder, (long long)kept, count_of(j->blocks.count, "block"),
                 count_of(j->settings->block_rows, "row"));
    if (j->missing == 0) {
        gather_scores(j);
        return STATUS_OK;
    }
    memset(j->done, 0, (size_t)j->blocks.count * sizeof *j->done);
    TRY(score_missing(j));
    int64_t finished = 0;
    for (int64_t b = 0; b < j->blocks.count; b++)
        finished += j->done[b];
    comm_sum_int64(&finished, 1);
    if (finished < j->missing)
        return fail(STATUS_STOPPED, "stopped with %lld of %s finished and kept in %s; run the same command again to go on",
                    (long long)(kept + finished), count_of(j->blocks.count, "block"), j->blocks.folder);
    gather_scores(j);
    return STATUS_OK;
}

status predict_rows(dataset *d, const run *r, const predict_settings *s, float *score)
{
    job j = {.data = d, .run = r, .settings = s, .score = score};
    memset(score, 0, (size_t)predict_room(d, r) * sizeof *score);
    status st = predict(&j);
    blocks_close(&j.blocks);
    free(j.done);
    free(j.mine);
    return st;
}
