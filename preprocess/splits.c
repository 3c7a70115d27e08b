#include "preprocess/splits.h"

#include <stdlib.h>
#include <string.h>

#include "common/comm.h"

enum { MOST_BUFFER = 1 << 20 };
static const int64_t most_splits = 10000000, most_inputs = 65536; /* what is kept of each is in every rank's memory; sources are 16-bit */

static status open_inputs(char *const *paths, int64_t split_bytes, csv_splits *s)
{
    for (int64_t i = 0; i < s->inputs; i++)
        s->input[i].file.fd = -1;
    for (int64_t i = 0; i < s->inputs; i++) {
        csv_input *in = &s->input[i];
        TRY(csv_file_open(paths[i], &in->file));
        in->first_split = s->count;
        in->splits = (int64_t)((in->file.bytes + (uint64_t)split_bytes - 1) / (uint64_t)split_bytes);
        s->count += in->splits;
        if (s->count > most_splits)
            return fail(STATUS_USAGE, "%s: --split %lld makes more than %lld splits; give a larger size", paths[i], (long long)split_bytes,
                        (long long)most_splits);
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

static void lay_out(csv_splits *s, int64_t split_bytes)
{
    for (int64_t i = 0, k = 0; i < s->inputs; i++)
        for (int64_t j = 0; j < s->input[i].splits; j++, k++) {
            uint64_t from = (uint64_t)j * (uint64_t)split_bytes, end = from + (uint64_t)split_bytes, all = s->input[i].file.bytes;
            s->split[k] = (csv_split){.input = i, .number = j, .from = from, .to = end < all ? end : all, .first = CSV_NOWHERE};
        }
    int64_t ranks = comm_size(), rank = comm_rank();
    s->mine_first = s->count / ranks * rank + s->count % ranks * rank / ranks;
    s->mine_end = s->count / ranks * (rank + 1) + s->count % ranks * (rank + 1) / ranks;
}

static status count_mine(const csv_splits *s, csv_piece *piece)
{
    uint8_t *buffer = NULL;
    status st = STATUS_OK;
    size_t room = 2; /* a byte and the one behind it */
    for (int64_t k = s->mine_first; k < s->mine_end; k++)
        room = s->split[k].to - s->split[k].from >= room ? (size_t)(s->split[k].to - s->split[k].from) + 1 : room;
    room = room < MOST_BUFFER ? room : MOST_BUFFER;
    TRY(memory_new(&buffer, room, "a read buffer"));
    for (int64_t k = s->mine_first; k < s->mine_end && st == STATUS_OK; k++)
        st = csv_file_count(&s->input[s->split[k].input].file, s->split[k].from, s->split[k].to, buffer, room,
                            &piece[k - s->mine_first]);
    free(buffer);
    return st;
}

/* The state at each cut is what the pieces before it make of "outside". */
static void compose(csv_splits *s, const csv_piece *piece)
{
    for (int64_t i = 0; i < s->inputs; i++) {
        csv_input *in = &s->input[i];
        int state = CSV_OUTSIDE;
        in->header = CSV_NOWHERE;
        for (int64_t k = in->first_split; k < in->first_split + in->splits; k++) {
            csv_split *p = &s->split[k];
            p->first = piece[k].first[state];
            p->records = piece[k].records[state];
            p->record = in->records;
            in->records += p->records;
            if (in->header == CSV_NOWHERE)
                in->header = p->first;
            state ^= (int)piece[k].flips;
        }
    }
}

static status count_all(csv_splits *s)
{
    csv_piece *mine = NULL, *all = NULL;
    size_t *bytes = NULL;
    int64_t ranks = comm_size(), own = s->mine_end - s->mine_first;
    status st = memory_new(&mine, (size_t)own * sizeof *mine, "counts of splits");
    if (st == STATUS_OK)
        st = memory_new(&all, (size_t)s->count * sizeof *all, "counts of splits");
    if (st == STATUS_OK)
        st = memory_new(&bytes, (size_t)ranks * sizeof *bytes, "counts of splits");
    if (st == STATUS_OK)
        st = count_mine(s, mine);
    TRY_DONE(comm_agree(st));
    size_t own_bytes = (size_t)own * sizeof *mine;
    comm_all_gather(&own_bytes, sizeof own_bytes, bytes);
    comm_all_gather_parts(mine, bytes, all);
    compose(s, all);
done:
    free(mine);
    free(all);
    free(bytes);
    return st;
}

status splits_open(char *const *paths, int64_t count, int64_t split_bytes, csv_splits *out)
{
    *out = (csv_splits){.inputs = count};
    status st = STATUS_OK;
    if (count > most_inputs)
        st = fail(STATUS_USAGE, "%lld inputs: %lld at most; join some of them", (long long)count, (long long)most_inputs);
    if (st == STATUS_OK)
        st = memory_new(&out->input, (size_t)count * sizeof *out->input, "the inputs");
    if (st == STATUS_OK)
        st = open_inputs(paths, split_bytes, out);
    TRY(comm_agree(st));
    TRY(comm_agree(agree_on_sizes(out)));
    TRY(comm_agree(memory_new(&out->split, (size_t)out->count * sizeof *out->split, "the splits")));
    lay_out(out, split_bytes);
    return count_all(out);
}

void splits_close(csv_splits *s)
{
    for (int64_t i = 0; s->input && i < s->inputs; i++)
        csv_file_close(&s->input[i].file);
    free(s->input);
    free(s->split);
    *s = (csv_splits){0};
}

int64_t splits_rows(const csv_split *s)
{
    return s->records - (s->records && s->record == 0);
}

csv_range splits_range(const csv_split *s, int64_t width)
{
    return (csv_range){.first = s->first, .to = s->to, .record = s->record, .width = width};
}

csv_range splits_header(const csv_input *in)
{
    return (csv_range){.first = in->header, .to = in->header == CSV_NOWHERE ? CSV_NOWHERE : in->header + 1};
}
