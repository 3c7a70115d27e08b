/* tokenizer.json: the ids of the real library under every setting of its normaliser, and what is refused by name. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files.h"
#include "preprocess/tokenizer.h"
#include "support/support.h"

static json_t *golden;

static const char *write_json(const json_t *object, const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", support_scratch(), name);
    ck_assert_int_eq(json_dump_file(object, path, 0), 0);
    return path;
}

static void open_golden(void)
{
    json_error_t error;
    if (!golden)
        golden = json_load_file(support_source("tests/oracle/tokens_json.json"), JSON_ALLOW_NUL, &error);
    ck_assert_msg(golden != NULL, "tests/oracle/tokens_json.json: %s", error.text);
}

/* The golden tokenizer.json with this normaliser; the caller drops the reference. */
static json_t *with_normaliser(const json_t *normaliser)
{
    json_t *object = json_deep_copy(json_object_get(golden, "tokenizer"));
    json_object_set_new(object, "normalizer", json_deep_copy(normaliser));
    return object;
}

START_TEST(ids_of_the_library)
{
    size_t wrong = 0, texts = 0;
    open_golden();
    const json_t *cases = json_object_get(golden, "cases"), *text = json_object_get(golden, "texts");
    for (size_t c = 0; c < json_array_size(cases); c++) {
        const json_t *one = json_array_get(cases, c);
        json_t *file = with_normaliser(json_object_get(one, "normalizer"));
        tokenizer *t;
        tokenizer_scratch *s;
        ck_ok(tokenizer_create(write_json(file, "tokenizer.json"), &(tokenizer_settings){.match = TOKENIZER_MATCH_RUST}, &t));
        ck_ok(tokenizer_scratch_create(t, &s));
        for (size_t i = 0; i < json_array_size(text); i++, texts++) {
            const json_t *string = json_array_get(text, i), *ids = json_array_get(json_object_get(one, "ids"), i);
            tokenizer_tokens k;
            ck_ok(tokenizer_encode(t, s, json_string_value(string), json_string_length(string), &k));
            bool same = (size_t)k.count == json_array_size(ids);
            for (size_t n = 0; same && n < json_array_size(ids); n++)
                same = k.ids[n] == json_integer_value(json_array_get(ids, n));
            if (!same && wrong++ < 10)
                fprintf(stderr, "case %zu, text %zu differs: %s\n", c, i, json_string_value(string));
        }
        tokenizer_scratch_free(s);
        tokenizer_free(t);
        json_decref(file);
    }
    fprintf(stderr, "%zu texts and settings, %zu differ\n", texts, wrong);
    ck_assert_uint_gt(texts, 500);
    ck_assert_uint_eq(wrong, 0);
}
END_TEST

/* A vocabulary has one identity in both layouts, and tokenizer_config.json comes before tokenizer.json. */
START_TEST(layouts_agree)
{
    char *a, *b, folder[400], path[512];
    tokenizer *t;
    open_golden();
    json_t *file = with_normaliser(json_object_get(json_array_get(json_object_get(golden, "cases"), 0), "normalizer"));
    tokenizer_row_rules rules = {0};
    ck_ok(tokenizer_create(write_json(file, "tokenizer.json"), NULL, &t));
    ck_ok(tokenizer_identity(t, &rules, &a));
    tokenizer_free(t);
    ck_ok(tokenizer_create(support_source("tests/oracle/tokens_view.vocab.txt"), &(tokenizer_settings){.lower_case = TOKENIZER_YES}, &t));
    ck_ok(tokenizer_identity(t, &rules, &b));
    tokenizer_free(t);
    ck_assert_str_eq(a, b);
    free(a);
    free(b);
    snprintf(folder, sizeof folder, "%s", support_scratch());
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    ck_assert_int_eq(json_dump_file(file, path, 0), 0);
    snprintf(path, sizeof path, "%s/tokenizer_config.json", folder);
    ck_ok(file_write_atomic(path, "{\"do_lower_case\": false}", 24));
    ck_ok(tokenizer_create(folder, NULL, &t));
    ck_assert(!tokenizer_lower_case(t));
    tokenizer_free(t);
    json_decref(file);
}
END_TEST

/* Sets what stands at a/b/c of the golden file to the JSON text, and demands the message. */
static void refuse(const char *where, const char *json, const char *message)
{
    json_t *file = with_normaliser(json_object_get(json_array_get(json_object_get(golden, "cases"), 0), "normalizer")), *at = file;
    json_t *value = json_loads(json, JSON_DECODE_ANY, NULL);
    char name[64];
    tokenizer *t;
    ck_assert_ptr_nonnull(value);
    for (const char *slash; (slash = strchr(where, '/')) != NULL; where = slash + 1) {
        snprintf(name, sizeof name, "%.*s", (int)(slash - where), where);
        at = json_is_array(at) ? json_array_get(at, (size_t)strtoul(name, NULL, 10)) : json_object_get(at, name);
        ck_assert_ptr_nonnull(at);
    }
    json_object_set_new(at, where, value);
    ck_fails(tokenizer_create(write_json(file, "tokenizer.json"), NULL, &t), STATUS_INPUT, message);
    json_decref(file);
}

START_TEST(refusals)
{
    open_golden();
    refuse("normalizer", "{\"type\": \"NFC\"}", "\"normalizer\": \"type\" is NFC");
    refuse("normalizer", "null", "\"normalizer\"");
    refuse("normalizer/clean_text", "false", "\"clean_text\": false");
    refuse("normalizer/lowercase", "1", "\"lowercase\" is neither");
    refuse("pre_tokenizer/type", "\"Whitespace\"", "\"pre_tokenizer\": \"type\" is Whitespace");
    refuse("model/type", "\"BPE\"", "\"model\": \"type\" is BPE");
    refuse("model/continuing_subword_prefix", "\"@@\"", "\"continuing_subword_prefix\" is @@");
    refuse("model/unk_token", "\"<unk>\"", "\"unk_token\" is <unk>");
    refuse("model/max_input_chars_per_word", "200", "max_input_chars_per_word");
    refuse("model/vocab", "{}", "no \"vocab\"");
    refuse("model/vocab/kind", "7", "each once");
    refuse("model/vocab/kind", "\"x\"", "each once");
    refuse("added_tokens/0/content", "\"<s>\"", "<s> is not supported");
    refuse("added_tokens/0/lstrip", "true", "\"lstrip\": true");
    refuse("added_tokens/0/id", "3", "another id");
    refuse("post_processor/type", "\"RobertaProcessing\"", "RobertaProcessing");
}
END_TEST

int main(void)
{
    int failed = support_run("tokenizer.json", (const TTest *[]){ids_of_the_library, layouts_agree, refusals, NULL});
    json_decref(golden);
    return failed;
}
