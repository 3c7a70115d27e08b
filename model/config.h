/* The shape of a BERT: Hugging Face's config.json in and out, every value checked.
 *
 *     model_config config;
 *     TRY(model_config_read("mbert/config.json", &config));
 *     printf("%lld layers\n", (long long)config.layers);
 *     TRY(model_config_write(&config, "runs/one/epoch-1/config.json"));
 *
 * A plain struct: copy it freely. Local.
 */
#ifndef FRETSAW_MODEL_CONFIG_H
#define FRETSAW_MODEL_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

/* Largest values that the dropout counter and the kernels can hold (docs/reproducibility.md). */
enum { MODEL_MAX_ROW_TOKENS = 512, MODEL_MAX_LAYERS = 4095, MODEL_MAX_HEADS = 8191, MODEL_MAX_HEAD_SIZE = 256 };

typedef struct model_config {
    int64_t vocab_size;                       /* V */
    int64_t hidden;                           /* H, a multiple of heads */
    int64_t layers;                           /* L */
    int64_t heads;                            /* N */
    int64_t feed_forward;                     /* F */
    int64_t positions;                        /* rows of the position table; the longest row is min(positions, MODEL_MAX_ROW_TOKENS) */
    int64_t type_vocab;                       /* rows of the token type table; only row 0 is used */
    int64_t pad_id;                           /* its word row gets no gradient */
    double hidden_dropout, attention_dropout; /* [0, 1) */
    double layer_norm_epsilon;                /* > 0 */
    double initializer_range;                 /* > 0 */
} model_config;

/* STATUS_INPUT with the file, the key and what is allowed; STATUS_INPUT when the file is absent. Keys that transformers has a
 * default for may be missing; activations but gelu (the erf one) and position embeddings but absolute ones are refused by name. */
status model_config_read(const char *path, model_config *out);
/* The same from a text; `name` is for messages. */
status model_config_parse(const char *text, size_t bytes, const char *name, model_config *out);
/* config.json as transformers reads it, with a newline at the end; the caller frees. The same config gives the same bytes. */
status model_config_text(const model_config *config, char **out);
/* The text, written atomically. */
status model_config_write(const model_config *config, const char *path);
/* The most tokens a row may have, [CLS] and [SEP] among them. */
int64_t model_config_longest(const model_config *config);

#endif
