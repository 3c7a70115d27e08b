#include "common/comm.h"
#include "common/log.h"
#include "common/stop.h"
#include "shard/select.h"

static status count(void *with, row_counts *out)
{
    selection *s = with;
    TRY(selection_count(s));
    *out = (row_counts){.kept = selection_kept(s), .chosen = selection_chosen(s), .bytes = selection_bytes(s),
                         .inputs = selection_inputs(s), .meta = selection_meta(s)};
    return STATUS_OK;
}

static status route_units(selection *s, progress *shown, row_wanted wanted, row_send send, void *job)
{
    int64_t first, end, rows = selection_rows(s);
    selection_units(s, &first, &end);
    for (int64_t i = first; i < end && !stop_wanted(); i++) {
        TRY(selection_visit(s, i, wanted, send, job));
        int64_t all = selection_visited(s) * comm_size(); /* the others are about as far */
        progress_set(shown, all < rows ? all : rows, NULL);
    }
    return STATUS_OK;
}

static status route(void *with, const char *folder, row_wanted wanted, row_send send, void *job)
{
    selection *s = with;
    (void)folder;
    progress *shown = progress_begin("read", "rows", selection_rows(s));
    status st = route_units(s, shown, wanted, send, job);
    if (st == STATUS_OK && !stop_wanted())
        progress_set(shown, selection_rows(s), NULL);
    progress_end(shown);
    return st;
}

status shard_make(const shard_options *o, const char *identity, char *const *folders, int64_t number)
{
    selection *s;
    stop_open(0, 0);
    TRY(selection_open(o, folders, number, &s));
    status st = place_rows(o, identity, &(row_source){.with = s, .inputs = selection_inputs(s), .tokenizer = selection_meta(s)->tokenizer,
                                                      .read_with = selection_read_with(s), .count = count, .route = route});
    selection_free(s);
    return st;
}
