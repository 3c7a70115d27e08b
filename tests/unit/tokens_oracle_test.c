/* The tokenizer against the reference's ids: every code point in five contexts, the rows of real CSVs, the lines of real texts,
 * random strings. Without the oracle or the vocabularies a test says so and passes. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files.h"
#include "common/hash.h"
#include "preprocess/tokenizer.h"
#include "preprocess/utf8.h"
#include "support/support.h"

enum { MBERT_UNCASED, MBERT_CASED, BERT_UNCASED, VOCABS, DIGEST = 16 };

/* Whose ids a test wants, and the end of the names of the files that have them. */
static tokenizer_match match = TOKENIZER_MATCH_PYTHON;
static const char *files_of = "";

static const struct {
    const char *name, *folder;
    tokenizer_choice lower;
} vocabs[VOCABS] = {{"mbert_uncased", "vocab/bert-base-multilingual-uncased", TOKENIZER_YES},
                    {"mbert_cased", "vocab/bert-base-multilingual-cased", TOKENIZER_NO},
                    {"bert_uncased", "vocab/bert-base-uncased", TOKENIZER_YES}};

/* As ck_ok, but silent: Check writes a note to a file for every assertion that holds, too slow for millions. */
static void must(status st)
{
    if (st != STATUS_OK)
        ck_abort_msg("%s", status_message());
}

/* A tokenizer with the records that one digest covers. */
typedef struct subject {
    tokenizer *t;
    tokenizer_scratch *s;
    hash_sha256 *hash;
    int64_t ids;
} subject;

static bool open_subject(int vocab, subject *to)
{
    const char *folder = support_data(vocabs[vocab].folder);
    if (!folder) {
        support_skip(vocabs[vocab].folder);
        return false;
    }
    memset(to, 0, sizeof *to);
    ck_ok(tokenizer_create(folder, &(tokenizer_settings){.lower_case = vocabs[vocab].lower, .match = match}, &to->t));
    ck_ok(tokenizer_scratch_create(to->t, &to->s));
    return true;
}

static void close_subject(subject *a)
{
    tokenizer_scratch_free(a->s);
    tokenizer_free(a->t);
}

static void begin_digest(subject *a)
{
    ck_ok(hash_sha256_begin(&a->hash));
    a->ids = 0;
}

/* Adds the record of one text: count and ids, little-endian as this machine is. */
static void add_text(subject *a, const char *text, size_t bytes)
{
    tokenizer_tokens k;
    must(tokenizer_encode(a->t, a->s, text, bytes, &k));
    uint32_t count = (uint32_t)k.count;
    hash_sha256_add(a->hash, &count, sizeof count);
    if (count)
        hash_sha256_add(a->hash, k.ids, count * sizeof *k.ids);
    a->ids += k.count;
}

static void end_digest(subject *a, char digest[HASH_HEX])
{
    hash_sha256_end(a->hash, digest);
    digest[DIGEST] = 0;
}

static char *read_oracle(const char *name, size_t *bytes)
{
    char *text = NULL;
    const char *path = support_oracle(name);
    if (!path)
        support_skip(name);
    else
        ck_ok(file_read_all(path, 0, &text, bytes));
    return text;
}

/* ---- every code point ---- */

static size_t put_contexts(uint32_t c, char text[5][16], size_t bytes[5])
{
    char one[4], mark[4];
    size_t n = utf8_put(c, one), m = utf8_put(0x301, mark);
    const struct {
        const char *before;
        int times;
        const char *after;
        size_t after_bytes;
    } context[5] = {{"", 1, "", 0}, {"x", 1, "y", 1}, {"x ", 1, "", 0}, {"", 1, mark, m}, {"e", 2, "", 0}};
    for (int k = 0; k < 5; k++) {
        size_t at = strlen(context[k].before);
        memcpy(text[k], context[k].before, at);
        for (int i = 0; i < context[k].times; i++, at += n)
            memcpy(text[k] + at, one, n);
        memcpy(text[k] + at, context[k].after, context[k].after_bytes);
        bytes[k] = at + context[k].after_bytes;
    }
    return 5;
}

static void check_code_points(int vocab)
{
    char name[128], digest[HASH_HEX], text[5][16];
    size_t bytes, contexts[5];
    int blocks = 0, wrong = 0;
    subject a;
    snprintf(name, sizeof name, "tokens/codepoints_%s%s.tsv", vocabs[vocab].name, files_of);
    char *oracle = read_oracle(name, &bytes);
    if (!oracle || !open_subject(vocab, &a)) {
        free(oracle);
        return;
    }
    for (char *line = oracle, *end; *line; line = end + 1, blocks++) {
        end = strchr(line, '\n');
        ck_assert_ptr_nonnull(end);
        uint32_t first = (uint32_t)strtoul(line, NULL, 16);
        begin_digest(&a);
        for (uint32_t c = first; c < first + 256; c++) {
            put_contexts(c, text, contexts);
            for (int k = 0; k < 5; k++)
                add_text(&a, text[k], contexts[k]);
        }
        end_digest(&a, digest);
        if (strncmp(end - DIGEST, digest, DIGEST) != 0 && wrong++ < 10)
            fprintf(stderr, "%s: block U+%04X differs\n", name, first);
    }
    fprintf(stderr, "%s: %d blocks of code points, %d differ\n", name, blocks, wrong);
    ck_assert_int_eq(wrong, 0);
    ck_assert_int_eq(blocks, 4344);
    close_subject(&a);
    free(oracle);
}

START_TEST(code_points_mbert_uncased)
{
    check_code_points(MBERT_UNCASED);
}
END_TEST

START_TEST(code_points_mbert_cased)
{
    check_code_points(MBERT_CASED);
}
END_TEST

START_TEST(code_points_bert_uncased)
{
    check_code_points(BERT_UNCASED);
}
END_TEST

/* ---- rows of CSVs ---- */

/* A field of a well-formed CSV at p: its text is unquoted in place. Returns what follows the field. */
static char *take_field(char *p, const char *end, char **text, size_t *bytes)
{
    char *out = *text = p;
    if (p < end && *p == '"') {
        for (p++; p < end && (*p != '"' || (p + 1 < end && p[1] == '"')); p++) {
            p += *p == '"';
            *out++ = *p;
        }
        p++;
    } else {
        while (p < end && *p != ',' && *p != '\n' && *p != '\r')
            *out++ = *p++;
    }
    *bytes = (size_t)(out - *text);
    return p;
}

/* One record; bytes[k] and text[k] for the first `most` fields. Returns what follows it. */
static char *take_record(char *p, const char *end, int most, char **text, size_t *bytes, int *fields)
{
    char *field;
    size_t n;
    *fields = 0;
    for (;;) {
        p = take_field(p, end, &field, &n);
        if (*fields < most) {
            text[*fields] = field;
            bytes[*fields] = n;
        }
        ++*fields;
        if (p >= end || *p != ',')
            break;
        p++;
    }
    if (p < end && *p == '\r')
        p++;
    return p < end ? p + 1 : p;
}

static void check_rows(const char *csv, const char *column, const char *stem, int vocab)
{
    enum { MOST = 16 };
    char name[128], digest[HASH_HEX], *text[MOST], *data, *oracle;
    size_t bytes[MOST], n, m;
    int fields, at = -1, wrong = 0;
    int64_t rows = 0, ids = 0;
    subject a;
    snprintf(name, sizeof name, "tokens/rows_%s_%s%s.tsv", stem, vocabs[vocab].name, files_of);
    if (!support_data(csv) || !(oracle = read_oracle(name, &m)) || !open_subject(vocab, &a)) {
        support_skip(csv);
        return;
    }
    ck_ok(file_read_all(support_data(csv), 0, &data, &n));
    char *p = take_record(data, data + n, MOST, text, bytes, &fields);
    for (int i = 0; i < fields && i < MOST; i++)
        if (bytes[i] == strlen(column) && memcmp(text[i], column, bytes[i]) == 0)
            at = i;
    ck_assert_int_ge(at, 0);
    for (char *line = oracle, *end; *line; line = end + 1) {
        long long first, count, expected;
        end = strchr(line, '\n');
        ck_assert_int_eq(sscanf(line, "%lld\t%lld\t%lld", &first, &count, &expected), 3);
        ck_assert_int_eq(first, rows);
        begin_digest(&a);
        for (long long i = 0; i < count; i++, rows++) {
            p = take_record(p, data + n, MOST, text, bytes, &fields);
            add_text(&a, text[at], bytes[at]);
        }
        end_digest(&a, digest);
        ids += a.ids;
        if (strncmp(end - DIGEST, digest, DIGEST) != 0 && wrong++ < 10)
            fprintf(stderr, "%s: rows from %lld differ (%lld ids, %lld expected)\n", name, first, (long long)a.ids, expected);
    }
    fprintf(stderr, "%s: %lld rows, %lld ids, %d differing thousands\n", name, (long long)rows, (long long)ids, wrong);
    ck_assert_int_eq(wrong, 0);
    ck_assert_ptr_eq(p, data + n);
    close_subject(&a);
    free(data);
    free(oracle);
}

START_TEST(rows_of_train)
{
    check_rows("comments/train.csv", "comment_text", "train", MBERT_UNCASED);
    check_rows("comments/train.csv", "comment_text", "train", MBERT_CASED);
}
END_TEST

START_TEST(rows_of_test)
{
    for (int v = 0; v < VOCABS; v++)
        check_rows("comments/test.csv", "content", "test", v);
}
END_TEST

START_TEST(rows_of_validation)
{
    check_rows("jigsaw/multilingual_validation.csv", "comment_text", "multilingual_validation", MBERT_UNCASED);
}
END_TEST

/* ---- lines of texts ---- */

static void check_lines(const char *folder, int vocab)
{
    char name[128], file[256], path[512], digest[HASH_HEX], *oracle, *data;
    size_t n, m;
    int files = 0, wrong = 0;
    subject a;
    snprintf(name, sizeof name, "tokens/lines_%s_%s%s.tsv", folder, vocabs[vocab].name, files_of);
    if (!(oracle = read_oracle(name, &m)) || !open_subject(vocab, &a)) {
        free(oracle);
        return;
    }
    for (char *line = oracle, *end; *line; line = end + 1, files++) {
        long long expected, lines = 0;
        end = strchr(line, '\n');
        ck_assert_int_eq(sscanf(line, "%255[^\t]\t%lld", file, &expected), 2);
        snprintf(path, sizeof path, "text/%s/%s", folder, file);
        ck_assert_ptr_nonnull(support_data(path));
        ck_ok(file_read_all(support_data(path), 0, &data, &n));
        begin_digest(&a);
        for (size_t i = 0; i < n; lines++) {
            const char *stop = memchr(data + i, '\n', n - i);
            size_t bytes = stop ? (size_t)(stop - data) - i : n - i;
            add_text(&a, data + i, bytes);
            i += bytes + 1;
        }
        end_digest(&a, digest);
        ck_assert_int_eq(lines, expected);
        if (strncmp(end - DIGEST, digest, DIGEST) != 0 && wrong++ < 10)
            fprintf(stderr, "%s: %s differs\n", name, file);
        free(data);
    }
    fprintf(stderr, "%s: %d files, %d differ\n", name, files, wrong);
    ck_assert_int_eq(wrong, 0);
    close_subject(&a);
    free(oracle);
}

START_TEST(lines_of_udhr)
{
    check_lines("udhr2", MBERT_UNCASED);
    check_lines("udhr2", MBERT_CASED);
}
END_TEST

START_TEST(lines_of_tatoeba)
{
    check_lines("tatoeba", MBERT_UNCASED);
    check_lines("tatoeba", MBERT_CASED);
}
END_TEST

/* ---- random strings ---- */

static bool same_ids(subject *a, const json_t *text, const json_t *ids)
{
    tokenizer_tokens k;
    must(tokenizer_encode(a->t, a->s, json_string_value(text), json_string_length(text), &k));
    bool same = (size_t)k.count == json_array_size(ids);
    for (size_t i = 0; same && i < json_array_size(ids); i++)
        same = k.ids[i] == json_integer_value(json_array_get(ids, i));
    if (!same) {
        char *shown = json_dumps(text, JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
        fprintf(stderr, "ids differ for %s\n", shown);
        free(shown);
    }
    return same;
}

static void check_strings(void)
{
    size_t bytes;
    int cases = 0, wrong = 0;
    subject a[2];
    char name[128];
    snprintf(name, sizeof name, "tokens/fuzz_1%s.jsonl", files_of);
    char *oracle = read_oracle(name, &bytes);
    if (!oracle || !open_subject(MBERT_UNCASED, &a[0]))
        return;
    ck_assert(open_subject(MBERT_CASED, &a[1]));
    for (char *line = oracle, *end; *line; line = end + 1, cases++) {
        end = strchr(line, '\n');
        json_t *record = json_loadb(line, (size_t)(end - line), JSON_ALLOW_NUL, NULL);
        ck_assert_ptr_nonnull(record);
        for (int v = 0; v < 2; v++)
            wrong += !same_ids(&a[v], json_object_get(record, "text"), json_object_get(json_object_get(record, "ids"), vocabs[v].name));
        json_decref(record);
    }
    fprintf(stderr, "%s: %d strings with two vocabularies, %d differ\n", name, cases, wrong);
    ck_assert_int_eq(wrong, 0);
    ck_assert_int_eq(cases, 6000);
    close_subject(&a[0]);
    close_subject(&a[1]);
    free(oracle);
}

START_TEST(random_strings)
{
    check_strings();
}
END_TEST

/* ---- as the Rust tokenizers have it ---- */

START_TEST(rust)
{
    match = TOKENIZER_MATCH_RUST;
    files_of = "_rust";
    for (int v = 0; v < VOCABS; v++) {
        check_code_points(v);
        check_rows("comments/test.csv", "content", "test", v);
    }
    check_strings();
    check_rows("comments/train.csv", "comment_text", "train", MBERT_CASED);
    check_lines("udhr2", MBERT_CASED);
    check_lines("tatoeba", MBERT_CASED);
    files_of = ""; /* where the two give the same ids there is one file */
    check_rows("comments/train.csv", "comment_text", "train", MBERT_UNCASED);
    match = TOKENIZER_MATCH_PYTHON;
}
END_TEST

int main(void)
{
    return support_run("tokens against the reference",
                       (const TTest *[]){code_points_mbert_uncased, code_points_mbert_cased, code_points_bert_uncased, random_strings, rows_of_train,
                                         rows_of_test, rows_of_validation, lines_of_udhr, lines_of_tatoeba, rust, NULL});
}
