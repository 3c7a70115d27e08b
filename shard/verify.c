#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/files.h"
#include "common/log.h"
#include "shard/inspect.h"
#include "store/identity.h"

static status one_file(const char *path, inspect_files *f)
{
    TRY(memory_new(&f->path, sizeof *f->path, "a path"));
    f->path[0] = strdup(path);
    f->count = 1;
    return f->path[0] ? STATUS_OK : fail(STATUS_RESOURCE, "out of memory for the path %s", path);
}

static status listed_files(const char *folder, inspect_files *f)
{
    TRY(manifest_read(folder, &f->m));
    f->listed = true;
    TRY(memory_new(&f->path, (size_t)f->m.files * sizeof *f->path, "the list of files"));
    for (; f->count < f->m.files; f->count++)
        TRY(file_join(folder, f->m.file[f->count].name, &f->path[f->count]));
    return STATUS_OK;
}

status inspect_open(const char *path, inspect_files *f)
{
    *f = (inspect_files){0};
    status st = file_exists(path) && !file_is_folder(path) ? one_file(path, f) : listed_files(path, f);
    if (st != STATUS_OK)
        inspect_close(f);
    return st;
}

void inspect_close(inspect_files *f)
{
    file_free_names(f->path, (size_t)f->count);
    manifest_free(&f->m);
    *f = (inspect_files){0};
}

/* The row file's own checks first: they can name the row. */
static status verify_file(const inspect_files *f, int64_t i)
{
    rowfile_summary has;
    TRY(rowfile_verify(f->path[i], &has));
    if (!f->listed)
        return STATUS_OK;
    const manifest_file *says = &f->m.file[i];
    if (has.rows != says->rows || has.tokens != says->tokens || has.bytes != says->bytes)
        return fail(STATUS_CHECK, "%s: %lld rows, %lld tokens, %llu bytes; its manifest says %lld, %lld, %llu; run the stage that makes it again",
                    f->path[i], (long long)has.rows, (long long)has.tokens, (unsigned long long)has.bytes, (long long)says->rows,
                    (long long)says->tokens, (unsigned long long)says->bytes);
    if (strcmp(has.sha256, says->sha256) != 0)
        return fail(STATUS_CHECK, "%s: its bytes do not agree with the SHA-256 in its manifest, though its rows are whole; run the stage that "
                    "makes it again", f->path[i]);
    return STATUS_OK;
}

/* All files, also after a damaged one; the first error is the result. */
static status verify_files(const inspect_files *f, int64_t *bad)
{
    char first[4096] = "";
    status kind = STATUS_OK;
    progress *p = progress_begin("verify", "files", f->count);
    for (int64_t i = comm_rank(); i < f->count; i += comm_size()) {
        status st = verify_file(f, i);
        if (st == STATUS_INPUT) /* a listed file that is not there */
            st = STATUS_CHECK;
        if (st != STATUS_OK) {
            log_always("%s", status_message());
            if (kind == STATUS_OK)
                snprintf(first, sizeof first, "%s", status_message());
            kind = kind == STATUS_OK ? st : kind;
            ++*bad;
        }
        progress_set(p, i + 1, NULL);
    }
    progress_end(p);
    if (kind != STATUS_OK)
        status_set_message(first);
    return kind;
}

static status verify_identity(const inspect_files *f)
{
    char hex[HASH_HEX];
    TRY(data_identity_of_files(f->m.tokenizer, f->m.rows, f->path, f->count, hex));
    if (strcmp(hex, f->m.data_identity) != 0)
        return fail(STATUS_CHECK, "the rows in all have identity %.16s, the manifest says %.16s; run the stage that makes them again", hex,
                    f->m.data_identity);
    return STATUS_OK;
}

status inspect_verify(const char *path)
{
    inspect_files f;
    int64_t bad = 0;
    TRY(comm_agree(inspect_open(path, &f)));
    status st = verify_files(&f, &bad);
    comm_sum_int64(&bad, 1);
    st = comm_agree(st);
    if (st != STATUS_OK && f.count > 1)
        st = fail_context(st, "%lld of %lld files are damaged, the first", (long long)bad, (long long)f.count);
    if (st == STATUS_OK && f.listed)
        st = comm_agree(comm_rank() == 0 ? verify_identity(&f) : STATUS_OK);
    if (st == STATUS_OK && comm_rank() == 0)
        printf("%s: %lld file%s whole%s%s\n", path, (long long)f.count, f.count == 1 ? " is" : "s are", f.listed ? "; identity " : "",
               f.listed ? f.m.data_identity : "");
    inspect_close(&f);
    return st;
}
