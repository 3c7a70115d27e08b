#include "preprocess/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preprocess/missing.h"
#include "preprocess/utf8.h"

/* A row whose text the tokenizer has begun. Nothing of it lies in the reader's memory, which the next record may take. */
typedef struct begun_row {
    rowfile_row row; /* without tokens */
    char *id;
    size_t id_room;
    float *label;
    uint64_t byte;    /* where the record starts in the file */
    size_t text_bytes;
    int64_t replaced; /* U+FFFD in id and language */
} begun_row;

/* A text longer than this has memory of its own size only while no other is begun. */
enum { LONGEST_IN_COMPANY = 1 << 16 };

struct row_maker {
    const parts_job *job;
    survey *counts;
    csv_reader *reader;
    tokenizer_scratch *scratch;
    int64_t input, before; /* rows of the inputs before it */
    begun_row begun[TOKENIZER_SLOTS];
    int slot;              /* of the row that comes next */
    bool ahead, ended;     /* it is begun; there is none */
    uint64_t byte;         /* of the last row given */
    char *lang;            /* a repaired copy */
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
    for (int i = 0; st == STATUS_OK && i < TOKENIZER_SLOTS; i++)
        st = memory_new(&m->begun[i].label, ((size_t)job->checked->labels + 1) * sizeof *m->begun[i].label, "labels");
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
    for (int i = 0; i < TOKENIZER_SLOTS; i++) {
        free(m->begun[i].label);
        free(m->begun[i].id);
    }
    free(m->lang);
    free(m);
}

status rows_begin(row_maker *m, int64_t first_piece, int64_t end_piece)
{
    const csv_splits *s = m->job->splits;
    m->input = s->piece[first_piece].input;
    m->ahead = m->ended = false;
    m->before = splits_rows_before(s, m->input);
    csv_range range = splits_run(s, first_piece, end_piece, m->job->checked->input[m->input].width);
    return csv_reader_begin(m->reader, &s->input[m->input].file, &range);
}

status rows_changed(const row_maker *m)
{
    return fail(STATUS_INPUT, "%s: changed while it was read; run again when nobody writes to it", m->job->splits->input[m->input].file.path);
}

static status room_for_id(begun_row *b, size_t bytes)
{
    if (bytes <= b->id_room)
        return STATUS_OK;
    TRY(memory_grow(&b->id, 2 * bytes, "an id"));
    b->id_room = 2 * bytes;
    return STATUS_OK;
}

/* The id as it is stored. */
static status read_id(row_maker *m, const csv_columns *at, begun_row *b, int64_t *replaced)
{
    enum { DIGITS = 24 };
    csv_field f;
    if (at->id == COLUMNS_NUMBERED) {
        TRY(room_for_id(b, DIGITS));
        b->row.id_bytes = (size_t)snprintf(b->id, DIGITS, "%lld", (long long)(m->before + csv_reader_record(m->reader) - 1));
        b->row.id = b->id;
        return STATUS_OK;
    }
    csv_reader_field(m->reader, at->id, &f);
    bool valid = utf8_valid_prefix(f.text, f.bytes) == f.bytes;
    TRY(room_for_id(b, valid ? f.bytes + 1 : utf8_replaced_bytes(f.text, f.bytes, replaced)));
    if (valid)
        memcpy(b->id, f.text, f.bytes);
    b->row.id_bytes = valid ? f.bytes : utf8_replace(f.text, f.bytes, b->id);
    b->row.id = b->id;
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

/* Everything of the present record but its ids. */
static status begin_row(row_maker *m, begun_row *b)
{
    const parts_job *job = m->job;
    const csv_columns *at = &job->checked->input[m->input];
    int64_t replaced = 0;
    csv_field f;
    b->row = (rowfile_row){.number = csv_reader_record(m->reader) - 1, .source = (uint16_t)m->input, .label = b->label};
    b->byte = csv_reader_byte(m->reader);
    TRY(read_id(m, at, b, &replaced));
    for (int64_t l = 0; l < job->checked->labels; l++) {
        b->label[l] = NAN;
        if (at->label[l] < 0)
            continue;
        csv_reader_field(m->reader, at->label[l], &f);
        if (!label_read(f.text, f.bytes, &job->rules->label, &b->label[l]))
            return rows_changed(m);
    }
    int64_t lang = lang_of(m, at, &replaced);
    if (lang < 0)
        return rows_changed(m);
    b->row.lang = (uint16_t)lang;
    text_of(m, at, &f);
    b->replaced = replaced;
    b->text_bytes = f.bytes;
    return tokenizer_begin(job->tokenizer, m->scratch, (int)(b - m->begun), f.text, f.bytes);
}

uint64_t rows_byte(const row_maker *m)
{
    return m->byte;
}

/* Begins the row of the next record in this slot, if there is one. */
static status begin_next(row_maker *m, int slot)
{
    m->ahead = false;
    TRY(m->ended ? STATUS_OK : next_record(m, &m->ahead));
    m->ended = !m->ahead;
    return m->ahead ? begin_row(m, &m->begun[slot]) : STATUS_OK;
}

status rows_next(row_maker *m, rowfile_row *row, int64_t *unknown, bool *more)
{
    tokenizer_tokens t;
    if (!m->ahead)
        TRY(begin_next(m, m->slot));
    *more = m->ahead;
    if (!m->ahead)
        return STATUS_OK;
    begun_row *b = &m->begun[m->slot];
    bool alone = b->text_bytes > LONGEST_IN_COMPANY;
    m->ahead = false;
    if (!alone)
        TRY(begin_next(m, !m->slot));
    TRY(tokenizer_finish(m->job->tokenizer, m->scratch, m->slot, &t));
    *row = b->row;
    row->token = t.ids;
    row->tokens = t.count;
    row->text_hash = tokenizer_text_hash(&t);
    *unknown = t.unknown;
    m->byte = b->byte;
    *m->counts->cleaned += t.cleaned;
    count_replaced(m, b->replaced + t.replaced);
    if (alone)
        tokenizer_forget(m->scratch, m->slot);
    else
        m->slot = !m->slot;
    return STATUS_OK;
}

status rows_count(row_maker *m)
{
    const csv_columns *at = &m->job->checked->input[m->input];
    for (bool more;;) {
        TRY(next_record(m, &more));
        if (!more)
            return STATUS_OK;
        csv_field f;
        tokenizer_tokens t;
        int64_t replaced = 0;
        TRY(read_id(m, at, &m->begun[0], &replaced));
        if (lang_of(m, at, &replaced) < 0)
            return rows_changed(m);
        text_of(m, at, &f);
        TRY(tokenizer_prepare(m->job->tokenizer, m->scratch, f.text, f.bytes, &t));
        *m->counts->cleaned += t.cleaned;
        count_replaced(m, replaced + t.replaced);
    }
}
