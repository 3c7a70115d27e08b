#include "store/rowfile_read.h"

#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "store/meta.h"

/* ---- open and close ---- */

static status open_file(rowfile *f)
{
    h5_enter();
    hid_t access = h5_access_list();
    status st = STATUS_OK;
    if (access >= 0)
        f->file = H5Fopen(f->path, H5F_ACC_RDONLY, access);
    if (f->file < 0) {
        htri_t hdf5 = H5Fis_hdf5(f->path);
        st = hdf5 > 0 ? h5_fail(STATUS_INPUT, "%s: cut short or damaged; make the file again", f->path)
                      : h5_fail(STATUS_INPUT, "%s: not an HDF5 file; give a row file that preprocess or shard wrote", f->path);
    }
    if (access >= 0)
        H5Pclose(access);
    if (st == STATUS_OK)
        st = meta_read(f->file, f->path, &f->meta);
    h5_leave();
    return st;
}

static status check_count(const rowfile *f, int set, int64_t wanted)
{
    const column *c = &f->set[set];
    if (c->count == wanted)
        return STATUS_OK;
    return fail(STATUS_INPUT, "%s: set %s has %lld values where %lld belong; make the file again", f->path, c->name, (long long)c->count,
                (long long)wanted);
}

/* The last offset must be the length of what it points into. */
static status check_last_offset(rowfile *f, int set, int64_t wanted)
{
    int64_t first, last;
    TRY(column_read(&f->set[set], &f->codec, 0, 1, &first));
    TRY(column_read(&f->set[set], &f->codec, f->rows, 1, &last));
    if (first != 0 || last != wanted)
        return fail(STATUS_INPUT, "%s: set %s goes from %lld to %lld, not from 0 to %lld; make the file again", f->path, set_table[set].name,
                    (long long)first, (long long)last, (long long)wanted);
    return STATUS_OK;
}

static status open_sets(rowfile *f)
{
    uint64_t bytes;
    TRY(file_size(f->path, &bytes));
    for (int i = 0; i < SETS; i++)
        if (i != SET_LABEL || f->meta.labels > 0)
            TRY(column_open(f->file, f->path, bytes, set_table[i].name, set_table[i].type, i == SET_LABEL ? f->meta.labels : 1, &f->set[i]));
    f->rows = f->set[SET_NUMBER].count;
    f->tokens = f->set[SET_TOKENS].count;
    f->id_bytes = f->set[SET_ID_BYTES].count;
    static const int by_row[] = {SET_SOURCE, SET_LANG, SET_TEXT_HASH};
    for (int i = 0; i < 3; i++)
        TRY(check_count(f, by_row[i], f->rows));
    if (f->meta.labels > 0)
        TRY(check_count(f, SET_LABEL, f->rows));
    TRY(check_count(f, SET_OFFSETS, f->rows + 1));
    TRY(check_count(f, SET_ID_OFFSETS, f->rows + 1));
    TRY(check_last_offset(f, SET_OFFSETS, f->tokens));
    return check_last_offset(f, SET_ID_OFFSETS, f->id_bytes);
}

static status open_whole(rowfile *f, const char *path)
{
    uint64_t bytes;
    TRY(file_size(path, &bytes));
    TRY(memory_new(&f->path, strlen(path) + 1, "a path"));
    memcpy(f->path, path, strlen(path));
    TRY(open_file(f));
    return open_sets(f);
}

status rowfile_open(const char *path, rowfile **out)
{
    rowfile *f;
    *out = NULL;
    TRY(memory_new(&f, sizeof *f, "a row file"));
    f->file = -1;
    status st = open_whole(f, path);
    if (st == STATUS_OK)
        *out = f;
    else
        rowfile_free(f);
    return st;
}

void rowfile_free(rowfile *f)
{
    if (!f)
        return;
    for (int i = 0; i < SETS; i++)
        column_clear(&f->set[i]);
    if (f->file > 0) {
        h5_enter();
        H5Fclose(f->file);
        h5_leave();
    }
    chunk_codec_clear(&f->codec);
    rowfile_meta_free(&f->meta);
    free(f->path);
    free(f->token.bytes);
    free(f->id.bytes);
    free(f);
}

const rowfile_meta *rowfile_get_meta(const rowfile *f)
{
    return &f->meta;
}

int64_t rowfile_rows(const rowfile *f)
{
    return f->rows;
}

int64_t rowfile_tokens(const rowfile *f)
{
    return f->tokens;
}

/* ---- ranges ---- */

static status read_set(rowfile *f, int set, int64_t first, int64_t count, void *values)
{
    return column_read(&f->set[set], &f->codec, first, count, values);
}

static status offset_fail(const rowfile *f, int set, int64_t index, int64_t value, int64_t most)
{
    return fail(STATUS_INPUT, "%s: set %s: value %lld is %lld, out of order or of range (0 to %lld); make the file again", f->path,
                set_table[set].name, (long long)index, (long long)value, (long long)most);
}

/* Offsets ascend and stay within the set they point into, so that what is read by them needs no further check. */
static status read_offsets(rowfile *f, int set, int64_t most, int64_t first, int64_t count, int64_t *offsets)
{
    TRY(read_set(f, set, first, count, offsets));
    for (int64_t i = 0; i < count; i++)
        if (offsets[i] < (i > 0 ? offsets[i - 1] : 0) || offsets[i] > most || (i > 0 && offsets[i] - offsets[i - 1] > INT32_MAX))
            return offset_fail(f, set, first + i, offsets[i], most);
    return STATUS_OK;
}

static status index_fail(const rowfile *f, int set, int64_t row, unsigned value, int64_t entries)
{
    return fail(STATUS_INPUT, "%s: set %s: row %lld has entry %u of a list of %lld; make the file again", f->path, set_table[set].name,
                (long long)row, value, (long long)entries);
}

static status read_indices(rowfile *f, int set, int64_t entries, int64_t first, int64_t count, uint16_t *values)
{
    TRY(read_set(f, set, first, count, values));
    for (int64_t i = 0; i < count; i++)
        if (values[i] >= entries)
            return index_fail(f, set, first + i, values[i], entries);
    return STATUS_OK;
}

status rowfile_read_tokens(rowfile *f, int64_t first, int64_t count, uint32_t *ids)
{
    return read_set(f, SET_TOKENS, first, count, ids);
}

status rowfile_read_offsets(rowfile *f, int64_t first_row, int64_t count_plus_one, int64_t *offsets)
{
    return read_offsets(f, SET_OFFSETS, f->tokens, first_row, count_plus_one, offsets);
}

status rowfile_read_labels(rowfile *f, int64_t first_row, int64_t count, float *labels)
{
    return f->meta.labels > 0 ? read_set(f, SET_LABEL, first_row, count, labels) : STATUS_OK;
}

status rowfile_read_numbers(rowfile *f, int64_t first_row, int64_t count, int64_t *numbers)
{
    return read_set(f, SET_NUMBER, first_row, count, numbers);
}

status rowfile_read_sources(rowfile *f, int64_t first_row, int64_t count, uint16_t *sources)
{
    return read_indices(f, SET_SOURCE, f->meta.sources, first_row, count, sources);
}

status rowfile_read_langs(rowfile *f, int64_t first_row, int64_t count, uint16_t *langs)
{
    return read_indices(f, SET_LANG, f->meta.langs, first_row, count, langs);
}

status rowfile_read_text_hashes(rowfile *f, int64_t first_row, int64_t count, uint64_t *hashes)
{
    return read_set(f, SET_TEXT_HASH, first_row, count, hashes);
}

status rowfile_read_ids(rowfile *f, int64_t first_row, int64_t count, char **bytes, int64_t *offsets)
{
    char *text;
    *bytes = NULL;
    TRY(read_offsets(f, SET_ID_OFFSETS, f->id_bytes, first_row, count + 1, offsets));
    int64_t from = offsets[0], n = offsets[count] - from;
    TRY(memory_new(&text, (size_t)n, "ids of rows"));
    status st = read_set(f, SET_ID_BYTES, from, n, text);
    if (st != STATUS_OK) {
        free(text);
        return st;
    }
    for (int64_t i = 0; i <= count; i++)
        offsets[i] -= from;
    *bytes = text;
    return STATUS_OK;
}

/* ---- one row ---- */

/* Rows are mostly read one after another: each value is taken where it lies in its set's chunk, which is checked and unpacked once. */
static inline status value_at(rowfile *f, int set, int64_t index, const void **value)
{
    return column_at(&f->set[set], &f->codec, index, value);
}

static status row_range(rowfile *f, int set, int64_t most, int64_t index, int64_t *from, int64_t *count)
{
    const void *value;
    int64_t range[2];
    for (int i = 0; i < 2; i++) {
        TRY(value_at(f, set, index + i, &value));
        memcpy(&range[i], value, sizeof range[i]);
        if (range[i] < (i > 0 ? range[0] : 0) || range[i] > most || (i > 0 && range[1] - range[0] > INT32_MAX))
            return offset_fail(f, set, index + i, range[i], most);
    }
    *from = range[0];
    *count = range[1] - range[0];
    return STATUS_OK;
}

/* Values that cross the end of a chunk are put together in a buffer of the row's own. */
static status row_values(rowfile *f, int set, int64_t from, int64_t count, held *own, const void **values)
{
    *values = NULL;
    if (count == 0)
        return STATUS_OK;
    if (from % ROWFILE_CHUNK + count <= ROWFILE_CHUNK)
        return value_at(f, set, from, values);
    size_t bytes = (size_t)count * f->set[set].width;
    if (bytes > own->capacity) {
        TRY(memory_grow(&own->bytes, bytes + bytes / 2, "a row"));
        own->capacity = bytes + bytes / 2;
    }
    *values = own->bytes;
    return read_set(f, set, from, count, own->bytes);
}

static status row_entry(rowfile *f, int set, int64_t entries, int64_t index, uint16_t *entry)
{
    const void *value;
    TRY(value_at(f, set, index, &value));
    memcpy(entry, value, sizeof *entry);
    return *entry < entries ? STATUS_OK : index_fail(f, set, index, *entry, entries);
}

status rowfile_read_row_unhashed(rowfile *f, int64_t index, rowfile_row *r)
{
    int64_t token, id, id_bytes;
    const void *value;
    *r = (rowfile_row){0};
    if (index < 0 || index >= f->rows)
        return fail(STATUS_INPUT, "%s: row %lld was asked for; it has %lld", f->path, (long long)index, (long long)f->rows);
    TRY(row_range(f, SET_OFFSETS, f->tokens, index, &token, &r->tokens));
    TRY(row_range(f, SET_ID_OFFSETS, f->id_bytes, index, &id, &id_bytes));
    TRY(row_values(f, SET_TOKENS, token, r->tokens, &f->token, &value));
    r->token = value;
    TRY(row_values(f, SET_ID_BYTES, id, id_bytes, &f->id, &value));
    r->id = value;
    r->id_bytes = (size_t)id_bytes;
    if (f->meta.labels > 0) {
        TRY(value_at(f, SET_LABEL, index, &value));
        r->label = value;
    }
    TRY(value_at(f, SET_NUMBER, index, &value));
    memcpy(&r->number, value, sizeof r->number);
    TRY(row_entry(f, SET_SOURCE, f->meta.sources, index, &r->source));
    TRY(row_entry(f, SET_LANG, f->meta.langs, index, &r->lang));
    TRY(value_at(f, SET_TEXT_HASH, index, &value));
    memcpy(&r->text_hash, value, sizeof r->text_hash);
    return STATUS_OK;
}

status rowfile_read_row(rowfile *f, int64_t index, rowfile_row *r)
{
    TRY(rowfile_read_row_unhashed(f, index, r));
    r->hash = rowfile_row_hash(r, f->meta.lang[r->lang], f->meta.labels);
    return STATUS_OK;
}
