#include "store/column.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store/ids_frame.h"
#include "store/rowfile.h"
#include "store/zstd_filter.h"

static_assert((int)ROWFILE_CHUNK <= (int)IDS_FRAME_MOST, "a chunk of ids is one frame");

static size_t type_width(column_type type)
{
    static const size_t width[] = {1, 2, 4, 8, 8, 4};
    return width[type];
}

/* Inside the lock: the names are calls into HDF5. */
static hid_t type_id(column_type type)
{
    switch (type) {
    case COLUMN_U8: return H5T_STD_U8LE;
    case COLUMN_U16: return H5T_STD_U16LE;
    case COLUMN_U32: return H5T_STD_U32LE;
    case COLUMN_U64: return H5T_STD_U64LE;
    case COLUMN_I64: return H5T_STD_I64LE;
    case COLUMN_F32: return H5T_IEEE_F32LE;
    }
    return -1;
}

static size_t chunk_bytes(size_t width, int64_t across)
{
    return width * (size_t)across * ROWFILE_CHUNK;
}

/* Labels are a table even with one column: the rank of the set follows from its type. */
static int rank_of(column_type type)
{
    return type == COLUMN_F32 ? 2 : 1;
}

/* ---- writing ---- */

static hid_t chunk_list(column_type type, int64_t across)
{
    hsize_t chunk[2] = {ROWFILE_CHUNK, (hsize_t)across};
    unsigned level = ZSTD_FILTER_LEVEL;
    hid_t list = h5_creation_list(H5P_DATASET_CREATE);
    if (list >= 0 && H5Pset_chunk(list, rank_of(type), chunk) >= 0 && H5Pset_shuffle(list) >= 0 &&
        H5Pset_filter(list, ZSTD_FILTER, H5Z_FLAG_MANDATORY, 1, &level) >= 0 && H5Pset_fill_time(list, H5D_FILL_TIME_NEVER) >= 0)
        return list;
    if (list >= 0)
        H5Pclose(list);
    return -1;
}

status column_create(hid_t file, const char *path, const char *name, column_type type, int64_t across, column_writer *w)
{
    *w = (column_writer){.set = -1, .path = path, .name = name, .width = type_width(type), .across = across, .ids = type == COLUMN_U32};
    TRY(memory_new(&w->buffer, chunk_bytes(w->width, across), name));
    h5_enter();
    status st = STATUS_OK;
    hsize_t size[2] = {0, (hsize_t)across}, most[2] = {H5S_UNLIMITED, (hsize_t)across};
    hid_t list = chunk_list(type, across), space = H5Screate_simple(rank_of(type), size, most);
    if (list >= 0 && space >= 0)
        w->set = H5Dcreate2(file, name, type_id(type), space, H5P_DEFAULT, list, H5P_DEFAULT);
    if (w->set < 0)
        st = h5_fail(STATUS_IO, "%s: cannot make set %s", path, name);
    if (space >= 0)
        H5Sclose(space);
    if (list >= 0)
        H5Pclose(list);
    h5_leave();
    return st;
}

/* The chunk that ends with row count - 1. */
status column_flush(column_writer *w, chunk_codec *codec)
{
    const uint8_t *packed;
    size_t bytes;
    if (w->ids)
        TRY(chunk_pack_ids(codec, (const uint32_t *)(const void *)w->buffer, ROWFILE_CHUNK, &packed, &bytes));
    else
        TRY(chunk_pack(codec, w->buffer, chunk_bytes(w->width, w->across), w->width, &packed, &bytes));
    hsize_t size[2] = {(hsize_t)w->count, (hsize_t)w->across};
    hsize_t at[2] = {(hsize_t)((w->count - 1) / ROWFILE_CHUNK * ROWFILE_CHUNK), 0};
    h5_enter();
    status st = STATUS_OK;
    if (H5Dset_extent(w->set, size) < 0 || H5Dwrite_chunk(w->set, H5P_DEFAULT, 0, at, bytes, packed) < 0)
        st = h5_fail(STATUS_IO, "%s: cannot write set %s", w->path, w->name);
    h5_leave();
    return st;
}

status column_append(column_writer *w, chunk_codec *codec, const void *values, int64_t count)
{
    const uint8_t *from = values;
    size_t row = w->width * (size_t)w->across;
    while (count > 0) {
        int64_t filled = w->count % ROWFILE_CHUNK;
        int64_t n = count < ROWFILE_CHUNK - filled ? count : ROWFILE_CHUNK - filled;
        memcpy(w->buffer + (size_t)filled * row, from, (size_t)n * row);
        w->count += n;
        from += (size_t)n * row;
        count -= n;
        if (w->count % ROWFILE_CHUNK == 0)
            TRY(column_flush(w, codec));
    }
    return STATUS_OK;
}

status column_finish(column_writer *w, chunk_codec *codec)
{
    int64_t filled = w->count % ROWFILE_CHUNK;
    if (filled > 0) {
        size_t used = (size_t)filled * w->width * (size_t)w->across;
        memset(w->buffer + used, 0, chunk_bytes(w->width, w->across) - used);
        TRY(column_flush(w, codec));
    }
    h5_enter();
    hid_t set = w->set;
    w->set = -1;
    status st = H5Dclose(set) < 0 ? h5_fail(STATUS_IO, "%s: cannot write set %s", w->path, w->name) : STATUS_OK;
    h5_leave();
    return st;
}

void column_writer_clear(column_writer *w)
{
    free(w->buffer);
    if (w->set > 0) {
        h5_enter();
        H5Dclose(w->set);
        h5_leave();
    }
    *w = (column_writer){.set = -1};
}

/* ---- reading ---- */

static bool filters_fit(hid_t list)
{
    static const H5Z_filter_t wanted[] = {H5Z_FILTER_SHUFFLE, ZSTD_FILTER};
    bool fit = H5Pget_nfilters(list) == 2;
    for (unsigned i = 0; fit && i < 2; i++) {
        unsigned flags;
        size_t values = 0;
        fit = H5Pget_filter2(list, i, &flags, &values, NULL, 0, NULL, NULL) == wanted[i];
    }
    return fit;
}

/* What does not fit, or NULL. */
static const char *check_layout(hid_t set, column_type type, int64_t across, uint64_t file_bytes, int64_t *count)
{
    hsize_t size[2] = {0, 1}, chunk[2] = {0, 1};
    int dimensions = rank_of(type);
    hid_t its_type = H5Dget_type(set), space = H5Dget_space(set), list = H5Dget_create_plist(set);
    const char *wrong = NULL;
    if (its_type < 0 || space < 0 || list < 0)
        wrong = "cannot be read";
    else if (H5Tequal(its_type, type_id(type)) <= 0)
        wrong = "has another type of number";
    else if (H5Sget_simple_extent_ndims(space) != dimensions || H5Sget_simple_extent_dims(space, size, NULL) < 0 ||
             (dimensions == 2 && size[1] != (hsize_t)across))
        wrong = "has another shape";
    else if (H5Pget_layout(list) != H5D_CHUNKED || H5Pget_chunk(list, 2, chunk) != dimensions || chunk[0] != ROWFILE_CHUNK ||
             (dimensions == 2 && chunk[1] != (hsize_t)across))
        wrong = "is not in chunks of 65536 rows";
    else if (!filters_fit(list))
        wrong = "is not packed by byte shuffle and zstd (filter 32015)";
    else if (size[0] / ROWFILE_CHUNK > file_bytes / 16) /* no chunk is shorter than its seal */
        wrong = "claims more rows than the file can hold";
    *count = (int64_t)size[0];
    if (its_type >= 0)
        H5Tclose(its_type);
    if (space >= 0)
        H5Sclose(space);
    if (list >= 0)
        H5Pclose(list);
    return wrong;
}

status column_open(hid_t file, const char *path, uint64_t file_bytes, const char *name, column_type type, int64_t across, column *c)
{
    *c = (column){.set = -1, .path = path, .name = name, .width = type_width(type), .across = across, .cached = -1};
    h5_enter();
    status st = STATUS_OK;
    c->set = H5Dopen2(file, name, H5P_DEFAULT);
    const char *wrong = c->set < 0 ? "is missing or damaged" : check_layout(c->set, type, across, file_bytes, &c->count);
    if (wrong)
        st = h5_fail(STATUS_INPUT, "%s: set %s %s; make the file again", path, name, wrong);
    h5_leave();
    return st;
}

void column_clear(column *c)
{
    free(c->buffer);
    if (c->set > 0) {
        h5_enter();
        H5Dclose(c->set);
        h5_leave();
    }
    *c = (column){.set = -1};
}

static status fetch_packed(column *c, chunk_codec *codec, int64_t chunk, size_t *bytes)
{
    hsize_t at[2] = {(hsize_t)(chunk * ROWFILE_CHUNK), 0}, stored = 0;
    uint32_t mask = 0;
    status st = STATUS_OK;
    h5_enter();
    if (H5Dget_chunk_storage_size(c->set, at, &stored) < 0 || stored == 0 || stored > chunk_bound(chunk_bytes(c->width, c->across)))
        st = h5_fail(STATUS_INPUT, "%s: set %s: chunk %lld is missing or has an impossible size; make the file again", c->path, c->name,
                     (long long)chunk);
    if (st == STATUS_OK)
        st = chunk_reserve_packed(codec, (size_t)stored);
    if (st == STATUS_OK && H5Dread_chunk(c->set, H5P_DEFAULT, at, &mask, codec->packed) < 0)
        st = h5_fail(STATUS_INPUT, "%s: set %s: chunk %lld cannot be read; make the file again", c->path, c->name, (long long)chunk);
    h5_leave();
    *bytes = (size_t)stored;
    if (st == STATUS_OK && mask != 0)
        st = fail(STATUS_INPUT, "%s: set %s: chunk %lld is not packed; make the file again", c->path, c->name, (long long)chunk);
    return st;
}

static status load_chunk(column *c, chunk_codec *codec, int64_t chunk, void *to)
{
    size_t bytes;
    TRY(fetch_packed(c, codec, chunk, &bytes));
    const char *wrong = chunk_unpack(codec, codec->packed, bytes, to, chunk_bytes(c->width, c->across), c->width);
    if (wrong)
        return fail(STATUS_INPUT, "%s: set %s: chunk %lld (rows or values from %lld) %s; make the file again", c->path, c->name,
                    (long long)chunk, (long long)(chunk * ROWFILE_CHUNK), wrong);
    return STATUS_OK;
}

static status cache_chunk(column *c, chunk_codec *codec, int64_t chunk)
{
    if (c->cached == chunk)
        return STATUS_OK;
    if (!c->buffer)
        TRY(memory_new(&c->buffer, chunk_bytes(c->width, c->across), c->name));
    c->cached = -1;
    TRY(load_chunk(c, codec, chunk, c->buffer));
    c->cached = chunk;
    return STATUS_OK;
}

static status check_range(const column *c, int64_t first, int64_t count)
{
    if (first < 0 || count < 0 || first > c->count - count)
        return fail(STATUS_INPUT, "%s: set %s has %lld values; %lld from %lld on were asked for", c->path, c->name, (long long)c->count,
                    (long long)count, (long long)first);
    return STATUS_OK;
}

status column_load(column *c, chunk_codec *codec, int64_t first)
{
    TRY(check_range(c, first, 1));
    return cache_chunk(c, codec, first / ROWFILE_CHUNK);
}

status column_read(column *c, chunk_codec *codec, int64_t first, int64_t count, void *values)
{
    TRY(check_range(c, first, count));
    size_t row = c->width * (size_t)c->across;
    uint8_t *to = values;
    while (count > 0) {
        int64_t chunk = first / ROWFILE_CHUNK, in = first % ROWFILE_CHUNK;
        int64_t n = count < ROWFILE_CHUNK - in ? count : ROWFILE_CHUNK - in;
        if (n == ROWFILE_CHUNK && c->cached != chunk) {
            TRY(load_chunk(c, codec, chunk, to)); /* whole: no need to pass through the cache */
        } else {
            TRY(cache_chunk(c, codec, chunk));
            memcpy(to, c->buffer + (size_t)in * row, (size_t)n * row);
        }
        to += (size_t)n * row;
        first += n;
        count -= n;
    }
    return STATUS_OK;
}

status column_check_end(column *c, chunk_codec *codec)
{
    int64_t used = c->count % ROWFILE_CHUNK;
    if (used == 0)
        return STATUS_OK;
    TRY(cache_chunk(c, codec, c->count / ROWFILE_CHUNK));
    size_t row = c->width * (size_t)c->across;
    for (size_t i = (size_t)used * row; i < ROWFILE_CHUNK * row; i++)
        if (c->buffer[i] != 0)
            return fail(STATUS_INPUT, "%s: set %s: bytes behind its last value are not zero; make the file again", c->path, c->name);
    return STATUS_OK;
}
