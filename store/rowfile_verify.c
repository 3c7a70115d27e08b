#include "store/rowfile_read.h"

#include <string.h>

#include "common/files.h"
#include "common/hash.h"

/* The seals of the chunks cover every byte; what is left is whether the values make sense. */
static status verify_row(rowfile *f, int64_t index)
{
    rowfile_row r;
    TRY(rowfile_read_row(f, index, &r));
    if (r.number < 0)
        return fail(STATUS_INPUT, "%s: set rows/number: row %lld has number %lld; make the file again", f->path, (long long)index,
                    (long long)r.number);
    return STATUS_OK;
}

static status verify_rows(rowfile *f)
{
    for (int64_t i = 0; i < f->rows; i++)
        TRY(verify_row(f, i));
    for (int i = 0; i < SETS; i++)
        if (i != SET_LABEL || f->meta.labels > 0)
            TRY(column_check_end(&f->set[i], &f->codec));
    return STATUS_OK;
}

static status verify(const char *path, rowfile_summary *summary)
{
    rowfile *f;
    TRY(rowfile_open(path, &f));
    summary->rows = f->rows;
    summary->tokens = f->tokens;
    status st = verify_rows(f);
    rowfile_free(f);
    return st;
}

status rowfile_verify(const char *path, rowfile_summary *summary)
{
    rowfile_summary unused;
    summary = summary ? summary : &unused;
    *summary = (rowfile_summary){0};
    TRY(file_size(path, &summary->bytes)); /* a file that is not there is no damaged one */
    TRY(hash_sha256_file(path, summary->sha256));
    status st = verify(path, summary);
    return st == STATUS_INPUT ? STATUS_CHECK : st;
}
