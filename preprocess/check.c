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
    const csv_splits *s;
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
    if (in->records < 2)
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
    for (size_t i = 0, used = 0; i < c->rules->columns.labels.count && used + 20 < sizeof fault.detail; i++) {
        const char *name = c->rules->columns.labels.item[i];
        used += (size_t)snprintf(fault.detail + used, sizeof fault.detail - used, "%s", i ? ", " : "none of ");
        csv_quote_text(name, strlen(name), fault.detail + used, sizeof fault.detail - used);
        used += strlen(fault.detail + used);
    }
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
        *fault = (csv_fault){.kind = CSV_LABEL, .record = csv_reader_record(c->reader), .byte = f.at};
        csv_quote_text(f.text, f.bytes, fault->detail, 60);
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

status check_inputs(const csv_splits *s, const check_rules *rules, const uint64_t *busy, check_result *out)
{
    check_state c = {.s = s, .rules = rules, .out = out};
    int64_t ranks = comm_size(), *first = NULL;
    uint64_t *idle = NULL;
    *out = (check_result){0};
    status st = memory_new(&out->input, (size_t)s->inputs * sizeof *out->input, "the columns of the inputs");
    if (st == STATUS_OK)
        st = memory_new(&first, (size_t)(ranks + 1) * sizeof *first, "the shares of the ranks");
    if (st == STATUS_OK)
        st = memory_new(&idle, (size_t)ranks * sizeof *idle, "the shares of the ranks");
    if (st == STATUS_OK)
        st = memory_new(&c.repaired, LANGS_LONGEST * UTF8_REPLACEMENT_BYTES + 1, "a language");
    if (st == STATUS_OK)
        st = csv_reader_create(rules->memory, &c.reader);
    if (st == STATUS_OK) {
        splits_deal(s, NULL, busy ? busy : idle, ranks, first);
        st = check_mine(&c, first[comm_rank()], first[comm_rank() + 1]);
    }
    TRY_DONE(comm_agree(st));
    TRY_DONE(agree_on_fault(&c));
    TRY_DONE(langs_unite(&out->langs));
    comm_sum_int64(&out->rows, 1);
done:
    free(first);
    free(idle);
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
