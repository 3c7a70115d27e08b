#include "report/originals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preprocess/columns.h"
#include "preprocess/csv.h"
#include "preprocess/packed.h"
#include "preprocess/utf8.h"

enum { READER_MEMORY = 64 << 20 };

static int by_id(const void *a, const void *b)
{
    return strcmp(((const original *)a)->id, ((const original *)b)->id);
}

static status list_ids(const char *const *id, int64_t count, originals *o)
{
    TRY(memory_new(&o->row, (size_t)count * sizeof *o->row, "texts"));
    for (; o->count < count; o->count++) {
        o->row[o->count].id = strdup(id[o->count]);
        if (!o->row[o->count].id)
            return fail(STATUS_RESOURCE, "out of memory for an id");
    }
    qsort(o->row, (size_t)o->count, sizeof *o->row, by_id);
    return STATUS_OK;
}

static original *find(const originals *o, const char *id, size_t bytes)
{
    int64_t low = 0, high = o->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int order = strncmp(o->row[middle].id, id, bytes);
        if (order == 0 && o->row[middle].id[bytes] == 0)
            return &o->row[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static status keep_text(const csv_field *f, original *row)
{
    size_t whole = utf8_replaced_bytes(f->text, f->bytes, NULL), bytes = whole;
    TRY(memory_new(&row->text, whole + sizeof "…", "a text"));
    utf8_replace(f->text, f->bytes, row->text);
    if (whole > ORIGINALS_MOST) {
        for (bytes = ORIGINALS_MOST; bytes > 0 && (row->text[bytes] & 0xC0) == 0x80;)
            bytes--; /* not inside a code point */
        memcpy(row->text + bytes, "…", sizeof "…");
    } else {
        row->text[bytes] = 0;
    }
    return STATUS_OK;
}

static status read_records(const csv_file *file, csv_reader *reader, const csv_columns *place, originals *o)
{
    csv_event event = CSV_RECORD;
    while (event == CSV_RECORD && o->found < o->count) {
        TRY(csv_reader_next(reader, &event));
        if (event != CSV_RECORD)
            break;
        csv_field id, text;
        char number[24];
        if (place->id == COLUMNS_NUMBERED)
            id = (csv_field){.text = number, .bytes = (size_t)snprintf(number, sizeof number, "%lld", (long long)o->passed)};
        else
            csv_reader_field(reader, place->id, &id);
        o->passed++;
        original *row = find(o, id.text, id.bytes);
        if (!row || row->text)
            continue;
        csv_reader_field(reader, place->text, &text);
        TRY(keep_text(&text, row));
        o->found++;
    }
    return event == CSV_FAULT ? csv_fault_fail(file, csv_reader_fault(reader)) : STATUS_OK;
}

static status read_header(const csv_file *file, csv_reader *reader, const columns_wanted *wanted, csv_columns *place)
{
    csv_fault fault = {.kind = CSV_NO_RECORDS, .record = -1, .byte = CSV_NOWHERE};
    csv_event event;
    TRY(csv_reader_next(reader, &event));
    if (event == CSV_FAULT)
        return csv_fault_fail(file, csv_reader_fault(reader));
    if (event == CSV_RECORD)
        TRY(columns_find(wanted, reader, place, &fault));
    return fault.kind == CSV_FINE ? STATUS_OK : csv_fault_fail(file, &fault);
}

static status read_file(const char *path, const columns_wanted *wanted, char delimiter, originals *o)
{
    csv_file file = {.fd = -1};
    packed_copy copy;
    csv_reader *reader = NULL;
    csv_columns place = {0};
    status st;
    TRY(packed_open_copy(path, &copy));
    TRY_DONE(csv_file_open(path, copy.file ? copy.name : NULL, &file));
    if (file.utf16) {
        st = csv_fault_fail(&file, &(csv_fault){.kind = CSV_UTF16, .record = -1, .byte = 0});
        goto done;
    }
    file.delimiter = delimiter;
    TRY_DONE(csv_reader_create(READER_MEMORY, &reader));
    TRY_DONE(csv_reader_begin(reader, &file, &(csv_range){.first = file.body, .to = file.bytes}));
    TRY_DONE(read_header(&file, reader, wanted, &place));
    TRY_DONE(read_records(&file, reader, &place, o));
done:
    columns_free(&place);
    csv_reader_free(reader);
    if (file.fd >= 0)
        csv_file_close(&file);
    packed_close_copy(&copy);
    return st;
}

status originals_read(const option_list *csv, const originals_columns *headings, const char *const *id, int64_t count, originals *out)
{
    columns_wanted wanted = {.id = headings->id, .text = headings->text};
    *out = (originals){0};
    status st = list_ids(id, count, out);
    for (size_t i = 0; i < csv->count && st == STATUS_OK; i++)
        st = read_file(csv->item[i], &wanted, headings->delimiter, out);
    if (st == STATUS_OK && count > 0 && out->found == 0)
        st = fail(STATUS_INPUT, "--csv: none of the %lld ids looked for is in %s%s, such as '%.60s'; give the CSVs that the scored rows came from",
                  (long long)count, csv->item[0], csv->count > 1 ? " and the others" : "", id[0]);
    if (st != STATUS_OK)
        originals_free(out);
    return st;
}

const char *originals_find(const originals *o, const char *id)
{
    const original *row = find(o, id, strlen(id));
    return row ? row->text : NULL;
}

void originals_free(originals *o)
{
    for (int64_t i = 0; i < o->count; i++) {
        free(o->row[i].id);
        free(o->row[i].text);
    }
    free(o->row);
    *o = (originals){0};
}
