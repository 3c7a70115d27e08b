#include "preprocess/tokenizer.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "preprocess/tokenizer_json.h"
#include "preprocess/tokenizer_table.h"

/* A special token may stand as text or as an object with "content"; only BERT's own names are done here. */
static status check_special(const char *path, const json_t *config, const char *key, const char *text)
{
    const json_t *value = json_object_get(config, key);
    if (json_is_object(value))
        value = json_object_get(value, "content");
    if (!value || json_is_null(value) || (json_is_string(value) && strcmp(json_string_value(value), text) == 0))
        return STATUS_OK;
    return fail(STATUS_INPUT, "%s: \"%s\" is not %s; special tokens of other names are not supported, use BERT's own", path, key, text);
}

static status check_config(const char *path, const json_t *config)
{
    static const char *const keys[VOCABULARY_SPECIALS] = {"pad_token", "unk_token", "cls_token", "sep_token", "mask_token"};
    for (int i = 0; i < VOCABULARY_SPECIALS; i++)
        TRY(check_special(path, config, keys[i], vocabulary_special_text[i]));
    const json_t *basic = json_object_get(config, "do_basic_tokenize"), *never = json_object_get(config, "never_split");
    if (json_is_false(basic))
        return fail(STATUS_INPUT, "%s: \"do_basic_tokenize\": false is not supported; give a vocabulary of the usual BERT", path);
    if (json_array_size(never) > 0)
        return fail(STATUS_INPUT, "%s: \"never_split\" is not supported; take it out", path);
    return STATUS_OK;
}

static status read_config(const char *path, tokenizer_settings *s)
{
    json_t *config = NULL;
    status st;
    TRY_DONE(tokenizer_json_load(path, &config));
    TRY_DONE(check_config(path, config));
    TRY_DONE(tokenizer_json_choose(path, config, "do_lower_case", &s->lower_case));
    TRY_DONE(tokenizer_json_choose(path, config, "strip_accents", &s->strip_accents));
    TRY_DONE(tokenizer_json_choose(path, config, "tokenize_chinese_chars", &s->tokenize_chinese_chars));
done:
    json_decref(config);
    return st;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* A folder's vocabulary and config, or a vocabulary alone. What tokenizer_config.json says comes before tokenizer.json, as in transformers. */
static status read_inputs(const char *vocab, tokenizer *t)
{
    char *lines = NULL, *json = NULL, *config = NULL;
    status st;
    if (!file_is_folder(vocab))
        return ends_with(vocab, ".json") ? tokenizer_json_read(vocab, &t->vocabulary, &t->settings) : vocabulary_read(vocab, &t->vocabulary);
    TRY_DONE(file_join(vocab, "vocab.txt", &lines));
    TRY_DONE(file_join(vocab, "tokenizer.json", &json));
    TRY_DONE(file_join(vocab, "tokenizer_config.json", &config));
    if (file_exists(config))
        TRY_DONE(read_config(config, &t->settings));
    if (!file_exists(lines) && file_exists(json))
        TRY_DONE(tokenizer_json_read(json, &t->vocabulary, &t->settings));
    else
        TRY_DONE(vocabulary_read(lines, &t->vocabulary));
done:
    free(lines);
    free(json);
    free(config);
    return st;
}

static status resolve(const char *vocab, tokenizer *t)
{
    tokenizer_settings *s = &t->settings;
    /* BertTokenizer's default would quietly make [UNK] and wrong pieces of every capital in a cased vocabulary. */
    if (s->lower_case == TOKENIZER_AUTO && t->vocabulary.capitals > 0)
        return fail(STATUS_INPUT,
                    "%s: %lld pieces have capitals and no tokenizer_config.json says do_lower_case; say --lower no (cased) or --lower yes", vocab,
                    (long long)t->vocabulary.capitals);
    if (s->lower_case == TOKENIZER_AUTO)
        s->lower_case = TOKENIZER_YES;
    if (s->strip_accents == TOKENIZER_AUTO)
        s->strip_accents = s->lower_case;
    if (s->tokenize_chinese_chars == TOKENIZER_AUTO)
        s->tokenize_chinese_chars = TOKENIZER_YES;
    t->lower = s->lower_case == TOKENIZER_YES;
    t->strip = s->strip_accents == TOKENIZER_YES;
    t->cjk = s->tokenize_chinese_chars == TOKENIZER_YES;
    t->rust = s->match == TOKENIZER_MATCH_RUST;
    return STATUS_OK;
}

status tokenizer_create(const char *vocab, const tokenizer_settings *settings, tokenizer **out)
{
    status st;
    tokenizer *t = NULL;
    *out = NULL;
    TRY(memory_new(&t, sizeof *t, "the tokenizer"));
    if (settings)
        t->settings = *settings;
    TRY_DONE(read_inputs(vocab, t));
    TRY_DONE(resolve(vocab, t));
    TRY_DONE(tokenizer_fill_tables(t));
    *out = t;
done:
    if (st != STATUS_OK)
        tokenizer_free(t);
    return st;
}

void tokenizer_free(tokenizer *t)
{
    if (!t)
        return;
    vocabulary_free(&t->vocabulary);
    free(t->cell);
    free(t);
}

tokenizer_specials tokenizer_special_ids(const tokenizer *t)
{
    const uint32_t *id = t->vocabulary.special;
    return (tokenizer_specials){
        .pad = id[VOCABULARY_PAD], .unk = id[VOCABULARY_UNK], .cls = id[VOCABULARY_CLS], .sep = id[VOCABULARY_SEP], .mask = id[VOCABULARY_MASK]};
}

int64_t tokenizer_vocabulary_size(const tokenizer *t)
{
    return t->vocabulary.count;
}

bool tokenizer_lower_case(const tokenizer *t)
{
    return t->lower;
}

const char *tokenizer_piece(const tokenizer *t, uint32_t id, size_t *bytes)
{
    const wordpiece_key *piece = vocabulary_piece(&t->vocabulary, id);
    if (!piece) {
        *bytes = strlen(vocabulary_special_text[VOCABULARY_UNK]);
        return vocabulary_special_text[VOCABULARY_UNK];
    }
    *bytes = piece->bytes;
    return piece->text;
}
