#include "preprocess/duplicates.h"

#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/hash.h"
#include "common/sort.h"

enum { BLOCK = 65536 };

typedef sort_pair duplicate_entry; /* key: the text's hash; value: that of its labels, 0 where it has none */

struct duplicate_sink {
    const duplicates_job *job;
    uint64_t number, count;   /* this round of how many */
    size_t *to, *from, *next; /* bytes for and from each rank; where the next entry for a rank goes */
    duplicate_entry *send;    /* NULL while counting */
};

/* Which of `count` equal ranges of 64-bit values. */
static uint64_t range_of(uint64_t value, uint64_t count)
{
    return (uint64_t)((unsigned __int128)value * count >> 64);
}

uint64_t duplicates_labels(const float *label, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (label[i] == label[i])
            return hash_xxh3(label, (size_t)count * sizeof *label) | 1;
    return 0;
}

void duplicates_give(duplicate_sink *r, uint64_t text_hash, uint64_t labels)
{
    if (range_of(text_hash, r->count) != r->number)
        return;
    uint64_t to = range_of(text_hash << 32 | text_hash >> 32, (uint64_t)comm_size()); /* other bits than the round's */
    if (r->send)
        r->send[r->next[to]++] = (duplicate_entry){text_hash, labels};
    else
        r->to[to] += sizeof(duplicate_entry);
}

static void count_groups(duplicate_entry *e, size_t n, duplicate_counts *out)
{
    sort_pairs(e, n);
    for (size_t i = 0, end; i < n; i = end) {
        uint64_t labels = e[i].value;
        bool conflict = false;
        for (end = i + 1; end < n && e[end].key == e[i].key; end++) {
            conflict = conflict || (labels && e[end].value && e[end].value != labels);
            labels = labels ? labels : e[end].value;
        }
        if (end - i < 2)
            continue;
        out->rows += (int64_t)(end - i) - 1;
        out->texts++;
        out->conflicts += conflict;
    }
}

static status run_round(duplicate_sink *r, duplicate_counts *out)
{
    size_t ranks = (size_t)comm_size(), sent = 0, received = 0;
    size_t *table = NULL;
    duplicate_entry *got = NULL;
    memset(r->to, 0, ranks * sizeof *r->to);
    r->send = NULL;
    status st = r->job->each(r->job->with, false, r);
    if (st == STATUS_OK)
        st = memory_new(&table, ranks * ranks * sizeof *table, "the exchange of text hashes");
    TRY_DONE(comm_agree(st));
    comm_all_gather(r->to, ranks * sizeof *r->to, table);
    for (size_t i = 0; i < ranks; i++) {
        r->next[i] = sent / sizeof(duplicate_entry);
        r->from[i] = table[i * ranks + (size_t)comm_rank()];
        sent += r->to[i];
        received += r->from[i];
    }
    st = memory_new(&r->send, sent, "text hashes");
    if (st == STATUS_OK)
        st = memory_new(&got, received, "text hashes");
    if (st == STATUS_OK)
        st = r->job->each(r->job->with, true, r);
    TRY_DONE(comm_agree(st));
    comm_exchange(r->send, r->to, got, r->from);
    count_groups(got, received / sizeof(duplicate_entry), out);
done:
    free(table);
    free(got);
    free(r->send);
    return st;
}

status duplicates_count(const duplicates_job *job, duplicate_counts *out)
{
    size_t ranks = (size_t)comm_size();
    uint64_t need = 2 * (uint64_t)job->rows * sizeof(duplicate_entry) / ranks, half = (uint64_t)job->memory / 2;
    duplicate_sink r = {.job = job, .count = 1 + need / half};
    *out = (duplicate_counts){0};
    status st = memory_new(&r.to, 3 * ranks * sizeof *r.to, "the exchange of text hashes");
    TRY_DONE(comm_agree(st));
    r.from = r.to + ranks;
    r.next = r.from + ranks;
    for (; r.number < r.count; r.number++)
        TRY_DONE(run_round(&r, out));
    int64_t sums[] = {out->rows, out->texts, out->conflicts};
    comm_sum_int64(sums, 3);
    *out = (duplicate_counts){.rows = sums[0], .texts = sums[1], .conflicts = sums[2]};
done:
    free(r.to);
    return st;
}

/* ---- of parts ---- */

typedef struct part_texts {
    const token_parts *p;
    uint64_t *hash; /* BLOCK */
    float *label;   /* BLOCK x C */
} part_texts;

static status give_part(part_texts *t, rowfile *f, bool labelled, duplicate_sink *sink)
{
    int64_t rows = rowfile_rows(f), labels = rowfile_get_meta(f)->labels;
    for (int64_t first = 0; first < rows; first += BLOCK) {
        int64_t n = rows - first < BLOCK ? rows - first : BLOCK;
        TRY(rowfile_read_text_hashes(f, first, n, t->hash));
        if (labelled)
            TRY(rowfile_read_labels(f, first, n, t->label));
        for (int64_t i = 0; i < n; i++)
            duplicates_give(sink, t->hash[i], labelled ? duplicates_labels(t->label + i * labels, labels) : 0);
    }
    return STATUS_OK;
}

static status give_parts(void *with, bool labelled, duplicate_sink *sink)
{
    part_texts *t = with;
    for (int64_t i = comm_rank(); i < t->p->count; i += comm_size()) {
        rowfile *f;
        TRY(rowfile_open(t->p->part[i].path, &f));
        status st = give_part(t, f, labelled, sink);
        rowfile_free(f);
        TRY(st);
    }
    return STATUS_OK;
}

status duplicates_of_parts(const token_parts *p, int64_t rows, int64_t memory, duplicate_counts *out)
{
    part_texts t = {.p = p};
    status st = memory_new(&t.hash, BLOCK * sizeof *t.hash, "text hashes");
    if (st == STATUS_OK)
        st = memory_new(&t.label, BLOCK * (size_t)(p->job->checked->labels + 1) * sizeof *t.label, "labels");
    st = comm_agree(st);
    if (st == STATUS_OK)
        st = duplicates_count(&(duplicates_job){.rows = rows, .memory = memory, .each = give_parts, .with = &t}, out);
    free(t.hash);
    free(t.label);
    return st;
}
