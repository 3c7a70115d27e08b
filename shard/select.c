#include "shard/select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/files.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/permutation.h"
#include "common/rng.h"
#include "shard/fold.h"
#include "shard/repeats.h"
#include "store/manifest.h"
#include "store/meta.h"

typedef struct part {
    char *path;
    int64_t rows, tokens;
} part;

typedef struct unit {
    int64_t part, first, rows; /* rows [first, first + rows) of the part */
    int64_t at;                /* of its first row among those of all inputs */
    int64_t kept, before;      /* rows that pass the filters: in this unit, in all units before it */
} unit;

/* Rows by the reason they stay out, for the message of an empty result. */
enum { IN_LANG, IN_SOURCE, IN_LABELS, IN_ALL, COUNTS };

struct selection {
    const shard_options *o;
    int64_t parts, units, rows, kept, chosen, visited;
    part *part;
    unit *unit;
    rowfile_meta meta;
    char *inputs;
    bool *lang_fits, *source_fits; /* by index in the merged lists */
    bool filters, repeats, folds;
    fold fold, without_fold;
    uint8_t *dropped; /* a bit for each row of this rank's units: out because of its text; NULL while that is not known */
    int64_t first_row;
    permutation order;
    /* the part that is open, and the block of it in hand */
    int64_t open_part;
    rowfile *file;
    uint16_t *source_map, *lang_map, *source, *lang;
    float *label;
    uint64_t *text;
    bool *keep;
};

/* ---- inputs ---- */

/* A path's last name, whatever slashes it ends with. */
static void base_name(const char *folder, char *to, size_t bytes)
{
    size_t n = strlen(folder);
    while (n > 1 && folder[n - 1] == '/')
        n--;
    size_t from = n;
    while (from > 0 && folder[from - 1] != '/')
        from--;
    snprintf(to, bytes, "%.*s", (int)(n - from), folder + from);
}

/* The rows' identity leaves out their numbers and sources: these follow from what the folder was made of, which is hashed beside it. */
static status add_input_line(selection *s, const char *what, const char *folder, const manifest *m)
{
    char name[256], hex[HASH_HEX], *text;
    hash_sha256 *h;
    TRY(hash_sha256_begin(&h));
    hash_sha256_add(h, m->inputs, strlen(m->inputs) + 1);
    hash_sha256_add(h, m->identity, strlen(m->identity));
    hash_sha256_end(h, hex);
    base_name(folder, name, sizeof name);
    if (asprintf(&text, "%s%s%s%s rows=%lld data=%s made=%s", s->inputs ? s->inputs : "", s->inputs ? "\n" : "", what, name, (long long)m->rows,
                 m->data_identity, hex) < 0)
        return fail(STATUS_RESOURCE, "out of memory: the list of inputs");
    free(s->inputs);
    s->inputs = text;
    return STATUS_OK;
}

static status add_units(selection *s, int64_t rows)
{
    int64_t more = (rows + ROWFILE_CHUNK - 1) / ROWFILE_CHUNK;
    TRY(memory_grow(&s->unit, (size_t)(s->units + more) * sizeof *s->unit, "pieces of the parts"));
    for (int64_t i = 0; i < more; i++) {
        int64_t left = rows - i * ROWFILE_CHUNK;
        s->unit[s->units++] = (unit){.part = s->parts, .first = i * ROWFILE_CHUNK, .rows = left < ROWFILE_CHUNK ? left : ROWFILE_CHUNK};
    }
    return STATUS_OK;
}

static status add_folder(selection *s, const char *folder)
{
    manifest m;
    TRY(manifest_read(folder, &m));
    status st = comm_rank() == 0 ? manifest_check(folder, &m, false) : STATUS_OK;
    TRY_DONE(st);
    if (s->meta.tokenizer)
        TRY_DONE(meta_same_tokenizer(s->meta.tokenizer, m.tokenizer, folder));
    TRY_DONE(add_input_line(s, "", folder, &m));
    TRY_DONE(memory_grow(&s->part, (size_t)(s->parts + m.files) * sizeof *s->part, "the list of parts"));
    for (int64_t i = 0; i < m.files; i++) {
        s->part[s->parts] = (part){.rows = m.file[i].rows, .tokens = m.file[i].tokens};
        TRY_DONE(file_join(folder, m.file[i].name, &s->part[s->parts].path));
        TRY_DONE(add_units(s, m.file[i].rows));
        s->parts++;
    }
    s->rows += m.rows;
    if (!s->meta.tokenizer) {
        s->meta.tokenizer = m.tokenizer;
        m.tokenizer = NULL;
    }
done:
    manifest_free(&m);
    return st;
}

static status merge_parts(selection *s)
{
    rowfile_meta all = {0};
    status st = STATUS_OK;
    for (int64_t i = 0; i < s->parts; i++) {
        rowfile *f;
        TRY_DONE(rowfile_open(s->part[i].path, &f));
        st = meta_merge(&all, rowfile_get_meta(f), s->part[i].path);
        if (st == STATUS_OK && (rowfile_rows(f) != s->part[i].rows || rowfile_tokens(f) != s->part[i].tokens))
            st = fail(STATUS_INPUT, "%s: holds %lld rows and %lld tokens, its manifest says %lld and %lld; run the stage that makes it again",
                      s->part[i].path, (long long)rowfile_rows(f), (long long)rowfile_tokens(f), (long long)s->part[i].rows,
                      (long long)s->part[i].tokens);
        rowfile_free(f);
        TRY_DONE(st);
    }
    if (all.tokenizer) {
        TRY_DONE(meta_same_tokenizer(s->meta.tokenizer, all.tokenizer, s->part[0].path));
        rowfile_meta_free(&s->meta);
        s->meta = all;
        return STATUS_OK;
    }
done:
    rowfile_meta_free(&all);
    return st;
}

/* Rank 0 opens all parts once; the others are told what it found. */
static status share_meta(selection *s)
{
    char *bytes = NULL;
    size_t n = 0;
    status st = STATUS_OK;
    if (comm_rank() == 0) {
        st = merge_parts(s);
        if (st == STATUS_OK)
            st = meta_pack(&s->meta, &bytes, &n);
    }
    TRY(comm_agree(st));
    uint64_t count = n;
    comm_broadcast(&count, sizeof count, 0);
    if (comm_rank() != 0)
        st = memory_new(&bytes, count, "the description of the parts");
    st = comm_agree(st);
    if (st == STATUS_OK) {
        comm_broadcast(bytes, count, 0);
        if (comm_rank() != 0) {
            rowfile_meta_free(&s->meta);
            st = meta_unpack(bytes, count, &s->meta);
        }
        st = comm_agree(st);
    }
    free(bytes);
    return st;
}

/* ---- filters ---- */

static status no_such(const char *name_of_option, const char *asked, char *const *have, int64_t count, size_t stride)
{
    char list[1000] = "";
    size_t used = 0;
    for (int64_t i = 0; i < count && used < sizeof list - 1; i++) {
        char *const *name = (char *const *)(const void *)((const char *)have + (size_t)i * stride);
        int n = snprintf(list + used, sizeof list - used, "%s'%s'", i > 0 ? ", " : "", *name);
        used += n > 0 ? (size_t)n : 0;
    }
    return fail(STATUS_INPUT, "--%s %s: no input has it; there are: %s", name_of_option, asked, list);
}

static status set_langs(selection *s)
{
    const option_list *wanted = &s->o->lang;
    TRY(memory_new(&s->lang_fits, (size_t)s->meta.langs, "filters"));
    for (int64_t i = 0; i < s->meta.langs; i++)
        s->lang_fits[i] = wanted->count == 0;
    for (size_t k = 0; k < wanted->count; k++) {
        bool found = false;
        for (int64_t i = 0; i < s->meta.langs; i++)
            if (strcmp(s->meta.lang[i], wanted->item[k]) == 0)
                found = s->lang_fits[i] = true;
        if (!found)
            return no_such("lang", wanted->item[k], s->meta.lang, s->meta.langs, sizeof *s->meta.lang);
    }
    return STATUS_OK;
}

/* A source is named by its CSV's base name or by its number in the order of the command line, from 0. */
static status set_sources(selection *s)
{
    const option_list *wanted = &s->o->source;
    TRY(memory_new(&s->source_fits, (size_t)s->meta.sources, "filters"));
    for (int64_t i = 0; i < s->meta.sources; i++)
        s->source_fits[i] = wanted->count == 0;
    for (size_t k = 0; k < wanted->count; k++) {
        bool found = false;
        for (int64_t i = 0; i < s->meta.sources; i++) {
            char number[24];
            snprintf(number, sizeof number, "%lld", (long long)i);
            if (strcmp(s->meta.source[i].name, wanted->item[k]) == 0 || strcmp(number, wanted->item[k]) == 0)
                found = s->source_fits[i] = true;
        }
        if (!found)
            return no_such("source", wanted->item[k], s->meta.sources > 0 ? &s->meta.source[0].name : NULL, s->meta.sources,
                           sizeof *s->meta.source);
    }
    return STATUS_OK;
}

static status prepare(selection *s)
{
    TRY(set_langs(s));
    TRY(set_sources(s));
    TRY(fold_read("fold", s->o->fold, &s->fold));
    TRY(fold_read("without-fold", s->o->without_fold, &s->without_fold));
    s->folds = s->fold.of > 0 || s->without_fold.of > 0;
    s->filters = s->folds || s->o->lang.count > 0 || s->o->source.count > 0 || s->o->labelled != LABELLED_ANY;
    TRY(memory_new(&s->source, ROWFILE_CHUNK * sizeof *s->source, "a block of rows"));
    TRY(memory_new(&s->lang, ROWFILE_CHUNK * sizeof *s->lang, "a block of rows"));
    TRY(memory_new(&s->label, ROWFILE_CHUNK * (size_t)s->meta.labels * sizeof *s->label, "a block of rows"));
    s->repeats = s->o->duplicates != REPEATS_KEEP || s->o->exclude.count > 0;
    s->filters = s->filters || s->repeats;
    for (int64_t i = 1; i < s->units; i++)
        s->unit[i].at = s->unit[i - 1].at + s->unit[i - 1].rows;
    if (s->repeats || s->folds)
        TRY(memory_new(&s->text, ROWFILE_CHUNK * sizeof *s->text, "a block of rows"));
    return memory_new(&s->keep, ROWFILE_CHUNK * sizeof *s->keep, "a block of rows");
}

static status open_inputs(selection *s, char *const *folders, int64_t count)
{
    status st = STATUS_OK;
    for (int64_t i = 0; st == STATUS_OK && i < count; i++)
        st = add_folder(s, folders[i]);
    for (size_t i = 0; st == STATUS_OK && i < s->o->exclude.count; i++) {
        manifest m;
        st = manifest_read(s->o->exclude.item[i], &m);
        if (st != STATUS_OK)
            break;
        st = repeats_comparable(s->meta.tokenizer, m.tokenizer, s->o->exclude.item[i]);
        if (st == STATUS_OK)
            st = add_input_line(s, "without ", s->o->exclude.item[i], &m);
        manifest_free(&m);
    }
    TRY(comm_agree(st));
    TRY(share_meta(s));
    return comm_agree(prepare(s));
}

status selection_open(const shard_options *o, char *const *folders, int64_t count, selection **out)
{
    selection *s;
    *out = NULL;
    TRY(comm_agree(memory_new(&s, sizeof *s, "the selection of rows")));
    s->o = o;
    s->open_part = -1;
    status st = open_inputs(s, folders, count);
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
    permutation_forget(&s->order);
    rowfile_meta_free(&s->meta);
    free(s->inputs);
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
    return s->chosen;
}

int64_t selection_bytes(const selection *s)
{
    enum { HEAD = 96 }; /* of a row besides its tokens, about */
    double tokens = 0;
    for (int64_t i = 0; i < s->parts; i++)
        tokens += (double)s->part[i].tokens;
    return (int64_t)((double)s->chosen * (HEAD + (s->rows > 0 ? tokens / (double)s->rows * sizeof(uint32_t) : 0)));
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
        log_info("--duplicates: %lld rows drop out; %lld texts have different labels", (long long)found.repeated, (long long)found.conflicts);
    if (s->o->exclude.count > 0)
        log_info("--exclude: %lld rows drop out, their texts are in the folders named", (long long)found.common);
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
    s->chosen = s->o->sample > 0 && s->o->sample < s->kept ? s->o->sample : s->kept;
    s->order = permutation_make(s->kept, (uint64_t)s->o->seed, RNG_SHARD_ORDER, 0);
    return comm_agree(permutation_remember(&s->order));
}

static status take_row(selection *s, int64_t index, int64_t position, selection_take take, void *job)
{
    rowfile_row r;
    TRY(rowfile_read_row_unhashed(s->file, index, &r));
    r.source = s->source_map[r.source];
    r.lang = s->lang_map[r.lang];
    return take(job, position, &r);
}

status selection_visit(selection *s, int64_t index, selection_wants wants, selection_take take, void *job)
{
    const unit *u = &s->unit[index];
    int64_t counts[COUNTS] = {0}, kept = u->before;
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
        int64_t position = s->o->shuffle == SHUFFLE_YES ? permutation_find(&s->order, kept) : kept;
        kept++;
        if (position < s->chosen && wants(job, position))
            TRY(take_row(s, u->first + i, position, take, job));
    }
    if (s->filters && kept != u->before + u->kept)
        return fail(STATUS_INPUT, "%s: changed while it was read; run the same command again", s->part[u->part].path);
    return STATUS_OK;
}
