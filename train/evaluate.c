#include "train/evaluate.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"

typedef struct work {
    trainer *t;
    int outputs;
    int64_t first, end; /* own rows */
    int64_t *first_of;  /* ranks + 1 */
    batch_builder *builder;
    int32_t *ids;
    float *score, *label; /* own rows x C */
    double *loss;         /* own rows */
    double *all_loss;     /* all rows */
    size_t *bytes_of;
    int64_t scored;
} work;

/* Cuts the rows where the tokens before a row pass r/np of all: every rank finds the same cuts. */
static void share_rows(work *w)
{
    const dataset *d = w->t->valid;
    int64_t rows = dataset_rows(d), total = 0, before = 0;
    int ranks = comm_size(), next = 1;
    for (int64_t row = 0; row < rows; row++)
        total += input_length(&w->t->input, dataset_length(d, row));
    w->first_of[0] = 0;
    for (int64_t row = 0; row < rows; row++) {
        while (next < ranks && before >= total / ranks * next)
            w->first_of[next++] = row;
        before += input_length(&w->t->input, dataset_length(d, row));
    }
    for (; next <= ranks; next++)
        w->first_of[next] = rows;
    w->first = w->first_of[comm_rank()];
    w->end = w->first_of[comm_rank() + 1];
    for (int r = 0; r < ranks; r++)
        w->bytes_of[r] = (size_t)(w->first_of[r + 1] - w->first_of[r]) * sizeof(double);
}

static status open_work(work *w)
{
    const trainer *t = w->t;
    w->outputs = dataset_labels(t->valid);
    TRY(memory_new(&w->first_of, ((size_t)comm_size() + 1) * sizeof *w->first_of, "validation"));
    TRY(memory_new(&w->bytes_of, (size_t)comm_size() * sizeof *w->bytes_of, "validation"));
    share_rows(w);
    size_t rows = (size_t)(w->end - w->first), C = (size_t)w->outputs;
    TRY(memory_new(&w->ids, (size_t)t->input.max_length * sizeof *w->ids, "validation"));
    TRY(memory_new(&w->score, rows * C * sizeof *w->score, "validation scores"));
    TRY(memory_new(&w->label, rows * C * sizeof *w->label, "validation labels"));
    TRY(memory_new(&w->loss, rows * sizeof *w->loss, "validation losses"));
    TRY(memory_new(&w->all_loss, (size_t)dataset_rows(t->valid) * sizeof *w->all_loss, "validation losses"));
    bert_limits limits = trainer_limits(t);
    return batch_builder_create(limits.tokens, limits.rows, w->outputs, &w->builder);
}

static void close_work(work *w)
{
    batch_builder_free(w->builder);
    free(w->first_of);
    free(w->bytes_of);
    free(w->ids);
    free(w->score);
    free(w->label);
    free(w->loss);
    free(w->all_loss);
}

static void score_batch(work *w)
{
    const batch *b = batch_builder_view(w->builder);
    int64_t done = w->scored;
    if (b->rows == 0)
        return;
    bert_forward(w->t->net, b);
    bert_loss(w->t->net, b, 0, w->loss + done);
    bert_probabilities(w->t->net, b, w->score + done * w->outputs);
    bert_wait_loss(w->t->net);
    w->scored += b->rows;
    batch_builder_begin(w->builder, 0);
}

static status add_row(work *w, int64_t row)
{
    trainer *t = w->t;
    int64_t n, padded = t->o->pooling == POOLING_PADDED ? t->input.max_length : 0;
    TRY(input_read(&t->input, t->valid, row, w->ids, &n));
    TRY(input_check_ids(w->ids, n, t->table->config.vocab_size, "validation row", row));
    if (!batch_builder_fits(w->builder, padded ? padded : n))
        score_batch(w);
    const float *label = dataset_label(t->valid, row);
    memcpy(w->label + (row - w->first) * w->outputs, label, (size_t)w->outputs * sizeof *label);
    batch_builder_add(w->builder, w->ids, n, padded, t->input.pad, 0, label);
    return STATUS_OK;
}

static status score_rows(work *w, bool *stopped)
{
    batch_builder_begin(w->builder, 0);
    for (int64_t row = w->first; row < w->end && !*stopped; row++) {
        int64_t before = w->scored;
        TRY(add_row(w, row));
        if (w->scored > before)
            *stopped = step_stop_noticed();
    }
    if (!*stopped)
        score_batch(w);
    return w->t->be->ops->check(w->t->be);
}

/* Puts the row among the worst where it belongs; of equal losses the first row stays first. */
static void rank_row(const work *w, evaluation *e, int64_t row)
{
    int place = EVALUATION_WORST;
    while (place > 0 && (e->worst[place - 1] < 0 || w->all_loss[e->worst[place - 1]] < w->all_loss[row])) {
        if (place < EVALUATION_WORST)
            e->worst[place] = e->worst[place - 1];
        place--;
    }
    if (place < EVALUATION_WORST)
        e->worst[place] = row;
}

/* Mean over the labelled rows, in row order whatever rank had them. */
static void mean_loss(work *w, evaluation *e)
{
    double sum = 0;
    int64_t labelled = 0;
    for (int i = 0; i < EVALUATION_WORST; i++)
        e->worst[i] = -1;
    for (int64_t row = 0; row < e->rows; row++) {
        if (isnan(w->all_loss[row])) /* a label is missing: a score that is NaN has been refused before */
            continue;
        sum += w->all_loss[row];
        labelled++;
        rank_row(w, e, row);
    }
    e->unlabelled = e->rows - labelled;
    e->loss = labelled ? sum / ((double)labelled * w->outputs) : NAN;
}

static status measure(work *w, evaluation *e)
{
    int64_t rows = w->end - w->first, C = w->outputs;
    TRY(auc_compute(w->score, w->label, rows * C, &e->pooled));
    float *score, *label;
    TRY(memory_new(&score, (size_t)(2 * rows + 1) * sizeof *score, "validation scores"));
    label = score + rows;
    status st = STATUS_OK;
    for (int64_t c = 0; c < C && st == STATUS_OK; c++) {
        for (int64_t row = 0; row < rows; row++) {
            score[row] = w->score[row * C + c];
            label[row] = w->label[row * C + c];
        }
        st = C == 1 ? STATUS_OK : auc_compute(score, label, rows, &e->label[c]);
    }
    free(score);
    if (C == 1)
        e->label[0] = e->pooled;
    TRY(st);
    comm_all_gather_parts(w->loss, w->bytes_of, w->all_loss);
    mean_loss(w, e);
    return STATUS_OK;
}

status evaluate_run(trainer *t, evaluation *e)
{
    work w = {.t = t};
    bool stopped = false;
    *e = (evaluation){.rows = dataset_rows(t->valid)};
    bert_set_dropout(t->net, NULL);
    status st = memory_new(&e->label, (size_t)dataset_labels(t->valid) * sizeof *e->label, "validation");
    if (st == STATUS_OK)
        st = open_work(&w);
    TRY(comm_agree(st));
    TRY(score_rows(&w, &stopped));
    step_report mine = {.incomplete = stopped};
    step_agree(&mine, t->reports);
    e->stopped = mine.incomplete > 0;
    memcpy(e->reason, mine.reason, sizeof e->reason);
    if (!e->stopped)
        st = measure(&w, e);
    close_work(&w);
    bert_set_dropout(t->net, &t->dropout);
    return st;
}

void evaluate_free(evaluation *e)
{
    free(e->label);
    e->label = NULL;
}

static void print_auc(FILE *out, const auc_count *c)
{
    char number[32];
    if (c->pairs == 0) {
        fputs("\"undefined: one class\"", out);
        return;
    }
    records_number(auc_value(c), number);
    fputs(number, out);
}

status evaluate_line(const trainer *t, int64_t epoch, const evaluation *e, char **text)
{
    size_t bytes;
    char loss[32] = "null";
    FILE *out = open_memstream(text, &bytes);
    if (!out)
        return fail(STATUS_RESOURCE, "out of memory: a line of metrics.jsonl");
    if (!isnan(e->loss))
        records_number(e->loss, loss);
    fprintf(out,
            "{\"epoch\":%" PRId64 ",\"step\":%" PRId64 ",\"valid_rows\":%" PRId64 ",\"valid_unlabelled\":%" PRId64
            ",\"valid_loss\":%s,\"valid_auc\":",
            epoch, t->state.step, e->rows, e->unlabelled, loss);
    print_auc(out, &e->pooled);
    for (int c = 0; c < dataset_labels(t->valid) && dataset_labels(t->valid) > 1; c++) {
        json_t *name = json_string(dataset_label_name(t->valid, c));
        char *quoted = name ? json_dumps(name, JSON_ENCODE_ANY) : NULL;
        fprintf(out, "%s%s:", c ? "," : ",\"labels\":{", quoted ? quoted : "\"\"");
        print_auc(out, &e->label[c]);
        free(quoted);
        json_decref(name);
    }
    fputs(dataset_labels(t->valid) > 1 ? "}}" : "}", out);
    return fclose(out) == 0 ? STATUS_OK : fail(STATUS_RESOURCE, "out of memory: a line of metrics.jsonl");
}
