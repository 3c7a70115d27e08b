#include "preprocess/splits.h"

#include <stdlib.h>
#include <string.h>

#include "common/comm.h"

enum { MOST_BUFFER = 256 * 1024, PIECE = 128 * 1024 };
static const int64_t most_splits = 10000000, most_inputs = 65536; /* what is kept of each is in every rank's memory; sources are 16-bit */

static status open_inputs(const splits_request *q, csv_splits *s)
{
    int64_t split_bytes = q->split_bytes;
    for (int64_t i = 0; i < s->inputs; i++)
        s->input[i].file.fd = -1;
    for (int64_t i = 0; i < s->inputs; i++) {
        csv_input *in = &s->input[i];
        TRY(csv_file_open(q->path[i], q->plain ? q->plain[i] : NULL, &in->file));
        in->file.delimiter = q->delimiter ? q->delimiter : ',';
        in->file.dialect = q->dialect;
        in->first_split = s->count;
        in->splits = (int64_t)((in->file.bytes + (uint64_t)split_bytes - 1) / (uint64_t)split_bytes);
        s->count += in->splits;
        if (s->count > most_splits)
            return fail(STATUS_USAGE, "%s: --split %lld makes more than %lld splits; give a larger size", q->path[i], (long long)split_bytes,
                        (long long)most_splits);
        for (uint64_t from = 0; from < in->file.bytes; from += (uint64_t)split_bytes) { /* the last split of a file may have fewer pieces */
            uint64_t bytes = in->file.bytes - from < (uint64_t)split_bytes ? in->file.bytes - from : (uint64_t)split_bytes;
            s->pieces += (int64_t)((bytes + PIECE - 1) / PIECE);
        }
    }
    return STATUS_OK;
}

/* A file that ranks see in different sizes is still being written, or is not the same file everywhere. */
static status agree_on_sizes(const csv_splits *s)
{
    for (int64_t i = 0; i < s->inputs; i++) {
        int64_t size[2] = {(int64_t)s->input[i].file.bytes, -(int64_t)s->input[i].file.bytes};
        comm_max_int64(size, 2);
        if (size[0] != -size[1])
            return fail(STATUS_INPUT, "%s: ranks see different sizes (%lld and %lld bytes); give a file on a disk that all nodes share, fully written",
                        s->input[i].file.path, (long long)-size[1], (long long)size[0]);
    }
    return STATUS_OK;
}

static void lay_out_split(csv_splits *s, csv_split *split, int64_t *pieces)
{
    split->first_piece = *pieces;
    split->pieces = (int64_t)((split->to - split->from + PIECE - 1) / PIECE);
    for (uint64_t from = split->from; from < split->to; from += PIECE) {
        uint64_t to = split->to - from < PIECE ? split->to : from + PIECE;
        s->piece[(*pieces)++] = (csv_split){.input = split->input, .number = split->number, .from = from, .to = to, .first = CSV_NOWHERE};
    }
}

static void lay_out(csv_splits *s, int64_t split_bytes)
{
    int64_t pieces = 0;
    for (int64_t i = 0, k = 0; i < s->inputs; i++)
        for (int64_t j = 0; j < s->input[i].splits; j++, k++) {
            uint64_t from = (uint64_t)j * (uint64_t)split_bytes, end = from + (uint64_t)split_bytes, all = s->input[i].file.bytes;
            s->split[k] = (csv_split){.input = i, .number = j, .from = from, .to = end < all ? end : all, .first = CSV_NOWHERE};
            lay_out_split(s, &s->split[k], &pieces);
        }
}

/* What is known of a piece before it is known how it is entered. */
typedef union counted_piece {
    csv_piece strict;
    pandas_piece pandas;
} counted_piece;

/* All inputs are of one dialect. Of each piece so many bytes are kept and sent. */
static size_t counted_bytes(const csv_splits *s)
{
    return s->inputs && s->input[0].file.dialect == CSV_PANDAS ? sizeof(pandas_piece) : sizeof(csv_piece);
}

static status count_mine(const csv_splits *s, int64_t first, int64_t end, uint8_t *counted)
{
    uint8_t *buffer = NULL;
    status st = STATUS_OK;
    TRY(memory_new(&buffer, MOST_BUFFER, "a read buffer"));
    for (int64_t k = first; k < end && st == STATUS_OK; k++) {
        const csv_split *p = &s->piece[k];
        const csv_file *f = &s->input[p->input].file;
        counted_piece one;
        if (f->dialect == CSV_PANDAS)
            st = csv_file_count_pandas(f, p->from, p->to, buffer, &one.pandas);
        else
            st = csv_file_count(f, p->from, p->to, buffer, MOST_BUFFER, &one.strict);
        if (st == STATUS_OK)
            memcpy(counted + (size_t)(k - first) * counted_bytes(s), &one, counted_bytes(s));
    }
    free(buffer);
    return st;
}

/* How a file is entered at the next piece: what the pieces before it make of its start. */
typedef struct walk {
    int64_t state;
    pandas_walk pandas;
} walk;

static void pass_piece(walk *w, const csv_input *in, const uint8_t *counted, csv_split *p)
{
    counted_piece one;
    if (in->file.dialect == CSV_PANDAS) {
        memcpy(&one.pandas, counted, sizeof one.pandas);
        pandas_pass(&w->pandas, &one.pandas, p->from);
        p->first = w->pandas.first;
        p->records = w->pandas.records;
        return;
    }
    memcpy(&one.strict, counted, sizeof one.strict);
    p->first = one.strict.first[w->state];
    p->records = one.strict.records[w->state];
    w->state ^= one.strict.flips;
}

static void compose(csv_splits *s, const uint8_t *counted)
{
    int64_t input = -1;
    walk w = {0};
    for (int64_t i = 0; i < s->inputs; i++) {
        s->input[i].header = CSV_NOWHERE;
        s->input[i].records = 0;
    }
    for (int64_t j = 0; j < s->count; j++) {
        csv_split *split = &s->split[j];
        csv_input *in = &s->input[split->input];
        if (split->input != input)
            w = (walk){.state = CSV_OUTSIDE, .pandas = pandas_begin(in->file.body)};
        input = split->input;
        split->record = in->records;
        for (int64_t k = split->first_piece; k < split->first_piece + split->pieces; k++) {
            csv_split *p = &s->piece[k];
            pass_piece(&w, in, counted + (size_t)k * counted_bytes(s), p);
            p->record = in->records;
            in->records += p->records;
            split->first = split->first == CSV_NOWHERE ? p->first : split->first;
        }
        split->records = in->records - split->record;
        in->header = in->header == CSV_NOWHERE ? split->first : in->header;
    }
}

/* Collective. `st`: how this rank's counting ended. */
static status share_counts(csv_splits *s, const void *mine, int64_t first, int64_t end, status st)
{
    uint8_t *all = NULL;
    size_t *bytes = NULL, own_bytes = (size_t)(end - first) * counted_bytes(s);
    if (st == STATUS_OK)
        st = memory_new(&all, (size_t)s->pieces * counted_bytes(s), "counts of pieces");
    if (st == STATUS_OK)
        st = memory_new(&bytes, (size_t)comm_size() * sizeof *bytes, "counts of pieces");
    TRY_DONE(comm_agree(st));
    comm_all_gather(&own_bytes, sizeof own_bytes, bytes);
    comm_all_gather_parts(mine, bytes, all);
    compose(s, all);
    s->counted = true;
done:
    free(all);
    free(bytes);
    return st;
}

status splits_count(csv_splits *s)
{
    uint8_t *mine = NULL;
    int64_t ranks = comm_size(), rank = comm_rank();
    int64_t first = s->pieces / ranks * rank + s->pieces % ranks * rank / ranks;
    int64_t end = s->pieces / ranks * (rank + 1) + s->pieces % ranks * (rank + 1) / ranks;
    status st = memory_new(&mine, (size_t)(end - first) * counted_bytes(s), "counts of pieces");
    if (st == STATUS_OK)
        st = count_mine(s, first, end, mine);
    st = share_counts(s, mine, first, end, st);
    free(mine);
    return st;
}

status splits_take_counts(csv_splits *s, const csv_piece *mine, int64_t first, int64_t end)
{
    return share_counts(s, mine, first, end, STATUS_OK);
}

status splits_open(const splits_request *q, csv_splits *out)
{
    *out = (csv_splits){.inputs = q->count};
    status st = STATUS_OK;
    if (q->count > most_inputs)
        st = fail(STATUS_USAGE, "%lld inputs: %lld at most; join some of them", (long long)q->count, (long long)most_inputs);
    if (st == STATUS_OK)
        st = memory_new(&out->input, (size_t)q->count * sizeof *out->input, "the inputs");
    if (st == STATUS_OK)
        st = open_inputs(q, out);
    TRY(comm_agree(st));
    TRY(comm_agree(agree_on_sizes(out)));
    st = memory_new(&out->split, (size_t)out->count * sizeof *out->split, "the splits");
    if (st == STATUS_OK)
        st = memory_new(&out->piece, (size_t)out->pieces * sizeof *out->piece, "the pieces of the splits");
    TRY(comm_agree(st));
    lay_out(out, q->split_bytes);
    return STATUS_OK;
}

void splits_close(csv_splits *s)
{
    for (int64_t i = 0; s->input && i < s->inputs; i++)
        csv_file_close(&s->input[i].file);
    free(s->input);
    free(s->split);
    free(s->piece);
    *s = (csv_splits){0};
}

int64_t splits_rows(const csv_split *s)
{
    return s->records - (s->records && s->record == 0);
}

int64_t splits_rows_before(const csv_splits *s, int64_t input)
{
    int64_t rows = 0;
    for (int64_t i = 0; i < input; i++)
        rows += s->input[i].records - 1; /* without the header */
    return rows;
}

static uint64_t work_of(const csv_splits *s, const bool *skip, int64_t piece)
{
    return skip && skip[piece] ? 0 : s->piece[piece].to - s->piece[piece].from;
}

/* The level to which `work` more fills the ranks; those that have more than that to do already get nothing. */
static uint64_t level_of(const uint64_t *busy, int64_t ranks, uint64_t work)
{
    for (uint64_t bound = UINT64_MAX;;) {
        uint64_t sum = work, count = 0;
        bool above = false;
        for (int64_t r = 0; r < ranks; r++)
            if (busy[r] <= bound) {
                sum += busy[r];
                count++;
            }
        for (int64_t r = 0; r < ranks; r++)
            above = above || (busy[r] <= bound && busy[r] > sum / count);
        bound = sum / count;
        if (!above)
            return bound;
    }
}

void splits_deal(const csv_splits *s, const bool *skip, const uint64_t *busy, int64_t ranks, int64_t *first)
{
    uint64_t work = 0, target = 0, done = 0;
    for (int64_t k = 0; k < s->pieces; k++)
        work += work_of(s, skip, k);
    uint64_t level = busy ? level_of(busy, ranks, work) : work / (uint64_t)ranks;
    int64_t k = first[0] = 0;
    for (int64_t r = 0; r < ranks; r++) {
        uint64_t besides = busy ? busy[r] : 0;
        target += besides < level ? level - besides : 0;
        for (; k < s->pieces && (r == ranks - 1 || done + work_of(s, skip, k) / 2 < target); k++)
            done += work_of(s, skip, k);
        first[r + 1] = k;
    }
}

csv_range splits_run(const csv_splits *s, int64_t first, int64_t end, int64_t width)
{
    csv_range range = {.first = CSV_NOWHERE, .to = s->piece[end - 1].to, .width = width};
    for (int64_t k = first; k < end && range.first == CSV_NOWHERE; k++) {
        range.first = s->piece[k].first;
        range.record = s->piece[k].record;
    }
    return range;
}

csv_range splits_range(const csv_split *s, int64_t width)
{
    return (csv_range){.first = s->first, .to = s->to, .record = s->record, .width = width};
}

csv_range splits_header(const csv_input *in)
{
    uint64_t to = in->header == CSV_NOWHERE ? CSV_NOWHERE : in->file.dialect == CSV_PANDAS ? in->file.bytes : in->header + 1;
    return (csv_range){.first = in->header, .to = to};
}
