#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/sort.h"
#include "shard/inspect.h"
#include "shard/repeats.h"
#include "store/meta.h"

/* Which of the two a row is of stands in the lowest bit of a pair's value, the rest tells its labels apart (repeats_labels), 0 where there are none. */
enum { SIDE = 1, ENTRY_BYTES = 2 * sizeof(sort_pair) }; /* room grows by half of what there is */

typedef struct set_of_texts {
    inspect_files files;
    rowfile_meta meta; /* merged over the files */
    int64_t rows;
} set_of_texts;

typedef struct comparison {
    const set_of_texts *set[2];
    bool labels; /* of both, by the same names: they can be compared */
    uint64_t round, rounds;
    sort_pair *entry;
    size_t count, room;
    int64_t texts, rows[2], conflicts;
    uint64_t text[ROWFILE_CHUNK];
    float *label;
} comparison;

static status describe(const char *path, set_of_texts *s)
{
    TRY(inspect_open(path, &s->files));
    for (int64_t i = 0; i < s->files.count; i++) {
        rowfile *f;
        TRY(rowfile_open(s->files.path[i], &f));
        status st = meta_merge(&s->meta, rowfile_get_meta(f), s->files.path[i]);
        s->rows += rowfile_rows(f);
        rowfile_free(f);
        TRY(st);
    }
    return STATUS_OK;
}

static status take_block(comparison *c, rowfile *f, int side, int64_t first, int64_t rows)
{
    int64_t labels = c->set[side]->meta.labels;
    TRY(rowfile_read_text_hashes(f, first, rows, c->text));
    if (c->labels)
        TRY(rowfile_read_labels(f, first, rows, c->label));
    for (int64_t i = 0; i < rows; i++) {
        if ((uint64_t)((unsigned __int128)c->text[i] * c->rounds >> 64) != c->round)
            continue;
        if (c->count == c->room) {
            c->room += c->room / 2 + ROWFILE_CHUNK;
            TRY(memory_grow(&c->entry, c->room * sizeof *c->entry, "hashes of texts"));
        }
        uint64_t value = c->labels ? repeats_labels(c->label + i * labels, labels) : 0;
        c->entry[c->count++] = (sort_pair){c->text[i], (value & ~(uint64_t)SIDE) | (uint64_t)side};
    }
    return STATUS_OK;
}

static status take_set(comparison *c, int side)
{
    const inspect_files *files = &c->set[side]->files;
    status st = STATUS_OK;
    for (int64_t i = 0; i < files->count && st == STATUS_OK; i++) {
        rowfile *f;
        TRY(rowfile_open(files->path[i], &f));
        int64_t rows = rowfile_rows(f);
        for (int64_t first = 0; first < rows && st == STATUS_OK; first += ROWFILE_CHUNK)
            st = take_block(c, f, side, first, rows - first < ROWFILE_CHUNK ? rows - first : ROWFILE_CHUNK);
        rowfile_free(f);
    }
    return st;
}

static void count_texts(comparison *c)
{
    const sort_pair *e = c->entry;
    sort_pairs(c->entry, c->count);
    for (size_t i = 0, end; i < c->count; i = end) {
        int64_t rows[2] = {0, 0};
        uint64_t labels = 0;
        bool conflict = false;
        for (end = i; end < c->count && e[end].key == e[i].key; end++) {
            uint64_t own = e[end].value & ~(uint64_t)SIDE;
            rows[e[end].value & SIDE]++;
            conflict = conflict || (labels && own && own != labels);
            labels = labels ? labels : own;
        }
        if (!rows[0] || !rows[1])
            continue;
        c->texts++;
        c->rows[0] += rows[0];
        c->rows[1] += rows[1];
        c->conflicts += conflict;
    }
}

static bool same_labels(const rowfile_meta *a, const rowfile_meta *b)
{
    bool same = a->labels == b->labels && a->labels > 0;
    for (int64_t i = 0; same && i < a->labels; i++)
        same = strcmp(a->label[i], b->label[i]) == 0;
    return same;
}

static status compare(const set_of_texts *a, const set_of_texts *b, const char *const path[2], int64_t memory)
{
    comparison *c;
    if (a->meta.tokenizer && b->meta.tokenizer)
        TRY(repeats_comparable(a->meta.tokenizer, b->meta.tokenizer, path[1]));
    TRY(memory_new(&c, sizeof *c, "texts in common"));
    c->set[0] = a;
    c->set[1] = b;
    c->labels = same_labels(&a->meta, &b->meta);
    c->rounds = 1 + (uint64_t)(a->rows + b->rows) * ENTRY_BYTES / (uint64_t)memory;
    status st = memory_new(&c->label, ROWFILE_CHUNK * (size_t)(a->meta.labels + 1) * sizeof *c->label, "labels");
    for (; c->round < c->rounds && st == STATUS_OK; c->round++) {
        c->count = 0;
        st = take_set(c, 0);
        if (st == STATUS_OK)
            st = take_set(c, 1);
        count_texts(c);
    }
    if (st == STATUS_OK)
        printf("in common  %s and %s: %lld texts, which %lld of %lld rows and %lld of %lld rows have", path[0], path[1], (long long)c->texts,
               (long long)c->rows[0], (long long)a->rows, (long long)c->rows[1], (long long)b->rows);
    if (st == STATUS_OK && c->labels)
        printf("; %lld of the texts have different labels", (long long)c->conflicts);
    if (st == STATUS_OK)
        printf("\n");
    free(c->entry);
    free(c->label);
    free(c);
    return st;
}

static status compare_all(char *const *paths, int64_t count, int64_t memory)
{
    set_of_texts *set;
    TRY(memory_new(&set, (size_t)count * sizeof *set, "the sets"));
    status st = STATUS_OK;
    for (int64_t i = 0; i < count && st == STATUS_OK; i++)
        st = describe(paths[i], &set[i]);
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = i + 1; k < count && st == STATUS_OK; k++)
            st = compare(&set[i], &set[k], (const char *const[]){paths[i], paths[k]}, memory);
    for (int64_t i = 0; i < count; i++) {
        inspect_close(&set[i].files);
        rowfile_meta_free(&set[i].meta);
    }
    free(set);
    return st;
}

status inspect_common(char *const *paths, int64_t count, int64_t memory)
{
    for (int64_t i = 0; i < count; i++)
        TRY(inspect_info(paths[i]));
    return comm_agree(comm_rank() == 0 ? compare_all(paths, count, memory) : STATUS_OK);
}
