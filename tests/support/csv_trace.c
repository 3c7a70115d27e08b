#include "support/csv_trace.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/slow_csv.h"
#include "support/support.h"

static void add(csv_trace *t, const void *p, size_t n)
{
    if (t->used + n > t->room) {
        t->room = 2 * (t->used + n) + 4096;
        t->bytes = realloc(t->bytes, t->room);
        ck_assert_ptr_nonnull(t->bytes);
    }
    if (n)
        memcpy(t->bytes + t->used, p, n);
    t->used += n;
}

static void add_number(csv_trace *t, uint64_t v)
{
    add(t, &v, sizeof v);
}

static void add_field(csv_trace *t, const char *text, size_t n, uint64_t at)
{
    add_number(t, at);
    add_number(t, n);
    add(t, text, n);
}

static void set_fault(csv_trace *t, csv_fault_kind kind, int64_t record, uint64_t byte)
{
    t->kind = kind;
    t->record = record;
    t->byte = byte;
}

static void read_split(csv_reader *r, const csv_file *f, const csv_range *range, csv_trace *out)
{
    csv_event event;
    ck_ok(csv_reader_begin(r, f, range));
    for (;;) {
        ck_ok(csv_reader_next(r, &event));
        if (event == CSV_FAULT) {
            const csv_fault *fault = csv_reader_fault(r);
            set_fault(out, fault->kind, fault->record, fault->byte);
            out->found = fault->found;
        }
        if (event != CSV_RECORD)
            return;
        add_number(out, (uint64_t)csv_reader_record(r));
        for (int64_t k = 0; k < csv_reader_width(r); k++) {
            csv_field field;
            csv_reader_field(r, k, &field);
            add_field(out, field.text, field.bytes, field.at);
        }
        out->records = csv_reader_record(r);
    }
}

/* The width that the header says; 0 when the header is faulty or absent. */
static int64_t width_of(csv_reader *r, const csv_input *in)
{
    csv_event event;
    csv_range range = splits_header(in);
    ck_ok(csv_reader_begin(r, &in->file, &range));
    ck_ok(csv_reader_next(r, &event));
    return event == CSV_RECORD ? csv_reader_width(r) : 0;
}

csv_reader *trace_reader(int64_t memory)
{
    static csv_reader *kept;
    static int64_t kept_memory;
    if (memory != kept_memory) {
        csv_reader_free(kept);
        kept = NULL;
        kept_memory = memory;
        if (memory)
            ck_ok(csv_reader_create(memory, &kept));
    }
    return kept;
}

void trace_read(const char *path, int64_t split_bytes, int64_t memory, csv_trace *out)
{
    csv_splits s;
    csv_reader *r = trace_reader(memory);
    int64_t counted = 0;
    ck_ok(splits_open(&(splits_request){.path = (char *[]){(char *)path}, .count = 1, .split_bytes = split_bytes}, &s));
    ck_ok(splits_count(&s));
    int64_t width = width_of(r, &s.input[0]);
    if (s.input[0].file.utf16)
        set_fault(out, CSV_UTF16, -1, 0);
    for (int64_t i = 0; i < s.count && out->kind == CSV_FINE; i++) {
        csv_range range = splits_range(&s.split[i], width);
        counted += s.split[i].records;
        read_split(r, &s.input[0].file, &range, out);
        if (out->kind == CSV_FINE && s.split[i].records) /* the count of pass one is the count of pass two */
            ck_assert_int_eq(out->records, counted - 1);
    }
    if (out->kind == CSV_FINE && s.input[0].records < 2)
        set_fault(out, CSV_NO_RECORDS, -1, 0);
    splits_close(&s);
}

void trace_slow(const uint8_t *p, size_t n, size_t limit, csv_trace *out)
{
    slow_csv s;
    slow_csv_read(p, n, limit, &s);
    for (int64_t r = 0; r < s.records; r++) {
        add_number(out, (uint64_t)r);
        for (int64_t k = 0; k < s.width; k++) {
            const slow_field *f = &s.field[r * s.width + k];
            add_field(out, s.text + f->from, f->bytes, f->at);
        }
        out->records = r;
    }
    set_fault(out, s.kind, s.record, s.byte);
    slow_csv_free(&s);
}

void trace_compare(const csv_trace *fast, const csv_trace *slow, const uint8_t *p, size_t n, const char *what)
{
    char shown[1200] = "";
    bool same = fast->kind == slow->kind && fast->record == slow->record && fast->byte == slow->byte && fast->used == slow->used &&
                (fast->used == 0 || memcmp(fast->bytes, slow->bytes, fast->used) == 0);
    if (!same)
        csv_quote_text((const char *)p, n, shown, sizeof shown);
    ck_assert_msg(same, "%s: fast %s record %lld byte %llu (%lld records), slow %s record %lld byte %llu (%lld records): %zu bytes: %s", what,
                  csv_fault_name(fast->kind), (long long)fast->record, (unsigned long long)fast->byte, (long long)fast->records,
                  csv_fault_name(slow->kind), (long long)slow->record, (unsigned long long)slow->byte, (long long)slow->records, n, shown);
}

void trace_clear(csv_trace *t)
{
    *t = (csv_trace){.bytes = t->bytes, .room = t->room};
}

void trace_free(csv_trace *t)
{
    free(t->bytes);
    *t = (csv_trace){0};
    trace_reader(0);
}

void trace_write_file(const char *path, const void *p, size_t n)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(p, 1, n, f), n);
    ck_assert_int_eq(fclose(f), 0);
}
