#include <stdlib.h>

#include "common/comm.h"
#include "common/count.h"
#include "common/log.h"
#include "shard/repeats.h"
#include "shard/select_inside.h"
#include "store/meta.h"

/* Rows by the reason they stay out, for the message of an empty result. */
enum { IN_LANG, IN_SOURCE, IN_LABELS, IN_ALL, COUNTS };

status selection_open(const shard_options *o, char *const *folders, int64_t count, selection **out)
{
    selection *s;
    *out = NULL;
    TRY(comm_agree(memory_new(&s, sizeof *s, "the selection of rows")));
    s->o = o;
    s->open_part = -1;
    status st = selection_open_inputs(s, folders, count);
    if (st == STATUS_OK)
        *out = s;
    else
        selection_free(s);
    return st;
}

static void close_part(selection *s)
{
    rowfile_free(s->file);
    free(s->source_map);
    free(s->lang_map);
    s->file = NULL;
    s->source_map = s->lang_map = NULL;
    s->open_part = -1;
}

void selection_free(selection *s)
{
    if (!s)
        return;
    close_part(s);
    for (int64_t i = 0; i < s->parts; i++)
        free(s->part[i].path);
    free(s->part);
    free(s->unit);
    order_forget(&s->order);
    rowfile_meta_free(&s->meta);
    free(s->inputs);
    free(s->read_with);
    free(s->lang_fits);
    free(s->source_fits);
    free(s->source);
    free(s->lang);
    free(s->label);
    free(s->text);
    free(s->dropped);
    free(s->keep);
    free(s);
}

const rowfile_meta *selection_meta(const selection *s)
{
    return &s->meta;
}

const char *selection_inputs(const selection *s)
{
    return s->inputs;
}

const char *selection_read_with(const selection *s)
{
    return s->read_with;
}

int64_t selection_rows(const selection *s)
{
    return s->rows;
}

int64_t selection_kept(const selection *s)
{
    return s->kept;
}

int64_t selection_chosen(const selection *s)
{
    return s->order.chosen;
}

int64_t selection_bytes(const selection *s)
{
    enum { HEAD = 96 }; /* of a row besides its tokens, about */
    double tokens = 0;
    for (int64_t i = 0; i < s->parts; i++)
        tokens += (double)s->part[i].tokens;
    return (int64_t)((double)s->order.chosen * (HEAD + (s->rows > 0 ? tokens / (double)s->rows * sizeof(uint32_t) : 0)));
}

int64_t selection_visited(const selection *s)
{
    return s->visited;
}

void selection_units(const selection *s, int64_t *first, int64_t *end)
{
    *first = s->units * comm_rank() / comm_size();
    *end = s->units * (comm_rank() + 1) / comm_size();
}

/* ---- passes ---- */

static status open_part(selection *s, int64_t index)
{
    if (s->open_part == index)
        return STATUS_OK;
    close_part(s);
    TRY(rowfile_open(s->part[index].path, &s->file));
    TRY(meta_map(&s->meta, rowfile_get_meta(s->file), &s->source_map, &s->lang_map));
    s->open_part = index;
    return STATUS_OK;
}

static bool is_labelled(const float *label, int64_t labels)
{
    for (int64_t i = 0; i < labels; i++)
        if (label[i] != label[i])
            return false;
    return labels > 0;
}

/* Fills s->keep for the rows of a unit and adds to the counts. */
static status apply_filters(selection *s, const unit *u, int64_t counts[COUNTS])
{
    TRY(open_part(s, u->part));
    if (s->o->lang.count > 0)
        TRY(rowfile_read_langs(s->file, u->first, u->rows, s->lang));
    if (s->o->source.count > 0)
        TRY(rowfile_read_sources(s->file, u->first, u->rows, s->source));
    if (s->o->labelled != LABELLED_ANY)
        TRY(rowfile_read_labels(s->file, u->first, u->rows, s->label));
    if (s->folds)
        TRY(rowfile_read_text_hashes(s->file, u->first, u->rows, s->text));
    for (int64_t i = 0; i < u->rows; i++) {
        bool fits = !s->folds || (fold_has(&s->fold, s->text[i]) && !(s->without_fold.of && fold_has(&s->without_fold, s->text[i])));
        bool lang = s->o->lang.count == 0 || s->lang_fits[s->lang_map[s->lang[i]]];
        bool source = s->o->source.count == 0 || s->source_fits[s->source_map[s->source[i]]];
        bool labels = s->o->labelled == LABELLED_ANY ||
                      is_labelled(s->label + i * s->meta.labels, s->meta.labels) == (s->o->labelled == LABELLED_YES);
        int64_t row = u->at + i - s->first_row;
        s->keep[i] = fits && lang && source && labels && !(s->dropped && s->dropped[row / 8] >> row % 8 & 1);
        counts[IN_LANG] += lang;
        counts[IN_SOURCE] += source;
        counts[IN_LABELS] += labels;
        counts[IN_ALL] += s->keep[i];
    }
    return STATUS_OK;
}

static status count_units(selection *s, int64_t *kept, int64_t counts[COUNTS])
{
    int64_t first, end;
    selection_units(s, &first, &end);
    for (int64_t i = first; i < end; i++) {
        int64_t before = counts[IN_ALL];
        TRY(apply_filters(s, &s->unit[i], counts));
        kept[i] = counts[IN_ALL] - before;
    }
    return STATUS_OK;
}

/* ---- repeats ---- */

static status give_rows(void *with, repeats_sink *sink)
{
    selection *s = with;
    int64_t first, end, counts[COUNTS] = {0};
    selection_units(s, &first, &end);
    for (int64_t k = first; k < end; k++) {
        const unit *u = &s->unit[k];
        TRY(apply_filters(s, u, counts));
        TRY(rowfile_read_text_hashes(s->file, u->first, u->rows, s->text));
        TRY(rowfile_read_labels(s->file, u->first, u->rows, s->label));
        for (int64_t i = 0; i < u->rows; i++)
            if (s->keep[i])
                repeats_give(sink, s->text[i], u->at + i, repeats_labels(s->label + i * s->meta.labels, s->meta.labels));
    }
    return STATUS_OK;
}

/* The rows that stay out because of their text, after all other filters. */
static status find_repeats(selection *s)
{
    int ranks = comm_size();
    int64_t *first_of = NULL;
    uint8_t *dropped = NULL;
    repeats_counts found;
    status st = memory_new(&first_of, (size_t)(ranks + 1) * sizeof *first_of, "the rows of the ranks");
    for (int r = 0; r <= ranks && st == STATUS_OK; r++) {
        int64_t k = s->units * r / ranks;
        first_of[r] = k < s->units ? s->unit[k].at : s->rows;
    }
    if (st == STATUS_OK)
        st = memory_new(&dropped, (size_t)(first_of[comm_rank() + 1] - first_of[comm_rank()]) / 8 + 1, "rows that drop out");
    TRY_DONE(comm_agree(st));
    repeats_job job = {.mode = s->o->duplicates, .rows = s->rows, .first = first_of, .each = give_rows, .with = s, .exclude = &s->o->exclude,
                       .memory = s->o->memory / 2};
    TRY_DONE(repeats_find(&job, dropped, &found));
    s->dropped = dropped;
    dropped = NULL;
    s->first_row = first_of[comm_rank()];
    if (s->o->duplicates != REPEATS_KEEP)
        log_info("--duplicates: %s left out; %s with different labels", count_of(found.repeated, "row"), count_of(found.conflicts, "text"));
    if (s->o->exclude.count > 0)
        log_info("--exclude: %s left out, whose text is in the folders named", count_of(found.common, "row"));
done:
    free(first_of);
    free(dropped);
    return st;
}

static status nothing_left(const selection *s, const int64_t counts[COUNTS])
{
    return fail(STATUS_INPUT, "no row is left of %lld: %lld have a language of --lang, %lld a source of --source, %lld labels as --labelled asks; "
                "loosen the filters%s%s", (long long)s->rows, (long long)counts[IN_LANG], (long long)counts[IN_SOURCE], (long long)counts[IN_LABELS],
                s->repeats ? ", --duplicates or --exclude" : "", s->folds ? ", --fold or --without-fold" : "");
}

status selection_count(selection *s)
{
    int64_t counts[COUNTS] = {0}, *kept;
    TRY(comm_agree(memory_new(&kept, (size_t)s->units * sizeof *kept, "counts of rows")));
    status st = s->repeats ? find_repeats(s) : STATUS_OK;
    if (s->filters && st == STATUS_OK) {
        st = comm_agree(count_units(s, kept, counts));
        comm_sum_int64(kept, (size_t)s->units);
        comm_sum_int64(counts, COUNTS);
    }
    s->kept = 0;
    for (int64_t i = 0; i < s->units; i++) {
        s->unit[i].before = s->kept;
        s->unit[i].kept = s->filters ? kept[i] : s->unit[i].rows;
        s->kept += s->unit[i].kept;
    }
    free(kept);
    TRY(st);
    if (s->rows == 0)
        return fail(STATUS_INPUT, "the inputs have no rows");
    if (s->kept == 0)
        return nothing_left(s, counts);
    return comm_agree(order_make(s->o, s->kept, &s->order));
}

static status take_row(selection *s, int64_t index, int64_t position, row_send send, void *job)
{
    rowfile_row r;
    TRY(rowfile_read_row_unhashed(s->file, index, &r));
    r.source = s->source_map[r.source];
    r.lang = s->lang_map[r.lang];
    return send(job, position, &r);
}

/* Positions of the kept rows from the one `kept` on, as many of the unit as there is room for. */
static void find_positions(const selection *s, const unit *u, int64_t kept, int64_t *position)
{
    int64_t left = u->before + u->kept - kept;
    order_positions(&s->order, kept, left < ORDER_AT_ONCE ? left : ORDER_AT_ONCE, position);
}

status selection_visit(selection *s, int64_t index, row_wanted wanted, row_send send, void *job)
{
    const unit *u = &s->unit[index];
    int64_t counts[COUNTS] = {0}, kept = u->before, positions[ORDER_AT_ONCE];
    if (u->kept == 0) {
        s->visited += u->rows;
        return STATUS_OK;
    }
    TRY(open_part(s, u->part));
    if (s->filters)
        TRY(apply_filters(s, u, counts));
    for (int64_t i = 0; i < u->rows; i++) {
        s->visited++;
        if (s->filters && !s->keep[i])
            continue;
        int64_t place = (kept - u->before) % ORDER_AT_ONCE;
        if (place == 0)
            find_positions(s, u, kept, positions);
        int64_t position = positions[place];
        kept++;
        if (position < s->order.chosen && wanted(job, position))
            TRY(take_row(s, u->first + i, position, send, job));
    }
    if (s->filters && kept != u->before + u->kept)
        return fail(STATUS_INPUT, "%s: changed while it was read; run the same command again", s->part[u->part].path);
    return STATUS_OK;
}
