/* Configs, the table of tensors, and initial weights. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/config.h"
#include "model/model_init.h"
#include "model/tensors.h"
#include "support/support.h"

static const char sample_config[] = "{\"vocab_size\": 97, \"hidden_size\": 32, \"num_hidden_layers\": 2, \"num_attention_heads\": 4,"
                                    " \"intermediate_size\": 64, \"max_position_embeddings\": 64, \"hidden_act\": \"gelu\"%s}";

static model_config parse(const char *more)
{
    char text[1000];
    model_config c = {0};
    snprintf(text, sizeof text, sample_config, more);
    ck_ok(model_config_parse(text, strlen(text), "config.json", &c));
    return c;
}

/* The sample with `from` replaced by `to`. */
static void refuse(const char *from, const char *to, const char *message)
{
    char text[1000], changed[1200];
    model_config c;
    snprintf(text, sizeof text, sample_config, "");
    const char *at = strstr(text, from);
    ck_assert_ptr_nonnull(at);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    ck_fails(model_config_parse(changed, strlen(changed), "config.json", &c), STATUS_INPUT, message);
}

START_TEST(config_is_checked)
{
    model_config c = parse("");
    ck_assert_int_eq(c.vocab_size, 97);
    ck_assert_int_eq(c.type_vocab, 2);
    ck_assert_int_eq(c.pad_id, 0);
    ck_assert(c.hidden_dropout == 0.1 && c.attention_dropout == 0.1 && c.layer_norm_epsilon == 1e-12 && c.initializer_range == 0.02);
    ck_assert_int_eq(model_config_longest(&c), 64);
    refuse("\"vocab_size\": 97, ", "", "\"vocab_size\"");
    refuse("\"hidden_size\": 32", "\"hidden_size\": 33", "no multiple");
    refuse("\"hidden_size\": 32", "\"hidden_size\": 1028", "heads of 257");
    refuse("\"hidden_size\": 32", "\"hidden_size\": \"32\"", "\"hidden_size\" is not a whole number");
    refuse("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 0", "\"num_hidden_layers\" is 0");
    refuse("\"gelu\"", "\"gelu_new\"", "\"gelu_new\"");
    refuse("\"gelu\"", "\"gelu\", \"position_embedding_type\": \"relative_key\"", "\"relative_key\"");
    refuse("\"gelu\"", "\"gelu\", \"model_type\": \"roberta\"", "\"roberta\"");
    refuse("\"gelu\"", "\"gelu\", \"is_decoder\": true", "is_decoder");
    refuse("\"gelu\"", "\"gelu\", \"pad_token_id\": 97", "\"pad_token_id\" is 97");
    refuse("\"gelu\"", "\"gelu\", \"hidden_dropout_prob\": 1.0", "\"hidden_dropout_prob\" is 1");
    refuse("\"gelu\"", "\"gelu\", \"layer_norm_eps\": 0", "\"layer_norm_eps\"");
    refuse("\"gelu\"", "\"gelu\", \"vocab_size\": 5", "duplicate");
    refuse("\"gelu\"", "\"gelu\" ]", "not JSON");
}
END_TEST

START_TEST(config_goes_round)
{
    model_config c = parse(", \"hidden_dropout_prob\": 0.3, \"initializer_range\": 0.017, \"pad_token_id\": 5"), again;
    char *text, *twice;
    ck_ok(model_config_text(&c, &text));
    ck_assert_msg(strstr(text, "\"initializer_range\": 0.017,") && strstr(text, "\"layer_norm_eps\": 1e-12"), "%s", text);
    ck_ok(model_config_parse(text, strlen(text), "again", &again));
    ck_assert_mem_eq(&c, &again, sizeof c);
    ck_ok(model_config_text(&again, &twice));
    ck_assert_str_eq(text, twice);
    free(text);
    free(twice);
}
END_TEST

START_TEST(table_is_in_order)
{
    model_config c = parse("");
    tensor_table *t;
    ck_ok(tensor_table_create(&c, 3, true, &t));
    ck_assert_int_eq(t->count, 5 + 2 * 16 + 2 + 2);
    ck_assert_str_eq(t->tensors[0].name, "bert.embeddings.word_embeddings.weight");
    ck_assert_str_eq(tensor_layer(t, 1, LAYER_DOWN_BIAS)->name, "bert.encoder.layer.1.output.dense.bias");
    ck_assert_str_eq(tensor_out_weight(t)->name, "out.weight");
    ck_assert_str_eq(tensor_out_bias(t)->name, "out.bias");
    int64_t at = 0;
    for (int i = 0; i < t->count; i++) {
        const tensor *x = &t->tensors[i];
        bool plain = strstr(x->name, "bias") || strstr(x->name, "LayerNorm"), pooler = strstr(x->name, "pooler") != NULL;
        ck_assert_int_eq(x->first, at);
        ck_assert_int_eq(x->first % TENSOR_ALIGNMENT, 0);
        ck_assert_int_eq(x->decay, !plain && !pooler);
        ck_assert_int_eq(x->frozen, pooler);
        ck_assert_int_eq(x->gradient, i == 0 || pooler ? -1 : x->first - t->word);
        ck_assert_ptr_eq(tensor_table_find(t, x->name), x);
        ck_assert(x->span >= x->count && x->span < x->count + TENSOR_ALIGNMENT);
        at += x->span;
    }
    ck_assert_int_eq(at, t->parameters);
    ck_assert_int_eq(t->trainable, tensor_layer(t, 1, LAYER_NORM2_BIAS)->first + 32 + 3 * 64 + 16);
    ck_assert_int_eq(t->dense, t->trainable - t->word);
    /* Ranges cover any slice, each within one tensor. */
    support_seed();
    for (int k = 0; k < 200; k++) {
        int64_t first = (int64_t)support_below((uint64_t)t->parameters), end = first + 1 + (int64_t)support_below((uint64_t)(t->parameters - first));
        tensor_range r;
        int64_t from = first;
        for (; tensor_table_range(t, from, end, &r); from += r.count) {
            ck_assert(r.first == from && r.count > 0);
            ck_assert(r.first >= r.tensor->first && r.first + r.count <= r.tensor->first + r.tensor->span);
        }
        ck_assert_int_eq(from, end);
    }
    tensor_table_free(t);
}
END_TEST

/* ---- initial weights ---- */

START_TEST(initial_weights)
{
    support_seed();
    model_config c = parse(", \"pad_token_id\": 3");
    tensor_table *t;
    ck_ok(tensor_table_create(&c, 3, true, &t));
    float *all = malloc((size_t)t->parameters * sizeof *all), *part = malloc((size_t)t->parameters * sizeof *part);
    model_init_range(t, 42, 0, t->parameters, all);
    for (int k = 0; k < 300; k++) { /* slices of any place and length */
        int64_t first = (int64_t)support_below((uint64_t)t->parameters), n = 1 + (int64_t)support_below((uint64_t)(t->parameters - first));
        n = k % 3 ? n : (n < 5 ? n : 5);
        model_init_range(t, 42, first, n, part);
        ck_assert_mem_eq(part, all + first, (size_t)n * sizeof *part);
    }
    threads *pool;
    ck_ok(threads_create(3, &pool));
    model_init_threads(t, 42, 0, t->parameters, part, pool);
    ck_assert_mem_eq(part, all, (size_t)t->parameters * sizeof *all);
    threads_free(pool);
    model_init_range(t, 43, 0, t->parameters, part);
    ck_assert(memcmp(part, all, (size_t)t->parameters * sizeof *all) != 0);
    double sum = 0, square = 0, fourth = 0, n = 0, pairs = 0, last = 0;
    const tensor *word = tensor_embedding(t, EMBED_WORD);
    for (int i = 0; i < t->count; i++) {
        const tensor *x = &t->tensors[i];
        for (int64_t j = x->count; j < x->span; j++)
            ck_assert(all[x->first + j] == 0);
        for (int64_t j = 0; j < x->count; j++) {
            double v = (double)all[x->first + j];
            if (x->start == START_ONE || x->start == START_ZERO)
                ck_assert(v == (x->start == START_ONE));
            if (x->start == START_HEAD)
                ck_assert(fabs(v) <= 0.125 && v != 0); /* 1 / sqrt(64) */
            if (x == word && j / 32 == 3)
                ck_assert(v == 0);
            else if (x->start == START_NORMAL) {
                v /= 0.02;
                sum += v, square += v * v, fourth += v * v * v * v, n++;
                pairs += j % 2 ? v * last : 0; /* two elements of one call don't go together */
                last = v;
            }
        }
    }
    ck_assert(n > 10000 && fabs(sum / n) < 0.04 && fabs(square / n - 1) < 0.05 && fabs(fourth / n - 3) < 0.35 && fabs(pairs / n) < 0.04);
    free(all);
    free(part);
    tensor_table_free(t);
}
END_TEST

int main(void)
{
    threads_set_rounding();
    return support_run("configs and tensors", (const TTest *[]){config_is_checked, config_goes_round, table_is_in_order, initial_weights, NULL});
}
