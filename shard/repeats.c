#include "shard/repeats.h"

#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/files.h"
#include "common/hash.h"
#include "store/manifest.h"

enum { FOREIGN = -1 };

typedef struct repeat_entry {
    uint64_t text;
    int64_t index; /* FOREIGN: of an excluded folder */
    uint64_t labels;
} repeat_entry;

struct repeats_sink {
    const repeats_job *job;
    uint64_t number, rounds;
    size_t *to, *from, *next; /* bytes for and from each rank; where the next entry for a rank goes */
    repeat_entry *send;       /* NULL while counting */
    int64_t *drop;            /* rows that drop out in this round */
    size_t drops;
    repeats_counts counts;
};

/* Which of `count` equal ranges of 64-bit values. */
static uint64_t range_of(uint64_t value, uint64_t count)
{
    return (uint64_t)((unsigned __int128)value * count >> 64);
}

uint64_t repeats_labels(const float *label, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (label[i] == label[i])
            return hash_xxh3(label, (size_t)count * sizeof *label) | 1;
    return 0;
}

/* The line clean=... of an identity and its length. */
static const char *clean_line(const char *tokenizer, size_t *bytes)
{
    static const char none[] = "clean=none", key[] = "clean=";
    const char *line = strncmp(tokenizer, key, strlen(key)) == 0 ? tokenizer : strstr(tokenizer, "\nclean=");
    line = line ? line + (*line == '\n') : none;
    *bytes = strcspn(line, "\n");
    return line;
}

status repeats_comparable(const char *tokenizer, const char *other, const char *folder)
{
    size_t n, m;
    const char *a = clean_line(tokenizer, &n), *b = clean_line(other, &m);
    if (n == m && memcmp(a, b, n) == 0)
        return STATUS_OK;
    return fail(STATUS_INPUT, "%s: its texts have %.*s, the others %.*s, so that equal texts need not have equal hashes; give sets of the same --clean",
                folder, (int)m, b, (int)n, a);
}

void repeats_give(repeats_sink *s, uint64_t text, int64_t index, uint64_t labels)
{
    if (range_of(text, s->rounds) != s->number)
        return;
    uint64_t to = range_of(text << 32 | text >> 32, (uint64_t)comm_size()); /* other bits than the round's */
    if (s->send)
        s->send[s->next[to]++] = (repeat_entry){text, index, labels};
    else
        s->to[to] += sizeof(repeat_entry);
}

/* ---- excluded folders ---- */

static status give_file(repeats_sink *s, const char *path, uint64_t *block)
{
    rowfile *f;
    TRY(rowfile_open(path, &f));
    status st = STATUS_OK;
    int64_t rows = rowfile_rows(f);
    for (int64_t first = 0; first < rows && st == STATUS_OK; first += ROWFILE_CHUNK) {
        int64_t n = rows - first < ROWFILE_CHUNK ? rows - first : ROWFILE_CHUNK;
        st = rowfile_read_text_hashes(f, first, n, block);
        for (int64_t i = 0; i < n && st == STATUS_OK; i++)
            repeats_give(s, block[i], FOREIGN, 0);
    }
    rowfile_free(f);
    return st;
}

static status give_folder(repeats_sink *s, const char *folder, uint64_t *block)
{
    manifest m;
    TRY(manifest_read(folder, &m));
    status st = STATUS_OK;
    for (int64_t i = comm_rank(); i < m.files && st == STATUS_OK; i += comm_size()) {
        char *path;
        st = file_join(folder, m.file[i].name, &path);
        if (st == STATUS_OK) {
            st = give_file(s, path, block);
            free(path);
        }
    }
    manifest_free(&m);
    return st;
}

static status give_all(repeats_sink *s)
{
    uint64_t *block;
    TRY(memory_new(&block, ROWFILE_CHUNK * sizeof *block, "text hashes"));
    status st = s->job->each(s->job->with, s);
    for (size_t i = 0; i < s->job->exclude->count && st == STATUS_OK; i++)
        st = give_folder(s, s->job->exclude->item[i], block);
    free(block);
    return st;
}

/* ---- which rows ---- */

static int by_text_then_index(const void *a, const void *b)
{
    const repeat_entry *x = a, *y = b;
    if (x->text != y->text)
        return x->text < y->text ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static int by_index(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Rows of one text, in order, those of excluded folders first. */
static void judge(repeats_sink *s, const repeat_entry *e, size_t n)
{
    uint64_t labels = 0;
    bool conflict = false;
    for (size_t i = 0; i < n; i++) {
        conflict = conflict || (labels && e[i].labels && e[i].labels != labels);
        labels = labels ? labels : e[i].labels;
    }
    s->counts.conflicts += conflict;
    bool foreign = e[0].index == FOREIGN, all = foreign || (conflict && s->job->mode == REPEATS_DROP_CONFLICTS);
    if (!foreign && s->job->mode == REPEATS_KEEP)
        return;
    for (size_t i = all ? 0 : 1; i < n; i++)
        if (e[i].index != FOREIGN) {
            s->drop[s->drops++] = e[i].index;
            *(foreign ? &s->counts.common : &s->counts.repeated) += 1;
        }
}

static status judge_all(repeats_sink *s, repeat_entry *e, size_t n)
{
    free(s->drop);
    s->drop = NULL;
    s->drops = 0;
    TRY(memory_new(&s->drop, n * sizeof *s->drop, "rows that drop out"));
    qsort(e, n, sizeof *e, by_text_then_index);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && e[end].text == e[i].text; end++) {
        }
        judge(s, e + i, end - i);
    }
    qsort(s->drop, s->drops, sizeof *s->drop, by_index);
    return STATUS_OK;
}

/* ---- exchanges ---- */

/* From the bytes for each rank: those from each, and how many in all. */
static status tell_sizes(repeats_sink *s, size_t *sent, size_t *received)
{
    size_t ranks = (size_t)comm_size(), *table;
    *sent = *received = 0;
    TRY(comm_agree(memory_new(&table, ranks * ranks * sizeof *table, "the exchange of texts")));
    comm_all_gather(s->to, ranks * sizeof *s->to, table);
    for (size_t i = 0; i < ranks; i++) {
        s->from[i] = table[i * ranks + (size_t)comm_rank()];
        *sent += s->to[i];
        *received += s->from[i];
    }
    free(table);
    return STATUS_OK;
}

/* Rows that drop out go to the ranks that have them. */
static status send_back(repeats_sink *s, uint8_t *dropped)
{
    size_t ranks = (size_t)comm_size(), sent, received;
    int64_t *mine, rank = comm_rank();
    memset(s->to, 0, ranks * sizeof *s->to);
    for (size_t i = 0, r = 0; i < s->drops; i++) {
        while (s->drop[i] >= s->job->first[r + 1])
            r++;
        s->to[r] += sizeof *s->drop;
    }
    TRY(tell_sizes(s, &sent, &received));
    TRY(comm_agree(memory_new(&mine, received, "rows that drop out")));
    comm_exchange(s->drop, s->to, mine, s->from);
    for (size_t i = 0; i < received / sizeof *mine; i++) {
        int64_t row = mine[i] - s->job->first[rank];
        dropped[row / 8] |= (uint8_t)(1u << row % 8);
    }
    free(mine);
    return STATUS_OK;
}

static status run_round(repeats_sink *s, uint8_t *dropped)
{
    size_t ranks = (size_t)comm_size(), sent, received;
    repeat_entry *got = NULL;
    memset(s->to, 0, ranks * sizeof *s->to);
    s->send = NULL;
    status st;
    TRY_DONE(comm_agree(give_all(s)));
    TRY_DONE(tell_sizes(s, &sent, &received));
    for (size_t i = 0, at = 0; i < ranks; at += s->to[i++] / sizeof(repeat_entry))
        s->next[i] = at;
    st = memory_new(&s->send, sent, "texts of rows");
    if (st == STATUS_OK)
        st = memory_new(&got, received, "texts of rows");
    if (st == STATUS_OK && s->send)
        st = give_all(s);
    TRY_DONE(comm_agree(st));
    comm_exchange(s->send, s->to, got, s->from);
    free(s->send);
    s->send = NULL;
    TRY_DONE(comm_agree(judge_all(s, got, received / sizeof *got)));
    st = send_back(s, dropped);
done:
    free(got);
    free(s->send);
    s->send = NULL;
    return st;
}

static status count_foreign(const repeats_job *job, int64_t *rows)
{
    *rows = 0;
    for (size_t i = 0; i < job->exclude->count; i++) {
        manifest m;
        TRY(manifest_read(job->exclude->item[i], &m));
        *rows += m.rows;
        manifest_free(&m);
    }
    return STATUS_OK;
}

status repeats_find(const repeats_job *job, uint8_t *dropped, repeats_counts *out)
{
    size_t ranks = (size_t)comm_size();
    repeats_sink s = {.job = job};
    int64_t foreign = 0;
    *out = (repeats_counts){0};
    status st = count_foreign(job, &foreign);
    if (st == STATUS_OK)
        st = memory_new(&s.to, 3 * ranks * sizeof *s.to, "the exchange of texts");
    TRY_DONE(comm_agree(st));
    s.from = s.to + ranks;
    s.next = s.from + ranks;
    /* three times: sent, received, and the sort's own copy */
    s.rounds = 1 + 3 * (uint64_t)(job->rows + foreign) * sizeof(repeat_entry) / ranks / (uint64_t)job->memory;
    for (; s.number < s.rounds; s.number++)
        TRY_DONE(run_round(&s, dropped));
    int64_t sums[] = {s.counts.repeated, s.counts.common, s.counts.conflicts};
    comm_sum_int64(sums, 3);
    *out = (repeats_counts){.repeated = sums[0], .common = sums[1], .conflicts = sums[2]};
done:
    free(s.to);
    free(s.drop);
    return st;
}
