#include "preprocess/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preprocess/missing.h"
#include "preprocess/utf8.h"

struct row_maker {
    const parts_job *job;
    survey *counts;
    csv_reader *reader;
    tokenizer_scratch *scratch;
    int64_t input, before; /* rows of the inputs before it */
    char number[24];       /* an id of its own */
    float *label;
    char *id, *lang; /* repaired copies */
    size_t id_room;
};

status rows_create(const parts_job *job, survey *counts, row_maker **out)
{
    row_maker *m;
    *out = NULL;
    TRY(memory_new(&m, sizeof *m, "the maker of rows"));
    m->job = job;
    m->counts = counts;
    status st = csv_reader_create(job->rules->memory, &m->reader);
    if (st == STATUS_OK)
        st = tokenizer_scratch_create(job->tokenizer, &m->scratch);
    if (st == STATUS_OK)
        st = memory_new(&m->label, ((size_t)job->checked->labels + 1) * sizeof *m->label, "labels");
    if (st == STATUS_OK)
        st = memory_new(&m->lang, LANGS_LONGEST * UTF8_REPLACEMENT_BYTES, "a language");
    if (st == STATUS_OK)
        *out = m;
    else
        rows_free(m);
    return st;
}

void rows_free(row_maker *m)
{
    if (!m)
        return;
    csv_reader_free(m->reader);
    tokenizer_scratch_free(m->scratch);
    free(m->label);
    free(m->id);
    free(m->lang);
    free(m);
}

status rows_begin(row_maker *m, int64_t first_piece, int64_t end_piece)
{
    const csv_splits *s = m->job->splits;
    m->input = s->piece[first_piece].input;
    m->before = 0;
    for (int64_t i = 0; i < m->input; i++)
        m->before += s->input[i].records - 1; /* without the header */
    csv_range range = splits_run(s, first_piece, end_piece, m->job->checked->input[m->input].width);
    return csv_reader_begin(m->reader, &s->input[m->input].file, &range);
}

uint64_t rows_byte(const row_maker *m)
{
    return csv_reader_byte(m->reader);
}

status rows_changed(const row_maker *m)
{
    return fail(STATUS_INPUT, "%s: changed while it was read; run again when nobody writes to it", m->job->splits->input[m->input].file.path);
}

/* The id as it is stored. */
static status read_id(row_maker *m, const csv_columns *at, rowfile_row *r, int64_t *replaced)
{
    csv_field f;
    if (at->id == COLUMNS_NUMBERED) {
        r->id = m->number;
        r->id_bytes = (size_t)snprintf(m->number, sizeof m->number, "%lld", (long long)(m->before + csv_reader_record(m->reader) - 1));
        return STATUS_OK;
    }
    csv_reader_field(m->reader, at->id, &f);
    r->id = f.text;
    r->id_bytes = f.bytes;
    if (utf8_valid_prefix(f.text, f.bytes) == f.bytes)
        return STATUS_OK;
    size_t n = utf8_replaced_bytes(f.text, f.bytes, replaced);
    if (n > m->id_room) {
        TRY(memory_grow(&m->id, n, "an id"));
        m->id_room = n;
    }
    r->id_bytes = utf8_replace(f.text, f.bytes, m->id);
    r->id = m->id;
    return STATUS_OK;
}

static int64_t lang_of(row_maker *m, const csv_columns *at, int64_t *replaced)
{
    csv_field f = {.text = ""};
    if (at->lang >= 0)
        csv_reader_field(m->reader, at->lang, &f);
    if (f.bytes > LANGS_LONGEST)
        return -1;
    if (utf8_valid_prefix(f.text, f.bytes) < f.bytes) {
        int64_t here = 0;
        utf8_replaced_bytes(f.text, f.bytes, &here);
        *replaced += here;
        f.bytes = utf8_replace(f.text, f.bytes, m->lang);
        f.text = m->lang;
    }
    return langs_find(&m->job->checked->langs, f.text, f.bytes);
}

static void count_replaced(row_maker *m, int64_t replaced)
{
    *m->counts->replaced += replaced;
    *m->counts->rows_replaced += replaced > 0;
}

/* The text, or what stands in place of a missing one. */
static void text_of(row_maker *m, const csv_columns *at, csv_field *f)
{
    const option_list *fill = m->job->fill;
    csv_reader_field(m->reader, at->text, f);
    const check_rules *rules = m->job->rules;
    if (rules->na_keep || !(rules->na_old ? missing_is_old_word : missing_is_word)(f->text, f->bytes))
        return;
    (*m->counts->missing)++;
    f->text = fill->item[fill->count == 1 ? 0 : (size_t)m->input];
    f->bytes = strlen(f->text);
}

static status make_row(row_maker *m, rowfile_row *r, int64_t *unknown)
{
    const parts_job *job = m->job;
    const csv_columns *at = &job->checked->input[m->input];
    int64_t replaced = 0;
    csv_field f;
    *r = (rowfile_row){.number = csv_reader_record(m->reader) - 1, .source = (uint16_t)m->input, .label = m->label};
    TRY(read_id(m, at, r, &replaced));
    for (int64_t l = 0; l < job->checked->labels; l++) {
        m->label[l] = NAN;
        if (at->label[l] < 0)
            continue;
        csv_reader_field(m->reader, at->label[l], &f);
        if (!label_read(f.text, f.bytes, &job->rules->label, &m->label[l]))
            return rows_changed(m);
    }
    int64_t lang = lang_of(m, at, &replaced);
    if (lang < 0)
        return rows_changed(m);
    r->lang = (uint16_t)lang;
    text_of(m, at, &f);
    tokenizer_tokens t;
    TRY(tokenizer_encode(job->tokenizer, m->scratch, f.text, f.bytes, &t));
    r->token = t.ids;
    r->tokens = t.count;
    r->text_hash = tokenizer_text_hash(&t);
    *unknown = t.unknown;
    *m->counts->cleaned += t.cleaned;
    count_replaced(m, replaced + t.replaced);
    return STATUS_OK;
}

/* The next record behind the header. */
static status next_record(row_maker *m, bool *more)
{
    csv_event event;
    do {
        TRY(csv_reader_next(m->reader, &event));
        if (event == CSV_FAULT)
            return rows_changed(m);
    } while (event == CSV_RECORD && csv_reader_record(m->reader) == 0);
    *more = event == CSV_RECORD;
    return STATUS_OK;
}

status rows_next(row_maker *m, rowfile_row *row, int64_t *unknown, bool *more)
{
    TRY(next_record(m, more));
    return *more ? make_row(m, row, unknown) : STATUS_OK;
}

status rows_count(row_maker *m)
{
    const csv_columns *at = &m->job->checked->input[m->input];
    for (bool more;;) {
        TRY(next_record(m, &more));
        if (!more)
            return STATUS_OK;
        csv_field f;
        rowfile_row r;
        tokenizer_tokens t;
        int64_t replaced = 0;
        TRY(read_id(m, at, &r, &replaced));
        if (lang_of(m, at, &replaced) < 0)
            return rows_changed(m);
        text_of(m, at, &f);
        TRY(tokenizer_prepare(m->job->tokenizer, m->scratch, f.text, f.bytes, &t));
        *m->counts->cleaned += t.cleaned;
        count_replaced(m, replaced + t.replaced);
    }
}
