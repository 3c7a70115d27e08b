#include "preprocess/reading.h"

#include "common/comm.h"
#include "common/stop.h"

static const uint64_t step_bytes = 8 << 20; /* of CSV between two looks at whether to stop */

static bool goes_on(reading *r)
{
    if (r->stopped || r->done < r->looked + step_bytes)
        return !r->stopped;
    r->looked = r->done;
    int64_t all = (int64_t)r->done * comm_size(); /* the others are about as far */
    progress_set(r->shown, all < r->all ? all : r->all, "");
    r->stopped = comm_flag_seen();
    if (stop_wanted()) {
        comm_flag_raise();
        r->stopped = true;
    }
    return !r->stopped;
}

status reading_run(reading *r, int64_t first, int64_t end, reading_take take, void *job)
{
    const csv_split *piece = r->splits->piece;
    uint64_t begin = r->done, from = piece[first].from;
    rowfile_row row;
    int64_t unknown;
    bool more = true;
    TRY(rows_begin(r->maker, first, end));
    while (goes_on(r)) {
        TRY(rows_next(r->maker, &row, &unknown, &more));
        if (!more)
            break;
        TRY(take(job, &row, unknown));
        uint64_t at = rows_byte(r->maker);
        r->done = begin + (at > from ? at - from : 0); /* a record of the pandas dialect may begin before the piece that it is counted in */
    }
    r->done = begin + (piece[end - 1].to - from);
    return STATUS_OK;
}
