#include "support/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files.h"
#include "common/hash.h"
#include "store/identity.h"
#include "store/manifest.h"
#include "support/support.h"

static char *text(const char *from)
{
    char *p = strdup(from);
    ck_assert_ptr_nonnull(p);
    return p;
}

static void make_meta(rowfile_meta *m, int64_t labels)
{
    static const char *const lang[] = {"", "en", "es", "fr", "pt-br", "ru"};
    static const char *const source[] = {"first.csv", "second file.csv"};
    m->tokenizer = text("algorithm=wordpiece\nlower=yes\nvocab=0123456789\n");
    m->langs = 6;
    ck_ok(memory_new(&m->lang, 6 * sizeof *m->lang, "test"));
    for (int i = 0; i < 6; i++)
        m->lang[i] = text(lang[i]);
    m->sources = 2;
    ck_ok(memory_new(&m->source, 2 * sizeof *m->source, "test"));
    for (int i = 0; i < 2; i++) {
        m->source[i].name = text(source[i]);
        ck_ok(hash_sha256_buffer(source[i], strlen(source[i]), m->source[i].sha256));
    }
    m->labels = labels;
    ck_ok(memory_new(&m->label, (size_t)labels * sizeof *m->label, "test"));
    for (int64_t i = 0; i < labels; i++) {
        char name[32];
        snprintf(name, sizeof name, "label_%d", (int)i);
        m->label[i] = text(name);
    }
    m->identity_text = text("[preprocess]\nmax-tokens = 0\n");
}

static void make_row(rowfile_row *r, const rowfile_meta *m, int64_t number, int64_t most_tokens)
{
    static const char piece[] = "0123456789abcdef,\"\n\r\0\x7f-";
    size_t id_bytes = support_below(20) == 0 ? support_below(300) : support_below(14);
    int64_t tokens = (int64_t)(support_below(50) == 0 ? support_below((uint64_t)most_tokens * 20 + 1) : support_below((uint64_t)most_tokens + 1));
    char *id;
    uint32_t *token;
    float *label;
    ck_ok(memory_new(&id, id_bytes, "test"));
    ck_ok(memory_new(&token, (size_t)tokens * sizeof *token, "test"));
    ck_ok(memory_new(&label, (size_t)m->labels * sizeof *label, "test"));
    for (size_t i = 0; i < id_bytes; i++)
        id[i] = piece[support_below(sizeof piece - 1)];
    for (int64_t i = 0; i < tokens; i++)
        token[i] = support_below(100) ? (uint32_t)support_below(30522) : (uint32_t)support_random() >> support_below(20);
    for (int64_t i = 0; i < m->labels; i++)
        label[i] = support_below(4) ? (float)support_uniform() : support_below(2) ? NAN : (float)support_below(2);
    *r = (rowfile_row){.id = id, .id_bytes = id_bytes, .number = number, .source = (uint16_t)support_below((uint64_t)m->sources),
                       .lang = (uint16_t)support_below((uint64_t)m->langs), .label = label, .token = token, .tokens = tokens,
                       .text_hash = support_random()};
    r->hash = rowfile_row_hash(r, m->lang[r->lang], m->labels);
}

void rows_make(test_rows *t, int64_t rows, int64_t labels, int64_t most_tokens)
{
    *t = (test_rows){.rows = rows};
    make_meta(&t->meta, labels);
    ck_ok(memory_new(&t->row, (size_t)rows * sizeof *t->row, "test"));
    for (int64_t i = 0; i < rows; i++)
        make_row(&t->row[i], &t->meta, i, most_tokens);
}

void rows_free(test_rows *t)
{
    for (int64_t i = 0; i < t->rows; i++) {
        free((char *)(uintptr_t)t->row[i].id);
        free((void *)(uintptr_t)t->row[i].token);
        free((void *)(uintptr_t)t->row[i].label);
    }
    free(t->row);
    rowfile_meta_free(&t->meta);
    *t = (test_rows){0};
}

void rows_write(const test_rows *t, int64_t first, int64_t end, const char *path, rowfile_summary *summary)
{
    rowfile_writer *w;
    ck_ok(rowfile_create(path, &t->meta, &w));
    for (int64_t i = first; i < end; i++)
        ck_ok(rowfile_append(w, &t->row[i]));
    ck_ok(rowfile_close(w, summary));
}

void rows_write_folder(const test_rows *t, int64_t parts, const char *folder)
{
    manifest m = {.stage = text("preprocess"), .inputs = text("first.csv\nsecond file.csv"), .identity = text(t->meta.identity_text),
                  .tokenizer = text(t->meta.tokenizer), .files = parts};
    char **path;
    ck_ok(memory_new(&m.file, (size_t)parts * sizeof *m.file, "test"));
    ck_ok(memory_new(&path, (size_t)parts * sizeof *path, "test"));
    for (int64_t i = 0; i < parts; i++) {
        char name[32];
        rowfile_summary s;
        snprintf(name, sizeof name, "part-00-%05d.h5", (int)i);
        ck_ok(file_join(folder, name, &path[i]));
        rows_write(t, i * t->rows / parts, (i + 1) * t->rows / parts, path[i], &s);
        m.file[i] = (manifest_file){.name = text(name), .rows = s.rows, .tokens = s.tokens, .bytes = s.bytes};
        memcpy(m.file[i].sha256, s.sha256, sizeof s.sha256);
        m.rows += s.rows;
        m.tokens += s.tokens;
    }
    ck_ok(data_identity_of_files(m.tokenizer, m.rows, path, parts, m.data_identity));
    ck_ok(manifest_write(folder, &m));
    file_free_names(path, (size_t)parts);
    manifest_free(&m);
}

void rows_same(const rowfile_row *a, const rowfile_meta *am, const rowfile_row *b, const rowfile_meta *bm, const char *what)
{
    ck_assert_msg(a->id_bytes == b->id_bytes && (a->id_bytes == 0 || memcmp(a->id, b->id, a->id_bytes) == 0), "%s: ids differ", what);
    ck_assert_msg(a->number == b->number && a->text_hash == b->text_hash && a->hash == b->hash, "%s: numbers or hashes differ", what);
    ck_assert_msg(strcmp(am->source[a->source].sha256, bm->source[b->source].sha256) == 0, "%s: sources differ", what);
    ck_assert_msg(strcmp(am->lang[a->lang], bm->lang[b->lang]) == 0, "%s: languages differ", what);
    ck_assert_msg(a->tokens == b->tokens && (a->tokens == 0 || memcmp(a->token, b->token, (size_t)a->tokens * 4) == 0), "%s: tokens differ", what);
    ck_assert_msg(am->labels == bm->labels, "%s: label counts differ", what);
    for (int64_t i = 0; i < am->labels; i++) {
        float x = rowfile_canonical_label(a->label[i]), y = rowfile_canonical_label(b->label[i]);
        ck_assert_msg(memcmp(&x, &y, sizeof x) == 0, "%s: label %d differs", what, (int)i);
    }
}
