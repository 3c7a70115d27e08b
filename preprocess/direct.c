/* From CSVs to shards without parts: every row goes to its run as soon as it is read. What shards say of the folder of parts they came from needs the
 * identity of all rows in the order of the inputs, so that their hashes are kept until the last one is read (kept.h). */
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "preprocess/kept.h"
#include "preprocess/reading.h"
#include "preprocess/report.h"
#include "preprocess/stage_inside.h"
#include "preprocess/turns.h"
#include "shard/inputs.h"
#include "shard/order.h"
#include "shard/place.h"
#include "store/meta.h"

enum { HELD_BYTES = 32 << 20 }; /* what tokenizing takes of --memory, as long as no field is long */

typedef struct direct {
    stage_state *s;
    char *inputs, *read_with;
    rowfile_meta meta;               /* as that of all parts together */
    uint16_t *source_map, *lang_map; /* from the rows' indices to its own */
    row_order order;
    turns turns;
    reading read;
    kept *kept;
    duplicate_counts duplicates;
    bool routed;
    /* of the row in hand */
    int64_t number;                  /* among all rows */
    int64_t behind;                  /* that of the row behind those that are read in one go */
    int64_t position[ORDER_AT_ONCE]; /* of a block of rows that follow each other, the row in hand among them */
    int64_t at, positions;           /* the next of them, how many there are */
    row_wanted wanted;
    row_send send;
    void *job;
} direct;

/* ---- before the rows ---- */

/* The line of a folder of parts of this name; with an empty identity, rows and identity are blank. */
static status inputs_line(const direct *d, const char *identity, char **line)
{
    manifest m = {.inputs = d->s->inputs, .identity = (char *)(uintptr_t)d->s->o->identity, .rows = d->s->checked.rows};
    memcpy(m.data_identity, identity, strlen(identity) + 1);
    *line = NULL;
    return inputs_add(line, "", d->s->o->out, &m);
}

static int64_t input_bytes(const csv_splits *s)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < s->inputs; i++)
        bytes += (int64_t)s->input[i].file.bytes;
    return bytes;
}

static int64_t bytes_about(const direct *d)
{
    enum { HEAD = 96 }; /* of a row besides its tokens, which take about as much as its text */
    return (int64_t)((double)d->order.chosen * (HEAD + (double)input_bytes(&d->s->splits) / (double)d->s->checked.rows));
}

static status prepare(direct *d)
{
    const stage_state *s = d->s;
    if (!d->inputs)
        TRY(inputs_line(d, "", &d->inputs));
    TRY(meta_merge(&d->meta, &s->meta, s->o->out));
    TRY(meta_map(&d->meta, &s->meta, &d->source_map, &d->lang_map));
    return order_make(s->o->shards, s->checked.rows, &d->order);
}

static status count(void *with, row_counts *out)
{
    direct *d = with;
    stage_state *s = d->s;
    if (!sources_packed(&s->sources))
        TRY(comm_agree(comm_rank() == 0 ? sources_remove_left(s->o->out) : STATUS_OK));
    TRY(stage_check(s));
    if (s->checked.rows == 0)
        return comm_agree(fail(STATUS_INPUT, "the inputs have no rows"));
    TRY(comm_agree(prepare(d)));
    TRY(turns_open(&s->splits, &d->turns));
    *out = (row_counts){.kept = s->checked.rows, .chosen = d->order.chosen, .bytes = bytes_about(d), .inputs = d->inputs, .meta = &d->meta};
    return STATUS_OK;
}

/* ---- the rows ---- */

static int64_t next_position(direct *d)
{
    if (d->at == d->positions) {
        int64_t left = d->behind - d->number;
        d->positions = left < ORDER_AT_ONCE ? left : ORDER_AT_ONCE;
        d->at = 0;
        order_positions(&d->order, d->number, d->positions, d->position);
    }
    d->number++;
    return d->position[d->at++];
}

static status take_row(void *job, const rowfile_row *r, int64_t unknown)
{
    direct *d = job;
    const stage_state *s = d->s;
    int64_t labels = s->checked.labels;
    if (d->number == d->behind)
        return rows_changed(d->read.maker);
    survey_add(&d->s->counts, r->lang, r->label, r->tokens, unknown);
    TRY(kept_add(d->kept, rowfile_row_hash(r, s->meta.lang[r->lang], labels), r->text_hash, duplicates_labels(r->label, labels)));
    int64_t position = next_position(d);
    if (position >= d->order.chosen || !d->wanted(d->job, position))
        return STATUS_OK;
    rowfile_row mapped = *r;
    mapped.source = d->source_map[r->source];
    mapped.lang = d->lang_map[r->lang];
    return d->send(d->job, position, &mapped);
}

/* Rows of all inputs before the first of the piece, which may be the one behind the last. */
static int64_t rows_before(const direct *d, int64_t piece)
{
    const csv_splits *s = &d->s->splits;
    if (piece == s->pieces)
        return d->s->checked.rows;
    return splits_rows_before(s, s->piece[piece].input) + s->piece[piece].record - (s->piece[piece].record > 0);
}

/* Those of each input in a run of their own. */
static status read_pieces(direct *d, int64_t first, int64_t end)
{
    const csv_splits *s = &d->s->splits;
    for (int64_t next; first < end && !d->read.stopped; first = next) {
        for (next = first + 1; next < end && s->piece[next].input == s->piece[first].input; next++) {
        }
        d->number = rows_before(d, first);
        d->behind = rows_before(d, next);
        d->at = d->positions = 0;
        TRY(kept_go_to(d->kept, d->number));
        TRY(reading_run(&d->read, first, next, take_row, d));
        if (!d->read.stopped && d->number != d->behind)
            return rows_changed(d->read.maker);
    }
    return STATUS_OK;
}

static status read_turns(direct *d)
{
    int64_t first, end;
    status st = STATUS_OK;
    while (st == STATUS_OK && !d->read.stopped && turns_next(&d->turns, &first, &end))
        st = read_pieces(d, first, end);
    return st;
}

static status read_mine(direct *d, const char *folder)
{
    d->read.all = input_bytes(&d->s->splits);
    TRY(kept_create(folder, rows_before(d, d->turns.node_first), &d->kept));
    TRY(rows_create(&d->s->job, &d->s->counts, &d->read.maker));
    d->read.splits = &d->s->splits;
    d->read.shown = progress_begin("tokenize", "bytes", d->read.all);
    status st = read_turns(d);
    if (st == STATUS_OK && !d->read.stopped)
        progress_set(d->read.shown, d->read.all, NULL);
    progress_end(d->read.shown);
    rows_free(d->read.maker);
    d->read.maker = NULL;
    return st == STATUS_OK ? kept_finish(d->kept) : st;
}

static status route(void *with, const char *folder, row_wanted wanted, row_send send, void *job)
{
    direct *d = with;
    d->wanted = wanted;
    d->send = send;
    d->job = job;
    status st = read_mine(d, folder);
    if (st != STATUS_OK)
        comm_flag_raise();
    return st;
}

/* ---- behind the rows ---- */

static status identify(const direct *d, const char *folder, char hex[HASH_HEX])
{
    data_identity *all;
    int64_t rows = 0;
    TRY(data_identity_begin(d->s->meta.tokenizer, d->s->checked.rows, &all));
    status st = STATUS_OK;
    for (int node = 0; st == STATUS_OK && node < comm_nodes(); node++)
        st = kept_add_hashes(folder, node, all, &rows);
    if (st == STATUS_OK && rows != d->s->checked.rows)
        st = fail(STATUS_IO, "%s: hashes of %lld rows where there are %lld; run the same command again", folder, (long long)rows,
                  (long long)d->s->checked.rows);
    data_identity_end(all, st == STATUS_OK ? hex : NULL);
    return st;
}

static status settle(void *with, const char *folder, char **inputs)
{
    direct *d = with;
    char hex[HASH_HEX] = "";
    stage_close_inputs(d->s);
    TRY(comm_agree(comm_rank() == 0 ? identify(d, folder, hex) : STATUS_OK));
    comm_broadcast(hex, sizeof hex, 0);
    TRY(comm_agree(inputs_line(d, hex, inputs)));
    survey_unite(&d->s->counts);
    TRY(duplicates_count(&(duplicates_job){.rows = d->s->checked.rows, .memory = d->s->o->rules.memory, .each = kept_give, .with = d->kept}, &d->duplicates));
    kept_free(d->kept);
    d->kept = NULL;
    d->routed = true;
    return STATUS_OK;
}

static void let_go(void *with)
{
    direct *d = with;
    stage_close_inputs(d->s);
    turns_close(&d->turns);
}

static status place(direct *d, FILE *report)
{
    stage_state *s = d->s;
    bool there;
    TRY(stage_look(s, &there));
    TRY(comm_agree(manifest_reading(s->o->identity, &d->read_with)));
    if (there)
        TRY(comm_agree(inputs_line(d, "", &d->inputs)));
    TRY(place_rows(s->o->shards, s->o->shards_identity,
                   &(row_source){.with = d, .inputs = d->inputs, .tokenizer = s->meta.tokenizer, .read_with = d->read_with, .held = HELD_BYTES,
                                 .count = count, .route = route, .settle = settle, .close = let_go}));
    if (!d->routed)
        return STATUS_OK;
    return report_print(&(report_about){.job = &s->job, .inputs = s->o->inputs, .input_count = s->o->input_count, .files = s->o->shards->shards,
                                        .file = "shard"}, &s->counts, &d->duplicates, report);
}

status direct_run(stage_state *s, FILE *report)
{
    direct d = {.s = s};
    status st = place(&d, report);
    rows_free(d.read.maker);
    kept_free(d.kept);
    rowfile_meta_free(&d.meta);
    order_forget(&d.order);
    free(d.source_map);
    free(d.lang_map);
    free(d.inputs);
    free(d.read_with);
    return st;
}
