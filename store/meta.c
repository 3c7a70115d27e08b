#include "store/meta.h"

#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/hash.h"
#include "store/difference.h"

enum { MOST_ENTRIES = 65536 }; /* rows name sources and languages by 16 bits */

static status copy_text(const char *from, char **to)
{
    *to = NULL;
    if (!from)
        return STATUS_OK;
    TRY(memory_new(to, strlen(from) + 1, "a text of a row file"));
    memcpy(*to, from, strlen(from));
    return STATUS_OK;
}

static status copy_texts(char *const *from, int64_t count, char ***to)
{
    TRY(memory_new(to, (size_t)count * sizeof **to, "texts of a row file"));
    for (int64_t i = 0; i < count; i++)
        TRY(copy_text(from[i], &(*to)[i]));
    return STATUS_OK;
}

static status copy_sources(const rowfile_source *from, int64_t count, rowfile_source **to)
{
    TRY(memory_new(to, (size_t)count * sizeof **to, "sources of a row file"));
    for (int64_t i = 0; i < count; i++) {
        TRY(copy_text(from[i].name, &(*to)[i].name));
        memcpy((*to)[i].sha256, from[i].sha256, sizeof from[i].sha256);
    }
    return STATUS_OK;
}

static status copy_meta(const rowfile_meta *from, rowfile_meta *to)
{
    *to = (rowfile_meta){.seed = from->seed, .sources = from->sources, .langs = from->langs, .labels = from->labels};
    TRY(copy_sources(from->source, from->sources, &to->source));
    TRY(copy_texts(from->lang, from->langs, &to->lang));
    TRY(copy_texts(from->label, from->labels, &to->label));
    TRY(copy_text(from->tokenizer, &to->tokenizer));
    return copy_text(from->identity_text, &to->identity_text);
}

status rowfile_meta_copy(const rowfile_meta *from, rowfile_meta *to)
{
    status st = copy_meta(from, to);
    if (st != STATUS_OK)
        rowfile_meta_free(to);
    return st;
}

void rowfile_meta_free(rowfile_meta *m)
{
    for (int64_t i = 0; m->source && i < m->sources; i++)
        free(m->source[i].name);
    free(m->source);
    h5_free_texts(m->lang, m->langs);
    h5_free_texts(m->label, m->labels);
    free(m->tokenizer);
    free(m->identity_text);
    *m = (rowfile_meta){0};
}

/* ---- attributes ---- */

static status write_sources(hid_t file, const char *path, const rowfile_meta *m)
{
    char **pair;
    TRY(memory_new(&pair, (size_t)m->sources * 2 * sizeof *pair, "sources"));
    for (int64_t i = 0; i < m->sources; i++) {
        pair[2 * i] = m->source[i].name;
        pair[2 * i + 1] = m->source[i].sha256;
    }
    status st = h5_write_texts(file, path, "sources", pair, 2 * m->sources, 2);
    free(pair);
    return st;
}

status meta_write(hid_t file, const char *path, const rowfile_meta *m)
{
    char *one[] = {m->tokenizer, m->identity_text ? m->identity_text : (char[]){""}};
    TRY(h5_write_number(file, path, "fretsaw_rows", ROWFILE_VERSION));
    TRY(h5_write_texts(file, path, "tokenizer", &one[0], 1, 0));
    TRY(h5_write_number(file, path, "seed", m->seed));
    TRY(write_sources(file, path, m));
    TRY(h5_write_texts(file, path, "langs", m->lang, m->langs, 1));
    TRY(h5_write_texts(file, path, "labels", m->label, m->labels, 1));
    return h5_write_texts(file, path, "identity", &one[1], 1, 0);
}

static status read_one_text(hid_t file, const char *path, const char *name, char **text)
{
    char **list;
    int64_t count;
    TRY(h5_read_texts(file, path, name, 0, &list, &count));
    *text = list[0];
    free(list);
    return STATUS_OK;
}

static status read_sources(hid_t file, const char *path, rowfile_meta *m)
{
    char **pair;
    int64_t count;
    TRY(h5_read_texts(file, path, "sources", 2, &pair, &count));
    status st = memory_new(&m->source, (size_t)(count / 2) * sizeof *m->source, "sources");
    for (int64_t i = 0; st == STATUS_OK && i < count / 2; i++) {
        if (strlen(pair[2 * i + 1]) != HASH_HEX - 1) {
            st = fail(STATUS_INPUT, "%s: attribute sources: entry %lld has no SHA-256", path, (long long)i);
            break;
        }
        m->source[i].name = pair[2 * i];
        pair[2 * i] = NULL;
        memcpy(m->source[i].sha256, pair[2 * i + 1], HASH_HEX);
        m->sources = i + 1;
    }
    h5_free_texts(pair, count);
    return st;
}

static status check_meta(const char *path, const rowfile_meta *m)
{
    if (m->sources > MOST_ENTRIES || m->langs > MOST_ENTRIES)
        return fail(STATUS_INPUT, "%s: more than 65536 sources or languages", path);
    for (int64_t i = 1; i < m->langs; i++)
        if (strcmp(m->lang[i - 1], m->lang[i]) >= 0)
            return fail(STATUS_INPUT, "%s: attribute langs is not sorted at '%s'", path, m->lang[i]);
    return STATUS_OK;
}

static status read_attributes(hid_t file, const char *path, rowfile_meta *m)
{
    uint64_t version = 0;
    if (!h5_has_attribute(file, "fretsaw_rows"))
        return h5_fail(STATUS_INPUT, "%s: an HDF5 file, but not a row file of fretsaw; give what preprocess or shard wrote", path);
    TRY(h5_read_number(file, path, "fretsaw_rows", &version));
    if (version != ROWFILE_VERSION)
        return fail(STATUS_INPUT, "%s: row file of version %llu; this program reads version %d: make the file again", path,
                    (unsigned long long)version, ROWFILE_VERSION);
    TRY(read_one_text(file, path, "tokenizer", &m->tokenizer));
    TRY(h5_read_number(file, path, "seed", &m->seed));
    TRY(read_sources(file, path, m));
    TRY(h5_read_texts(file, path, "langs", 1, &m->lang, &m->langs));
    TRY(h5_read_texts(file, path, "labels", 1, &m->label, &m->labels));
    TRY(read_one_text(file, path, "identity", &m->identity_text));
    if (m->identity_text[0] == 0) {
        free(m->identity_text);
        m->identity_text = NULL;
    }
    return check_meta(path, m);
}

status meta_read(hid_t file, const char *path, rowfile_meta *m)
{
    *m = (rowfile_meta){0};
    status st = read_attributes(file, path, m);
    if (st != STATUS_OK)
        rowfile_meta_free(m);
    return st;
}

/* ---- bytes: three counts and the seed, then every text with its NUL ---- */

typedef struct packer {
    char *bytes; /* NULL: only counts */
    size_t used;
} packer;

static void put(packer *p, const void *from, size_t n)
{
    if (p->bytes)
        memcpy(p->bytes + p->used, from, n);
    p->used += n;
}

static void put_text(packer *p, const char *text)
{
    put(p, text ? text : "", strlen(text ? text : "") + 1);
}

static void put_meta(packer *p, const rowfile_meta *m)
{
    int64_t head[4] = {m->sources, m->langs, m->labels, (int64_t)m->seed};
    put(p, head, sizeof head);
    put_text(p, m->tokenizer);
    put_text(p, m->identity_text);
    for (int64_t i = 0; i < m->sources; i++) {
        put_text(p, m->source[i].name);
        put_text(p, m->source[i].sha256);
    }
    for (int64_t i = 0; i < m->langs; i++)
        put_text(p, m->lang[i]);
    for (int64_t i = 0; i < m->labels; i++)
        put_text(p, m->label[i]);
}

status meta_pack(const rowfile_meta *m, char **bytes, size_t *count)
{
    packer p = {NULL, 0};
    put_meta(&p, m);
    TRY(memory_new(&p.bytes, p.used, "the description of row files"));
    *count = p.used;
    p.used = 0;
    put_meta(&p, m);
    *bytes = p.bytes;
    return STATUS_OK;
}

static const char *next_text(const char **at)
{
    const char *text = *at;
    *at += strlen(text) + 1;
    return text;
}

static status unpack(const char *at, rowfile_meta *m)
{
    int64_t head[4];
    memcpy(head, at, sizeof head);
    at += sizeof head;
    m->seed = (uint64_t)head[3];
    TRY(copy_text(next_text(&at), &m->tokenizer));
    TRY(copy_text(next_text(&at), &m->identity_text));
    TRY(memory_new(&m->source, (size_t)head[0] * sizeof *m->source, "sources"));
    for (; m->sources < head[0]; m->sources++) {
        TRY(copy_text(next_text(&at), &m->source[m->sources].name));
        memcpy(m->source[m->sources].sha256, next_text(&at), HASH_HEX);
    }
    TRY(memory_new(&m->lang, (size_t)head[1] * sizeof *m->lang, "languages"));
    for (; m->langs < head[1]; m->langs++)
        TRY(copy_text(next_text(&at), &m->lang[m->langs]));
    TRY(memory_new(&m->label, (size_t)head[2] * sizeof *m->label, "labels"));
    for (; m->labels < head[2]; m->labels++)
        TRY(copy_text(next_text(&at), &m->label[m->labels]));
    return STATUS_OK;
}

status meta_unpack(const char *bytes, size_t count, rowfile_meta *m)
{
    (void)count;
    *m = (rowfile_meta){0};
    status st = unpack(bytes, m);
    if (st != STATUS_OK)
        rowfile_meta_free(m);
    return st;
}

/* ---- several files as one ---- */

status meta_same_tokenizer(const char *wanted, const char *has, const char *path)
{
    char text[DIFFERENCE_TEXT];
    if (strcmp(wanted, has) == 0)
        return STATUS_OK;
    difference_settings(has, wanted, " where ", text);
    if (text[0])
        return fail(STATUS_INPUT, "%s: made by another tokenizer: it has %s is wanted; preprocess it with the same vocabulary and options", path, text);
    return fail(STATUS_INPUT, "%s: made by another tokenizer (the same lines in another order)", path);
}

static status check_labels(const rowfile_meta *all, const rowfile_meta *one, const char *path)
{
    if (all->labels != one->labels)
        return fail(STATUS_INPUT, "%s: has %lld labels a row, the files before it have %lld; preprocess them with the same --labels", path,
                    (long long)one->labels, (long long)all->labels);
    for (int64_t i = 0; i < one->labels; i++)
        if (strcmp(all->label[i], one->label[i]) != 0)
            return fail(STATUS_INPUT, "%s: label %lld is '%s', in the files before it '%s'; preprocess them with the same --labels", path,
                        (long long)i, one->label[i], all->label[i]);
    return STATUS_OK;
}

static int64_t find_source(const rowfile_meta *m, const rowfile_source *s)
{
    for (int64_t i = 0; i < m->sources; i++)
        if (strcmp(m->source[i].name, s->name) == 0 && strcmp(m->source[i].sha256, s->sha256) == 0)
            return i;
    return -1;
}

static int64_t find_lang(const rowfile_meta *m, const char *lang)
{
    for (int64_t i = 0; i < m->langs; i++)
        if (strcmp(m->lang[i], lang) == 0)
            return i;
    return -1;
}

static status add_source(rowfile_meta *all, const rowfile_source *s)
{
    TRY(memory_grow(&all->source, (size_t)(all->sources + 1) * sizeof *all->source, "sources"));
    rowfile_source *to = &all->source[all->sources];
    TRY(copy_text(s->name, &to->name));
    memcpy(to->sha256, s->sha256, sizeof s->sha256);
    all->sources++;
    return STATUS_OK;
}

static status add_lang(rowfile_meta *all, const char *lang)
{
    char *text;
    TRY(memory_grow(&all->lang, (size_t)(all->langs + 1) * sizeof *all->lang, "languages"));
    TRY(copy_text(lang, &text));
    int64_t at = all->langs++;
    for (; at > 0 && strcmp(all->lang[at - 1], text) > 0; at--)
        all->lang[at] = all->lang[at - 1];
    all->lang[at] = text;
    return STATUS_OK;
}

status meta_merge(rowfile_meta *all, const rowfile_meta *one, const char *path)
{
    if (!all->tokenizer) {
        TRY(copy_text(one->tokenizer, &all->tokenizer));
        TRY(copy_texts(one->label, one->labels, &all->label));
        all->labels = one->labels;
    }
    TRY(meta_same_tokenizer(all->tokenizer, one->tokenizer, path));
    TRY(check_labels(all, one, path));
    for (int64_t i = 0; i < one->sources; i++)
        if (find_source(all, &one->source[i]) < 0)
            TRY(add_source(all, &one->source[i]));
    for (int64_t i = 0; i < one->langs; i++)
        if (find_lang(all, one->lang[i]) < 0)
            TRY(add_lang(all, one->lang[i]));
    return check_meta(path, all);
}

status meta_map(const rowfile_meta *all, const rowfile_meta *one, uint16_t **source, uint16_t **lang)
{
    *lang = NULL;
    TRY(memory_new(source, (size_t)one->sources * sizeof **source, "sources"));
    status st = memory_new(lang, (size_t)one->langs * sizeof **lang, "languages");
    if (st != STATUS_OK) {
        free(*source);
        *source = NULL;
        return st;
    }
    for (int64_t i = 0; i < one->sources; i++)
        (*source)[i] = (uint16_t)find_source(all, &one->source[i]);
    for (int64_t i = 0; i < one->langs; i++)
        (*lang)[i] = (uint16_t)find_lang(all, one->lang[i]);
    return STATUS_OK;
}

status meta_share(rowfile_meta *m)
{
    char *bytes = NULL;
    size_t n = 0;
    bool first = comm_rank() == 0;
    TRY(comm_agree(first ? meta_pack(m, &bytes, &n) : STATUS_OK));
    uint64_t count = n;
    comm_broadcast(&count, sizeof count, 0);
    status st = comm_agree(first ? STATUS_OK : memory_new(&bytes, count, "the description of rows"));
    if (st == STATUS_OK) {
        comm_broadcast(bytes, count, 0);
        if (!first) {
            rowfile_meta_free(m);
            st = meta_unpack(bytes, count, m);
        }
        st = comm_agree(st);
    }
    free(bytes);
    return st;
}
