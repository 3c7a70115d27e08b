/* What a run leaves on disk, without training: stripes, state.json, records, and the reader of run folders. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files.h"
#include "common/sealed.h"
#include "model/pieces.h"
#include "model/pointer.h"
#include "model/run.h"
#include "support/support.h"
#include "train/records.h"
#include "train/state.h"
#include "train/stripe.h"

static char *at(const char *folder, const char *name)
{
    char *path;
    ck_ok(file_join(folder, name, &path));
    return path; /* lives until the test ends */
}

static void flip(const char *path, size_t byte, const char *text, size_t bytes)
{
    char *copy = malloc(bytes);
    memcpy(copy, text, bytes);
    copy[byte] = (char)(copy[byte] ^ (1 << support_below(8)));
    ck_ok(file_write_atomic(path, copy, bytes));
    free(copy);
}

START_TEST(stripe_comes_back_or_is_refused)
{
    enum { N = 300 };
    float m[N], v[N], a[N], b[N];
    const char *path = at(support_scratch(), "optimizer-00003.bin");
    const stripe s = {3, 3 * N, N, 812};
    large_file file;
    char *text;
    size_t bytes;
    for (int i = 0; i < N; i++) {
        m[i] = support_normal();
        v[i] = m[i] * m[i];
    }
    ck_ok(stripe_write(path, &s, m, v, &file));
    ck_ok(large_file_end(&file, NULL));
    ck_ok(stripe_read(path, &s, a, b));
    ck_assert(memcmp(a, m, sizeof m) == 0 && memcmp(b, v, sizeof v) == 0);
    ck_fails(stripe_read(path, &(stripe){3, 3 * N, N, 813}, a, b), STATUS_INPUT, "step 813");
    ck_fails(stripe_read(path, &(stripe){3, 3 * N, N - 1, 812}, a, b), STATUS_INPUT, "bytes");
    ck_fails(stripe_read("nowhere", &s, a, b), STATUS_INPUT, "nowhere");
    ck_ok(file_read_all(path, 0, &text, &bytes));
    ck_assert_uint_eq(bytes, stripe_bytes(N));
    for (size_t byte = 0; byte < bytes; byte += 1 + support_below(20)) {
        flip(path, byte, text, bytes);
        ck_fails(stripe_read(path, &s, a, b), STATUS_INPUT, "damaged");
    }
    ck_ok(file_write_atomic(path, text, bytes - 1));
    ck_fails(stripe_read(path, &s, a, b), STATUS_INPUT, "bytes");
    free(text);
}
END_TEST

static tensor_table *make_table(int64_t layers)
{
    const model_config config = {.vocab_size = 30,
                                 .hidden = 8,
                                 .layers = layers,
                                 .heads = 2,
                                 .feed_forward = 12,
                                 .positions = 16,
                                 .type_vocab = 2,
                                 .layer_norm_epsilon = 1e-12,
                                 .initializer_range = 0.02};
    tensor_table *table;
    ck_ok(tensor_table_create(&config, 1, true, &table));
    return table;
}

START_TEST(state_comes_back_or_is_refused)
{
    tensor_table *table = make_table(2), *other = make_table(1);
    checkpoint_state s = {.step = 812, .probe = support_random(), .best = 1, .best_auc = 0.1 + 0.2}, back;
    const char *path = at(support_scratch(), "state.json");
    uint64_t hash[64], read[64];
    char *text, *again;
    memset(s.run, 'c', 64);
    for (int t = 0; t < table->count; t++)
        hash[t] = support_random();
    ck_ok(state_text(&s, table, hash, 7, &text));
    ck_ok(state_text(&s, table, hash, 7, &again));
    ck_assert_str_eq(text, again);
    size_t bytes = strlen(text), changed = 0;
    ck_ok(file_write_atomic(path, text, bytes));
    ck_ok(state_read(path, table, &back, read));
    ck_assert(back.step == 812 && back.probe == s.probe && back.best == 1 && back.best_auc == s.best_auc && strcmp(back.run, s.run) == 0);
    ck_assert(memcmp(hash, read, (size_t)table->count * sizeof *hash) == 0);
    ck_fails(state_read(path, other, &back, read), STATUS_INPUT, "tensors");
    for (size_t byte = 0; byte < bytes; byte += 1 + support_below(7)) {
        flip(path, byte, text, bytes);
        ck_fails(state_read(path, table, &back, read), STATUS_INPUT, "state.json");
        changed++;
    }
    ck_assert(changed > 100);
    free(text);
    free(again);
    tensor_table_free(table);
    tensor_table_free(other);
}
END_TEST

static void write_steps(records *r, int64_t first, int64_t last)
{
    for (int64_t step = first; step <= last; step++) {
        ck_ok(records_step(r, &(record_step){step, (step + 3) / 4, 0.1 * (double)step, 1e-5, 8, 100, (uint64_t)step}));
        ck_ok(records_timing(r, step, 0.5, &(phase_timer){.seconds = {0.25}}));
        if (step % 4 == 0)
            ck_ok(records_epoch(r, step == 4 ? "{\"epoch\":1,\"valid_auc\":0.5}" : "{\"epoch\":2,\"valid_auc\":0.6}"));
    }
}

START_TEST(records_go_on_without_gap)
{
    const char *folder = support_scratch(), *path = at(folder, "metrics.jsonl");
    records *r;
    char *whole, *text;
    size_t bytes, n;
    ck_ok(records_open(folder, 0, 4, &r));
    write_steps(r, 1, 8);
    ck_ok(records_flush(r));
    records_close(r);
    ck_ok(file_read_all(path, 0, &whole, &bytes));
    ck_assert_ptr_nonnull(strstr(
        whole, "{\"step\":3,\"epoch\":1,\"loss\":0.30000000000000004,\"lr\":1e-05,\"rows\":8,\"tokens\":100,\"state\":\"0000000000000003\",\"check\":\""));
    for (int64_t step = 0; step <= 8; step++) {
        size_t torn = step == 8 ? 0 : support_below(54); /* a line that a crash cut */
        ck_ok(file_write_atomic(path, whole, bytes - torn));
        ck_ok(records_open(folder, step, 4, &r));
        if (step % 4 == 0 && step > 0) /* the epoch that ends here is validated again */
            ck_ok(records_epoch(r, step == 4 ? "{\"epoch\":1,\"valid_auc\":0.5}" : "{\"epoch\":2,\"valid_auc\":0.6}"));
        write_steps(r, step + 1, 8);
        records_close(r);
        ck_ok(file_read_all(path, 0, &text, &n));
        ck_assert_msg(n == bytes && memcmp(text, whole, n) == 0, "from step %lld:\n%s", (long long)step, text);
        free(text);
    }
    ck_ok(file_write_atomic(path, whole, 40));
    ck_fails(records_open(folder, 3, 4, &r), STATUS_INPUT, "step 3");
    free(whole);
}
END_TEST

/* Whatever byte of a line that stays is another: it is that line's number that is told. A line that is gone is told too. */
START_TEST(damaged_records_are_named)
{
    const char *folder = support_scratch(), *path = at(folder, "metrics.jsonl");
    records *r;
    char *whole, wanted[40];
    size_t bytes, first = 0;
    ck_ok(records_open(folder, 0, 4, &r));
    write_steps(r, 1, 8);
    records_close(r);
    ck_ok(file_read_all(path, 0, &whole, &bytes));
    for (int line = 1; line <= 8; line++) { /* steps 1 to 4, epoch 1, steps 5 to 7 */
        size_t next = (size_t)(strchr(whole + first, '\n') - whole) + 1;
        snprintf(wanted, sizeof wanted, "line %d is damaged or missing", line);
        for (size_t byte = first; byte < next; byte++) {
            char old = whole[byte];
            whole[byte] = (char)(old ^ (1 + (int)support_below(255)));
            ck_ok(file_write_atomic(path, whole, bytes));
            whole[byte] = old;
            ck_fails(records_open(folder, 7, 4, &r), STATUS_INPUT, wanted);
        }
        char *shorter = malloc(bytes);
        memcpy(shorter, whole, first);
        memcpy(shorter + first, whole + next, bytes - next);
        ck_ok(file_write_atomic(path, shorter, bytes - (next - first)));
        free(shorter);
        ck_fails(records_open(folder, 7, 4, &r), STATUS_INPUT, wanted);
        first = next;
    }
    free(whole);
}
END_TEST

START_TEST(numbers_read_back)
{
    char text[32];
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = support_random();
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        records_number(value, text);
        ck_assert(strtod(text, NULL) == value);
    }
    records_number(0.1, text);
    ck_assert_str_eq(text, "0.1");
    records_number(3.2e-5, text);
    ck_assert_str_eq(text, "3.2e-05");
}
END_TEST

static void put(const char *folder, const char *name, const char *text)
{
    ck_ok(file_write_atomic(at(folder, name), text, strlen(text)));
}

static void put_sealed(const char *folder, const char *name, const char *json)
{
    json_t *object = json_loads(json, 0, NULL);
    char *text;
    ck_ok(sealed_text(object, &text));
    put(folder, name, text);
    free(text);
    json_decref(object);
}

START_TEST(run_folder_is_read)
{
    static const char description[] = "{\"format\": 1, \"arithmetic\": 1, \"recipe\": \"\", \"recipe_sha256\": "
                                      "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\","
                                      " \"pooling\": \"padded\", \"max_length\": 40, \"truncate\": \"head-tail\", \"labels\": [\"toxic\", \"rude\"], "
                                      "\"tokenizer\": \"lower=yes\\nvocab=ab\\n\","
                                      " \"vocabulary\": {\"cls\": 101, \"sep\": 102, \"pad\": 0}}";
    const char *folder = support_scratch();
    run r;
    ck_fails(run_open("nowhere", NULL, &r), STATUS_INPUT, "no such folder");
    ck_fails(run_open(folder, NULL, &r), STATUS_INPUT, "no run.json");
    put(folder, "run.json", description);
    ck_fails(run_open(folder, NULL, &r), STATUS_INPUT, "run.json: the file is damaged");
    put_sealed(folder, "run.json", description);
    ck_fails(run_open(folder, NULL, &r), STATUS_INPUT, "none yet");
    put(folder, "last", "step-000009\n");
    ck_fails(run_open(folder, NULL, &r), STATUS_INPUT, "is not there");
    ck_ok(file_make_folder(at(folder, "step-000009")));
    ck_fails(run_open(folder, "last", &r), STATUS_INPUT, "state.json");
    put_sealed(folder, "step-000009/state.json", "{\"step\": 9, \"state\": \"0123456789abcdef\"}");
    ck_ok(run_open(folder, NULL, &r));
    ck_assert_str_eq(r.weights, "step-000009");
    ck_assert(r.padded && r.input.max_length == 40 && r.input.truncate == TRUNCATE_HEAD_TAIL && r.input.cls == 101 && r.input.sep == 102 &&
              r.input.pad == 0);
    ck_assert(r.labels == 2 && r.step == 9 && !r.finished && strcmp(r.label[1], "rude") == 0 && strcmp(r.weights_hash, "0123456789abcdef") == 0);
    run_close(&r);
    put(folder, "provenance.json", "{}");
    ck_ok(run_open(folder, "step-000009", &r));
    ck_assert(r.finished);
    run_close(&r);
    ck_fails(run_open(folder, "best", &r), STATUS_INPUT, "it has: last, step-000009");
    put(folder, "best", "../elsewhere\n");
    ck_fails(run_open(folder, "best", &r), STATUS_INPUT, "damaged");
    char pointer[POINTER_BYTES];
    pointer_text("step-000009", pointer);
    put(folder, "best", pointer);
    ck_ok(run_open(folder, "best", &r));
    run_close(&r);
    for (size_t i = 0; pointer[i]; i++) {
        pointer[i] ^= 1;
        put(folder, "best", pointer);
        ck_fails(run_open(folder, "best", &r), STATUS_INPUT, "best");
        pointer[i] ^= 1;
    }
    put(folder, "run.json", "{\"format\": 1, \"arithmetic\": 1");
    ck_fails(run_open(folder, NULL, &r), STATUS_INPUT, "run.json");
}
END_TEST

START_TEST(vocabulary_gives_special_ids)
{
    const char *folder = support_scratch();
    input_format f = {0};
    int64_t lines;
    char *pieces, *path;
    size_t bytes;
    put(folder, "vocab.txt", "[PAD]\n[UNK]\r\n[CLS]\r\nword\n[SEP]");
    ck_ok(pieces_read(at(folder, "vocab.txt"), &pieces, &bytes));
    ck_ok(pieces_find_specials("v", pieces, bytes, &f, &lines));
    ck_assert(lines == 5 && f.pad == 0 && f.cls == 2 && f.sep == 4);
    ck_fails(pieces_find_specials("v", pieces, 12, &f, &lines), STATUS_INPUT, "[CLS]");
    free(pieces);
    put(folder, "tokenizer.json", "{\"model\": {\"vocab\": {\"[SEP]\": 2, \"w\u00f6rd\": 3, \"[PAD]\": 0, \"[CLS]\": 1}}}");
    ck_ok(pieces_find(folder, &path)); /* vocab.txt comes first */
    ck_assert_str_eq(file_base(path), "vocab.txt");
    ck_ok(file_remove(path));
    free(path);
    ck_ok(pieces_find(folder, &path));
    ck_ok(pieces_read(path, &pieces, &bytes));
    ck_assert_str_eq(pieces, "[PAD]\n[CLS]\n[SEP]\nw\u00f6rd\n");
    ck_assert_uint_eq(bytes, strlen(pieces));
    ck_ok(pieces_find_specials("v", pieces, bytes, &f, &lines));
    ck_assert(lines == 4 && f.pad == 0 && f.cls == 1 && f.sep == 2);
    free(pieces);
    put(folder, "tokenizer.json", "{\"model\": {\"vocab\": {\"[SEP]\": 2, \"[PAD]\": 0, \"[CLS]\": 2}}}");
    ck_fails(pieces_read(path, &pieces, &bytes), STATUS_INPUT, "is not one of 0 to 2");
    put(folder, "tokenizer.json", "{\"model\": {\"vocab\": {}}}");
    ck_fails(pieces_read(path, &pieces, &bytes), STATUS_INPUT, "no \"vocab\"");
    put(folder, "tokenizer.json", "{\"model\": ");
    ck_fails(pieces_read(path, &pieces, &bytes), STATUS_INPUT, "not JSON");
    ck_ok(file_remove(path));
    free(path);
    ck_fails(pieces_find(folder, &path), STATUS_INPUT, "neither vocab.txt nor tokenizer.json");
    ck_ok(input_check_ids((const int32_t[]){0, 9}, 2, 10, "row", 7));
    ck_fails(input_check_ids((const int32_t[]){0, 10}, 2, 10, "row", 7), STATUS_INPUT, "row 7 has token id 10, the model's vocabulary has 10 entries");
    ck_fails(input_check_ids((const int32_t[]){INT32_MIN}, 1, 10, "row", 7), STATUS_INPUT, "token id 2147483648");
    char hash[65] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", text[200];
    snprintf(text, sizeof text, "a=1\nvocab=%s\n", hash);
    ck_assert(run_vocabulary_matches(text, hash));
    hash[63] = '0';
    ck_assert(!run_vocabulary_matches(text, hash) && !run_vocabulary_matches("a=1\n", hash) && !run_vocabulary_matches("", hash));
}
END_TEST

int main(void)
{
    return support_run("train_files", (const TTest *[]){stripe_comes_back_or_is_refused, state_comes_back_or_is_refused, records_go_on_without_gap, damaged_records_are_named,
                                                        numbers_read_back, run_folder_is_read, vocabulary_gives_special_ids, NULL});
}
