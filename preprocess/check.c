#include "preprocess/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/log.h"
#include "preprocess/utf8.h"

/* What comes first in an input. */
enum { CLASS_MARK, CLASS_STRUCTURE, CLASS_NO_RECORDS, CLASS_COLUMNS, CLASS_VALUES };

typedef struct check_fault {
    int64_t input, class;
    csv_fault fault; /* kind CSV_FINE: none found */
} check_fault;

typedef struct check_state {
    csv_splits *s;
    const check_rules *rules;
    check_result *out;
    csv_reader *reader;
    check_fault first;
    char *repaired; /* a language with U+FFFD in it */
} check_state;

static bool before(const check_fault *a, const check_fault *b)
{
    if (a->fault.kind == CSV_FINE || b->fault.kind == CSV_FINE)
        return b->fault.kind == CSV_FINE && a->fault.kind != CSV_FINE;
    if (a->input != b->input)
        return a->input < b->input;
    return a->class != b->class ? a->class < b->class : a->fault.byte < b->fault.byte;
}

static void keep_fault(check_state *c, int64_t input, int64_t class, const csv_fault *fault)
{
    check_fault f = {.input = input, .class = class, .fault = *fault};
    if (before(&f, &c->first))
        c->first = f;
}

/* Header and columns of one input: the same on every rank. */
static status check_header(check_state *c, int64_t i)
{
    const csv_input *in = &c->s->input[i];
    csv_fault fault = {.kind = CSV_UTF16, .record = -1, .byte = CSV_NOWHERE};
    if (in->file.utf16) {
        keep_fault(c, i, CLASS_MARK, &fault);
        return STATUS_OK;
    }
    fault.kind = CSV_NO_RECORDS;
    if (c->s->counted && in->records < 2)
        keep_fault(c, i, CLASS_NO_RECORDS, &fault);
    csv_event event;
    csv_range range = splits_header(in);
    TRY(csv_reader_begin(c->reader, &in->file, &range));
    TRY(csv_reader_next(c->reader, &event));
    if (event == CSV_FAULT)
        keep_fault(c, i, CLASS_STRUCTURE, csv_reader_fault(c->reader));
    if (event != CSV_RECORD)
        return STATUS_OK;
    csv_columns *columns = &c->out->input[i];
    TRY(columns_find(&c->rules->columns, c->reader, columns, &fault));
    if (fault.kind != CSV_FINE)
        keep_fault(c, i, CLASS_COLUMNS, &fault);
    if (in->file.dialect != CSV_PANDAS)
        return STATUS_OK;
    TRY(csv_reader_next(c->reader, &event));
    int64_t more = event == CSV_RECORD ? csv_reader_width(c->reader) - columns->width : 0;
    if (more > 0) {
        log_warn("%s: its first record has %lld fields, the header %lld: as pandas has it, the first %lld of each record are names of rows, left out",
                 in->file.path, (long long)csv_reader_width(c->reader), (long long)columns->width, (long long)more);
        columns_shift(columns, more);
    }
    return STATUS_OK;
}

/* With labels named by the user some input must have them. */
static void check_labels(check_state *c)
{
    bool any = false;
    for (int64_t i = 0; i < c->s->inputs; i++)
        any = any || columns_labelled(&c->out->input[i]);
    c->out->labels = any ? (int64_t)c->rules->columns.labels.count : 0;
    if (any || !c->rules->columns.labels_given)
        return;
    csv_fault fault = {.kind = CSV_NO_LABEL, .record = -1, .byte = CSV_NOWHERE};
    size_t used = 0, room = sizeof fault.detail - COLUMNS_HEADER - 20;
    for (size_t i = 0; i < c->rules->columns.labels.count && used + 20 < room; i++) {
        const char *name = c->rules->columns.labels.item[i];
        used += (size_t)snprintf(fault.detail + used, room - used, "%s", i ? ", " : "none of ");
        csv_quote_text(name, strlen(name), fault.detail + used, room - used);
        used += strlen(fault.detail + used);
    }
    snprintf(fault.detail + used, sizeof fault.detail - used, "; the header has %s", c->out->input[0].header);
    keep_fault(c, 0, CLASS_COLUMNS, &fault);
}

/* The language as it is stored, in c->repaired where bytes of it were replaced. */
static status check_lang(check_state *c, const csv_field *f, csv_fault *fault)
{
    const char *text = f->text;
    size_t n = f->bytes;
    if (n <= LANGS_LONGEST && utf8_valid_prefix(text, n) < n) {
        n = utf8_replace(text, n, c->repaired);
        text = c->repaired;
    }
    if (n <= LANGS_LONGEST && !memchr(text, 0, n))
        return langs_add(&c->out->langs, text, n);
    *fault = (csv_fault){.kind = CSV_LANG, .record = csv_reader_record(c->reader), .byte = f->at};
    csv_quote_text(f->text, f->bytes, fault->detail, 60);
    return STATUS_OK;
}

/* One row's values; the fault, if any, is the first by place. */
static status check_row(check_state *c, const csv_columns *at, csv_fault *fault)
{
    csv_field f;
    for (int64_t l = 0; l < at->labels; l++) {
        float label;
        if (at->label[l] < 0)
            continue;
        csv_reader_field(c->reader, at->label[l], &f);
        if (label_read(f.text, f.bytes, &c->rules->label, &label) || (fault->kind != CSV_FINE && fault->byte < f.at))
            continue;
        csv_fault_kind kind = label_is_yes_or_no(f.text, f.bytes) ? CSV_LABEL_WORD : CSV_LABEL;
        *fault = (csv_fault){.kind = kind, .record = csv_reader_record(c->reader), .byte = f.at};
        csv_quote_text(f.text, f.bytes, fault->detail, 60);
        if (at->heading[l])
            csv_quote_text(at->heading[l], strlen(at->heading[l]), fault->column, sizeof fault->column);
    }
    c->out->rows++;
    if (at->lang < 0)
        return langs_add(&c->out->langs, "", 0);
    csv_fault wrong = {.kind = CSV_FINE};
    csv_reader_field(c->reader, at->lang, &f);
    TRY(check_lang(c, &f, &wrong));
    if (wrong.kind != CSV_FINE && (fault->kind == CSV_FINE || wrong.byte < fault->byte))
        *fault = wrong;
    return STATUS_OK;
}

/* Pieces of one input; their values too while `values` holds, which a fault among them ends: structure goes first. */
static status check_run(check_state *c, int64_t first, int64_t end, bool values)
{
    int64_t input = c->s->piece[first].input;
    const csv_columns *at = &c->out->input[input];
    csv_range range = splits_run(c->s, first, end, at->width);
    TRY(csv_reader_begin(c->reader, &c->s->input[input].file, &range));
    for (;;) {
        csv_event event;
        TRY(csv_reader_next(c->reader, &event));
        if (event == CSV_FAULT)
            keep_fault(c, input, CLASS_STRUCTURE, csv_reader_fault(c->reader));
        if (event != CSV_RECORD)
            return STATUS_OK;
        if (!values || csv_reader_record(c->reader) == 0)
            continue;
        csv_fault fault = {.kind = CSV_FINE};
        TRY(check_row(c, at, &fault));
        if (fault.kind != CSV_FINE) {
            keep_fault(c, input, CLASS_VALUES, &fault);
            values = false;
        }
    }
}

static status check_mine(check_state *c, int64_t first, int64_t end)
{
    for (int64_t i = 0; i < c->s->inputs; i++)
        TRY(check_header(c, i));
    check_labels(c);
    for (int64_t k = first, next; k < end; k = next) {
        int64_t input = c->s->piece[k].input;
        for (next = k + 1; next < end && c->s->piece[next].input == input; next++) {
        }
        const check_fault *f = &c->first;
        bool faulty = f->fault.kind != CSV_FINE;
        if (faulty && (f->input < input || (f->input == input && f->class <= CLASS_STRUCTURE)))
            break; /* nothing that comes before it can be found any more */
        if (c->out->input[input].width > 0)
            TRY(check_run(c, k, next, !(faulty && f->input == input)));
    }
    return STATUS_OK;
}

/* What this rank reads, where it has come so far. */
typedef struct share {
    int64_t first, end; /* pieces */
    status st;
} share;

/* ---- counting and checking in one reading ---- */

/* Where a rank's run of pieces meets its neighbours'. */
typedef struct seam {
    bool any, good;       /* it has pieces; no fault, and no doubt */
    bool inside;          /* its first piece is not its input's first */
    int64_t first_input, last_input;
    uint64_t begin, after; /* where its first record starts; where the one behind its last does, CSV_NOWHERE at the end of the input */
} seam;

static status find_headers(check_state *c, bool *good)
{
    for (int64_t i = 0; i < c->s->inputs; i++) {
        csv_input *in = &c->s->input[i];
        csv_event event;
        TRY(csv_reader_begin(c->reader, &in->file, &(csv_range){.first = in->file.body, .to = in->file.bytes}));
        TRY(csv_reader_next(c->reader, &event));
        *good = *good && event == CSV_RECORD;
        in->header = event == CSV_RECORD ? csv_reader_byte(c->reader) : CSV_NOWHERE;
        if (*good)
            TRY(check_header(c, i));
    }
    return STATUS_OK;
}

/* Records that start in [first, to), -1 when there is a fault. */
static status try_start(check_state *c, const csv_file *f, uint64_t first, uint64_t to, int64_t width, int64_t *records)
{
    csv_event event;
    *records = 0;
    TRY(csv_reader_begin(c->reader, f, &(csv_range){.first = first, .to = to, .width = width}));
    for (;; ++*records) {
        TRY(csv_reader_next(c->reader, &event));
        if (event == CSV_FAULT)
            *records = -1;
        if (event != CSV_RECORD)
            return STATUS_OK;
    }
}

/* Where the first record of a piece starts: of the two places that it can be, the one from which the piece reads well. */
static status guess_start(check_state *c, int64_t piece, uint64_t *start)
{
    const csv_split *p = &c->s->piece[piece];
    const csv_input *in = &c->s->input[p->input];
    uint8_t *buffer;
    csv_piece counted;
    *start = in->header;
    if (piece == c->s->split[in->first_split].first_piece)
        return STATUS_OK;
    *start = CSV_NOWHERE;
    TRY(memory_new(&buffer, (size_t)(p->to - p->from) + 2, "a read buffer"));
    status st = csv_file_count(&in->file, p->from, p->to, buffer, (size_t)(p->to - p->from) + 2, &counted);
    free(buffer);
    TRY(st);
    int64_t most = 0, records;
    for (int s = 0; s < CSV_STATES; s++) {
        if (counted.first[s] == CSV_NOWHERE)
            continue;
        TRY(try_start(c, &in->file, counted.first[s], p->to, c->out->input[p->input].width, &records));
        if (records > most)
            *start = counted.first[s];
        most = records > most ? records : most;
    }
    return STATUS_OK;
}

/* Pieces [first, end) of one input, into found[] of each. The record behind the run is looked for too: it tells whether the next rank has
 * guessed well. */
static status read_run(check_state *c, int64_t first, int64_t end, csv_piece *found, seam *run)
{
    const csv_input *in = &c->s->input[c->s->piece[first].input];
    const csv_columns *at = &c->out->input[c->s->piece[first].input];
    csv_event event;
    for (int64_t k = first; k < end; k++)
        found[k - first] = (csv_piece){.first = {CSV_NOWHERE, CSV_NOWHERE}};
    TRY(guess_start(c, first, &run->begin));
    run->good = run->begin != CSV_NOWHERE;
    run->after = CSV_NOWHERE;
    TRY(csv_reader_begin(c->reader, &in->file, &(csv_range){.first = run->begin, .to = in->file.bytes, .record = 1, .width = at->width}));
    for (int64_t k = first; run->good;) {
        TRY(csv_reader_next(c->reader, &event));
        if (event != CSV_RECORD) {
            run->good = event == CSV_END;
            break;
        }
        uint64_t byte = csv_reader_byte(c->reader);
        while (k < end && byte >= c->s->piece[k].to)
            k++;
        if (k == end) {
            run->after = byte;
            break;
        }
        csv_piece *p = &found[k - first];
        if (p->records[CSV_OUTSIDE]++ == 0)
            p->first[CSV_OUTSIDE] = byte;
        csv_fault fault = {.kind = CSV_FINE};
        if (byte != in->header)
            TRY(check_row(c, at, &fault));
        run->good = fault.kind == CSV_FINE;
    }
    return STATUS_OK;
}

static status read_mine(check_state *c, int64_t first, int64_t end, csv_piece *found, seam *mine)
{
    mine->good = true;
    TRY(find_headers(c, &mine->good));
    check_labels(c);
    mine->good = mine->good && c->first.fault.kind == CSV_FINE;
    for (int64_t k = first, next; k < end && mine->good; k = next) {
        int64_t input = c->s->piece[k].input;
        seam run = {0};
        for (next = k + 1; next < end && c->s->piece[next].input == input; next++) {
        }
        TRY(read_run(c, k, next, found + (k - first), &run));
        if (k == first) {
            mine->any = true;
            mine->inside = k != c->s->split[c->s->input[input].first_split].first_piece;
            mine->first_input = input;
            mine->begin = run.begin;
        }
        mine->last_input = input;
        mine->after = run.after;
        mine->good = run.good;
    }
    return STATUS_OK;
}

/* Whether each rank has begun where the one before it left off. */
static bool seams_fit(const seam *all, int ranks)
{
    const seam *left = NULL;
    for (int r = 0; r < ranks; r++) {
        if (!all[r].good)
            return false;
        if (!all[r].any)
            continue;
        if (all[r].inside && !(left && left->last_input == all[r].first_input && left->after == all[r].begin))
            return false;
        left = &all[r];
    }
    return true;
}

/* Collective, but nobody waits before its run is read. *done: the splits are counted, and all is well; else nothing is known but that. */
static status check_at_once(check_state *c, const share *own, bool *done)
{
    int64_t first = own->first, end = own->end;
    csv_piece *found = NULL;
    seam mine = {0}, *all = NULL;
    status st = own->st;
    if (st == STATUS_OK)
        st = memory_new(&found, (size_t)(end - first) * sizeof *found, "counts of pieces");
    if (st == STATUS_OK)
        st = memory_new(&all, (size_t)comm_size() * sizeof *all, "the shares of the ranks");
    if (st == STATUS_OK && read_mine(c, first, end, found, &mine) != STATUS_OK)
        mine.good = false; /* what is wrong will be found once more */
    TRY_DONE(comm_agree(st));
    comm_all_gather(&mine, sizeof mine, all);
    if (seams_fit(all, comm_size()))
        TRY_DONE(splits_take_counts(c->s, found, first, end));
    *done = c->s->counted;
    for (int64_t i = 0; i < c->s->inputs; i++)
        *done = *done && c->s->input[i].records > 1;
done:
    free(found);
    free(all);
    return st;
}

/* ---- the whole ---- */

/* The first fault of all ranks; rank 0 says it for all. */
static status agree_on_fault(check_state *c)
{
    check_fault *all = NULL;
    TRY(comm_agree(memory_new(&all, (size_t)comm_size() * sizeof *all, "the faults of all ranks")));
    comm_all_gather(&c->first, sizeof c->first, all);
    check_fault first = {0};
    for (int r = 0; r < comm_size(); r++)
        if (before(&all[r], &first))
            first = all[r];
    free(all);
    if (first.fault.kind == CSV_FINE)
        return STATUS_OK;
    return comm_agree(csv_fault_fail(&c->s->input[first.input].file, &first.fault));
}

/* As if nothing had been read. */
static status forget_columns(check_state *c)
{
    check_free(c->out, c->s->inputs);
    c->first = (check_fault){0};
    return memory_new(&c->out->input, (size_t)c->s->inputs * sizeof *c->out->input, "the columns of the inputs");
}

static status check_counted(check_state *c, const share *own)
{
    status st = own->st;
    if (st == STATUS_OK)
        st = forget_columns(c);
    if (st == STATUS_OK)
        st = check_mine(c, own->first, own->end);
    TRY(comm_agree(st));
    return agree_on_fault(c);
}

status check_inputs(csv_splits *s, const check_rules *rules, const uint64_t *busy, check_result *out)
{
    check_state c = {.s = s, .rules = rules, .out = out};
    int64_t ranks = comm_size(), *first = NULL;
    share own = {0};
    bool done = false;
    *out = (check_result){0};
    status st = forget_columns(&c);
    if (st == STATUS_OK)
        st = memory_new(&first, (size_t)(ranks + 1) * sizeof *first, "the shares of the ranks");
    if (st == STATUS_OK)
        st = memory_new(&c.repaired, LANGS_LONGEST * UTF8_REPLACEMENT_BYTES + 1, "a language");
    if (st == STATUS_OK)
        st = csv_reader_create(rules->memory, &c.reader);
    if (st == STATUS_OK) {
        splits_deal(s, NULL, busy, ranks, first);
        own = (share){.first = first[comm_rank()], .end = first[comm_rank() + 1]};
    }
    own.st = st;
    if (!s->counted && s->inputs && s->input[0].file.dialect == CSV_STRICT)
        TRY_DONE(check_at_once(&c, &own, &done));
    if (!s->counted)
        TRY_DONE(splits_count(s));
    if (!done)
        TRY_DONE(check_counted(&c, &own));
    out->at_once = done;
    TRY_DONE(langs_unite(&out->langs));
    comm_sum_int64(&out->rows, 1);
done:
    free(first);
    free(c.repaired);
    csv_reader_free(c.reader);
    return st;
}

void check_free(check_result *c, int64_t inputs)
{
    for (int64_t i = 0; c->input && i < inputs; i++)
        columns_free(&c->input[i]);
    free(c->input);
    langs_free(&c->langs);
    *c = (check_result){0};
}
