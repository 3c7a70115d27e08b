#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/count.h"
#include "common/files.h"
#include "shard/inspect.h"
#include "store/meta.h"

enum { LONGEST_COUNTED = 1 << 16 };

typedef struct tally {
    rowfile_meta meta;
    int64_t files, rows, tokens, longest;
    uint64_t bytes;
    int64_t *by_source, *by_lang;         /* 65536 each: what 16 bits can name */
    int64_t *labelled, *positive;         /* by label */
    int64_t *by_length;                   /* rows of each length; longer ones in the last */
    /* a block in hand */
    int64_t offset[ROWFILE_CHUNK + 1];
    uint16_t source[ROWFILE_CHUNK], lang[ROWFILE_CHUNK];
    float *label;
} tally;

static void free_tally(tally *t)
{
    rowfile_meta_free(&t->meta);
    free(t->by_source);
    free(t->by_lang);
    free(t->labelled);
    free(t->positive);
    free(t->by_length);
    free(t->label);
    free(t);
}

static status make_tally(tally **out)
{
    tally *t;
    TRY(memory_new(&t, sizeof *t, "counts"));
    status st = memory_new(&t->by_source, 65536 * sizeof *t->by_source, "counts");
    if (st == STATUS_OK)
        st = memory_new(&t->by_lang, 65536 * sizeof *t->by_lang, "counts");
    if (st == STATUS_OK)
        st = memory_new(&t->by_length, (LONGEST_COUNTED + 1) * sizeof *t->by_length, "counts");
    if (st != STATUS_OK) {
        free_tally(t);
        return st;
    }
    *out = t;
    return STATUS_OK;
}

static void count_labels(tally *t, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < t->meta.labels; k++) {
            float v = t->label[i * t->meta.labels + k];
            t->labelled[k] += v == v;
            t->positive[k] += v >= 0.5f;
        }
}

static status count_block(tally *t, rowfile *f, int64_t first, int64_t rows, const uint16_t *source, const uint16_t *lang)
{
    TRY(rowfile_read_offsets(f, first, rows + 1, t->offset));
    TRY(rowfile_read_sources(f, first, rows, t->source));
    TRY(rowfile_read_langs(f, first, rows, t->lang));
    TRY(rowfile_read_labels(f, first, rows, t->label));
    for (int64_t i = 0; i < rows; i++) {
        int64_t length = t->offset[i + 1] - t->offset[i];
        t->by_length[length < LONGEST_COUNTED ? length : LONGEST_COUNTED]++;
        t->longest = length > t->longest ? length : t->longest;
        t->by_source[source[t->source[i]]]++;
        t->by_lang[lang[t->lang[i]]]++;
    }
    count_labels(t, rows);
    return STATUS_OK;
}

/* The merged lists grow while files are read: languages are counted under their place in the final list, so all files are merged first. */
static status merge_file(tally *t, const char *path)
{
    rowfile *f;
    uint64_t bytes;
    TRY(rowfile_open(path, &f));
    status st = meta_merge(&t->meta, rowfile_get_meta(f), path);
    t->meta.seed = rowfile_get_meta(f)->seed;
    t->rows += rowfile_rows(f);
    t->tokens += rowfile_tokens(f);
    t->files++;
    rowfile_free(f);
    TRY(st);
    TRY(file_size(path, &bytes));
    t->bytes += bytes;
    return STATUS_OK;
}

static status count_file(tally *t, const char *path)
{
    rowfile *f;
    uint16_t *source = NULL, *lang = NULL;
    TRY(rowfile_open(path, &f));
    status st = meta_map(&t->meta, rowfile_get_meta(f), &source, &lang);
    int64_t rows = rowfile_rows(f);
    for (int64_t first = 0; st == STATUS_OK && first < rows; first += ROWFILE_CHUNK)
        st = count_block(t, f, first, rows - first < ROWFILE_CHUNK ? rows - first : ROWFILE_CHUNK, source, lang);
    free(source);
    free(lang);
    rowfile_free(f);
    return st;
}

static double share(int64_t part, int64_t all)
{
    return all > 0 ? 100.0 * (double)part / (double)all : 0.0;
}

/* The length that this share of the rows does not exceed. */
static int64_t percentile(const tally *t, double of)
{
    int64_t seen = 0;
    for (int64_t n = 0; n < LONGEST_COUNTED; n++) {
        seen += t->by_length[n];
        if ((double)seen >= of * (double)t->rows)
            return n;
    }
    return t->longest;
}

static double cut_at(const tally *t, int64_t ids)
{
    int64_t longer = 0;
    for (int64_t n = ids + 1; n <= LONGEST_COUNTED; n++)
        longer += t->by_length[n];
    return share(longer, t->rows);
}

static void print_lines(const char *head, const char *text)
{
    while (*text) {
        int n = (int)strcspn(text, "\n");
        printf("%-10s %.*s\n", head, n, text);
        text += n + (text[n] == '\n');
        head = "";
    }
}

static void print_tally(const tally *t, const char *path, const inspect_files *f)
{
    const rowfile_meta *m = &t->meta;
    printf("%s: %s, %s in %lld file%s%s%s, %.1f MB (%.2f bytes a token)\n", path, count_of(t->rows, "row"), count_of(t->tokens, "token"),
           (long long)t->files, t->files == 1 ? "" : "s", f->listed ? " of " : "", f->listed ? f->m.stage : "", (double)t->bytes / 1e6,
           t->tokens > 0 ? (double)t->bytes / (double)t->tokens : 0.0);
    if (f->listed)
        printf("identity   %s\n", f->m.data_identity);
    printf("seed       %llu\n", (unsigned long long)m->seed);
    for (int64_t i = 0; i < m->sources; i++)
        printf("%-10s %lld %s: %lld rows (%.1f%%), SHA-256 %.16s\n", i ? "" : "sources", (long long)i, m->source[i].name, (long long)t->by_source[i],
               share(t->by_source[i], t->rows), m->source[i].sha256);
    for (int64_t i = 0; i < m->langs; i++)
        printf("%-10s '%s': %lld rows (%.1f%%)\n", i ? "" : "languages", m->lang[i], (long long)t->by_lang[i], share(t->by_lang[i], t->rows));
    for (int64_t i = 0; i < m->labels; i++)
        printf("%-10s %s: %lld labelled, %lld (%.2f%%) of them at 0.5 or above\n", i ? "" : "labels", m->label[i], (long long)t->labelled[i],
               (long long)t->positive[i], share(t->positive[i], t->labelled[i]));
    if (t->rows > 0) {
        printf("lengths    mean %.1f, half up to %lld, 90%% up to %lld, 99%% up to %lld, longest %lld (ids, without [CLS] and [SEP])\n",
               (double)t->tokens / (double)t->rows, (long long)percentile(t, 0.5), (long long)percentile(t, 0.9), (long long)percentile(t, 0.99),
               (long long)t->longest);
        printf("cut        at --max-length 128: %.2f%% of the rows, 192: %.2f%%, 256: %.2f%%, 512: %.2f%%\n", cut_at(t, 126), cut_at(t, 190),
               cut_at(t, 254), cut_at(t, 510));
    }
    print_lines("tokenizer", m->tokenizer ? m->tokenizer : f->m.tokenizer);
    if (f->listed)
        print_lines("made of", f->m.inputs), print_lines("made with", f->m.identity);
}

static status info(const char *path)
{
    inspect_files f;
    tally *t = NULL;
    TRY(inspect_open(path, &f));
    status st = make_tally(&t);
    for (int64_t i = 0; st == STATUS_OK && i < f.count; i++)
        st = merge_file(t, f.path[i]);
    if (st == STATUS_OK)
        st = memory_new(&t->label, ROWFILE_CHUNK * (size_t)t->meta.labels * sizeof *t->label, "labels");
    if (st == STATUS_OK)
        st = memory_new(&t->labelled, (size_t)t->meta.labels * sizeof *t->labelled, "counts");
    if (st == STATUS_OK)
        st = memory_new(&t->positive, (size_t)t->meta.labels * sizeof *t->positive, "counts");
    for (int64_t i = 0; st == STATUS_OK && i < f.count; i++)
        st = count_file(t, f.path[i]);
    if (st == STATUS_OK)
        print_tally(t, path, &f);
    if (t)
        free_tally(t);
    inspect_close(&f);
    return st;
}

status inspect_info(const char *path)
{
    return comm_agree(comm_rank() == 0 ? info(path) : STATUS_OK);
}
