/* The whole program against PyTorch: twelve steps of the reference's trajectory from its weights, through row files, lanes, optimizer and checkpoint.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files.h"
#include "common/hash.h"
#include "model/run.h"
#include "model/weights.h"
#include "store/identity.h"
#include "store/manifest.h"
#include "support/support.h"
#include "unit/model_case.h"

static char no_text[] = "", label_name[] = "toxic", source_name[] = "batch.json", file_name[] = "shard-00000-of-00001.h5", stage_name[] = "shard";

static char *in(const char *folder, const char *name)
{
    char *path;
    ck_ok(file_join(folder, name, &path));
    return path;
}

/* A vocabulary with the case's special ids, and its rows as a folder of shards. */
static void write_inputs(const model_case *c, const char *folder)
{
    char tokenizer[256], hash[HASH_HEX], *lang = no_text, *label = label_name, *paths[1];
    atomic_file f;
    int64_t cls = json_integer_value(json_object_get(c->batch, "cls")), sep = json_integer_value(json_object_get(c->batch, "sep"));
    ck_ok(file_atomic_begin(in(folder, "vocab.txt"), &f));
    for (int64_t i = 0; i < c->config.vocab_size; i++)
        fprintf(f.stream, i == 0 ? "[PAD]\n" : i == cls ? "[CLS]\n" : i == sep ? "[SEP]\n" : "w%lld\n", (long long)i);
    ck_ok(file_atomic_commit(&f));
    ck_ok(hash_sha256_file(in(folder, "vocab.txt"), hash));
    snprintf(tokenizer, sizeof tokenizer, "vocab=%s\n", hash);
    rowfile_source source = {.name = source_name};
    memset(source.sha256, '0', 64);
    rowfile_meta meta = {.tokenizer = tokenizer, .sources = 1, .source = &source, .langs = 1, .lang = &lang, .labels = 1, .label = &label};
    rowfile_writer *w;
    rowfile_summary s;
    ck_ok(file_make_folder(in(folder, "rows")));
    paths[0] = in(folder, "rows/shard-00000-of-00001.h5");
    ck_ok(rowfile_create(paths[0], &meta, &w));
    for (int64_t row = 0; row < c->rows; row++) {
        uint32_t ids[512];
        for (int64_t i = 1; i + 1 < c->length[row]; i++)
            ids[i - 1] = (uint32_t)c->ids[row][i];
        ck_ok(rowfile_append(
            w, &(rowfile_row){.id = "r", .id_bytes = 1, .number = row, .label = c->label + row, .token = ids, .tokens = c->length[row] - 2}));
    }
    ck_ok(rowfile_close(w, &s));
    manifest_file file = {.name = file_name, .rows = s.rows, .tokens = s.tokens, .bytes = s.bytes};
    memcpy(file.sha256, s.sha256, sizeof s.sha256);
    manifest m = {.stage = stage_name,
                  .inputs = no_text,
                  .identity = no_text,
                  .tokenizer = tokenizer,
                  .files = 1,
                  .file = &file,
                  .rows = s.rows,
                  .tokens = s.tokens};
    ck_ok(data_identity_of_files(tokenizer, s.rows, paths, 1, m.data_identity));
    ck_ok(manifest_write(in(folder, "rows"), &m));
}

static void compare(const char *what, const float *got, const double *want, int64_t n, double bound)
{
    double size = 0, worst = 0;
    for (int64_t i = 0; i < n; i++) {
        size = fmax(size, fabs(want[i]));
        worst = fmax(worst, fabs((double)got[i] - want[i]));
    }
    ck_assert_msg(worst <= bound * size, "%s: off by %.3g of its largest value, allowed %.3g", what, worst / size, bound);
}

static void check_losses(const model_case *c, const char *pooling, const char *folder)
{
    double *want = model_case_expected(c, pooling, "trajectory.loss", 12), loss;
    float got[12];
    long long step;
    char line[512];
    FILE *f = fopen(in(folder, "run/metrics.jsonl"), "r");
    ck_assert_ptr_nonnull(f);
    for (int i = 0; i < 12; i++) {
        ck_assert_ptr_nonnull(fgets(line, sizeof line, f));
        ck_assert_int_eq(sscanf(line, "{\"step\":%lld,\"epoch\":%*d,\"loss\":%lf", &step, &loss), 2);
        ck_assert_int_eq(step, i + 1);
        got[i] = (float)loss;
    }
    fclose(f);
    compare("loss", got, want, 12, model_case_bound(c, pooling, "trajectory_loss", NULL));
    free(want);
}

static void check_weights(const model_case *c, const char *pooling, const char *folder)
{
    run r;
    weights_file *file;
    weights_report report;
    float *arena = calloc((size_t)c->table->parameters, sizeof *arena);
    ck_ok(run_open(in(folder, "run"), NULL, &r));
    ck_assert(r.finished && r.step == 12 && r.input.max_length == c->max_length);
    ck_ok(weights_open(r.weights_folder, &file));
    ck_ok(weights_load(file, c->table, 0, arena, &report));
    ck_assert(report.head_loaded);
    for (int i = 0; i < c->table->count; i++) {
        const tensor *t = &c->table->tensors[i];
        char name[160];
        snprintf(name, sizeof name, "trajectory.%s", t->name);
        double *want = model_case_expected(c, pooling, name, t->count);
        compare(t->name, arena + t->first, want, t->count, strstr(t->name, "key.bias") ? 1e-4 : model_case_bound(c, pooling, "trajectory", t->name));
        free(want);
    }
    weights_file_close(file);
    run_close(&r);
    free(arena);
}

static void check_trajectory(const char *name, const char *pooling)
{
    model_case *c = model_case_load(name);
    if (!c) {
        support_skip("oracle/model");
        return;
    }
    char command[4096], weights[256];
    const char *folder = support_scratch();
    write_inputs(c, folder);
    snprintf(weights, sizeof weights, "model/%s", name);
    const json_t *set = json_object_get(c->batch, "trajectory");
    snprintf(command, sizeof command,
             "cp '%s/config.json' '%s/model.safetensors' '%s' && '%s' --quiet --model '%s' --train '%s/rows' --out '%s/run' --lanes 4 "
             "--batch 2 --epochs 12 --max-length %lld --pooling %s --lr %.17g --weight-decay %.17g --dropout 0 --attention-dropout 0 --head-dropout "
             "0 --threads 2 "
             "--micro-tokens 96",
             support_oracle(weights), support_oracle(weights), folder, support_program("train"), folder, folder, folder, (long long)c->max_length,
             pooling, json_real_value(json_object_get(set, "lr")), json_real_value(json_object_get(set, "decay")));
    ck_assert_int_eq(system(command), 0);
    check_losses(c, pooling, folder);
    check_weights(c, pooling, folder);
    model_case_free(c);
}

START_TEST(trajectories_are_the_references)
{
    check_trajectory("tiny", "real");
    check_trajectory("tiny", "padded");
    check_trajectory("deep", "real");
    check_trajectory("deep", "padded");
}
END_TEST

int main(void)
{
    return support_run("train_oracle", (const TTest *[]){trajectories_are_the_references, NULL});
}
