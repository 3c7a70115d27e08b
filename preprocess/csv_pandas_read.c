#include "preprocess/csv_pandas_read.h"

#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "preprocess/csv_pandas.h"

enum { CHUNK = 256 * 1024, LEAST_MEMORY = 64 * 1024 };

typedef struct cell {
    size_t from, bytes; /* its text, in the window */
    uint64_t at;        /* of its first byte in the file */
} cell;

/* The window holds the file's bytes [base, base + used). `at` is where the next region begins, or a line of it, or its record. */
struct pandas_reader {
    const csv_file *file;
    pandas_rules rules;
    uint8_t *window;
    size_t room, used, chunk, longest_field, longest_record;
    uint64_t base, at, to;
    bool last;            /* the window reaches the end of the file */
    pandas_state entry;   /* how the byte at `at` is met: PANDAS_FRESH, or PANDAS_EMPTY behind a skipped line; of a record: see begin_record() */
    bool found;           /* `at` is a record's */
    cell *cells;
    size_t count, cell_room;
    int64_t record, width, fields;
    uint64_t given;       /* where the record begins that was given out */
    csv_fault fault;
};

status pandas_reader_create(int64_t memory, pandas_reader **out)
{
    pandas_reader *r = NULL;
    *out = NULL;
    size_t m = memory < LEAST_MEMORY ? LEAST_MEMORY : (size_t)memory;
    TRY(memory_new(&r, sizeof *r, "the CSV reader"));
    r->longest_record = m;
    r->longest_field = m / 2;
    r->chunk = m / 4 < CHUNK ? m / 4 : CHUNK;
    r->room = 2 * r->chunk;
    *out = r;
    return memory_grow(&r->window, r->room, "a window of the CSV");
}

void pandas_reader_free(pandas_reader *r)
{
    if (!r)
        return;
    free(r->window);
    free(r->cells);
    free(r);
}

status pandas_reader_begin(pandas_reader *r, const csv_file *f, const csv_range *range)
{
    r->file = f;
    pandas_set_rules(f->delimiter, &r->rules);
    r->base = r->at = range->first == CSV_NOWHERE ? range->to : range->first;
    r->to = range->to;
    r->used = r->count = 0;
    r->last = r->base >= f->bytes;
    r->entry = PANDAS_FRESH;
    r->found = false;
    r->record = range->record - 1;
    r->width = range->width;
    r->fields = 0;
    r->given = r->at;
    r->fault = (csv_fault){.kind = CSV_FINE};
    return STATUS_OK;
}

/* More of the file behind what begins at `at`; what is before it goes. */
static status refill(pandas_reader *r)
{
    size_t gone = (size_t)(r->at - r->base), kept = r->used - gone, more = kept > r->chunk ? kept : r->chunk;
    memmove(r->window, r->window + gone, kept);
    r->base = r->at;
    r->used = kept;
    size_t most = r->longest_record + r->chunk + 1, room = kept + more < most ? kept + more : most;
    if (room > r->room) {
        TRY(memory_grow(&r->window, room, "a window of the CSV"));
        r->room = room;
    }
    uint64_t left = r->file->bytes - (r->base + r->used);
    size_t n = left < r->room - r->used ? (size_t)left : r->room - r->used;
    if (n)
        TRY(file_read_fd(r->file->fd, r->file->path, r->base + r->used, r->window + r->used, n));
    r->used += n;
    r->last = n == left;
    return STATUS_OK;
}

static csv_event say_fault(pandas_reader *r, csv_fault_kind kind, size_t place, size_t found, size_t wanted)
{
    r->fault = (csv_fault){.kind = kind, .record = r->record + 1, .byte = r->base + place, .found = (int64_t)found, .wanted = (int64_t)wanted};
    return CSV_FAULT;
}

/* What a step over the window came to. */
typedef enum step { STEP_DONE, STEP_MORE, STEP_END, STEP_FAULT } step;

/* ---- the region before a record ---- */

/* How a record is read whose first byte of text was met in state s: from there, or from the start of its line where it begins with blanks. */
static void begin_record(pandas_reader *r, pandas_state s, size_t line, size_t text)
{
    r->found = true;
    r->at = r->base + (s == PANDAS_EATEN ? text : line);
    r->entry = s == PANDAS_BLANK ? PANDAS_FIELD : s == PANDAS_BLANKS ? PANDAS_START : PANDAS_FRESH;
}

/* From `at` on, passes over what is skipped. */
static step pass_region(pandas_reader *r)
{
    size_t line = (size_t)(r->at - r->base), i = line;
    pandas_state s = r->entry, line_entry = s;
    for (; i < r->used; i++) {
        pandas_class c = (pandas_class)r->rules.class_of[r->window[i]];
        pandas_state next = pandas_next(s, c);
        if (next > PANDAS_BLANKS)
            break;
        if (c == PANDAS_LF || c == PANDAS_RETURN) {
            line = i + 1;
            line_entry = next;
        }
        s = next;
    }
    if (i < r->used) {
        if (r->base + i >= r->to)
            return STEP_END;
        begin_record(r, s, line, i);
        return STEP_DONE;
    }
    r->at = r->base + line;
    r->entry = line_entry;
    if (r->last)
        return STEP_END;
    if (i - line <= r->longest_record)
        return STEP_MORE;
    say_fault(r, CSV_RECORD_TOO_LONG, line, 0, r->longest_record);
    return STEP_FAULT;
}

/* ---- a record ---- */

typedef struct extent {
    size_t fields, text_end, end; /* how many; where the last one ends; where the record's end has been read */
} extent;

static csv_event check_field(pandas_reader *r, size_t record, size_t field, size_t reached)
{
    if (reached - field > r->longest_field)
        return say_fault(r, CSV_FIELD_TOO_LONG, field, 0, r->longest_field);
    if (reached - record > r->longest_record)
        return say_fault(r, CSV_RECORD_TOO_LONG, record, 0, r->longest_record);
    return CSV_RECORD;
}

/* Where the record at `at` ends. */
static step find_end(pandas_reader *r, extent *out)
{
    size_t begin = (size_t)(r->at - r->base), field = begin, i = begin;
    pandas_state s = r->entry;
    *out = (extent){.fields = 1};
    for (; i < r->used; i++) {
        if (s == PANDAS_QUOTED) {
            const uint8_t *mark = memchr(r->window + i, '"', r->used - i);
            if (!mark) {
                i = r->used;
                break;
            }
            i = (size_t)(mark - r->window);
        }
        pandas_class c = (pandas_class)r->rules.class_of[r->window[i]];
        if (s == PANDAS_CR || (s != PANDAS_QUOTED && c == PANDAS_LF)) {
            out->text_end = s == PANDAS_CR ? i - 1 : i;
            out->end = c == PANDAS_LF ? i + 1 : i;
            return check_field(r, begin, field, out->text_end) == CSV_FAULT ? STEP_FAULT : STEP_DONE;
        }
        s = pandas_next(s, c);
        if (c == PANDAS_DELIMITER && s == PANDAS_START) {
            if (check_field(r, begin, field, i) == CSV_FAULT)
                return STEP_FAULT;
            field = i + 1;
            out->fields++;
        }
    }
    if (!r->last)
        return check_field(r, begin, field, i) == CSV_FAULT ? STEP_FAULT : STEP_MORE;
    out->text_end = s == PANDAS_CR ? i - 1 : i;
    out->end = i;
    if (check_field(r, begin, field, out->text_end) == CSV_FAULT)
        return STEP_FAULT;
    if (s != PANDAS_QUOTED)
        return STEP_DONE;
    say_fault(r, CSV_UNCLOSED, field, 0, 0);
    return STEP_FAULT;
}

/* One field from `from` on, entered in state s, its text put where it stands; returns where it ends. */
static size_t take_field(pandas_reader *r, size_t from, size_t end, pandas_state s, cell *out)
{
    uint8_t *p = r->window;
    size_t to = from, i = from;
    for (; i < end; i++) {
        pandas_class c = (pandas_class)r->rules.class_of[p[i]];
        pandas_state next = pandas_next(s, c);
        if (s != PANDAS_QUOTED && c == PANDAS_DELIMITER)
            break;
        if (next != PANDAS_QUOTED || s == PANDAS_QUOTE || s == PANDAS_QUOTED) /* all but an opening quote, */
            if (next != PANDAS_QUOTE)                                        /* and one that closes or doubles */
                p[to++] = p[i];
        s = next;
    }
    *out = (cell){.from = from, .bytes = to - from, .at = r->base + from};
    return i;
}

static status take_fields(pandas_reader *r, const extent *x)
{
    if (x->fields > r->cell_room) {
        TRY(memory_grow(&r->cells, 2 * x->fields * sizeof *r->cells, "the fields of a record"));
        r->cell_room = 2 * x->fields;
    }
    size_t at = (size_t)(r->at - r->base);
    pandas_state s = r->entry == PANDAS_FIELD ? PANDAS_FIELD : PANDAS_START;
    for (r->count = 0; r->count < x->fields; r->count++, s = PANDAS_START)
        at = take_field(r, at, x->text_end, s, &r->cells[r->count]) + 1;
    return STATUS_OK;
}

/* The record at `at`. */
static status take_record(pandas_reader *r, csv_event *event, bool *again)
{
    extent x;
    step s = find_end(r, &x);
    *event = CSV_FAULT;
    *again = s == STEP_MORE;
    if (s == STEP_FAULT)
        return STATUS_OK;
    if (s == STEP_MORE)
        return refill(r);
    if (r->width == 0 && x.fields > CSV_WIDEST) {
        *event = say_fault(r, CSV_TOO_WIDE, (size_t)(r->at - r->base), 0, 0);
        return STATUS_OK;
    }
    bool header = r->record + 1 == 0;
    if (r->width && !header && (int64_t)x.fields > r->width) {
        *event = say_fault(r, CSV_RAGGED, (size_t)(r->at - r->base), x.fields, (size_t)r->width);
        return STATUS_OK;
    }
    TRY(take_fields(r, &x));
    r->given = r->at;
    r->at = r->base + x.end;
    r->entry = PANDAS_FRESH;
    r->found = false;
    r->record++;
    r->fields = r->width && !header ? r->width : (int64_t)x.fields;
    *event = CSV_RECORD;
    return STATUS_OK;
}

status pandas_reader_next(pandas_reader *r, csv_event *event)
{
    if (r->fault.kind != CSV_FINE) {
        *event = CSV_FAULT;
        return STATUS_OK;
    }
    for (bool again = true; again;) {
        step s = r->found ? STEP_DONE : pass_region(r);
        *event = s == STEP_FAULT ? CSV_FAULT : CSV_END;
        again = s == STEP_MORE;
        if (s == STEP_MORE)
            TRY(refill(r));
        if (s == STEP_DONE)
            TRY(take_record(r, event, &again));
    }
    return STATUS_OK;
}

const csv_fault *pandas_reader_fault(const pandas_reader *r)
{
    return &r->fault;
}

int64_t pandas_reader_record(const pandas_reader *r)
{
    return r->record;
}

int64_t pandas_reader_width(const pandas_reader *r)
{
    return r->fields;
}

uint64_t pandas_reader_byte(const pandas_reader *r)
{
    return r->given;
}

void pandas_reader_field(pandas_reader *r, int64_t k, csv_field *out)
{
    if ((size_t)k >= r->count) { /* a short record's */
        *out = (csv_field){.text = "", .at = r->at};
        return;
    }
    const cell *c = &r->cells[k];
    *out = (csv_field){.text = (const char *)r->window + c->from, .bytes = c->bytes, .at = c->at};
}
