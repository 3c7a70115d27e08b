#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/files.h"
#include "common/hash.h"
#include "store/meta.h"
#include "store/sets.h"

enum { HASHES = 16384 };

struct rowfile_writer {
    atomic_file target;
    hid_t file;
    rowfile_meta meta;
    column_writer set[SETS];
    chunk_codec codec;
    int64_t rows, tokens, id_bytes;
    float *label; /* C canonical labels of the row in hand */
    FILE *hashes; /* rowfile_leave_hashes */
    char *hashes_path;
    uint64_t *hash; /* HASHES of them, of which `hashed` are not yet in the file */
    size_t hashed;
};

static void free_writer(rowfile_writer *w)
{
    for (int i = 0; i < SETS; i++)
        column_writer_clear(&w->set[i]);
    if (w->file > 0) {
        h5_enter();
        H5Fclose(w->file);
        h5_leave();
    }
    chunk_codec_clear(&w->codec);
    rowfile_meta_free(&w->meta);
    free(w->label);
    if (w->hashes)
        fclose(w->hashes);
    free(w->hashes_path);
    free(w->hash);
    free(w);
}

static status make_groups(hid_t file, const char *path)
{
    static const char *const name[] = {"tokens", "rows"};
    hid_t list = h5_creation_list(H5P_GROUP_CREATE);
    status st = STATUS_OK;
    for (int i = 0; st == STATUS_OK && i < 2; i++) {
        hid_t group = list < 0 ? -1 : H5Gcreate2(file, name[i], H5P_DEFAULT, list, H5P_DEFAULT);
        if (group < 0 || H5Gclose(group) < 0)
            st = h5_fail(STATUS_IO, "%s: cannot make group %s", path, name[i]);
    }
    if (list >= 0)
        H5Pclose(list);
    return st;
}

static status make_file(rowfile_writer *w)
{
    const char *path = w->target.path;
    h5_enter();
    status st = STATUS_OK;
    hid_t access = h5_access_list(), creation = h5_creation_list(H5P_FILE_CREATE);
    if (access >= 0 && creation >= 0)
        w->file = H5Fcreate(w->target.temporary, H5F_ACC_TRUNC, creation, access);
    if (w->file < 0)
        st = h5_fail(STATUS_IO, "%s: cannot be made", path);
    if (access >= 0)
        H5Pclose(access);
    if (creation >= 0)
        H5Pclose(creation);
    if (st == STATUS_OK)
        st = meta_write(w->file, path, &w->meta);
    if (st == STATUS_OK)
        st = make_groups(w->file, path);
    h5_leave();
    return st;
}

static bool has_set(const rowfile_writer *w, int set)
{
    return set != SET_LABEL || w->meta.labels > 0;
}

static status start(rowfile_writer *w)
{
    /* HDF5 opens the temporary file by its name. */
    FILE *stream = w->target.stream;
    w->target.stream = NULL;
    if (fclose(stream) != 0)
        return fail(STATUS_IO, "%s: cannot be made", w->target.path);
    TRY(make_file(w));
    for (int i = 0; i < SETS; i++)
        if (has_set(w, i))
            TRY(column_create(w->file, w->target.path, set_table[i].name, set_table[i].type, i == SET_LABEL ? w->meta.labels : 1, &w->set[i]));
    TRY(memory_new(&w->label, (size_t)w->meta.labels * sizeof *w->label, "labels"));
    TRY(column_append(&w->set[SET_OFFSETS], &w->codec, &(int64_t){0}, 1));
    return column_append(&w->set[SET_ID_OFFSETS], &w->codec, &(int64_t){0}, 1);
}

status rowfile_create(const char *path, const rowfile_meta *meta, rowfile_writer **out)
{
    rowfile_writer *w;
    *out = NULL;
    TRY(memory_new(&w, sizeof *w, "the writer of a row file"));
    w->file = -1;
    status st = rowfile_meta_copy(meta, &w->meta);
    if (st == STATUS_OK)
        st = file_atomic_begin(path, &w->target);
    if (st != STATUS_OK) {
        free_writer(w);
        return st;
    }
    st = start(w);
    if (st != STATUS_OK) {
        rowfile_abandon(w);
        return st;
    }
    *out = w;
    return STATUS_OK;
}

static status hashes_fail(const rowfile_writer *w)
{
    return file_output_error(errno, w->hashes_path, 0);
}

status rowfile_leave_hashes(rowfile_writer *w)
{
    if (asprintf(&w->hashes_path, "%s" ROWFILE_HASHES, w->target.path) < 0) {
        w->hashes_path = NULL;
        return fail(STATUS_RESOURCE, "out of memory: a path");
    }
    TRY(memory_new(&w->hash, HASHES * sizeof *w->hash, "hashes of rows"));
    w->hashes = fopen(w->hashes_path, "wb");
    return w->hashes ? STATUS_OK : hashes_fail(w);
}

void rowfile_forget_hashes(const char *path)
{
    char *left;
    if (asprintf(&left, "%s" ROWFILE_HASHES, path) < 0)
        return; /* the next run removes it */
    unlink(left);
    free(left);
}

static status write_hashes(rowfile_writer *w)
{
    size_t count = w->hashed;
    w->hashed = 0;
    return fwrite(w->hash, sizeof *w->hash, count, w->hashes) == count ? STATUS_OK : hashes_fail(w);
}

static status put_hash(rowfile_writer *w, const rowfile_row *r)
{
    if (!w->hashes)
        return STATUS_OK;
    w->hash[w->hashed++] = rowfile_row_hash(r, w->meta.lang[r->lang], w->meta.labels);
    return w->hashed == HASHES ? write_hashes(w) : STATUS_OK;
}

void rowfile_pack_quickly(rowfile_writer *w)
{
    w->codec.quick = true;
}

status rowfile_append(rowfile_writer *w, const rowfile_row *r)
{
    const rowfile_meta *m = &w->meta;
    if (r->source >= m->sources || r->lang >= m->langs || r->tokens < 0 || r->tokens > INT32_MAX || r->id_bytes > INT32_MAX)
        return fail(STATUS_INPUT, "%s: row %lld: source %u of %lld, language %u of %lld, %lld tokens or an id of %zu bytes does not fit",
                    w->target.path, (long long)w->rows, r->source, (long long)m->sources, r->lang, (long long)m->langs, (long long)r->tokens,
                    r->id_bytes);
    chunk_codec *c = &w->codec;
    TRY(put_hash(w, r));
    w->rows++;
    w->tokens += r->tokens;
    w->id_bytes += (int64_t)r->id_bytes;
    TRY(column_append(&w->set[SET_TOKENS], c, r->token, r->tokens));
    TRY(column_put(&w->set[SET_OFFSETS], c, &w->tokens, sizeof w->tokens));
    TRY(column_append(&w->set[SET_ID_BYTES], c, r->id, (int64_t)r->id_bytes));
    TRY(column_put(&w->set[SET_ID_OFFSETS], c, &w->id_bytes, sizeof w->id_bytes));
    TRY(column_put(&w->set[SET_NUMBER], c, &r->number, sizeof r->number));
    TRY(column_put(&w->set[SET_SOURCE], c, &r->source, sizeof r->source));
    TRY(column_put(&w->set[SET_LANG], c, &r->lang, sizeof r->lang));
    TRY(column_put(&w->set[SET_TEXT_HASH], c, &r->text_hash, sizeof r->text_hash));
    if (m->labels == 0)
        return STATUS_OK;
    for (int64_t i = 0; i < m->labels; i++)
        w->label[i] = rowfile_canonical_label(r->label[i]);
    return column_append(&w->set[SET_LABEL], c, w->label, 1);
}

static status finish(rowfile_writer *w, rowfile_summary *summary)
{
    if (w->hashes)
        TRY(write_hashes(w));
    if (w->hashes && fflush(w->hashes) != 0)
        return hashes_fail(w);
    for (int i = 0; i < SETS; i++)
        if (has_set(w, i))
            TRY(column_finish(&w->set[i], &w->codec));
    h5_enter();
    hid_t file = w->file;
    w->file = -1;
    status st = H5Fclose(file) < 0 ? h5_fail(STATUS_IO, "%s: cannot be written", w->target.path) : STATUS_OK;
    h5_leave();
    TRY(st);
    summary->rows = w->rows;
    summary->tokens = w->tokens;
    TRY(file_size(w->target.temporary, &summary->bytes));
    TRY(hash_sha256_file(w->target.temporary, summary->sha256));
    return file_atomic_commit(&w->target);
}

status rowfile_close(rowfile_writer *w, rowfile_summary *summary)
{
    rowfile_summary unused;
    status st = finish(w, summary ? summary : &unused);
    if (st != STATUS_OK)
        rowfile_abandon(w);
    else
        free_writer(w);
    return st;
}

void rowfile_abandon(rowfile_writer *w)
{
    if (!w)
        return;
    atomic_file target = w->target;
    if (w->hashes)
        unlink(w->hashes_path);
    free_writer(w); /* closes the file before it is removed */
    file_atomic_abandon(&target);
}
