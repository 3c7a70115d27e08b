#include "preprocess/csv.h"

#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "preprocess/csv_pandas_read.h"

enum { CHUNK = 256 * 1024, LEAST_MEMORY = 64 * 1024, BLOCK = 64, SLACK = 64, LONG_FIELD = 8 << 20 };
static const size_t most_memory = UINT32_MAX - 4 * (size_t)CHUNK; /* places are 32-bit within the window */

/* The window holds the file's bytes [base, base + used); those before `scanned` are in the index. Places are relative to its start. */
struct csv_reader {
    const csv_scan *scan;
    const csv_file *file;
    uint8_t *window;
    size_t room, used, scanned, chunk;
    size_t longest_field, longest_record;
    uint64_t base, to;
    bool last;                 /* the window reaches the end of the file */
    csv_index index;
    uint32_t *entries, *ends;
    size_t entry_room, next_entry, next_end;
    size_t start;              /* where the next record starts */
    size_t field;              /* where the first field starts whose end is not in the index */
    uint64_t measured;         /* where in the file a long field starts that is known to be short enough */
    int64_t dropped;           /* entries of the next record that were left out: it has more than `width` */
    int64_t record, width;     /* of the next record; of all */
    const uint32_t *bounds;    /* entries of the record that was given out, from `given` on */
    size_t given;
    csv_fault fault;
    pandas_reader *pandas;     /* reads the files of that dialect; made when the first comes */
    bool hands_over;           /* the file in hand is one */
};

status csv_reader_create(int64_t memory, csv_reader **out)
{
    csv_reader *r = NULL;
    *out = NULL;
    size_t m = memory < LEAST_MEMORY ? LEAST_MEMORY : (uint64_t)memory > most_memory ? most_memory : (size_t)memory;
    TRY(memory_new(&r, sizeof *r, "the CSV reader"));
    r->scan = csv_scan_best();
    r->longest_record = m;
    r->longest_field = m / 2;
    r->chunk = m / 4 < CHUNK ? m / 4 / BLOCK * BLOCK : CHUNK; /* below the longest field: see limit() */
    r->room = 2 * r->chunk + SLACK;
    r->entry_room = r->chunk + CSV_WIDEST + 2 * BLOCK;
    *out = r;
    TRY(memory_grow(&r->window, r->room, "a window of the CSV"));
    TRY(memory_grow(&r->entries, r->entry_room * sizeof *r->entries, "the fields of a window"));
    return memory_grow(&r->ends, (r->chunk + 2 * BLOCK) * sizeof *r->ends, "the records of a window");
}

void csv_reader_free(csv_reader *r)
{
    if (!r)
        return;
    free(r->window);
    free(r->entries);
    free(r->ends);
    pandas_reader_free(r->pandas);
    free(r);
}

status csv_reader_begin(csv_reader *r, const csv_file *f, const csv_range *range)
{
    r->hands_over = f->dialect == CSV_PANDAS;
    if (r->hands_over && !r->pandas)
        TRY(pandas_reader_create((int64_t)r->longest_record, &r->pandas));
    if (r->hands_over)
        return pandas_reader_begin(r->pandas, f, range);
    r->file = f;
    r->base = range->first == CSV_NOWHERE ? range->to : range->first;
    r->to = range->to;
    r->used = r->scanned = r->start = r->field = r->given = 0;
    r->measured = CSV_NOWHERE;
    r->last = r->base >= f->bytes;
    r->index = csv_index_begin();
    r->index.delimiter = f->delimiter;
    r->next_entry = r->next_end = 0;
    r->dropped = 0;
    r->record = range->record - 1; /* of the record given out last */
    r->width = range->width;
    r->bounds = r->entries;
    r->fault = (csv_fault){.kind = CSV_FINE};
    return STATUS_OK;
}

static csv_event say_fault(csv_reader *r, csv_fault_kind kind, size_t place)
{
    r->fault = (csv_fault){.kind = kind, .record = r->record + 1, .byte = r->base + place, .found = r->fault.found, .wanted = r->fault.wanted};
    return CSV_FAULT;
}

/* Moves the unfinished record to the front of the window, keeps what is known of its fields, and makes room for a chunk. */
static status make_room(csv_reader *r)
{
    size_t from = r->start, kept = r->index.entries - r->next_entry;
    if (from) {
        memmove(r->window, r->window + from, r->used - from);
        r->base += from;
        r->used -= from;
        r->scanned -= from;
        r->field -= from;
        r->start = 0;
    }
    /* A record with more fields than the header is ragged whatever follows, so a long one needs no more places than `width`. */
    size_t most = r->width ? (size_t)r->width : CSV_WIDEST + 1;
    if (kept > most) {
        r->dropped += (int64_t)(kept - most);
        kept = most;
    }
    for (size_t i = 0; i < kept; i++)
        r->entries[i] = r->entries[r->next_entry + i] - (uint32_t)from;
    r->index.entries = kept;
    r->next_entry = r->next_end = r->index.ends = 0;
    if (r->used + r->chunk + SLACK > r->room) {
        size_t most_room = r->longest_record + 2 * r->chunk + SLACK;
        size_t room = 2 * r->room < most_room ? 2 * r->room : most_room;
        TRY(memory_grow(&r->window, room, "a window of the CSV"));
        r->room = room;
    }
    return STATUS_OK;
}

/* The unfinished record against the limits. What ends the first open field decides, not where a chunk happens to end: a chunk is
 * shorter than the longest field, so no other field of the new bytes can be too long. */
static csv_event check_limits(csv_reader *r, size_t old_entries)
{
    csv_index *x = &r->index;
    size_t reached = x->broken ? x->broken_at : r->scanned;
    size_t field_end = x->entries > old_entries ? r->entries[old_entries] : reached;
    size_t record_end = x->ends ? r->entries[r->ends[0]] : reached;
    bool field = field_end > r->field + r->longest_field, record = record_end > r->longest_record;
    if (field && (!record || r->field + r->longest_field <= r->longest_record)) {
        r->fault.wanted = (int64_t)r->longest_field;
        return say_fault(r, CSV_FIELD_TOO_LONG, r->field);
    }
    if (record) {
        r->fault.wanted = (int64_t)r->longest_record;
        return say_fault(r, CSV_RECORD_TOO_LONG, 0);
    }
    return CSV_RECORD;
}

/* The end of the file ends a record too. */
static void end_file(csv_reader *r)
{
    csv_index *x = &r->index;
    size_t line = x->ends ? (size_t)r->entries[r->ends[x->ends - 1]] + 1 : 0;
    if (x->inside || x->broken || line >= r->used)
        return;
    if (x->cr) {
        x->broken = CSV_BREAK_LONE_CR;
        x->broken_at = r->used - 1;
        return;
    }
    r->entries[x->entries] = (uint32_t)r->used;
    r->ends[x->ends++] = (uint32_t)x->entries++;
}

/* Follows the field that goes on at the window's end through the file, keeping nothing, until it ends or is too long. */
static status follow_field(const csv_reader *r, bool *too_long)
{
    uint8_t *chunk = NULL;
    uint32_t *entries = NULL, *ends = NULL;
    csv_index x = r->index;
    uint64_t field = r->base + r->field, at = r->base + r->scanned, left;
    status st;
    x.entries = x.ends = 0;
    TRY_DONE(memory_new(&chunk, CHUNK, "a window of the CSV"));
    TRY_DONE(memory_new(&entries, (CHUNK + 2 * BLOCK) * sizeof *entries, "the fields of a window"));
    TRY_DONE(memory_new(&ends, (CHUNK + 2 * BLOCK) * sizeof *ends, "the records of a window"));
    while (!x.entries && !x.broken && at - field <= r->longest_field && (left = r->file->bytes - at) > 0) {
        size_t n = left < CHUNK ? (size_t)left : CHUNK;
        TRY_DONE(file_read_fd(r->file->fd, r->file->path, at, chunk, n));
        size_t done = r->scan->index(&x, chunk, n, n == left, 0, entries, ends);
        at += x.entries ? entries[0] : x.broken ? x.broken_at : done;
    }
    *too_long = at - field > r->longest_field;
done:
    free(chunk);
    free(entries);
    free(ends);
    return st;
}

/* A field that has grown long is measured before memory is spent on it. */
static status measure_field(csv_reader *r, csv_event *event)
{
    bool too_long = false;
    *event = CSV_RECORD;
    if (r->scanned < r->field + LONG_FIELD || r->measured == r->base + r->field || r->last)
        return STATUS_OK;
    TRY(follow_field(r, &too_long));
    r->measured = r->base + r->field;
    if (too_long) {
        r->fault.wanted = (int64_t)r->longest_field;
        *event = say_fault(r, CSV_FIELD_TOO_LONG, r->field);
    }
    return STATUS_OK;
}

/* Reads and indexes another chunk behind the unfinished record. */
static status refill(csv_reader *r, csv_event *event)
{
    TRY(make_room(r));
    TRY(measure_field(r, event));
    if (*event == CSV_FAULT)
        return STATUS_OK;
    uint64_t left = r->file->bytes - (r->base + r->used);
    size_t n = left < r->chunk ? (size_t)left : r->chunk;
    if (n)
        TRY(file_read_fd(r->file->fd, r->file->path, r->base + r->used, r->window + r->used, n));
    r->used += n;
    r->last = n == left;
    size_t old = r->index.entries;
    r->scanned += r->scan->index(&r->index, r->window + r->scanned, r->used - r->scanned, r->last, (uint32_t)r->scanned, r->entries, r->ends);
    if (r->last)
        end_file(r);
    *event = check_limits(r, old);
    if (r->index.entries > old)
        r->field = (size_t)r->entries[r->index.entries - 1] + 1;
    return STATUS_OK;
}

/* No whole record is left in the index: why not, and is there more? */
static status go_on(csv_reader *r, csv_event *event, bool *again)
{
    static const csv_fault_kind kinds[] = {CSV_FINE, CSV_LONE_CR, CSV_QUOTE_INSIDE, CSV_TEXT_AFTER};
    *again = false;
    *event = CSV_END;
    if (r->base + r->start >= r->to)
        return STATUS_OK;
    if (r->index.broken) {
        *event = say_fault(r, kinds[r->index.broken], r->index.broken_at);
        return STATUS_OK;
    }
    if (r->last) {
        if (r->index.inside)
            *event = say_fault(r, CSV_UNCLOSED, r->field);
        return STATUS_OK;
    }
    TRY(refill(r, event));
    *again = *event == CSV_RECORD;
    return STATUS_OK;
}

static bool only_spaces(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != ' ' && p[i] != '\t')
            return false;
    return true;
}

/* The end of a line's last field, without the CR of a CRLF; `stop` is the LF, or the end of the file, where a CR alone is a fault. */
static size_t line_end(const csv_reader *r, size_t from, size_t stop)
{
    return stop > from && r->window[stop - 1] == '\r' ? stop - 1 : stop;
}

status csv_reader_next(csv_reader *r, csv_event *event)
{
    if (r->hands_over)
        return pandas_reader_next(r->pandas, event);
    if (r->fault.kind != CSV_FINE) {
        *event = CSV_FAULT;
        return STATUS_OK;
    }
    for (;;) {
        if (r->next_end == r->index.ends) {
            bool again;
            TRY(go_on(r, event, &again));
            if (!again)
                return STATUS_OK;
            continue;
        }
        size_t first = r->next_entry, last = r->ends[r->next_end], from = r->start, stop = r->entries[last];
        if (r->base + from >= r->to) {
            *event = CSV_END;
            return STATUS_OK;
        }
        int64_t fields = (int64_t)(last - first) + 1 + r->dropped;
        r->next_end++;
        r->next_entry = last + 1;
        r->start = stop + 1;
        r->dropped = 0;
        if (fields == 1) {
            size_t end = line_end(r, from, stop);
            if (end == from) /* an empty line */
                continue;
            if (r->window[from] != '"' && only_spaces(r->window + from, end - from)) {
                *event = say_fault(r, CSV_SPACES, from);
                return STATUS_OK;
            }
        }
        if (r->width == 0) {
            r->width = fields;
            if (fields > CSV_WIDEST) {
                *event = say_fault(r, CSV_TOO_WIDE, from);
                return STATUS_OK;
            }
        }
        if (fields != r->width) {
            r->fault.found = fields;
            r->fault.wanted = r->width;
            *event = say_fault(r, CSV_RAGGED, from);
            r->fault.cut = fields < r->width && r->base + stop + 1 >= r->file->bytes;
            return STATUS_OK;
        }
        r->record++;
        r->given = from;
        r->bounds = r->entries + first;
        *event = CSV_RECORD;
        return STATUS_OK;
    }
}

const csv_fault *csv_reader_fault(const csv_reader *r)
{
    return r->hands_over ? pandas_reader_fault(r->pandas) : &r->fault;
}

int64_t csv_reader_record(const csv_reader *r)
{
    return r->hands_over ? pandas_reader_record(r->pandas) : r->record;
}

int64_t csv_reader_width(const csv_reader *r)
{
    return r->hands_over ? pandas_reader_width(r->pandas) : r->width;
}

uint64_t csv_reader_byte(const csv_reader *r)
{
    return r->hands_over ? pandas_reader_byte(r->pandas) : r->base + r->given;
}

/* Takes one of every two quotes out; returns what is left of the n bytes. */
static size_t unquote(char *p, size_t n)
{
    char *quote = memchr(p, '"', n);
    if (!quote)
        return n;
    char *to = quote + 1, *from = quote + 2, *end = p + n;
    while (from < end) {
        quote = memchr(from, '"', (size_t)(end - from));
        size_t run = (size_t)((quote ? quote + 1 : end) - from);
        memmove(to, from, run);
        to += run;
        from += run + 1;
    }
    return (size_t)(to - p);
}

void csv_reader_field(csv_reader *r, int64_t k, csv_field *out)
{
    if (r->hands_over) {
        pandas_reader_field(r->pandas, k, out);
        return;
    }
    size_t from = k == 0 ? r->given : (size_t)r->bounds[k - 1] + 1, stop = r->bounds[k];
    if (k == r->width - 1)
        stop = line_end(r, from, stop);
    char *p = (char *)r->window + from;
    *out = (csv_field){.text = p, .bytes = stop - from, .at = r->base + from};
    if (out->bytes && *p == '"') {
        out->text = p + 1;
        out->bytes = unquote(p + 1, out->bytes - 2);
    }
}
