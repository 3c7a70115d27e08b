/* view, decode and every tokenizer setting against transformers on a made-up vocabulary (tests/oracle/tokens_view.py). */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "preprocess/tokenizer.h"
#include "preprocess/view.h"
#include "support/support.h"

static const char *vocabulary_path(void)
{
    return support_source("tests/oracle/tokens_view.vocab.txt");
}

static json_t *load_golden(void)
{
    json_error_t error;
    json_t *golden = json_load_file(support_source("tests/oracle/tokens_view.json"), JSON_ALLOW_NUL, &error);
    ck_assert_msg(golden != NULL, "%s", error.text);
    return golden;
}

static void same_row(const json_t *record, const char *key, const uint32_t *got, int64_t n, size_t index)
{
    const json_t *want = json_object_get(record, key);
    ck_assert_msg(json_array_size(want) == (size_t)n, "view %zu, %s: %lld entries, %zu expected", index, key, (long long)n, json_array_size(want));
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(got[i] == json_integer_value(json_array_get(want, (size_t)i)), "view %zu, %s, entry %lld", index, key, (long long)i);
}

static void same_text(const tokenizer *t, const json_t *record, const char *key, const view_encoding *e, bool skip, bool clean, size_t index)
{
    const json_t *want = json_object_get(record, key);
    char *text;
    size_t bytes;
    ck_ok(tokenizer_decode(t, e->ids, e->length, skip, clean, &text, &bytes));
    ck_assert_msg(bytes == json_string_length(want) && memcmp(text, json_string_value(want), bytes) == 0, "view %zu, %s: '%s', not '%s'", index, key,
                  text, json_string_value(want));
    free(text);
}

START_TEST(views)
{
    json_t *golden = load_golden(), *record;
    tokenizer *t;
    size_t i;
    ck_ok(tokenizer_create(vocabulary_path(), &(tokenizer_settings){.lower_case = TOKENIZER_YES}, &t));
    json_array_foreach(json_object_get(golden, "views"), i, record)
    {
        const json_t *text = json_object_get(record, "text"), *a = json_array_get(text, 0), *b = json_array_get(text, 1);
        view_options o = {.max_length = json_integer_value(json_object_get(record, "max_length"))};
        view_encoding e;
        o.pad = o.max_length > 0;
        o.truncate = strcmp(json_string_value(json_object_get(record, "side")), "left") == 0 ? VIEW_TAIL : VIEW_HEAD;
        ck_ok(view_encode(t, json_string_value(a), json_string_length(a), json_string_value(b), json_string_length(b), &o, &e));
        same_row(record, "ids", e.ids, e.length, i);
        same_row(record, "mask", e.mask, e.length, i);
        same_row(record, "types", e.types, e.length, i);
        same_text(t, record, "decoded", &e, false, true, i);
        same_text(t, record, "skipped", &e, true, true, i);
        same_text(t, record, "raw", &e, false, false, i);
        view_encoding_free(&e);
    }
    ck_assert_uint_gt(i, 100);
    tokenizer_free(t);
    json_decref(golden);
}
END_TEST

static tokenizer_choice choice(const json_t *value)
{
    return json_is_null(value) ? TOKENIZER_AUTO : json_is_true(value) ? TOKENIZER_YES : TOKENIZER_NO;
}

START_TEST(settings)
{
    json_t *golden = load_golden(), *record;
    const json_t *texts = json_object_get(golden, "texts");
    size_t i;
    json_array_foreach(json_object_get(golden, "settings"), i, record)
    {
        tokenizer_settings s = {.lower_case = choice(json_object_get(record, "lower")),
                                .strip_accents = choice(json_object_get(record, "strip")),
                                .tokenize_chinese_chars = choice(json_object_get(record, "cjk"))};
        tokenizer *t;
        tokenizer_scratch *scratch;
        ck_ok(tokenizer_create(vocabulary_path(), &s, &t));
        ck_ok(tokenizer_scratch_create(t, &scratch));
        for (size_t k = 0; k < json_array_size(texts); k++) {
            const json_t *text = json_array_get(texts, k), *want = json_array_get(json_object_get(record, "ids"), k);
            tokenizer_tokens got;
            ck_ok(tokenizer_encode(t, scratch, json_string_value(text), json_string_length(text), &got));
            bool same = (size_t)got.count == json_array_size(want);
            for (size_t j = 0; same && j < json_array_size(want); j++)
                same = got.ids[j] == json_integer_value(json_array_get(want, j));
            ck_assert_msg(same, "setting %zu, text %zu", i, k);
        }
        tokenizer_scratch_free(scratch);
        tokenizer_free(t);
    }
    ck_assert_uint_eq(i, 12);
    json_decref(golden);
}
END_TEST

static char *run(view_options o)
{
    char *printed = NULL;
    size_t bytes;
    FILE *out = open_memstream(&printed, &bytes);
    o.vocab = vocabulary_path();
    o.settings.lower_case = TOKENIZER_YES;
    ck_ok(view_run(&o, out));
    ck_assert_int_eq(fclose(out), 0);
    return printed;
}

START_TEST(printed)
{
    char *text = run((view_options){.text = {"You are kind.", "who?"}, .max_length = 12, .pad = true});
    ck_assert_ptr_nonnull(strstr(text, "\nattention_mask: 1 1 1 1 1 1 1 1 1 0 0 0\n"));
    ck_assert_ptr_nonnull(strstr(text, "\ntoken_type_ids: 0 0 0 0 0 0 1 1 1 0 0 0\n"));
    ck_assert_ptr_nonnull(strstr(text, "decoded: [CLS] you are kind. [SEP] who? [SEP] [PAD] [PAD] [PAD]\n"));
    ck_assert_ptr_nonnull(strstr(text, "text: you are kind. who?\n"));
    char input[] = "You are kind.\nwho?\n";
    FILE *in = fmemopen(input, strlen(input), "r");
    char *piped = run((view_options){.in = in, .pair = true, .max_length = 12, .pad = true});
    ck_assert_str_eq(piped, text);
    fclose(in);
    free(piped);
    free(text);
}
END_TEST

START_TEST(head_and_tail)
{
    char *text = run((view_options){.text = {"1 2 you are kind the most people here"}, .max_length = 6, .truncate = VIEW_HEAD_TAIL});
    ck_assert_ptr_nonnull(strstr(text, "decoded: [CLS] 1 most people here [SEP]\n"));
    free(text);
}
END_TEST

START_TEST(refused)
{
    view_encoding e;
    tokenizer *t;
    ck_ok(tokenizer_create(vocabulary_path(), &(tokenizer_settings){.lower_case = TOKENIZER_YES}, &t));
    ck_fails(view_encode(t, "a", 1, NULL, 0, &(view_options){.max_length = 2}, &e), STATUS_USAGE, "--max-length 2");
    ck_fails(view_encode(t, "a", 1, NULL, 0, &(view_options){.pad = true}, &e), STATUS_USAGE, "--pad needs --max-length");
    tokenizer_free(t);
}
END_TEST

int main(void)
{
    return support_run("view", (const TTest *[]){views, settings, printed, head_and_tail, refused, NULL});
}
