#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "infer/table.h"
#include "preprocess/columns.h"
#include "preprocess/csv.h"
#include "preprocess/packed.h"

enum { READER_MEMORY = 64 << 20, NO_PLACE = -1 };

/* A reading in progress: where each column of numbers stands in the file, and the lines counted so far. */
typedef struct reading {
    const char *path;
    packed_copy copy; /* of a packed file */
    csv_file file;
    csv_reader *reader;
    const char *map; /* the plain file once more, to count lines */
    size_t map_bytes;
    uint64_t counted; /* bytes */
    int64_t line;     /* of the byte `counted` */
    int64_t *place;   /* field of each column of numbers */
    char **name;      /* headings of all fields */
    int64_t width;
    double *value; /* of one record */
} reading;

static status next_record(reading *r, bool *there)
{
    csv_event event = CSV_END;
    *there = false;
    TRY(csv_reader_next(r->reader, &event));
    if (event == CSV_FAULT)
        return csv_fault_fail(&r->file, csv_reader_fault(r->reader));
    *there = event == CSV_RECORD;
    return STATUS_OK;
}

static int64_t line_of(reading *r, uint64_t byte)
{
    while (r->counted < byte) {
        const char *from = r->map + r->counted, *lf = memchr(from, '\n', (size_t)(byte - r->counted));
        r->counted = lf ? (uint64_t)(lf - r->map) + 1 : byte;
        r->line += lf != NULL;
    }
    return r->line;
}

static int64_t find_name(const reading *r, const char *name)
{
    for (int64_t i = 0; i < r->width; i++)
        if (strcmp(r->name[i], name) == 0)
            return i;
    return NO_PLACE;
}

static status read_names(reading *r)
{
    bool there;
    TRY(next_record(r, &there));
    if (!there)
        return fail(STATUS_INPUT, "%s: empty; it should begin with a header such as \"id,toxic\"", r->path);
    int64_t width = csv_reader_width(r->reader);
    TRY(memory_new(&r->name, (size_t)width * sizeof *r->name, "names of columns"));
    for (; r->width < width; r->width++) {
        csv_field f;
        csv_reader_field(r->reader, r->width, &f);
        r->name[r->width] = strndup(f.text, f.bytes);
        if (!r->name[r->width])
            return fail(STATUS_RESOURCE, "out of memory for the name of a column");
    }
    return STATUS_OK;
}

/* "toxic|target": the first of the names that is there; a name may have a | of its own. */
static int64_t find_choices(const reading *r, const char *names)
{
    int64_t place = find_name(r, names);
    for (size_t n; *names && place == NO_PLACE; names += n + (names[n] == '|')) {
        n = strcspn(names, "|");
        for (int64_t i = 0; place == NO_PLACE && i < r->width; i++)
            if (strlen(r->name[i]) == n && memcmp(r->name[i], names, n) == 0)
                place = i;
    }
    return place;
}

static status missing_column(const reading *r, const char *name)
{
    char list[600] = "";
    for (int64_t i = 0; i < r->width && strlen(list) < sizeof list - 100; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s\"%.60s\"", i ? ", " : "", r->name[i]);
    return fail(STATUS_INPUT, "%s: no column \"%s\"; its columns are %s", r->path, name, list);
}

static status find_id(const reading *r, const table_request *request, int64_t *id)
{
    *id = NO_PLACE;
    for (size_t i = 0; request->id && i < request->id->count && *id == NO_PLACE; i++)
        *id = strcmp(request->id->item[i], COLUMNS_NUMBER) == 0 ? NO_PLACE : find_name(r, request->id->item[i]);
    if (*id == NO_PLACE && request->id && request->id_needed)
        return missing_column(r, request->id->item[0]);
    if (*id == NO_PLACE)
        *id = find_name(r, "id");
    *id = *id == NO_PLACE ? 0 : *id;
    return STATUS_OK;
}

/* Only among the columns that are read must the names differ. */
static status refuse_twin(const reading *r, int64_t place)
{
    for (int64_t i = 0; i < r->width; i++)
        if (i != place && strcmp(r->name[i], r->name[place]) == 0)
            return fail(STATUS_INPUT, "%s: two columns are called \"%s\"; rename one", r->path, r->name[place]);
    return STATUS_OK;
}

/* Chooses the columns and begins the table. */
static status choose_columns(reading *r, const table_request *request, table *t)
{
    const char **chosen = NULL;
    int64_t id, columns = request->wanted ? request->wanted_count : r->width - 1, at = 0;
    status st;
    TRY_DONE(find_id(r, request, &id));
    TRY_DONE(memory_new(&chosen, (size_t)columns * sizeof *chosen, "names of columns"));
    TRY_DONE(memory_new(&r->place, (size_t)columns * sizeof *r->place, "places of columns"));
    TRY_DONE(memory_new(&r->value, (size_t)columns * sizeof *r->value, "numbers of a record"));
    for (int64_t i = 0; i < (request->wanted ? columns : r->width); i++) {
        int64_t place = request->wanted ? find_choices(r, request->wanted[i]) : i;
        if (place == NO_PLACE) {
            st = missing_column(r, request->wanted[i]);
            goto done;
        }
        if (!request->wanted && place == id)
            continue;
        r->place[at] = place;
        chosen[at++] = r->name[place];
    }
    TRY_DONE(refuse_twin(r, id));
    for (int64_t i = 0; i < columns; i++)
        TRY_DONE(refuse_twin(r, r->place[i]));
    TRY_DONE(table_begin(r->name[id], chosen, columns, t));
    t->id_place = id;
    t->path = strdup(r->path);
    if (!t->path)
        st = fail(STATUS_RESOURCE, "out of memory for a path");
done:
    free(chosen);
    return st;
}

static number_fault read_number(const csv_field *f, const label_rule *labels, double *value)
{
    float x = NAN;
    number_fault kind = labels ? (label_read(f->text, f->bytes, labels, &x) ? NUMBER_FINE : NUMBER_FOREIGN) : number_read(f->text, f->bytes, &x);
    *value = kind == NUMBER_FINE ? x : NAN;
    return kind;
}

static void read_cell(const csv_field *f, int64_t column, const label_rule *labels, table *t, double *value)
{
    number_fault kind = read_number(f, labels, value);
    if (kind == NUMBER_FINE)
        return;
    table_fault *fault = &t->fault[kind];
    if (fault->count++)
        return;
    fault->row = t->rows;
    fault->column = column;
    table_show_text(f->text, f->bytes, fault->text, sizeof fault->text);
}

static status read_record(reading *r, const table_request *request, table *t)
{
    csv_field id, cell;
    int64_t room = t->row_room;
    csv_reader_field(r->reader, t->id_place, &id); /* each field once: a quoted one is unquoted where it stands */
    for (int64_t c = 0; request->numbers == TABLE_VALUES && c < t->columns; c++) {
        if (r->place[c] == t->id_place)
            cell = id;
        else
            csv_reader_field(r->reader, r->place[c], &cell);
        read_cell(&cell, c, request->labels, t, &r->value[c]);
    }
    TRY(table_append(t, id.text, id.bytes, request->numbers == TABLE_VALUES ? r->value : NULL));
    if (room != t->row_room)
        TRY(memory_grow(&t->line, (size_t)t->row_room * sizeof *t->line, "numbers of lines"));
    t->line[t->rows - 1] = line_of(r, csv_reader_byte(r->reader));
    return STATUS_OK;
}

static status read_all(reading *r, const table_request *request, table *t)
{
    bool there;
    const void *map;
    TRY(packed_open_copy(r->path, &r->copy));
    const char *plain = r->copy.file ? r->copy.name : NULL;
    TRY(csv_file_open(r->path, plain, &r->file));
    if (r->file.utf16)
        return csv_fault_fail(&r->file, &(csv_fault){.kind = CSV_UTF16, .record = -1, .byte = 0});
    r->file.delimiter = request->delimiter ? request->delimiter : ',';
    TRY(file_map(plain ? plain : r->path, &map, &r->map_bytes));
    r->map = map;
    TRY(csv_reader_create(READER_MEMORY, &r->reader));
    TRY(csv_reader_begin(r->reader, &r->file, &(csv_range){.first = r->file.body, .to = r->file.bytes}));
    TRY(read_names(r));
    TRY(choose_columns(r, request, t));
    if (request->numbers == TABLE_HEADER)
        return STATUS_OK;
    for (;;) {
        TRY(next_record(r, &there));
        if (!there)
            break;
        TRY(read_record(r, request, t));
    }
    if (t->rows == 0)
        return fail(STATUS_INPUT, "%s: a header and no records", r->path);
    return plain ? hash_sha256_file(r->path, t->sha256) : hash_sha256_buffer(r->map, r->map_bytes, t->sha256);
}

status table_read(const char *path, const table_request *request, table *t)
{
    reading r = {.path = path, .file = {.fd = -1}, .line = 1};
    *t = (table){0};
    status st = read_all(&r, request, t);
    if (st != STATUS_OK)
        table_free(t);
    for (int64_t i = 0; i < r.width; i++)
        free(r.name[i]);
    free(r.name);
    free(r.place);
    free(r.value);
    csv_reader_free(r.reader);
    if (r.map)
        file_unmap(r.map, r.map_bytes);
    if (r.file.fd >= 0)
        csv_file_close(&r.file);
    packed_close_copy(&r.copy);
    return st;
}
