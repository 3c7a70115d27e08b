/* The whole stage on any number of ranks against parts made by the slow reader: the same files, byte for byte, the same report, the same
 * errors; what an interrupted run leaves is kept or made again. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/comm.h"
#include "common/files.h"
#include "common/hash.h"
#include "common/stop.h"
#include "store/manifest.h"
#include "support/csv_trace.h"
#include "support/slow_csv.h"
#include "support/stage_case.h"
#include "support/support.h"

enum { INPUTS = 2, PATH = 600, SPLIT = 24 * 1024, ROWS = 3000 };

static char folder[PATH], out[PATH], wanted[PATH], csv[INPUTS][PATH];
static char *paths[INPUTS];
static bool short_second; /* of the inputs the second has a few rows only */
static bool long_texts; /* some of the texts are longer than those that are begun before the one in front is done */

/* The same folder on every rank, rank 0's own. */
static void make_folder(void)
{
    if (comm_rank() == 0)
        snprintf(folder, sizeof folder, "%s", support_scratch());
    comm_broadcast(folder, sizeof folder, 0);
    snprintf(out, sizeof out, "%.500s/out", folder);
    snprintf(wanted, sizeof wanted, "%.500s/wanted", folder);
    for (int i = 0; i < INPUTS; i++) {
        snprintf(csv[i], sizeof csv[i], "%.500s/in%d.csv", folder, i);
        paths[i] = csv[i];
    }
}

/* ---- random inputs ---- */

static void put_text(FILE *f)
{
    static const char *const words[] = {"you", "are", "nicht", "kind", "\xC3\xA9t\xC3\xA9", "\xE4\xBD\xA0\xE5\xA5\xBD", "\xD0\x9F\xD1\x80", "!!", "\xFF\xC3", "rotten", "x\xCC\x81"};
    static const char *const missing[] = {"", "NA", "null", "\"\"", "\"None\""};
    if (support_below(12) == 0) {
        fputs(missing[support_below(5)], f);
        return;
    }
    if (support_below(10) == 0) {
        fputs("the same comment again", f);
        return;
    }
    static bool long_one; /* they come in groups */
    long_one = long_texts && support_below(long_one ? 2 : 400) == 0;
    bool quotes = support_below(3) == 0;
    if (quotes)
        fputc('"', f);
    for (uint64_t n = 1 + support_below(long_one ? 40000 : support_below(40) == 0 ? 900 : 20); n; n--)
        fprintf(f, "%s%s", words[support_below(11)], quotes && support_below(5) == 0 ? support_below(2) ? ",\r\n" : " \"\"no\"\" " : " ");
    if (quotes)
        fputc('"', f);
}

static const char *random_label(void)
{
    static const char *const labels[] = {"0", "1", "0.5", "", " 1", "-1", "NA", "2e-1"};
    return labels[support_below(8)];
}

static void write_inputs(int64_t rows)
{
    static const char *const langs[] = {"en", "de", "", "\"fr\"", "zh"};
    for (int i = 0; i < INPUTS; i++) {
        FILE *f = fopen(csv[i], "wb");
        ck_assert_ptr_nonnull(f);
        fputs(i ? "toxic,comment_text,id\r\n" : "\xEF\xBB\xBFid,comment_text,lang,target,rest\n", f);
        for (int64_t r = 0; r < (i && short_second ? 5 : rows); r++) {
            if (i)
                fprintf(f, "%s,", random_label());
            else
                fprintf(f, "%lld%s,", (long long)r, support_below(50) ? "" : "\xFE");
            put_text(f);
            if (i)
                fprintf(f, ",\"%lld\"\r\n", (long long)r);
            else
                fprintf(f, ",%s,%s,\"a, b\"\n", langs[support_below(5)], random_label());
        }
        ck_assert_int_eq(fclose(f), 0);
    }
}

/* ---- the same by the slow way, at rank 0 ---- */

typedef struct slow_stage {
    const stage_options *o;
    rowfile_meta meta;
    tokenizer *t;
    tokenizer_scratch *scratch;
    int64_t rows, tokens, unknown, missing;
} slow_stage;

static int64_t column_of(const slow_csv *s, const char *name)
{
    for (int64_t k = 0; k < s->width; k++)
        if (s->field[k].bytes == strlen(name) && memcmp(s->text + s->field[k].from, name, strlen(name)) == 0)
            return k;
    return -1;
}

static bool any_of(const char *p, size_t n, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == n && memcmp(words[i], p, n) == 0)
            return true;
    return false;
}

static void slow_row(slow_stage *w, const slow_csv *s, int64_t r, int input, rowfile_writer *to)
{
    static const char *const words[] = {"", "NA", "null", "None"};
    const slow_field *f = s->field + r * s->width, *text = f + column_of(s, "comment_text"), *id = f + column_of(s, "id"),
                     *label = f + column_of(s, input ? "toxic" : "target"), *lang = input ? NULL : f + column_of(s, "lang");
    char own_id[80];
    float value = NAN;
    rowfile_row row = {.number = r - 1, .source = (uint16_t)input, .label = &value, .id = own_id};
    row.id_bytes = (size_t)snprintf(own_id, sizeof own_id, "%lld%s", (long long)(r - 1), s->text[id->from + id->bytes - 1] == '\xFE' ? "\xEF\xBF\xBD" : "");
    if (label->bytes && !any_of(s->text + label->from, label->bytes, (const char *const[]){"NA", "-1"}, 2)) {
        char number[20];
        snprintf(number, sizeof number, "%.*s", (int)label->bytes, s->text + label->from);
        value = strtof(number, NULL);
    }
    for (int64_t l = 0; l < w->meta.langs; l++)
        if (strlen(w->meta.lang[l]) == (lang ? lang->bytes : 0) && (!lang || memcmp(w->meta.lang[l], s->text + lang->from, lang->bytes) == 0))
            row.lang = (uint16_t)l;
    bool missing = any_of(s->text + text->from, text->bytes, words, 4);
    tokenizer_tokens t;
    ck_ok(tokenizer_encode(w->t, w->scratch, missing ? "nothing" : s->text + text->from, missing ? 7 : text->bytes, &t));
    row.token = t.ids;
    row.tokens = t.count;
    row.text_hash = tokenizer_text_hash(&t);
    ck_ok(rowfile_append(to, &row));
    w->rows++;
    w->missing += missing;
    w->tokens += t.count;
    w->unknown += t.unknown;
}

static void slow_input(slow_stage *w, int input)
{
    char *bytes;
    size_t n;
    slow_csv s;
    rowfile_writer *to = NULL;
    int64_t last = -1;
    ck_ok(file_read_all(csv[input], 0, &bytes, &n));
    slow_csv_read((uint8_t *)bytes, n, 0, &s);
    ck_assert_int_eq(s.kind, CSV_FINE);
    for (int64_t r = 1; r < s.records; r++) {
        int64_t split = (int64_t)s.field[r * s.width].at / w->o->split_bytes;
        if (split != last) {
            char path[PATH + 40];
            if (to)
                ck_ok(rowfile_close(to, &(rowfile_summary){0}));
            snprintf(path, sizeof path, "%s/part-%02d-%05lld.h5", wanted, input, (long long)split);
            ck_ok(rowfile_create(path, &w->meta, &to));
            rowfile_pack_quickly(to);
            last = split;
        }
        slow_row(w, &s, r, input, to);
    }
    ck_ok(rowfile_close(to, &(rowfile_summary){0}));
    slow_csv_free(&s);
    free(bytes);
}

/* Fills `wanted` with the parts as they must be. */
static void slow_run(const stage_options *o, slow_stage *w)
{
    static const char *const langs[] = {"", "de", "en", "fr", "zh"}, *const labels[] = {"toxic"};
    rowfile_source source[INPUTS];
    *w = (slow_stage){.o = o, .meta = {.sources = INPUTS, .source = source, .langs = 5, .lang = (char **)langs, .labels = 1, .label = (char **)labels,
                                       .identity_text = (char *)o->identity}};
    ck_ok(file_make_folder(wanted));
    for (int i = 0; i < INPUTS; i++) {
        source[i].name = (char *)file_base(csv[i]);
        ck_ok(hash_sha256_file(csv[i], source[i].sha256));
    }
    ck_ok(tokenizer_create(o->vocab, &o->tokenizer, &w->t));
    ck_ok(tokenizer_identity(w->t, &(tokenizer_row_rules){.na = "pandas", .fill = "nothing"}, &w->meta.tokenizer));
    ck_ok(tokenizer_scratch_create(w->t, &w->scratch));
    for (int i = 0; i < INPUTS; i++)
        slow_input(w, i);
    tokenizer_scratch_free(w->scratch);
    tokenizer_free(w->t);
    free(w->meta.tokenizer);
    w->meta = (rowfile_meta){0};
}

/* `out` holds the files of `wanted`, byte for byte, and a manifest that agrees; nothing else. */
static void compare_folders(void)
{
    char **names, **there;
    size_t count, count_there;
    manifest m;
    ck_ok(file_list(wanted, &names, &count));
    ck_ok(file_list(out, &there, &count_there));
    ck_assert_uint_eq(count_there, count + 1);
    ck_ok(manifest_read(out, &m));
    ck_ok(manifest_check(out, &m, true));
    ck_assert_int_eq(m.files, count);
    for (size_t i = 0; i < count; i++) {
        char path[PATH + 100], a[HASH_HEX];
        snprintf(path, sizeof path, "%s/%s", wanted, names[i]);
        ck_ok(hash_sha256_file(path, a));
        ck_assert_str_eq(m.file[i].name, names[i]);
        ck_assert_msg(strcmp(a, m.file[i].sha256) == 0, "%s differs", names[i]);
    }
    manifest_free(&m);
    file_free_names(names, count);
    file_free_names(there, count_there);
}

static void standard_case(stage_options *o)
{
    static const char *const fill[] = {"nothing"};
    stage_case(o, paths, INPUTS, out);
    o->split_bytes = SPLIT;
    o->fill = stage_list(fill, 1);
    o->rules.label = (label_rule){.has_unlabelled = true, .unlabelled = -1};
    o->rules.memory = 1 << 20;
}

static void prepare(int64_t rows)
{
    make_folder();
    if (comm_rank() == 0)
        write_inputs(rows);
    comm_barrier();
}

/* Runs and gives the report back (rank 0; the caller frees). */
static status run_stage(const stage_options *o, char **report)
{
    size_t n;
    *report = NULL;
    FILE *to = open_memstream(report, &n);
    ck_assert_ptr_nonnull(to);
    status st = stage_run(o, to);
    fclose(to);
    comm_barrier();
    return st;
}

/* One part from each input: several ranks read it, one writes it. */
START_TEST(shared_parts_are_the_slow_ones)
{
    stage_options o;
    slow_stage slow;
    char *report;
    long_texts = true;
    prepare(2 * ROWS);
    long_texts = false;
    standard_case(&o);
    o.split_bytes = 1 << 23;
    ck_ok(run_stage(&o, &report));
    if (comm_rank() == 0) {
        slow_run(&o, &slow);
        compare_folders();
    }
    free(report);
    comm_barrier();
}
END_TEST

static void check_shape(int64_t rows, int64_t split, bool short_one)
{
    stage_options o;
    slow_stage slow;
    char *report;
    short_second = short_one;
    prepare(rows);
    short_second = false;
    standard_case(&o);
    o.split_bytes = split;
    ck_ok(run_stage(&o, &report));
    if (comm_rank() == 0) {
        slow_run(&o, &slow);
        compare_folders();
        ck_ok(file_remove_tree(wanted));
        ck_ok(file_remove_tree(out));
    }
    free(report);
    comm_barrier();
}

/* One part of any number of pieces up to some more than ranks, so that ranks with nothing to read lie between others. */
START_TEST(few_pieces)
{
    for (int64_t rows = 400; rows < 2500 * (comm_size() + 2); rows += rows / 3)
        check_shape(rows, 1 << 23, true);
}
END_TEST

START_TEST(any_shape)
{
    for (int i = 0; i < 12; i++) {
        int64_t shape[3] = {(int64_t)pow(10, 2 + 1.7 * support_uniform()), (int64_t)pow(10, 3.7 + 3 * support_uniform()), (int64_t)support_below(2)};
        comm_broadcast(shape, sizeof shape, 0);
        check_shape(shape[0], shape[1], shape[2]);
    }
}
END_TEST

START_TEST(parts_are_the_slow_ones)
{
    stage_options o;
    slow_stage slow;
    char *report, line[200];
    prepare(ROWS);
    standard_case(&o);
    ck_ok(run_stage(&o, &report));
    if (comm_rank() == 0) {
        slow_run(&o, &slow);
        compare_folders();
        ck_assert_int_eq(slow.rows, INPUTS * ROWS);
        snprintf(line, sizeof line, "%d,000 rows of 2 inputs", INPUTS * ROWS / 1000);
        ck_assert_msg(strstr(report, line) != NULL, "%s", report);
        snprintf(line, sizeof line, "%.3f%% of them [UNK]", 100.0 * (double)slow.unknown / (double)slow.tokens);
        ck_assert_msg(strstr(report, line) != NULL, "%s\nlacks %s", report, line);
        snprintf(line, sizeof line, "mean %.1f", (double)slow.tokens / (double)slow.rows + 2);
        ck_assert_msg(strstr(report, line) != NULL, "%s\nlacks %s", report, line);
        int n = snprintf(line, sizeof line, slow.missing < 1000 ? "  missing text  " : "  missing text  %lld,", (long long)slow.missing / 1000);
        snprintf(line + n, sizeof line - (size_t)n, slow.missing < 1000 ? "%lld row" : "%03lld row", (long long)slow.missing % 1000);
        ck_assert_msg(strstr(report, line) != NULL, "%s\nlacks %s", report, line);
    } else {
        ck_assert_str_eq(report, "");
    }
    free(report);
    comm_barrier();

    /* Again: nothing to do. */
    ck_ok(run_stage(&o, &report));
    ck_assert(comm_rank() != 0 || strstr(report, "done already") != NULL);
    free(report);

    /* One part cut, one gone, a stray and a temporary file beside, no manifest: the rest is kept. */
    if (comm_rank() == 0) {
        char path[PATH + 40];
        snprintf(path, sizeof path, "%s/part-00-00001.h5", out);
        ck_assert_int_eq(truncate(path, 5000), 0);
        snprintf(path, sizeof path, "%s/part-01-00002.h5", out);
        ck_ok(file_remove(path));
        snprintf(path, sizeof path, "%s/part-07-00002.h5", out);
        trace_write_file(path, "x", 1);
        snprintf(path, sizeof path, "%s/part-00-00001.h5.tmp-99", out);
        trace_write_file(path, "x", 1);
        snprintf(path, sizeof path, "%s/manifest.json", out);
        ck_ok(file_remove(path));
    }
    comm_barrier();
    ck_ok(run_stage(&o, &report));
    if (comm_rank() == 0) {
        manifest m;
        ck_ok(manifest_read(out, &m));
        compare_folders();
        snprintf(line, sizeof line, "%lld of them kept", (long long)m.files - 2);
        ck_assert_msg(strstr(report, line) != NULL, "%s\nlacks %s", report, line);
        manifest_free(&m);
    }
    free(report);

    /* With the manifest, a damaged byte is found too. */
    if (comm_rank() == 0) {
        char path[PATH + 40];
        snprintf(path, sizeof path, "%s/part-01-00000.h5", out);
        FILE *f = fopen(path, "r+b");
        ck_assert_ptr_nonnull(f);
        fseek(f, 9000, SEEK_SET);
        int c = fgetc(f);
        fseek(f, 9000, SEEK_SET);
        fputc(c ^ 4, f);
        fclose(f);
    }
    comm_barrier();
    ck_ok(run_stage(&o, &report));
    if (comm_rank() == 0)
        compare_folders();
    free(report);

    /* Other options or inputs do not go into the same folder. */
    o.identity = "[preprocess]\nna = keep\n";
    ck_fails(run_stage(&o, &report), STATUS_USAGE, "parts made with other options (--");
    free(report);
    o.input_count = 1;
    ck_fails(run_stage(&o, &report), STATUS_USAGE, "the parts of other inputs (");
    free(report);
}
END_TEST

/* Every split size gives the same rows: their hashes in order. */
START_TEST(splits_change_no_row)
{
    stage_options o;
    char *report, first[HASH_HEX] = "";
    manifest m;
    prepare(300);
    for (int64_t split = 1 << 20; split > 2000; split = split / 3 + (int64_t)17) {
        standard_case(&o);
        o.split_bytes = split;
        ck_ok(run_stage(&o, &report));
        if (comm_rank() == 0) {
            ck_ok(manifest_read(out, &m));
            ck_assert_int_eq(m.rows, 600);
            if (!first[0])
                memcpy(first, m.data_identity, sizeof first);
            ck_assert_msg(strcmp(first, m.data_identity) == 0, "split %lld", (long long)split);
            manifest_free(&m);
            ck_ok(file_remove_tree(out));
        }
        comm_barrier();
        free(report);
    }
}
END_TEST

/* A fault anywhere: the first one's message at any number of ranks, and no folder. */
START_TEST(faults_leave_nothing)
{
    stage_options o;
    char *report, wanted_text[100];
    prepare(2000);
    standard_case(&o);
    o.split_bytes = 10000;
    uint64_t bytes = 0;
    ck_ok(file_size(csv[1], &bytes));
    comm_barrier();
    if (comm_rank() == 0) {
        FILE *f = fopen(csv[1], "ab");
        ck_assert_ptr_nonnull(f);
        fputs("0,fine,2000\r\n0,ragged\r\n0,\"text\"after,7\r\n", f);
        for (int i = 0; i < 3000; i++)
            fputs("0,\"quo\"te\",9\n", f);
        fclose(f);
    }
    comm_barrier();
    snprintf(wanted_text, sizeof wanted_text, "in1.csv: record 2002, byte %llu: ragged record", (unsigned long long)bytes + 13);
    ck_fails(run_stage(&o, &report), STATUS_INPUT, wanted_text);
    ck_assert(!file_exists(out));
    free(report);
    o.vocab = folder;
    ck_fails(run_stage(&o, &report), STATUS_INPUT, "vocab.txt");
    free(report);
    standard_case(&o);
    o.inputs = (char *[]){csv[0], (char[]){"/no/such/file.csv"}};
    ck_fails(run_stage(&o, &report), STATUS_INPUT, "/no/such/file.csv");
    free(report);
    ck_assert(!file_exists(out));
}
END_TEST

/* Asked to stop, all ranks stop; whole parts stay, and the same command goes on. */
START_TEST(stop_and_go_on)
{
    stage_options o;
    char *report, **names;
    size_t count;
    prepare(2);
    if (comm_rank() == 0) { /* beyond a step of every rank */
        FILE *f = fopen(csv[0], "ab");
        ck_assert_ptr_nonnull(f);
        for (int64_t i = 0; i < comm_size() * INT64_C(9) << 20; i += 60000) {
            fprintf(f, "%lld,", (long long)i);
            for (int k = 0; k < 60000; k++)
                fputc('x', f);
            fputs(",en,1,\n", f);
        }
        fclose(f);
    }
    comm_barrier();
    standard_case(&o);
    o.split_bytes = 1 << 20;
    stop_open(0, 0);
    if (comm_rank() == comm_size() - 1)
        raise(SIGUSR1);
    ck_assert_int_eq(run_stage(&o, &report), STATUS_STOPPED);
    free(report);
    if (comm_rank() == 0) {
        ck_ok(file_list(out, &names, &count));
        ck_assert_uint_gt(count, 0);
        for (size_t i = 0; i < count; i++)
            ck_assert_msg(strncmp(names[i], "part-", 5) == 0 && strcmp(names[i] + strlen(names[i]) - 3, ".h5") == 0, "%s", names[i]);
        file_free_names(names, count);
    }
    comm_barrier();
}
END_TEST

int main(int argc, char **argv)
{
    return support_run_ranks(argc, argv, "preprocess",
                             (const TTest *[]){shared_parts_are_the_slow_ones, few_pieces, any_shape, parts_are_the_slow_ones, splits_change_no_row,
                                               faults_leave_nothing, stop_and_go_on, NULL});
}
