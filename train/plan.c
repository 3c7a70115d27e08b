#include "train/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/count.h"
#include "common/log.h"
#include "model/cpu/cpu.h"
#include "model/cpu/gemm.h"
#include "train/machines.h"
#include "train/traffic.h"

enum { HUGE_PAGE = 2 << 20 };

/* One number of /proc/self/status, in bytes; 0 where there is none. */
static int64_t process_memory(const char *name)
{
    FILE *status_file = fopen("/proc/self/status", "r");
    char line[256];
    long long kilobytes = 0;
    size_t n = strlen(name);
    while (status_file && fgets(line, sizeof line, status_file))
        if (strncmp(line, name, n) == 0 && line[n] == ':')
            kilobytes = strtoll(line + n + 1, NULL, 10);
    if (status_file)
        fclose(status_file);
    return kilobytes * 1024;
}

/* Private memory that the process has already: the program, its libraries, MPI's buffers. */
static int64_t resident_now(void)
{
    return process_memory("RssAnon") + process_memory("RssFile");
}

static int64_t data_bytes(const trainer *t, const dataset *d)
{
    if (!d)
        return 0;
    int64_t tokens = dataset_tokens_total(d) * (int64_t)sizeof(uint32_t), rows = dataset_rows(d) * (8 + 2 + 4 * dataset_labels(d));
    return rows + (tokens <= t->o->data_memory ? tokens : 0);
}

/* Word rows are laid out for as many as tokens could name, and take memory for those that are named: as many as in the first step. */
static int64_t unused_rows(const trainer *t, const traffic *moved)
{
    int64_t most[TREE_DEPTH], bytes = 0;
    int slots = sums_slot_lanes(t->first_lane, t->end_lane, most);
    for (int i = 0; i < slots; i++) {
        int64_t laid_out = trainer_lane_tokens(t) * most[i];
        laid_out = laid_out < t->table->config.vocab_size ? laid_out : t->table->config.vocab_size;
        bytes += (laid_out - moved->rows[i]) * (t->table->config.hidden * (int64_t)sizeof(float) + (int64_t)sizeof(int32_t));
    }
    return bytes;
}

/* Where lanes are short, the weights of lanes that join the sums as they are made. As in the first step. */
static int64_t unused_weights(const trainer *t, const traffic *moved, cpu_isa isa)
{
    bool whole = moved->whole && moved->tokens <= gemm_whole_steps(isa);
    return whole ? sums_untouched(t->first_lane, t->end_lane) * gradient_folded_bytes(t->table, HUGE_PAGE) : 0;
}

/* Activations are laid out for M tokens, and take memory for those of the largest micro-batch, the first step's, in huge pages. Validation fills M. */
static int64_t activation_bytes(const trainer *t, const traffic *moved)
{
    bert_limits limits = trainer_limits(t);
    if (t->where.library) /* a device's memory is taken whole */
        return (int64_t)bert_memory_bytes(t->table, &limits, BERT_TRAINING, (backend_type)t->o->type);
    int64_t valid = t->valid ? dataset_tokens_total(t->valid) + 2 * dataset_rows(t->valid) : 0;
    return (int64_t)bert_memory_touched(t->table, &limits, BERT_TRAINING, moved->tokens > valid ? moved->tokens : valid, HUGE_PAGE);
}

/* With a device, all but the program lies there, and the parameters once more a rank. The lists of word rows are the host's, and small. */
static void move_to_device(const trainer *t, const backend_limits *room, plan_memory *m)
{
    backend_type type = t->where.type;
    int64_t own = m->optimizer / 2;
    m->gradients = (int64_t)sums_bytes(t->table, t->first_lane, t->end_lane, trainer_lane_tokens(t));
    m->kernels = (int64_t)place_bytes(&t->where, room);
    m->optimizer += type == TYPE_FLOAT16 ? own : 0;
    m->exchange += t->o->share_device || t->o->reduce != REDUCE_EXACT ? 0 : (int64_t)reduce_early_bytes(t->table, t->o->lanes, REDUCE_STRIPE);
    m->weights = t->table->parameters * (int64_t)(sizeof(float) + (type == TYPE_FLOAT32 ? 0 : backend_type_bytes(type)));
    m->device = m->gradients + m->activations + m->optimizer + m->exchange + m->kernels + m->weights;
    m->rank = m->program;
}

void plan_count_memory(const trainer *t, const traffic *moved, plan_memory *m)
{
    const train_options *o = t->o;
    bert_limits limits = trainer_limits(t);
    backend_limits room = bert_backend_limits(t->table, &limits);
    feeder_setting feed = trainer_feeder_setting(t);
    cpu_isa isa = (cpu_isa)o->cpu;
    if (isa_choose(isa, &isa) != STATUS_OK)
        isa = CPU_ISA_PLAIN;
    *m = (plan_memory){
        .gradients = (int64_t)sums_bytes(t->table, t->first_lane, t->end_lane, trainer_lane_tokens(t)) - unused_rows(t, moved) - unused_weights(t, moved, isa),
        .activations = activation_bytes(t, moved),
        .optimizer = (int64_t)optimizer_bytes(t->table, REDUCE_STRIPE),
        .exchange =
            (int64_t)reduce_bytes(t->table, o->lanes, trainer_lane_tokens(t), REDUCE_STRIPE) + (int64_t)feeder_bytes(&feed, dataset_labels(t->train)),
        .kernels = (int64_t)backend_cpu_bytes(&room, isa, (int)o->threads),
        .parameters = t->table->parameters * (int64_t)sizeof(float),
        .tokens = data_bytes(t, t->train) + data_bytes(t, t->valid),
    };
    m->program = resident_now();
    if (comm_size() == 1) /* the data are in this process's private memory, and counted once a node */
        m->program = m->program > m->tokens ? m->program - m->tokens : 0;
    m->rank = m->gradients + m->activations + m->optimizer + m->exchange + m->kernels + m->program;
    if (t->where.library)
        move_to_device(t, &room, m);
}

/* Products of the layers and of attention; the backward pass does each twice. */
static double row_work(const trainer *t, int64_t length)
{
    const model_config *m = &t->table->config;
    double T = (double)(t->o->pooling == POOLING_PADDED ? t->input.max_length : length), H = (double)m->hidden, F = (double)m->feed_forward;
    double layer = 2 * T * (4 * H * H + 2 * H * F) + 4 * T * (double)length * H;
    return 3 * ((double)m->layers * layer + 4 * H * (double)t->table->outputs);
}

double plan_count_work(const trainer *t)
{
    double sum = 0;
    int64_t rows = dataset_rows(t->train), used = t->order.steps_per_epoch * t->order.global_batch;
    for (int64_t row = 0; row < rows; row++)
        sum += row_work(t, input_length(&t->input, dataset_length(t->train, row)));
    return sum * ((double)used / (double)rows);
}

/* Forward only, over all rows. */
static double validation_work(const trainer *t)
{
    double sum = 0;
    for (int64_t row = 0; t->valid && row < dataset_rows(t->valid); row++)
        sum += row_work(t, input_length(&t->input, dataset_length(t->valid, row))) / 3;
    return sum;
}

/* What a card holds: weights in float32 and in 16 bits, gradients, two moments; activations in 16 bits. */
static double card_bytes(const trainer *t, const plan_memory *m)
{
    return (double)t->table->parameters * (4 + 2 + 4 + 8) + (double)m->activations / 2;
}

static void print_bytes(const char *what, double bytes)
{
    if (bytes >= 1e9)
        printf("  %-28s %9.2f GB\n", what, bytes * 1e-9);
    else
        printf("  %-28s %9.2f MB\n", what, bytes * 1e-6);
}

static void print_memory(const trainer *t, const plan_memory *top, const plan_memory *m)
{
    print_bytes("gradients", (double)top->gradients);
    print_bytes("activations", (double)top->activations);
    print_bytes("optimizer", (double)top->optimizer);
    print_bytes("exchange and rows", (double)top->exchange);
    print_bytes("kernels", (double)top->kernels);
    if (t->where.library) {
        print_bytes("parameters", (double)top->weights);
        print_bytes("together, on the device", (double)top->device);
        if ((double)top->device > 0.97 * (double)t->where.card.memory)
            printf("  which is more than the %.2f GB that it has: a smaller --micro-tokens, more ranks with a device each, or --type bfloat16 needs less\n",
                   (double)t->where.card.memory * 1e-9);
        printf("memory of the machine:\n");
    }
    print_bytes("program and MPI", (double)top->program);
    print_bytes("together, a rank", (double)top->rank);
    print_bytes("parameters, once a node", (double)m->parameters);
    print_bytes("data, once a node", (double)m->tokens);
}

static int64_t most(int64_t mine)
{
    comm_max_int64(&mine, 1);
    return mine;
}

status plan_print(const trainer *t)
{
    plan_memory m;
    traffic moved;
    const train_options *o = t->o;
    TRY(traffic_count(t, &moved));
    plan_count_memory(t, &moved, &m);
    plan_memory top = {.gradients = most(m.gradients),
                       .activations = most(m.activations),
                       .optimizer = most(m.optimizer),
                       .exchange = most(m.exchange),
                       .kernels = most(m.kernels),
                       .program = most(m.program),
                       .weights = most(m.weights),
                       .device = most(m.device),
                       .rank = most(m.rank)};
    int64_t sent_most = most(moved.sent), sent_all = moved.sent, dense = moved.dense;
    comm_sum_int64(&sent_all, 1);
    comm_sum_int64(&dense, 1);
    double speed;
    const machines_product shape = {t->micro_tokens, t->table->config.hidden, t->table->config.feed_forward};
    TRY(machines_measure(&shape, (cpu_isa)o->cpu, o->threads, &speed));
    if (comm_rank() != 0)
        return STATUS_OK;
    double weights = (double)checkpoint_bytes(t->table, false), saved = (double)checkpoint_bytes(t->table, true);
    double work = plan_count_work(t), epochs = (double)t->total / (double)t->order.steps_per_epoch;
    printf("steps: %" PRId64 " an epoch, %" PRId64 " in all, of %" PRId64 " rows each (%" PRId64 " lanes of %" PRId64 ")\n", t->order.steps_per_epoch,
           t->total, t->order.global_batch, o->lanes, o->batch);
    char few[SAMPLER_TEXT];
    sampler_describe_few(&t->order, few);
    if (few[0])
        printf("       %s\n", few);
    printf("parameters: %" PRId64 " trained in %" PRId64 " stripes; peak learning rate %g\n", t->table->trainable,
           reduce_stripes(t->table, REDUCE_STRIPE), o->peak_rate);
    if (t->where.library)
        printf("memory on the device of each of %s (%s), %s, micro-batches of %s:\n", count_of(comm_size(), "rank"), t->where.card.name,
               place_type_name(t->where.type), count_of(t->micro_tokens, "token"));
    else
        printf("memory at %s of %s:\n", count_of(comm_size(), "rank"), count_of(o->threads, "thread"));
    print_memory(t, &top, &m);
    printf("moved between ranks, a step (its first %" PRId64 " rows):\n", t->order.global_batch);
    print_bytes("sent by a rank, at most", (double)sent_most);
    print_bytes("sent in all", (double)sent_all);
    print_bytes("of it dense gradients", (double)dense);
    printf("disk:\n");
    print_bytes("checkpoints", saved * (double)(o->keep + 1));
    print_bytes("weights of epochs", weights * (epochs < 1 ? 1 : epochs));
    printf("work: %.3g floating-point operations an epoch, %.3g in all\n", work, work * epochs);
    machines_print(epochs * work + ceil(epochs) * validation_work(t), speed, card_bytes(t, &m));
    return STATUS_OK;
}

void plan_report_peak(const trainer *t)
{
    int64_t sent_most = most(t->moved_first), sent_all = t->moved_first;
    comm_sum_int64(&sent_all, 1);
    if (sent_most > 0)
        log_info("moved between ranks in the first step: %.3f MB sent by a rank at most, %.3f MB in all", (double)sent_most * 1e-6,
                 (double)sent_all * 1e-6);
    /* A rank alone has the parameters and the data in its private memory; several have them in pages that they share. */
    int64_t once = comm_size() == 1 ? t->table->parameters * (int64_t)sizeof(float) + data_bytes(t, t->train) + data_bytes(t, t->valid)
                                    : process_memory("RssShmem");
    int64_t peak = most(process_memory("VmHWM") - once);
    int64_t there = most(t->be->device ? (int64_t)t->be->device->used(t->be) : 0);
    log_info("peak memory: %.2f MB a rank, besides what a node has once", (double)peak * 1e-6);
    if (there)
        log_info("memory taken on a device: %.2f MB", (double)there * 1e-6);
}
