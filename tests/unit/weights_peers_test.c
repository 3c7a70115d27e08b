/* Weights to transformers and PyTorch and back, where a Python with both is given: FRETSAW_PEERS is its path. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files.h"
#include "common/hash.h"
#include "model/weights.h"
#include "support/support.h"

enum { OUTPUTS = 3 };

static float *random_arena(const tensor_table *t)
{
    float *arena = calloc((size_t)t->parameters, sizeof *arena);
    ck_assert_ptr_nonnull(arena);
    for (int i = 0; i < t->count; i++)
        for (int64_t k = 0; k < t->tensors[i].count; k++)
            arena[t->tensors[i].first + k] = support_normal();
    return arena;
}

static void write_list(const char *folder, const tensor_table *t, const float *arena)
{
    char path[600], hex[HASH_HEX];
    snprintf(path, sizeof path, "%s/arena.tsv", folder);
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    for (int i = 0; i < t->count; i++) {
        const tensor *x = &t->tensors[i];
        ck_ok(hash_sha256_buffer(arena + x->first, (size_t)x->count * sizeof *arena, hex));
        fprintf(f, "%s\t%lld", x->name, (long long)x->shape[0]);
        if (x->dims == 2)
            fprintf(f, ",%lld", (long long)x->shape[1]);
        fprintf(f, "\t%s\n", hex);
    }
    ck_assert(fclose(f) == 0);
}

/* Loads `name` and compares with the arena: exactly, or to the rounding of a shorter type. */
static void check_back(const char *folder, const char *name, const tensor_table *t, const float *arena, double relative, bool head)
{
    char path[600];
    weights_file *file;
    weights_report report;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    float *back = malloc((size_t)t->parameters * sizeof *back);
    ck_assert_ptr_nonnull(back);
    ck_ok(weights_open(path, &file));
    ck_ok(weights_load(file, t, 1, back, &report));
    ck_assert_msg(report.head_loaded == head, "%s: %s", name, report.notes);
    weights_file_close(file);
    for (int64_t i = 0; i < t->parameters; i++) {
        if (!head && i >= tensor_out_weight(t)->first && i < t->trainable)
            continue;
        double bound = relative * fabs((double)arena[i]) + (relative > 0 ? 6e-8 : 0); /* float16's denormals */
        ck_assert_msg(fabs((double)back[i] - (double)arena[i]) <= bound, "%s: parameter %lld: %a, not %a", name, (long long)i, (double)back[i],
                      (double)arena[i]);
    }
    free(back);
}

static void check_model(const char *python, bool pooler)
{
    model_config c = {.vocab_size = 131,
                      .hidden = 48,
                      .layers = 2,
                      .heads = 3,
                      .feed_forward = 80,
                      .positions = 40,
                      .type_vocab = 2,
                      .pad_id = 0,
                      .hidden_dropout = 0.1,
                      .attention_dropout = 0.2,
                      .layer_norm_epsilon = 1e-12,
                      .initializer_range = 0.02};
    tensor_table *t;
    large_file file;
    char path[600], command[2000];
    const char *folder = support_scratch();
    ck_ok(tensor_table_create(&c, OUTPUTS, pooler, &t));
    float *arena = random_arena(t);
    snprintf(path, sizeof path, "%s/config.json", folder);
    ck_ok(model_config_write(&c, path));
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    ck_ok(weights_save(path, t, arena, &file));
    ck_ok(large_file_end(&file, NULL));
    write_list(folder, t, arena);
    snprintf(command, sizeof command, "'%s' '%s' '%s' >'%s/log' 2>&1 || { cat '%s/log' >&2; false; }", python,
             support_source("tests/oracle/weights_peers.py"), folder, folder, folder);
    ck_assert_msg(system(command) == 0, "weights_peers.py failed");
    check_back(folder, "zip.bin", t, arena, 0, true);
    check_back(folder, "legacy.bin", t, arena, 0, true);
    check_back(folder, "strided.bin", t, arena, 0, true);
    check_back(folder, "half.bin", t, arena, 0x1p-11, true);
    check_back(folder, "bfloat.bin", t, arena, 0x1p-8, true);
    check_back(folder, "bare", t, arena, 0, false);
    free(arena);
    tensor_table_free(t);
}

START_TEST(peers_agree)
{
    const char *python = getenv("FRETSAW_PEERS");
    if (!python || !file_exists(python)) {
        fprintf(stderr, "skipped: FRETSAW_PEERS names no Python with torch and transformers\n");
        return;
    }
    support_seed();
    check_model(python, false);
    check_model(python, true);
}
END_TEST

int main(void)
{
    return support_run("weights beside the peers", (const TTest *[]){peers_agree, NULL});
}
