#include "store/dataset.h"

#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/files.h"
#include "store/identity.h"
#include "store/manifest.h"
#include "store/meta.h"
#include "store/token_cache.h"

enum { MOST_OPEN_FILES = 32 };

typedef struct data_file {
    char *path;
    int64_t rows, tokens;
    int64_t first_row, first_token, first_chunk; /* counted over all files */
    rowfile *open;                               /* NULL: not open here now */
} data_file;

typedef struct data_folder {
    const char *name; /* the caller's: used only while the set is opened */
    char *tokenizer, *read_with, identity[HASH_HEX];
    int64_t first_file, files, rows;
} data_folder;

struct dataset {
    int64_t folders, files, rows, tokens, chunks;
    char identity[HASH_HEX];
    data_folder *folder;
    data_file *file;
    rowfile_meta meta;
    /* one block, shared by the ranks of a node */
    void *block;
    int64_t *offset; /* rows + 1, over all tokens */
    float *label;    /* rows x C */
    uint16_t *lang;
    /* all tokens, shared likewise, or NULL and then a cache of this rank */
    uint32_t *token;
    token_cache *cache;
    int64_t opened[MOST_OPEN_FILES], next_opened; /* a ring of open files; entries are file + 1 */
    int64_t last_file;                            /* where the last row looked for was */
};

/* ---- files ---- */

static status add_files(dataset *d, data_folder *folder, const manifest *m)
{
    TRY(memory_grow(&d->file, (size_t)(d->files + m->files) * sizeof *d->file, "the files of a data set"));
    for (int64_t i = 0; i < m->files; i++) {
        data_file *f = &d->file[d->files];
        *f = (data_file){.rows = m->file[i].rows, .tokens = m->file[i].tokens, .first_row = d->rows, .first_token = d->tokens,
                         .first_chunk = d->chunks};
        TRY(file_join(folder->name, m->file[i].name, &f->path));
        d->files++;
        d->rows += f->rows;
        d->tokens += f->tokens;
        d->chunks += (f->tokens + ROWFILE_CHUNK - 1) / ROWFILE_CHUNK;
    }
    return STATUS_OK;
}

static status add_folder(dataset *d, char *name)
{
    manifest m;
    data_folder *folder = &d->folder[d->folders];
    TRY(manifest_read(name, &m));
    *folder = (data_folder){.name = name, .tokenizer = m.tokenizer, .read_with = m.read_with, .first_file = d->files, .files = m.files, .rows = m.rows};
    m.tokenizer = m.read_with = NULL;
    memcpy(folder->identity, m.data_identity, HASH_HEX);
    d->folders++;
    status st = comm_rank() == 0 ? manifest_check(name, &m, false) : STATUS_OK;
    if (st == STATUS_OK)
        st = add_files(d, folder, &m);
    manifest_free(&m);
    return st;
}

static status list_files(dataset *d, char *const *folders, int64_t count)
{
    TRY(memory_new(&d->folder, (size_t)count * sizeof *d->folder, "the folders of a data set"));
    for (int64_t i = 0; i < count; i++)
        TRY(add_folder(d, folders[i]));
    return STATUS_OK;
}

static status use_file(dataset *d, int64_t index, rowfile **out)
{
    data_file *f = &d->file[index];
    if (!f->open) {
        int64_t old = d->opened[d->next_opened];
        if (old > 0) {
            rowfile_free(d->file[old - 1].open);
            d->file[old - 1].open = NULL;
            d->opened[d->next_opened] = 0;
        }
        TRY(rowfile_open(f->path, &f->open));
        d->opened[d->next_opened] = index + 1;
        d->next_opened = (d->next_opened + 1) % MOST_OPEN_FILES;
        if (rowfile_rows(f->open) != f->rows || rowfile_tokens(f->open) != f->tokens)
            return fail(STATUS_INPUT, "%s: holds %lld rows and %lld tokens, its manifest says %lld and %lld; run the stage that makes it again",
                        f->path, (long long)rowfile_rows(f->open), (long long)rowfile_tokens(f->open), (long long)f->rows, (long long)f->tokens);
    }
    *out = f->open;
    return STATUS_OK;
}

/* ---- description and identity: rank 0 reads, the others are told ---- */

/* Reads its files on behalf of all folders and checks the folder's own identity on the way. */
static status describe_folder(dataset *d, const data_folder *folder, data_identity *all)
{
    data_identity *own = NULL;
    char hex[HASH_HEX];
    status st = STATUS_OK;
    TRY(data_identity_begin(folder->tokenizer, folder->rows, &own));
    for (int64_t i = folder->first_file; i < folder->first_file + folder->files; i++) {
        rowfile *f = NULL;
        TRY_DONE(use_file(d, i, &f));
        TRY_DONE(meta_merge(&d->meta, rowfile_get_meta(f), d->file[i].path));
        TRY_DONE(data_identity_add_file(own, f));
        TRY_DONE(data_identity_add_file(all, f));
    }
    data_identity_end(own, hex);
    if (strcmp(hex, folder->identity) != 0)
        return fail(STATUS_INPUT, "%s: its rows are not those that its manifest.json names (identity %.16s, there %.16s); run the stage that makes "
                    "it again", folder->name, hex, folder->identity);
    return STATUS_OK;
done:
    data_identity_end(own, NULL);
    return st;
}

static status describe(dataset *d)
{
    data_identity *all = NULL;
    status st = STATUS_OK;
    TRY(data_identity_begin(d->folder[0].tokenizer, d->rows, &all));
    for (int64_t i = 0; i < d->folders; i++) {
        TRY_DONE(meta_same_tokenizer(d->folder[0].tokenizer, d->folder[i].tokenizer, d->folder[i].name));
        TRY_DONE(describe_folder(d, &d->folder[i], all));
    }
    if (d->meta.tokenizer)
        TRY_DONE(meta_same_tokenizer(d->folder[0].tokenizer, d->meta.tokenizer, d->folder[0].name));
    else /* no folder has a file: the tokenizer is known from the manifests alone */
        TRY_DONE(rowfile_meta_copy(&(rowfile_meta){.tokenizer = d->folder[0].tokenizer}, &d->meta));
    data_identity_end(all, d->identity);
    all = NULL;
done:
    data_identity_end(all, NULL);
    return st;
}

static status tell(dataset *d)
{
    TRY(meta_share(&d->meta));
    comm_broadcast(d->identity, sizeof d->identity, 0);
    return STATUS_OK;
}

/* ---- what is kept of all rows ---- */

static status fill_rows(dataset *d, int64_t index)
{
    rowfile *f = NULL;
    const data_file *at = &d->file[index];
    uint16_t *source = NULL, *lang = NULL;
    status st;
    TRY(use_file(d, index, &f));
    int64_t *offset = d->offset + at->first_row;
    uint16_t *lang_of = d->lang + at->first_row;
    TRY_DONE(meta_map(&d->meta, rowfile_get_meta(f), &source, &lang));
    TRY_DONE(rowfile_read_offsets(f, 0, at->rows, offset));
    if (at->rows > 0 && at->tokens - offset[at->rows - 1] > INT32_MAX)
        TRY_DONE(fail(STATUS_INPUT, "%s: its last row has %lld tokens", at->path, (long long)(at->tokens - offset[at->rows - 1])));
    for (int64_t i = 0; i < at->rows; i++)
        offset[i] += at->first_token;
    TRY_DONE(rowfile_read_labels(f, 0, at->rows, d->label + at->first_row * d->meta.labels));
    TRY_DONE(rowfile_read_langs(f, 0, at->rows, lang_of));
    for (int64_t i = 0; i < at->rows; i++)
        lang_of[i] = lang[lang_of[i]];
done:
    free(source);
    free(lang);
    return st;
}

static status fill_tokens(dataset *d, int64_t index)
{
    rowfile *f = NULL;
    TRY(use_file(d, index, &f));
    return rowfile_read_tokens(f, 0, d->file[index].tokens, d->token + d->file[index].first_token);
}

/* The ranks of a node fill what they share file by file in turn; alone each fills its own. */
static status fill(dataset *d, bool shared, status (*one)(dataset *, int64_t))
{
    status st = STATUS_OK;
    int64_t step = shared ? comm_node_size() : 1;
    for (int64_t i = shared ? comm_node_rank() : 0; st == STATUS_OK && i < d->files; i += step)
        st = one(d, i);
    st = comm_agree(st);
    comm_node_barrier();
    return st;
}

static status keep_rows(dataset *d)
{
    bool shared;
    size_t n = (size_t)d->rows, labels = (size_t)d->meta.labels;
    size_t offset_bytes = (n + 1) * sizeof *d->offset, label_bytes = n * labels * sizeof *d->label;
    TRY(comm_shared_create(offset_bytes + label_bytes + n * sizeof *d->lang, "lengths, labels and languages of all rows", &d->block, &shared));
    shared = !comm_any(!shared);
    d->offset = d->block;
    d->label = (float *)((char *)d->block + offset_bytes);
    d->lang = (uint16_t *)((char *)d->block + offset_bytes + label_bytes);
    if (!shared || comm_node_rank() == 0)
        d->offset[d->rows] = d->tokens;
    return fill(d, shared, fill_rows);
}

static status keep_tokens(dataset *d, int64_t memory)
{
    int64_t bytes = d->tokens * (int64_t)sizeof(uint32_t);
    bool shared = true;
    if (bytes <= memory) {
        void *p = NULL;
        TRY(comm_shared_create(bytes > 0 ? (size_t)bytes : 1, "tokens of all rows", &p, &shared));
        shared = !comm_any(!shared);
        /* A copy a rank is as good as long as the node's limit holds all of them. */
        if (shared || !comm_any(bytes > memory / comm_node_size())) {
            d->token = p;
            return fill(d, shared, fill_tokens);
        }
        comm_shared_free(p);
    }
    return comm_agree(token_cache_create(d->chunks, memory / comm_node_size(), &d->cache));
}

static status open_all(dataset *d, char *const *folders, int64_t count, const dataset_limits *limits)
{
    status st = count > 0 ? list_files(d, folders, count) : fail(STATUS_USAGE, "no folder of rows was given");
    if (st == STATUS_OK && comm_rank() == 0)
        st = describe(d);
    TRY(comm_agree(st));
    TRY(tell(d));
    TRY(keep_rows(d));
    return keep_tokens(d, limits->memory);
}

status dataset_open(char *const *folders, int64_t count, const dataset_limits *limits, dataset **out)
{
    dataset *d;
    *out = NULL;
    TRY(comm_agree(memory_new(&d, sizeof *d, "a data set")));
    status st = open_all(d, folders, count, limits);
    if (st == STATUS_OK)
        *out = d;
    else
        dataset_free(d);
    return st;
}

void dataset_free(dataset *d)
{
    if (!d)
        return;
    if (d->token)
        comm_shared_free(d->token);
    if (d->block)
        comm_shared_free(d->block);
    for (int64_t i = 0; i < d->files; i++) {
        rowfile_free(d->file[i].open);
        free(d->file[i].path);
    }
    token_cache_free(d->cache);
    rowfile_meta_free(&d->meta);
    free(d->file);
    for (int64_t i = 0; i < d->folders; i++) {
        free(d->folder[i].tokenizer);
        free(d->folder[i].read_with);
    }
    free(d->folder);
    free(d);
}

/* ---- asking ---- */

int64_t dataset_rows(const dataset *d)
{
    return d->rows;
}

int64_t dataset_tokens_total(const dataset *d)
{
    return d->tokens;
}

int dataset_labels(const dataset *d)
{
    return (int)d->meta.labels;
}

const char *dataset_label_name(const dataset *d, int label)
{
    return d->meta.label[label];
}

const rowfile_meta *dataset_meta(const dataset *d)
{
    return &d->meta;
}

const char *dataset_tokenizer(const dataset *d)
{
    return d->meta.tokenizer;
}

const char *dataset_read_with(const dataset *d)
{
    for (int64_t i = 0; i < d->folders; i++)
        if (d->folder[i].read_with)
            return d->folder[i].read_with;
    return NULL;
}

const char *dataset_identity(const dataset *d)
{
    return d->identity;
}

int64_t dataset_folders(const dataset *d)
{
    return d->folders;
}

const char *dataset_folder_identity(const dataset *d, int64_t folder)
{
    return d->folder[folder].identity;
}

int32_t dataset_length(const dataset *d, int64_t row)
{
    return (int32_t)(d->offset[row + 1] - d->offset[row]);
}

const float *dataset_label(const dataset *d, int64_t row)
{
    return d->label + row * d->meta.labels;
}

const char *dataset_lang(const dataset *d, int64_t row)
{
    return d->meta.lang[d->lang[row]];
}

/* The file that holds this row; neighbours are asked for one after another. */
static int64_t file_of(dataset *d, int64_t row)
{
    const data_file *last = &d->file[d->last_file];
    if (row >= last->first_row && row < last->first_row + last->rows)
        return d->last_file;
    int64_t low = 0, high = d->files;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (d->file[middle].first_row <= row)
            low = middle;
        else
            high = middle;
    }
    return d->last_file = low; /* the last file that begins at or before the row: files without rows lie before it */
}

static status find_chunk(dataset *d, int64_t index, int64_t chunk, const uint32_t **ids)
{
    const data_file *f = &d->file[index];
    *ids = token_cache_find(d->cache, f->first_chunk + chunk);
    if (*ids)
        return STATUS_OK;
    rowfile *file = NULL;
    uint32_t *to;
    TRY(use_file(d, index, &file));
    TRY(token_cache_place(d->cache, f->first_chunk + chunk, &to));
    int64_t first = chunk * ROWFILE_CHUNK, left = f->tokens - first;
    status st = rowfile_read_tokens(file, first, left < ROWFILE_CHUNK ? left : ROWFILE_CHUNK, to);
    if (st != STATUS_OK)
        token_cache_forget(d->cache, f->first_chunk + chunk);
    *ids = to;
    return st;
}

status dataset_tokens_part(dataset *d, int64_t row, int64_t from, int64_t capacity, uint32_t *ids, int64_t *count)
{
    int64_t length = dataset_length(d, row);
    from = from < length ? from : length;
    int64_t n = length - from < capacity ? length - from : capacity;
    *count = n;
    int64_t first = d->offset[row] + from;
    if (n > 0 && d->token)
        memcpy(ids, d->token + first, (size_t)n * sizeof *ids);
    if (n == 0 || d->token)
        return STATUS_OK;
    int64_t index = file_of(d, row);
    first -= d->file[index].first_token;
    while (n > 0) {
        const uint32_t *chunk;
        int64_t in = first % ROWFILE_CHUNK, some = ROWFILE_CHUNK - in < n ? ROWFILE_CHUNK - in : n;
        TRY(find_chunk(d, index, first / ROWFILE_CHUNK, &chunk));
        memcpy(ids, chunk + in, (size_t)some * sizeof *ids);
        ids += some;
        first += some;
        n -= some;
    }
    return STATUS_OK;
}

status dataset_id(dataset *d, int64_t row, char *to, size_t capacity, size_t *bytes)
{
    rowfile *f = NULL;
    char *id;
    int64_t offset[2], index = file_of(d, row);
    TRY(use_file(d, index, &f));
    TRY(rowfile_read_ids(f, row - d->file[index].first_row, 1, &id, offset));
    *bytes = (size_t)offset[1];
    status st = STATUS_OK;
    if (*bytes < capacity) {
        memcpy(to, id, *bytes);
        to[*bytes] = 0;
    } else {
        st = fail(STATUS_INPUT, "%s: row %lld: its id has %zu bytes, more than the %zu a reader holds", d->file[index].path,
                  (long long)(row - d->file[index].first_row), *bytes, capacity > 0 ? capacity - 1 : 0);
    }
    free(id);
    return st;
}

int64_t dataset_files(const dataset *d)
{
    return d->files;
}

int64_t dataset_file_rows(const dataset *d, int64_t file)
{
    return d->file[file].rows;
}

status dataset_text_hashes(dataset *d, int64_t file, int64_t first, int64_t rows, uint64_t *hash)
{
    rowfile *f = NULL;
    TRY(use_file(d, file, &f));
    return rowfile_read_text_hashes(f, first, rows, hash);
}
