#include "preprocess/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/files.h"
#include "common/log.h"
#include "common/stop.h"
#include "preprocess/missing.h"
#include "preprocess/utf8.h"

static const uint64_t step_bytes = 8 << 20; /* of CSV between two agreements of the ranks: on errors, on stopping, on the progress */

/* What a rank writes with. */
typedef struct part_worker {
    token_parts *p;
    csv_reader *reader;
    tokenizer_scratch *scratch;
    rowfile_writer *writer; /* of part `current`, or NULL between two */
    int64_t current;
    int64_t rows;           /* of the current part so far */
    uint64_t at, done;      /* bytes of the current split behind us; of all */
    float *label;
    char *id, *lang;        /* repaired copies */
    size_t id_room;
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

/* ---- rows ---- */

/* The id as it is stored. */
static status repaired_id(part_worker *w, const csv_field *f, rowfile_row *r)
{
    r->id = f->text;
    r->id_bytes = f->bytes;
    if (utf8_valid_prefix(f->text, f->bytes) == f->bytes)
        return STATUS_OK;
    size_t n = utf8_replaced_bytes(f->text, f->bytes, NULL);
    if (n > w->id_room) {
        TRY(memory_grow(&w->id, n, "an id"));
        w->id_room = n;
    }
    r->id_bytes = utf8_replace(f->text, f->bytes, w->id);
    r->id = w->id;
    return STATUS_OK;
}

static int64_t lang_of(part_worker *w, const csv_columns *at)
{
    csv_field f = {.text = ""};
    if (at->lang >= 0)
        csv_reader_field(w->reader, at->lang, &f);
    if (f.bytes > LANGS_LONGEST)
        return -1;
    if (utf8_valid_prefix(f.text, f.bytes) < f.bytes) {
        f.bytes = utf8_replace(f.text, f.bytes, w->lang);
        f.text = w->lang;
    }
    return langs_find(&w->p->job->checked->langs, f.text, f.bytes);
}

static status changed(const part_worker *w)
{
    const parts_job *job = w->p->job;
    return fail(STATUS_INPUT, "%s: changed while it was read; run again when nobody writes to it",
                job->splits->input[job->splits->split[w->p->part[w->current].split].input].file.path);
}

static status write_row(part_worker *w, int64_t input)
{
    const parts_job *job = w->p->job;
    const csv_columns *at = &job->checked->input[input];
    rowfile_row r = {.number = csv_reader_record(w->reader) - 1, .source = (uint16_t)input, .label = w->label};
    csv_field f;
    csv_reader_field(w->reader, at->id, &f);
    TRY(repaired_id(w, &f, &r));
    for (int64_t l = 0; l < job->checked->labels; l++) {
        w->label[l] = NAN;
        if (at->label[l] < 0)
            continue;
        csv_reader_field(w->reader, at->label[l], &f);
        if (!label_read(f.text, f.bytes, &job->rules->label, &w->label[l]))
            return changed(w);
    }
    int64_t lang = lang_of(w, at);
    if (lang < 0)
        return changed(w);
    r.lang = (uint16_t)lang;
    csv_reader_field(w->reader, at->text, &f);
    if (!job->rules->na_keep && missing_is_word(f.text, f.bytes)) {
        f.text = job->fill->item[job->fill->count == 1 ? 0 : (size_t)input];
        f.bytes = strlen(f.text);
    }
    tokenizer_tokens t;
    TRY(tokenizer_encode(job->tokenizer, w->scratch, f.text, f.bytes, &t));
    r.token = t.ids;
    r.tokens = t.count;
    r.text_hash = t.text_hash;
    return rowfile_append(w->writer, &r);
}

/* ---- one rank's work in steps ---- */

/* The next part of this rank that is to be written; false: none. */
static status next_part(part_worker *w, bool *found)
{
    const parts_job *job = w->p->job;
    for (; w->current < w->p->count; w->current += comm_size()) {
        token_part *one = &w->p->part[w->current];
        const csv_split *s = &job->splits->split[one->split];
        one->kept = is_whole(w->p, one);
        if (!one->kept) {
            csv_range range = splits_range(s, job->checked->input[s->input].width);
            TRY(csv_reader_begin(w->reader, &job->splits->input[s->input].file, &range));
            w->rows = 0;
            w->at = s->from;
            *found = true;
            return rowfile_create(one->path, job->meta, &w->writer);
        }
        w->done += s->to - s->from;
    }
    *found = false;
    return STATUS_OK;
}

static status finish_part(part_worker *w)
{
    token_part *one = &w->p->part[w->current];
    const csv_split *s = &w->p->job->splits->split[one->split];
    if (w->rows != splits_rows(s))
        return changed(w);
    rowfile_writer *writer = w->writer;
    w->writer = NULL;
    TRY(rowfile_close(writer, &one->summary));
    w->done += s->to - w->at;
    w->current += comm_size();
    return STATUS_OK;
}

/* About step_bytes of CSV; *busy false when nothing is left. */
static status step(part_worker *w, bool *busy)
{
    uint64_t until = w->done + step_bytes;
    *busy = true;
    while (w->done < until) {
        if (!w->writer) {
            TRY(next_part(w, busy));
            if (!*busy)
                return STATUS_OK;
        }
        csv_event event;
        TRY(csv_reader_next(w->reader, &event));
        if (event == CSV_FAULT)
            return changed(w);
        if (event == CSV_END) {
            TRY(finish_part(w));
            continue;
        }
        uint64_t at = csv_reader_byte(w->reader);
        w->done += at - w->at;
        w->at = at;
        if (csv_reader_record(w->reader) == 0)
            continue;
        TRY(write_row(w, w->p->job->splits->split[w->p->part[w->current].split].input));
        w->rows++;
    }
    return STATUS_OK;
}

static status work(part_worker *w)
{
    int64_t all = 0;
    for (int64_t i = 0; i < w->p->count; i++)
        all += (int64_t)(w->p->job->splits->split[w->p->part[i].split].to - w->p->job->splits->split[w->p->part[i].split].from);
    progress *shown = progress_begin("tokenize", "bytes", all);
    status st;
    for (;;) {
        bool busy = false;
        st = comm_agree(step(w, &busy));
        if (st != STATUS_OK)
            break;
        int64_t sums[] = {(int64_t)w->done, busy, stop_wanted()};
        comm_sum_int64(sums, 3);
        progress_set(shown, sums[0], "");
        if (sums[1] == 0)
            break;
        if (sums[2]) {
            st = STATUS_STOPPED;
            break;
        }
    }
    progress_end(shown);
    return st;
}

/* Every rank learns of every part. */
static status share(token_parts *p)
{
    size_t ranks = (size_t)comm_size(), rank = (size_t)comm_rank(), each = ((size_t)p->count + ranks - 1) / ranks;
    token_part *mine = NULL, *all = NULL;
    status st = memory_new(&mine, each * sizeof *mine, "the parts");
    if (st == STATUS_OK)
        st = memory_new(&all, ranks * each * sizeof *all, "the parts");
    TRY_DONE(comm_agree(st));
    for (size_t i = rank, k = 0; i < (size_t)p->count; i += ranks)
        mine[k++] = p->part[i];
    comm_all_gather(mine, each * sizeof *mine, all);
    for (size_t i = 0; i < (size_t)p->count; i++) {
        const token_part *from = &all[i % ranks * each + i / ranks];
        p->part[i].kept = from->kept;
        p->part[i].summary = from->summary;
    }
done:
    free(mine);
    free(all);
    return st;
}

status parts_write(token_parts *p)
{
    part_worker w = {.p = p, .current = comm_rank()};
    status st = comm_rank() == 0 ? remove_strays(p) : STATUS_OK;
    if (st == STATUS_OK)
        st = csv_reader_create(p->job->rules->memory, &w.reader);
    if (st == STATUS_OK)
        st = tokenizer_scratch_create(p->job->tokenizer, &w.scratch);
    if (st == STATUS_OK)
        st = memory_new(&w.label, ((size_t)p->job->checked->labels + 1) * sizeof *w.label, "labels");
    if (st == STATUS_OK)
        st = memory_new(&w.lang, LANGS_LONGEST * UTF8_REPLACEMENT_BYTES, "a language");
    st = comm_agree(st);
    if (st == STATUS_OK)
        st = work(&w);
    rowfile_abandon(w.writer);
    if (st == STATUS_OK)
        st = share(p);
    csv_reader_free(w.reader);
    tokenizer_scratch_free(w.scratch);
    free(w.label);
    free(w.id);
    free(w.lang);
    return st;
}
