#include "preprocess/tokenizer_json.h"

#include <stdlib.h>
#include <string.h>

#include "common/files.h"

static const size_t LARGEST = (size_t)1 << 28; /* bytes; those of large vocabularies have some ten million */

status tokenizer_json_load(const char *path, json_t **out)
{
    char *text = NULL;
    size_t bytes;
    json_error_t error;
    status st;
    *out = NULL;
    TRY_DONE(file_read_all(path, LARGEST, &text, &bytes));
    *out = json_loadb(text, bytes, 0, &error);
    if (!json_is_object(*out)) {
        st = fail(STATUS_INPUT, "%s: not a JSON object (line %d: %s); mend it or take it out", path, *out ? 1 : error.line,
                  *out ? "it is something else" : error.text);
        json_decref(*out);
        *out = NULL;
    }
done:
    free(text);
    return st;
}

status tokenizer_json_choose(const char *path, const json_t *object, const char *key, tokenizer_choice *choice)
{
    const json_t *value = json_object_get(object, key);
    if (!value || json_is_null(value))
        return STATUS_OK;
    if (!json_is_boolean(value))
        return fail(STATUS_INPUT, "%s: \"%s\" is neither true nor false", path, key);
    if (*choice == TOKENIZER_AUTO)
        *choice = json_is_true(value) ? TOKENIZER_YES : TOKENIZER_NO;
    return STATUS_OK;
}

/* The member `key` of `part` must be this text; `absent`: or not be there. */
static status demand(const char *path, const char *part_name, const json_t *part, const char *key, const char *text, bool absent)
{
    const char *value = json_string_value(json_object_get(part, key));
    if ((!json_object_get(part, key) && absent) || (value && strcmp(value, text) == 0))
        return STATUS_OK;
    return fail(STATUS_INPUT, "%s: \"%s\": \"%s\" is %s, only \"%s\" is supported; give the tokenizer.json of a BERT model", path, part_name, key,
                value ? value : "not there", text);
}

static status check_added(const char *path, const json_t *added, const vocabulary *v)
{
    static const char *const never[] = {"single_word", "lstrip", "rstrip", "normalized"};
    for (size_t i = 0; i < json_array_size(added); i++) {
        const json_t *token = json_array_get(added, i);
        const char *content = json_string_value(json_object_get(token, "content"));
        int special = 0;
        while (content && special < VOCABULARY_SPECIALS && strcmp(content, vocabulary_special_text[special]) != 0)
            special++;
        if (!content || special == VOCABULARY_SPECIALS)
            return fail(STATUS_INPUT, "%s: \"added_tokens\": %s is not supported, only [PAD] [UNK] [CLS] [SEP] [MASK]", path, content ? content : "no \"content\"");
        if (json_integer_value(json_object_get(token, "id")) != (json_int_t)v->special[special])
            return fail(STATUS_INPUT, "%s: \"added_tokens\": %s has another id than in \"vocab\"", path, content);
        for (size_t k = 0; k < sizeof never / sizeof never[0]; k++)
            if (json_is_true(json_object_get(token, never[k])))
                return fail(STATUS_INPUT, "%s: \"added_tokens\": %s with \"%s\": true is not supported", path, content, never[k]);
    }
    return STATUS_OK;
}

static status check_normaliser(const char *path, const json_t *file, tokenizer_settings *s)
{
    const json_t *n = json_object_get(file, "normalizer");
    TRY(demand(path, "normalizer", n, "type", "BertNormalizer", false));
    if (json_is_false(json_object_get(n, "clean_text")))
        return fail(STATUS_INPUT, "%s: \"normalizer\": \"clean_text\": false is not supported", path);
    TRY(tokenizer_json_choose(path, n, "lowercase", &s->lower_case));
    TRY(tokenizer_json_choose(path, n, "strip_accents", &s->strip_accents));
    return tokenizer_json_choose(path, n, "handle_chinese_chars", &s->tokenize_chinese_chars);
}

/* [CLS] text [SEP], in one of the two ways to say it; none at all is fine too. */
static status check_frame(const char *path, const json_t *frame)
{
    const char *type = json_string_value(json_object_get(frame, "type"));
    if (!frame || json_is_null(frame))
        return STATUS_OK;
    const json_t *single = json_object_get(frame, "single");
    const char *first = json_string_value(json_array_get(json_object_get(frame, "cls"), 0));
    const char *last = json_string_value(json_array_get(json_object_get(frame, "sep"), 0));
    if (type && strcmp(type, "TemplateProcessing") == 0 && json_array_size(single) == 3) {
        first = json_string_value(json_object_get(json_object_get(json_array_get(single, 0), "SpecialToken"), "id"));
        last = json_string_value(json_object_get(json_object_get(json_array_get(single, 2), "SpecialToken"), "id"));
    } else if (!type || strcmp(type, "BertProcessing") != 0) {
        first = NULL;
    }
    if (!first || !last || strcmp(first, "[CLS]") != 0 || strcmp(last, "[SEP]") != 0)
        return fail(STATUS_INPUT, "%s: \"post_processor\" (%s) is not [CLS], the text, [SEP]; only that is supported", path, type ? type : "no type");
    return STATUS_OK;
}

static status read_vocabulary(const char *path, const json_t *model, vocabulary *out)
{
    const json_t *vocab = json_object_get(model, "vocab"), *longest = json_object_get(model, "max_input_chars_per_word");
    size_t n = json_object_size(vocab);
    const char **pieces = NULL, *piece;
    json_t *value;
    status st;
    TRY_DONE(demand(path, "model", model, "type", "WordPiece", true));
    TRY_DONE(demand(path, "model", model, "continuing_subword_prefix", "##", true));
    TRY_DONE(demand(path, "model", model, "unk_token", "[UNK]", true));
    if (longest && json_integer_value(longest) != WORDPIECE_LONGEST_WORD)
        TRY_DONE(fail(STATUS_INPUT, "%s: \"model\": \"max_input_chars_per_word\" is not %d, which alone is supported", path, WORDPIECE_LONGEST_WORD));
    if (!n)
        TRY_DONE(fail(STATUS_INPUT, "%s: \"model\" has no \"vocab\" of pieces and ids; give the tokenizer.json of a BERT model", path));
    TRY_DONE(memory_new(&pieces, n * sizeof *pieces, "the vocabulary"));
    json_object_foreach((json_t *)vocab, piece, value)
    {
        json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
        if (id < 0 || (size_t)id >= n || pieces[id])
            TRY_DONE(fail(STATUS_INPUT, "%s: \"vocab\": the id of \"%s\" is not one of 0 to %zu, each once", path, piece, n - 1));
        pieces[id] = piece;
    }
    TRY_DONE(vocabulary_from_pieces(path, pieces, n, out));
done:
    free(pieces);
    return st;
}

status tokenizer_json_read(const char *path, vocabulary *out, tokenizer_settings *settings)
{
    json_t *file = NULL;
    status st;
    memset(out, 0, sizeof *out);
    TRY_DONE(tokenizer_json_load(path, &file));
    TRY_DONE(read_vocabulary(path, json_object_get(file, "model"), out));
    TRY_DONE(check_added(path, json_object_get(file, "added_tokens"), out));
    TRY_DONE(check_normaliser(path, file, settings));
    TRY_DONE(demand(path, "pre_tokenizer", json_object_get(file, "pre_tokenizer"), "type", "BertPreTokenizer", false));
    TRY_DONE(check_frame(path, json_object_get(file, "post_processor")));
done:
    json_decref(file);
    if (st != STATUS_OK)
        vocabulary_free(out);
    return st;
}
