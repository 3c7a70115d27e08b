#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/files.h"
#include "common/log.h"
#include "shard/inspect.h"
#include "store/meta.h"

/* RFC 4180: quotes where a comma, a quote or a line end stands in the field, or where it would read as missing. */
static void put_field(FILE *to, const char *text, size_t bytes)
{
    bool quoted = bytes == 0;
    for (size_t i = 0; i < bytes && !quoted; i++)
        quoted = text[i] == ',' || text[i] == '"' || text[i] == '\n' || text[i] == '\r' || text[i] == ' ';
    if (quoted)
        putc('"', to);
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '"')
            putc('"', to);
        putc(text[i], to);
    }
    if (quoted)
        putc('"', to);
}

/* The fewest digits that read back the same float; nothing for an unlabelled one. */
static void put_label(FILE *to, float v)
{
    char text[32] = "";
    if (v != v)
        return;
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)v);
        if (strtof(text, NULL) == v)
            break;
    }
    fputs(text, to);
}

static void put_row(FILE *to, const rowfile_row *r, const rowfile_meta *m)
{
    put_field(to, r->id, r->id_bytes);
    putc(',', to);
    put_field(to, m->lang[r->lang], strlen(m->lang[r->lang]));
    for (int64_t i = 0; i < m->labels; i++) {
        putc(',', to);
        put_label(to, r->label[i]);
    }
    putc(',', to);
    putc('"', to);
    for (int64_t i = 0; i < r->tokens; i++)
        fprintf(to, i > 0 ? " %u" : "%u", r->token[i]);
    fputs("\"\n", to);
}

static void put_head(FILE *to, const rowfile_meta *m)
{
    fputs("id,lang", to);
    for (int64_t i = 0; i < m->labels; i++) {
        putc(',', to);
        put_field(to, m->label[i], strlen(m->label[i]));
    }
    fputs(",ids\n", to);
}

static status put_file(FILE *to, const char *path, rowfile_meta *all)
{
    rowfile *f;
    rowfile_row r;
    TRY(rowfile_open(path, &f));
    bool first = !all->tokenizer;
    status st = meta_merge(all, rowfile_get_meta(f), path);
    if (st == STATUS_OK && first)
        put_head(to, all);
    for (int64_t i = 0; st == STATUS_OK && i < rowfile_rows(f); i++) {
        st = rowfile_read_row(f, i, &r);
        if (st == STATUS_OK)
            put_row(to, &r, rowfile_get_meta(f));
        if (st == STATUS_OK && ferror(to))
            st = fail_errno(STATUS_IO, errno, "the CSV cannot be written");
    }
    rowfile_free(f);
    return st;
}

static status put_files(FILE *to, const char *path)
{
    inspect_files f;
    rowfile_meta all = {0};
    TRY(inspect_open(path, &f));
    status st = STATUS_OK;
    progress *p = progress_begin("export", "files", f.count);
    for (int64_t i = 0; st == STATUS_OK && i < f.count; i++) {
        st = put_file(to, f.path[i], &all);
        progress_set(p, i + 1, NULL);
    }
    progress_end(p);
    rowfile_meta_free(&all);
    inspect_close(&f);
    return st;
}

static status export_to(const char *path, const char *out)
{
    atomic_file f;
    if (!out)
        return put_files(stdout, path);
    TRY(file_atomic_begin(out, &f));
    status st = put_files(f.stream, path);
    if (st == STATUS_OK)
        return file_atomic_commit(&f);
    file_atomic_abandon(&f);
    return st;
}

status export_csv(const char *path, const char *out)
{
    return comm_agree(comm_rank() == 0 ? export_to(path, out) : STATUS_OK);
}
