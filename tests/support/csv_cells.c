/* What the reader of the pandas dialect makes of files, for csv_pandas.py: a line of JSON a file on standard output.
 *     csv_cells DELIMITER < list of "SPLIT PATH" lines
 * {"fault": "", "header": [cells], "width": fields of the other records, "records": [[cells], ...]}; invalid UTF-8 as U+FFFD. With a fault, what
 * is before it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/comm.h"
#include "preprocess/splits.h"
#include "preprocess/utf8.h"

static const int64_t memory = INT64_C(1) << 30;

static status add_record(csv_reader *r, json_t *to)
{
    for (int64_t k = 0; k < csv_reader_width(r); k++) {
        csv_field f;
        char *copy;
        csv_reader_field(r, k, &f);
        size_t n = utf8_replaced_bytes(f.text, f.bytes, NULL);
        TRY(memory_new(&copy, n + 1, "a cell"));
        utf8_replace(f.text, f.bytes, copy);
        json_array_append_new(to, json_stringn(copy, n));
        free(copy);
    }
    return STATUS_OK;
}

static status read_header(const csv_splits *s, csv_reader *r, json_t *header, int64_t *width)
{
    csv_event event;
    csv_range range = splits_header(&s->input[0]);
    *width = 0;
    TRY(csv_reader_begin(r, &s->input[0].file, &range));
    for (int i = 0; i < 2; i++) {
        TRY(csv_reader_next(r, &event));
        if (event != CSV_RECORD)
            break;
        *width = csv_reader_width(r) > *width ? csv_reader_width(r) : *width;
        if (i == 0)
            TRY(add_record(r, header));
    }
    return STATUS_OK;
}

static status read_file(char *path, int64_t split, char delimiter, csv_reader *r)
{
    csv_splits s;
    csv_event event = CSV_END;
    int64_t width;
    json_t *header = json_array(), *records = json_array();
    TRY(splits_open(&(splits_request){.path = &path, .count = 1, .split_bytes = split, .delimiter = delimiter, .dialect = CSV_PANDAS}, &s));
    TRY(splits_count(&s));
    TRY(read_header(&s, r, header, &width));
    for (int64_t i = 0; i < s.count && event != CSV_FAULT; i++) {
        csv_range range = splits_range(&s.split[i], width);
        TRY(csv_reader_begin(r, &s.input[0].file, &range));
        for (;;) {
            TRY(csv_reader_next(r, &event));
            if (event != CSV_RECORD)
                break;
            json_t *one = json_array();
            if (csv_reader_record(r) > 0)
                json_array_append_new(records, one);
            if (csv_reader_record(r) > 0)
                TRY(add_record(r, one));
        }
    }
    const char *fault = event == CSV_FAULT ? csv_fault_name(csv_reader_fault(r)->kind) : "";
    json_t *all = json_pack("{s:s, s:o, s:I, s:o}", "fault", fault, "header", header, "width", (json_int_t)width, "records", records);
    json_dumpf(all, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
    putchar('\n');
    json_decref(all);
    splits_close(&s);
    return STATUS_OK;
}

int main(int argc, char **argv)
{
    char line[4096], delimiter = argc > 1 ? argv[1][0] : ',';
    csv_reader *r = NULL;
    status st = comm_open(&argc, &argv);
    if (st == STATUS_OK)
        st = csv_reader_create(memory, &r);
    while (st == STATUS_OK && fgets(line, sizeof line, stdin)) {
        char *path;
        int64_t split = strtoll(line, &path, 10);
        path[strcspn(path, "\n")] = 0;
        st = read_file(path + 1, split, delimiter, r);
    }
    if (st != STATUS_OK)
        fprintf(stderr, "csv_cells: %s\n", status_message());
    csv_reader_free(r);
    comm_close();
    return st;
}
