#include "model/config.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"

/* The JSON object being read and the name of its file, for messages. */
typedef struct source {
    const json_t *object;
    const char *name;
} source;

/* A whole number under `key`; `missing` < 0 means that the key must be there. */
static status read_integer(const source *s, const char *key, int64_t least, int64_t most, int64_t missing, int64_t *out)
{
    const json_t *v = json_object_get(s->object, key);
    if (!v && missing < 0)
        return fail(STATUS_INPUT, "%s: no \"%s\"; is this the config.json of a BERT?", s->name, key);
    if (v && !json_is_integer(v))
        return fail(STATUS_INPUT, "%s: \"%s\" is not a whole number", s->name, key);
    int64_t n = v ? (int64_t)json_integer_value(v) : missing;
    if (n < least || n > most)
        return fail(STATUS_INPUT, "%s: \"%s\" is %lld; allowed are %lld to %lld", s->name, key, (long long)n, (long long)least, (long long)most);
    *out = n;
    return STATUS_OK;
}

/* A real number under `key`, least <= x < below (or least < x with `open`). */
static status read_number(const source *s, const char *key, double least, double below, int open, double missing, double *out)
{
    const json_t *v = json_object_get(s->object, key);
    if (v && !json_is_number(v))
        return fail(STATUS_INPUT, "%s: \"%s\" is not a number", s->name, key);
    double x = v ? json_number_value(v) : missing;
    if (!((open ? x > least : x >= least) && x < below))
        return fail(STATUS_INPUT, "%s: \"%s\" is %g; it must be %s %g and less than %g", s->name, key, x, open ? "more than" : "at least", least,
                    below);
    *out = x;
    return STATUS_OK;
}

/* A word that must be `only` where it is given. */
static status demand_word(const source *s, const char *key, const char *only, const char *what)
{
    const json_t *v = json_object_get(s->object, key);
    if (!v || json_is_null(v))
        return STATUS_OK;
    if (!json_is_string(v))
        return fail(STATUS_INPUT, "%s: \"%s\" is not a string; only \"%s\" is supported", s->name, key, only);
    if (strcmp(json_string_value(v), only) != 0)
        return fail(STATUS_INPUT, "%s: \"%s\" is \"%s\"; %s", s->name, key, json_string_value(v), what);
    return STATUS_OK;
}

static status demand_false(const source *s, const char *key)
{
    const json_t *v = json_object_get(s->object, key);
    if (v && json_is_true(v))
        return fail(STATUS_INPUT, "%s: \"%s\" is true; only encoders are supported", s->name, key);
    return STATUS_OK;
}

static status read_object(const source *s, model_config *c)
{
    TRY(demand_word(s, "model_type", "bert", "only \"bert\" is supported"));
    TRY(demand_word(s, "hidden_act", "gelu", "only \"gelu\" (the one with erf) is supported"));
    TRY(demand_word(s, "position_embedding_type", "absolute", "only \"absolute\" is supported"));
    TRY(demand_false(s, "is_decoder"));
    TRY(demand_false(s, "add_cross_attention"));
    TRY(read_integer(s, "vocab_size", 1, (int64_t)1 << 24, -1, &c->vocab_size));
    TRY(read_integer(s, "hidden_size", 1, 1 << 16, -1, &c->hidden));
    TRY(read_integer(s, "num_hidden_layers", 1, MODEL_MAX_LAYERS, -1, &c->layers));
    TRY(read_integer(s, "num_attention_heads", 1, MODEL_MAX_HEADS, -1, &c->heads));
    TRY(read_integer(s, "intermediate_size", 1, 1 << 18, -1, &c->feed_forward));
    TRY(read_integer(s, "max_position_embeddings", 2, 1 << 20, -1, &c->positions));
    TRY(read_integer(s, "type_vocab_size", 1, 1 << 16, 2, &c->type_vocab));
    TRY(read_integer(s, "pad_token_id", 0, c->vocab_size - 1, 0, &c->pad_id));
    TRY(read_number(s, "hidden_dropout_prob", 0, 1, 0, 0.1, &c->hidden_dropout));
    TRY(read_number(s, "attention_probs_dropout_prob", 0, 1, 0, 0.1, &c->attention_dropout));
    TRY(read_number(s, "layer_norm_eps", 0, 1, 1, 1e-12, &c->layer_norm_epsilon));
    TRY(read_number(s, "initializer_range", 0, 100, 1, 0.02, &c->initializer_range));
    if (c->hidden % c->heads != 0)
        return fail(STATUS_INPUT, "%s: \"hidden_size\" %lld is no multiple of \"num_attention_heads\" %lld", s->name, (long long)c->hidden,
                    (long long)c->heads);
    if (c->hidden / c->heads > MODEL_MAX_HEAD_SIZE)
        return fail(STATUS_INPUT, "%s: \"hidden_size\" %lld over \"num_attention_heads\" %lld gives heads of %lld; at most %d is supported", s->name,
                    (long long)c->hidden, (long long)c->heads, (long long)(c->hidden / c->heads), MODEL_MAX_HEAD_SIZE);
    return STATUS_OK;
}

status model_config_parse(const char *text, size_t bytes, const char *name, model_config *out)
{
    static const char pointer[] = "version https://git-lfs";
    if (bytes >= sizeof pointer - 1 && memcmp(text, pointer, sizeof pointer - 1) == 0)
        return fail(STATUS_INPUT, "%s: a Git LFS pointer, not the file itself; fetch it with \"git lfs pull\"", name);
    json_error_t error;
    json_t *object = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (!object)
        return fail(STATUS_INPUT, "%s: not JSON: line %d, byte %d: %s", name, error.line, error.position, error.text);
    *out = (model_config){0};
    status st = json_is_object(object) ? read_object(&(source){object, name}, out) : fail(STATUS_INPUT, "%s: not a JSON object", name);
    json_decref(object);
    return st;
}

status model_config_read(const char *path, model_config *out)
{
    char *text;
    size_t bytes;
    TRY(file_read_all(path, (size_t)1 << 20, &text, &bytes));
    status st = model_config_parse(text, bytes, path, out);
    free(text);
    return st;
}

status model_config_text(const model_config *c, char **out)
{
    /* clang-format off */
    json_t *object = json_pack("{s:[s], s:f, s:s, s:f, s:I, s:f, s:I, s:f, s:I, s:s, s:I, s:I, s:I, s:s, s:I, s:I}",
                               "architectures", "BertModel", "attention_probs_dropout_prob", c->attention_dropout, "hidden_act", "gelu",
                               "hidden_dropout_prob", c->hidden_dropout, "hidden_size", (json_int_t)c->hidden,
                               "initializer_range", c->initializer_range, "intermediate_size", (json_int_t)c->feed_forward,
                               "layer_norm_eps", c->layer_norm_epsilon, "max_position_embeddings", (json_int_t)c->positions,
                               "model_type", "bert", "num_attention_heads", (json_int_t)c->heads, "num_hidden_layers", (json_int_t)c->layers,
                               "pad_token_id", (json_int_t)c->pad_id, "position_embedding_type", "absolute",
                               "type_vocab_size", (json_int_t)c->type_vocab, "vocab_size", (json_int_t)c->vocab_size);
    /* clang-format on */
    if (!object)
        return fail(STATUS_RESOURCE, "out of memory: writing a config.json");
    /* 15 digits write 0.02 and 1e-12 as they were read. */
    char *text = json_dumps(object, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(15));
    json_decref(object);
    if (!text)
        return fail(STATUS_RESOURCE, "out of memory: writing a config.json");
    size_t n = strlen(text);
    status st = memory_grow(&text, n + 2, "writing a config.json");
    if (st != STATUS_OK) {
        free(text);
        return st;
    }
    memcpy(text + n, "\n", 2);
    *out = text;
    return STATUS_OK;
}

status model_config_write(const model_config *config, const char *path)
{
    char *text;
    TRY(model_config_text(config, &text));
    status st = file_write_atomic(path, text, strlen(text));
    free(text);
    return st;
}

int64_t model_config_longest(const model_config *config)
{
    return config->positions < MODEL_MAX_ROW_TOKENS ? config->positions : MODEL_MAX_ROW_TOKENS;
}
