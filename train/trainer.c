#include "train/trainer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/files.h"
#include "common/log.h"
#include "model/cpu/cpu.h"
#include "model/model_init.h"
#include "model/pieces.h"
#include "model/run.h"
#include "model/weights.h"
#include "store/difference.h"
#include "train/exchange.h"
#include "train/step.h"

enum { MICRO_TOKENS_CPU = 1536, MICRO_TOKENS_DEVICE = 16384 };

/* ---- do they fit together ---- */

static status check_vocabulary(trainer *t, const model_config *config)
{
    initial_model *m = &t->initial;
    int64_t lines;
    TRY(pieces_find_specials(m->vocabulary_path, m->vocabulary, m->vocabulary_bytes, &t->input, &lines));
    if (lines > config->vocab_size)
        return fail(STATUS_INPUT, "%s has %" PRId64 " pieces, vocab_size of %s is %" PRId64 ": vocabulary and model do not belong together",
                    m->vocabulary_path, lines, m->config_path, config->vocab_size);
    if (t->input.pad != config->pad_id)
        return fail(STATUS_INPUT, "%s: [PAD] is line %" PRId32 ", pad_token_id of %s is %" PRId64, m->vocabulary_path, t->input.pad, m->config_path,
                    config->pad_id);
    const dataset *sets[] = {t->train, t->valid};
    const option_list *names[] = {&t->o->train, &t->o->valid};
    for (int i = 0; i < 2 && sets[i]; i++)
        if (!run_vocabulary_matches(dataset_tokenizer(sets[i]), m->vocabulary_hash))
            return fail(STATUS_INPUT,
                        "%s was tokenized with another vocabulary than %s (SHA-256 %.16s...): run preprocess and shard with the model's vocabulary",
                        names[i]->item[0], m->vocabulary_path, m->vocabulary_hash);
    return STATUS_OK;
}

static void warn_of_settings(const trainer *t)
{
    char between[200], text[DIFFERENCE_TEXT];
    const char *train = t->o->train.item[0], *valid = t->o->valid.item[0];
    snprintf(between, sizeof between, " where %.150s has ", valid);
    difference_settings(dataset_tokenizer(t->train), dataset_tokenizer(t->valid), between, text);
    if (text[0])
        log_warn("training and validation were tokenized with different settings: %s has %s; make both with the same, or the AUC tells little",
                 train, text);
}

static status check_data(const trainer *t)
{
    int labels = dataset_labels(t->train);
    if (labels < 1)
        return fail(STATUS_INPUT, "%s has no labels: preprocess finds them by the column names toxic or target, or name them with its --labels",
                    t->o->train.item[0]);
    if (!t->valid)
        return STATUS_OK;
    if (dataset_labels(t->valid) != labels)
        return fail(STATUS_INPUT, "%s has %d labels, %s has %d: make both with the same --labels", t->o->train.item[0], labels, t->o->valid.item[0],
                    dataset_labels(t->valid));
    for (int c = 0; c < labels; c++)
        if (strcmp(dataset_label_name(t->train, c), dataset_label_name(t->valid, c)) != 0)
            log_warn("label %d is '%s' in training and '%s' in validation; they are taken for the same", c + 1, dataset_label_name(t->train, c),
                     dataset_label_name(t->valid, c));
    warn_of_settings(t);
    return STATUS_OK;
}

static status open_table(trainer *t)
{
    model_config config;
    const train_options *o = t->o;
    bool pooler = false;
    TRY(model_config_read(t->initial.config_path, &config));
    TRY(check_vocabulary(t, &config));
    if (o->max_length > model_config_longest(&config))
        return fail(STATUS_USAGE, "--max-length %" PRId64 " is above the %" PRId64 " positions of %s", o->max_length, model_config_longest(&config),
                    t->initial.config_path);
    config.hidden_dropout = o->dropout;
    config.attention_dropout = o->attention_dropout;
    status st = STATUS_OK;
    if (comm_rank() == 0 && t->initial.folder) {
        weights_file *file;
        st = weights_open(t->initial.folder, &file);
        if (st == STATUS_OK) {
            pooler = weights_have_pooler(file);
            weights_file_close(file);
        }
    }
    TRY(comm_agree(st));
    comm_broadcast(&pooler, sizeof pooler, 0);
    return tensor_table_create(&config, dataset_labels(t->train), pooler, &t->table);
}

static status open_data(trainer *t)
{
    const train_options *o = t->o;
    const dataset_limits limits = {.memory = o->data_memory};
    TRY(dataset_open(o->train.item, (int64_t)o->train.count, &limits, &t->train));
    if (o->valid.count)
        TRY(dataset_open(o->valid.item, (int64_t)o->valid.count, &limits, &t->valid));
    return comm_agree(check_data(t));
}

static status open_order(trainer *t)
{
    const train_options *o = t->o;
    TRY(sampler_open(t->train, o->drop_unlabelled, o->lanes, o->batch, (uint64_t)o->seed, &t->order));
    t->order.same_each_epoch = o->reshuffle == RESHUFFLE_NO;
    t->schedule_rows = t->order.rows;
    return o->order ? sampler_take_order(&t->order, t->train, o->order, t->order_hash) : STATUS_OK;
}

/* Steps of the schedule: those that really run, or the notebook's int(rows / batch / lanes * epochs), in the order of its divisions. */
static int64_t schedule_total(const trainer *t)
{
    const train_options *o = t->o;
    if (o->schedule_steps == SCHEDULE_STEPS_RUN)
        return t->total;
    double steps = (double)t->schedule_rows / (double)o->batch / (double)o->lanes * (double)o->epochs;
    return steps < 1 ? 1 : (int64_t)steps;
}

static void count_steps(trainer *t)
{
    const train_options *o = t->o;
    t->total = t->order.steps_per_epoch * o->epochs;
    if (o->max_steps > 0 && o->max_steps < t->total)
        t->total = o->max_steps;
    t->schedule = (schedule){.kind = (schedule_kind)o->schedule, .rate = o->peak_rate, .total = schedule_total(t), .warmup = o->warmup};
    t->adamw = (adamw_options){.beta1 = o->beta1, .beta2 = o->beta2, .epsilon = o->epsilon, .decay = o->weight_decay};
}

static status open_inputs(trainer *t)
{
    TRY(open_data(t));
    TRY(comm_agree(open_order(t)));
    TRY(comm_agree(open_table(t)));
    return initial_end_hash(&t->initial);
}

status trainer_open(const train_options *o, trainer *t)
{
    *t = (trainer){.o = o, .saved_step = -1};
    t->input = (input_format){.max_length = o->max_length, .truncate = (truncate_side)o->truncate};
    TRY(comm_agree(initial_find(o, &t->initial)));
    initial_begin_hash(&t->initial);
    status st = open_inputs(t);
    if (st != STATUS_OK) {
        initial_free(&t->initial); /* no thread may still read when the program ends */
        return st;
    }
    count_steps(t);
    t->first_lane = deal_first_lane(comm_rank(), comm_size(), o->lanes);
    t->end_lane = deal_first_lane(comm_rank() + 1, comm_size(), o->lanes);
    t->factor = (float)(1.0 / ((double)(o->lanes * o->batch) * dataset_labels(t->train)));
    TRY(place_choose((place_wish)o->device, (backend_type)o->type, o->share_device, &t->where));
    TRY(place_attention((attention_wish)o->attention, &t->where));
    t->micro_tokens = o->micro_tokens ? o->micro_tokens : t->where.library ? MICRO_TOKENS_DEVICE : MICRO_TOKENS_CPU;
    bert_limits limits = trainer_limits(t);
    backend_limits room = bert_backend_limits(t->table, &limits);
    TRY(comm_agree(place_identity(&t->where, &room, t->device_identity)));
    if (o->type == TYPE_FLOAT16)
        t->state.scale.value = LOSS_SCALE_FIRST;
    t->dropout = (bert_dropout){.hidden = o->dropout, .attention = o->attention_dropout, .head = o->head_dropout, .seed = (uint64_t)o->seed};
    return STATUS_OK;
}

/* ---- room ---- */

bert_limits trainer_limits(const trainer *t)
{
    return (bert_limits){.tokens = t->micro_tokens, .rows = feeder_micro_rows(t->micro_tokens, t->o->batch), .longest = t->o->max_length};
}

int64_t trainer_lane_tokens(const trainer *t)
{
    return t->o->batch * t->o->max_length;
}

feeder_setting trainer_feeder_setting(const trainer *t)
{
    return (feeder_setting){.data = t->train,
                            .order = &t->order,
                            .input = t->input,
                            .padded = t->o->pooling == POOLING_PADDED,
                            .deal = (deal_kind)t->o->deal,
                            .lanes = t->o->lanes,
                            .batch = t->o->batch,
                            .micro_tokens = t->micro_tokens,
                            .even = !t->where.library,
                            .vocabulary = t->table->config.vocab_size};
}

static status build_state(trainer *t)
{
    bert_limits limits = trainer_limits(t);
    backend_limits room = bert_backend_limits(t->table, &limits);
    TRY(threads_create((int)t->o->threads, &t->pool));
    t->where.pool = t->pool;
    t->where.isa = (cpu_isa)t->o->cpu;
    TRY(place_open(&t->where, &room, &t->be));
    t->weights = t->parameters;
    if (t->be->device) {
        void *p;
        TRY(t->be->ops->allocate(t->be, (size_t)t->table->parameters * sizeof(float), "parameters", &p));
        t->weights = p;
    }
    TRY(t->be->ops->keep_parameters(t->be, t->weights, t->table->parameters));
    return optimizer_create(t->be, t->table, t->parameters, t->weights, REDUCE_STRIPE, &t->optimizer);
}

const char *trainer_kernels(const trainer *t)
{
    return t->be->device ? t->be->device->describe(t->be) : isa_name(backend_cpu_isa(t->be));
}

status trainer_build_state(trainer *t)
{
    void *p;
    TRY(comm_shared_create((size_t)t->table->parameters * sizeof(float), "parameters", &p, &t->parameters_shared));
    t->parameters = p;
    t->place = (checkpoint_place){
        .run = t->o->out, .vocabulary = t->initial.vocabulary, .vocabulary_bytes = t->initial.vocabulary_bytes, .table = t->table, .parameters = t->parameters, .keep = t->o->keep};
    TRY(comm_agree(build_state(t)));
    t->place.pool = t->pool;
    return t->o->share_device ? STATUS_OK : exchange_link(t->be); /* NCCL takes one rank a device */
}

static status build_step(trainer *t)
{
    bert_limits limits = trainer_limits(t);
    feeder_setting feed = trainer_feeder_setting(t);
    TRY(bert_create(t->be, t->table, t->weights, &limits, BERT_TRAINING, &t->net));
    t->timer = bert_timer(t->net);
    TRY(feeder_create(&feed, &t->feeder));
    TRY(sums_create(t->be, t->table, t->first_lane, t->end_lane, trainer_lane_tokens(t), &t->sums));
    TRY(reduce_create(t->be, t->table, t->o->lanes, trainer_lane_tokens(t), REDUCE_STRIPE, (reduce_kind)t->o->reduce, &t->reduce));
    TRY(memory_new(&t->reports, (size_t)comm_size() * sizeof *t->reports, "the ranks' reports"));
    return memory_new(&t->row_loss, (size_t)limits.rows * sizeof *t->row_loss, "row losses");
}

status trainer_build_step(trainer *t)
{
    return comm_agree(build_step(t));
}

/* ---- first weights ---- */

static status load_pretrained(trainer *t)
{
    weights_file *file;
    weights_report report;
    TRY(weights_open(t->initial.folder, &file));
    status st = weights_load_threads(file, t->table, (uint64_t)t->o->seed, t->parameters, &report, t->pool);
    weights_file_close(file);
    for (char *line = report.notes, *end; st == STATUS_OK && *line; line = end) {
        end = line + strcspn(line, "\n");
        log_info("%.*s", (int)(end - line), line);
        end += *end == '\n';
    }
    return st;
}

/* Each rank makes a part: an element's value depends on the seed and its place alone. */
static status make_random(trainer *t)
{
    int ranks = comm_size();
    size_t *first;
    TRY(memory_new(&first, ((size_t)ranks + 1) * sizeof *first, "initial weights"));
    for (int r = 0; r <= ranks; r++)
        first[r] = (size_t)(t->table->parameters / TENSOR_ALIGNMENT * r / ranks) * TENSOR_ALIGNMENT;
    first[ranks] = (size_t)t->table->parameters;
    int64_t at = (int64_t)first[comm_rank()], end = (int64_t)first[comm_rank() + 1];
    model_init_threads(t->table, (uint64_t)t->o->seed, at, end - at, t->parameters + at, t->pool);
    for (int r = 0; r <= ranks; r++)
        first[r] *= sizeof(float);
    comm_shared_spread(t->parameters, first);
    free(first);
    return STATUS_OK;
}

status trainer_load_initial(trainer *t)
{
    if (!t->initial.folder)
        return make_random(t);
    TRY(comm_agree(comm_rank() == 0 ? load_pretrained(t) : STATUS_OK));
    comm_shared_broadcast(t->parameters, (size_t)t->table->parameters * sizeof(float));
    return STATUS_OK;
}

void trainer_close(trainer *t)
{
    records_close(t->records);
    events_close(t->events);
    if (t->be && t->be->device) /* a step that was given up has left messages that name the memory below */
        t->be->device->close_link(t->be);
    optimizer_free(t->optimizer);
    reduce_free(t->reduce);
    sums_free(t->sums);
    feeder_free(t->feeder);
    bert_free(t->net);
    if (t->be && t->weights && t->weights != t->parameters)
        t->be->ops->release(t->be, t->weights);
    if (t->be)
        t->be->ops->close(t->be);
    comm_shared_free(t->parameters);
    threads_free(t->pool);
    tensor_table_free(t->table);
    sampler_close(&t->order);
    dataset_free(t->valid);
    dataset_free(t->train);
    free(t->run_text);
    free(t->recipe_text);
    free(t->row_loss);
    free(t->reports);
    initial_free(&t->initial);
}
