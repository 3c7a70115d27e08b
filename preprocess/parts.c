#include "preprocess/parts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/files.h"
#include "common/log.h"
#include "preprocess/aside.h"
#include "preprocess/reading.h"

enum { ASIDE_TAG = 77 };

/* What a rank writes with. */
typedef struct part_worker {
    token_parts *p;
    survey *counts;
    reading read;
    rowfile_writer *writer; /* of the part in hand, or NULL */
    aside *aside;           /* of another rank's part, or NULL */
    int64_t rows;           /* of the part in hand */
    int64_t *first;         /* ranks + 1: the pieces of each rank */
} part_worker;

status parts_plan(const parts_job *job, token_parts *out)
{
    *out = (token_parts){.job = job};
    for (int64_t k = 0; k < job->splits->count; k++)
        out->count += splits_rows(&job->splits->split[k]) > 0;
    TRY(memory_new(&out->part, (size_t)out->count * sizeof *out->part, "the parts"));
    for (int64_t k = 0, i = 0; k < job->splits->count; k++) {
        const csv_split *s = &job->splits->split[k];
        char name[64];
        if (splits_rows(s) == 0)
            continue;
        token_part *p = &out->part[i++];
        int n = snprintf(name, sizeof name, "part-%02lld-%05lld.h5", (long long)s->input, (long long)s->number);
        p->split = k;
        TRY(memory_new(&p->name, (size_t)n + 1, "a part's name"));
        memcpy(p->name, name, (size_t)n);
        TRY(file_join(job->out, name, &p->path));
    }
    return STATUS_OK;
}

void parts_free(token_parts *p)
{
    for (int64_t i = 0; p->part && i < p->count; i++) {
        free(p->part[i].name);
        free(p->part[i].path);
    }
    free(p->part);
    *p = (token_parts){0};
}

/* ---- what an earlier run left ---- */

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool same_texts(char *const *a, int64_t count_a, char *const *b, int64_t count_b)
{
    bool same = count_a == count_b;
    for (int64_t i = 0; same && i < count_a; i++)
        same = strcmp(a[i], b[i]) == 0;
    return same;
}

static bool same_meta(const rowfile_meta *a, const rowfile_meta *b)
{
    bool same = same_text(a->tokenizer, b->tokenizer) && same_text(a->identity_text, b->identity_text) && a->seed == b->seed &&
                a->sources == b->sources && same_texts(a->lang, a->langs, b->lang, b->langs) && same_texts(a->label, a->labels, b->label, b->labels);
    for (int64_t i = 0; same && i < a->sources; i++)
        same = strcmp(a->source[i].name, b->source[i].name) == 0 && strcmp(a->source[i].sha256, b->source[i].sha256) == 0;
    return same;
}

/* Whether the part's file is there, made of the same inputs by the same options, and undamaged. */
static bool is_whole(const token_parts *p, token_part *one)
{
    if (!file_exists(one->path))
        return false;
    rowfile *f = NULL;
    bool same = rowfile_open(one->path, &f) == STATUS_OK && same_meta(rowfile_get_meta(f), p->job->meta) &&
                rowfile_rows(f) == splits_rows(&p->job->splits->split[one->split]);
    rowfile_free(f);
    if (same && rowfile_verify(one->path, &one->summary) == STATUS_OK)
        return true;
    if (same || !f)
        log_always("%s; it is written anew", status_message());
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* part-SS-NNNNN.h5, or the temporary file of one. */
static bool looks_like_part(const char *name)
{
    static const char digits[] = "0123456789";
    if (strncmp(name, "part-", 5) != 0)
        return false;
    size_t input = strspn(name + 5, digits);
    const char *rest = name + 5 + input;
    size_t number = *rest == '-' ? strspn(rest + 1, digits) : 0;
    if (input == 0 || number == 0)
        return false;
    rest += 1 + number;
    return strcmp(rest, ".h5") == 0 || strncmp(rest, ".h5.tmp", 7) == 0;
}

/* Parts of another command that was never finished, and temporary files. */
static status remove_strays(const token_parts *p)
{
    char **names = NULL, **mine = NULL;
    size_t count = 0;
    TRY(file_list(p->job->out, &names, &count));
    status st = memory_new(&mine, (size_t)p->count * sizeof *mine, "names of parts");
    for (int64_t i = 0; st == STATUS_OK && i < p->count; i++)
        mine[i] = p->part[i].name;
    if (st == STATUS_OK)
        qsort(mine, (size_t)p->count, sizeof *mine, by_name);
    for (size_t i = 0; st == STATUS_OK && i < count; i++) {
        char *path;
        if (!looks_like_part(names[i]) || bsearch(&names[i], mine, (size_t)p->count, sizeof *mine, by_name))
            continue;
        st = file_join(p->job->out, names[i], &path);
        if (st == STATUS_OK) {
            log_info("%s: left by an unfinished run, removed", path);
            st = file_remove(path);
            free(path);
        }
    }
    free(mine);
    file_free_names(names, count);
    return st;
}

/* Whose parts are whole; each rank looks at its share. */
static status find_whole(part_worker *w)
{
    const token_parts *p = w->p;
    status st = STATUS_OK;
    for (int64_t i = comm_rank(); i < p->count && st == STATUS_OK; i += comm_size()) {
        token_part *one = &p->part[i];
        const csv_split *s = &p->job->splits->split[one->split];
        one->kept = is_whole(p, one);
        if (!one->kept) {
            one->summary = (rowfile_summary){0};
            continue;
        }
        rowfile *f;
        st = rowfile_open(one->path, &f);
        if (st == STATUS_OK) {
            st = survey_add_part(w->counts, f);
            rowfile_free(f);
        }
        if (st == STATUS_OK)
            st = rows_begin(w->read.maker, s->first_piece, s->first_piece + s->pieces);
        if (st == STATUS_OK)
            st = rows_count(w->read.maker);
        ++*w->counts->kept_parts;
    }
    return st;
}

/* Every rank learns of every part: who knows of one tells, the others bring zeros. */
static status share(token_parts *p)
{
    static_assert(sizeof(rowfile_summary) % sizeof(uint64_t) == 0, "summaries are added up as words");
    rowfile_summary *all;
    TRY(comm_agree(memory_new(&all, (size_t)p->count * sizeof *all, "the parts")));
    for (int64_t i = 0; i < p->count; i++)
        if (!p->part[i].told || comm_rank() == 0)
            all[i] = p->part[i].summary;
    comm_sum_uint64((uint64_t *)(void *)all, (size_t)p->count * sizeof *all / sizeof(uint64_t));
    for (int64_t i = 0; i < p->count; i++) {
        p->part[i].summary = all[i];
        p->part[i].told = all[i].bytes > 0;
    }
    free(all);
    return STATUS_OK;
}

/* ---- one rank's work ---- */

static status write_row(void *job, const rowfile_row *r, int64_t unknown)
{
    part_worker *w = job;
    survey_add(w->counts, r->lang, r->label, r->tokens, unknown);
    w->rows++;
    return rowfile_append(w->writer, r);
}

static status set_row_aside(void *job, const rowfile_row *r, int64_t unknown)
{
    return aside_add(((part_worker *)job)->aside, r, unknown);
}

/* A rank's run within a part; false: it has none. */
static bool run_of(const part_worker *w, const token_part *one, int rank, int64_t *first, int64_t *end)
{
    const csv_split *s = &w->p->job->splits->split[one->split];
    *first = w->first[rank] > s->first_piece ? w->first[rank] : s->first_piece;
    *end = w->first[rank + 1] < s->first_piece + s->pieces ? w->first[rank + 1] : s->first_piece + s->pieces;
    return *first < *end;
}

/* The rank that has the part's first piece. */
static int owner_of(const part_worker *w, const token_part *one)
{
    int64_t first, end;
    int rank = 0;
    while (!run_of(w, one, rank, &first, &end))
        rank++;
    return rank;
}

/* One message about rows set aside: 1 they are there, 0 they are not. Its sender never waits, and sends it in any case. */
static status tell(int64_t *good, int other, bool send)
{
    comm_request *q;
    TRY(comm_requests_create(1, &q));
    if (send)
        comm_start_send(q, good, sizeof *good, other, ASIDE_TAG);
    else
        comm_start_receive(q, good, sizeof *good, other, ASIDE_TAG);
    comm_wait_all(q);
    comm_requests_free(q);
    return STATUS_OK;
}

static status set_aside(part_worker *w, const token_part *one, int64_t first, int64_t end)
{
    TRY(aside_create(one->path, comm_rank(), w->p->job->checked->labels, &w->aside));
    TRY(reading_run(&w->read, first, end, set_row_aside, w));
    aside *a = w->aside;
    w->aside = NULL;
    return aside_close(a);
}

/* What is of another rank's part comes first: that rank waits for it in the end. */
static status help(part_worker *w)
{
    status st = STATUS_OK;
    for (int64_t i = 0; i < w->p->count; i++) {
        const token_part *one = &w->p->part[i];
        int64_t first, end, good;
        if (one->kept || !run_of(w, one, comm_rank(), &first, &end))
            continue;
        int owner = owner_of(w, one);
        if (owner == comm_rank())
            break;
        if (st == STATUS_OK)
            st = set_aside(w, one, first, end);
        good = st == STATUS_OK && !w->read.stopped;
        if (!good)
            aside_remove(one->path, comm_rank());
        status told = tell(&good, owner, true);
        st = st == STATUS_OK ? told : st;
    }
    return st;
}

/* Rows that other ranks have read, in their order. */
static status take_help(part_worker *w, const token_part *one)
{
    int64_t first, end;
    status st = STATUS_OK;
    for (int rank = comm_rank() + 1; rank < comm_size(); rank++) {
        int64_t good = 0;
        if (!run_of(w, one, rank, &first, &end))
            continue; /* with fewer pieces than ranks there are such between those that have one */
        status told = tell(&good, rank, false);
        st = st == STATUS_OK ? told : st;
        if (!good)
            w->read.stopped = true; /* that rank says why */
        if (st == STATUS_OK && !w->read.stopped)
            st = aside_take(one->path, rank, w->p->job->checked->labels, write_row, w);
        else
            aside_remove(one->path, rank);
    }
    return st;
}

static status write_part(part_worker *w, token_part *one, int64_t first, int64_t end)
{
    w->rows = 0;
    status st = rowfile_create(one->path, w->p->job->meta, &w->writer);
    if (st == STATUS_OK)
        st = rowfile_leave_hashes(w->writer);
    if (st == STATUS_OK)
        rowfile_pack_quickly(w->writer);
    if (st == STATUS_OK)
        st = reading_run(&w->read, first, end, write_row, w);
    if (st != STATUS_OK)
        w->read.stopped = true; /* the helpers' rows are removed, not taken */
    status helped = take_help(w, one);
    st = st == STATUS_OK ? helped : st;
    rowfile_writer *writer = w->writer;
    w->writer = NULL;
    if (st == STATUS_OK && !w->read.stopped && w->rows != splits_rows(&w->p->job->splits->split[one->split]))
        st = rows_changed(w->read.maker);
    if (st == STATUS_OK && !w->read.stopped)
        return rowfile_close(writer, &one->summary);
    rowfile_abandon(writer);
    return st;
}

static status write_mine(part_worker *w)
{
    status st = help(w);
    for (int64_t i = 0; i < w->p->count; i++) {
        token_part *one = &w->p->part[i];
        int64_t first, end;
        if (one->kept || !run_of(w, one, comm_rank(), &first, &end) || owner_of(w, one) != comm_rank())
            continue;
        if (st == STATUS_OK && !w->read.stopped) {
            st = write_part(w, one, first, end);
        } else { /* what others set aside for it is of no use */
            w->read.stopped = true;
            status helped = take_help(w, one);
            st = st == STATUS_OK ? helped : st;
        }
        if (st != STATUS_OK)
            comm_flag_raise();
    }
    if (st != STATUS_OK)
        comm_flag_raise();
    aside_abandon(w->aside);
    w->aside = NULL;
    return st;
}

/* Rows that others set aside for a rank's part: it pays for taking and packing them, the others do not, and the part is closed behind them. In all
 * that is about three quarters of what reading them takes (measured). */
static void add_taking(const part_worker *w, uint64_t *busy)
{
    const csv_split *piece = w->p->job->splits->piece;
    for (int64_t i = 0; i < w->p->count; i++) {
        int64_t first, end;
        const token_part *one = &w->p->part[i];
        if (one->kept)
            continue;
        int owner = owner_of(w, one);
        for (int rank = owner + 1; rank < comm_size(); rank++)
            if (run_of(w, one, rank, &first, &end))
                busy[owner] += (piece[end - 1].to - piece[first].from) / 4 * 3;
        /* Not so much that nothing is left for it to read: then the part would be another's. */
        uint64_t most = (uint64_t)w->read.all / (uint64_t)comm_size() / 16 * 15;
        busy[owner] = busy[owner] < most ? busy[owner] : most;
    }
}

/* The pieces of the parts that are to be written. */
static status deal(part_worker *w)
{
    const csv_splits *s = w->p->job->splits;
    size_t ranks = (size_t)comm_size();
    uint64_t *busy = NULL;
    bool *skip = NULL;
    status st = memory_new(&w->first, (ranks + 1) * sizeof *w->first, "the shares of the ranks");
    if (st == STATUS_OK)
        st = memory_new(&busy, ranks * sizeof *busy, "the shares of the ranks");
    if (st == STATUS_OK)
        st = memory_new(&skip, (size_t)s->pieces * sizeof *skip, "the shares of the ranks");
    if (st == STATUS_OK) {
        memset(skip, true, (size_t)s->pieces * sizeof *skip);
        for (int64_t i = 0; i < w->p->count; i++) {
            const csv_split *split = &s->split[w->p->part[i].split];
            if (w->p->part[i].kept)
                continue;
            memset(skip + split->first_piece, false, (size_t)split->pieces * sizeof *skip);
            w->read.all += (int64_t)(split->to - split->from);
        }
        splits_deal(s, skip, busy, comm_size(), w->first);
        add_taking(w, busy);
        splits_deal(s, skip, busy, comm_size(), w->first);
    }
    free(busy);
    free(skip);
    return st;
}

static status write_all(part_worker *w)
{
    status st = find_whole(w);
    TRY(comm_agree(st));
    TRY(share(w->p));
    for (int64_t i = 0; i < w->p->count; i++)
        w->p->part[i].kept = w->p->part[i].told;
    TRY(comm_agree(deal(w)));
    w->read.shown = progress_begin("tokenize", "bytes", w->read.all);
    st = comm_agree(write_mine(w));
    if (st == STATUS_OK && !w->read.stopped)
        progress_set(w->read.shown, w->read.all, NULL);
    progress_end(w->read.shown);
    TRY(st);
    return comm_any(w->read.stopped) ? STATUS_STOPPED : share(w->p);
}

status parts_write(token_parts *p, survey *counts)
{
    part_worker w = {.p = p, .counts = counts, .read = {.splits = p->job->splits}};
    status st = comm_rank() == 0 ? remove_strays(p) : STATUS_OK;
    if (st == STATUS_OK)
        st = rows_create(p->job, counts, &w.read.maker);
    st = comm_agree(st);
    if (st == STATUS_OK)
        st = write_all(&w);
    for (int64_t i = 0; st != STATUS_OK && comm_rank() == 0 && i < p->count; i++)
        rowfile_forget_hashes(p->part[i].path);
    rows_free(w.read.maker);
    free(w.first);
    return st;
}
