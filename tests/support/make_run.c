/* Makes a run folder with random weights, as train would leave it, and the scores that infer must give for a data set: each row alone, one thread,
 * the plain kernels.
 *
 *     make_run RUN MODEL_FOLDER DATA SEED real|padded MAX_LENGTH TRUNCATE EXPECTED_CSV [LABEL,...]
 *
 * MODEL_FOLDER has config.json and vocab.txt; DATA is a folder of parts or shards, whose tokenizer identity becomes the run's.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/files.h"
#include "common/sealed.h"
#include "infer/network.h"
#include "model/bert.h"
#include "model/cpu/cpu.h"
#include "model/model_init.h"
#include "model/pieces.h"
#include "model/run.h"
#include "model/weights.h"
#include "store/dataset.h"

typedef struct maker {
    const char *run, *model, *data, *truncate, *expected;
    uint64_t seed;
    int64_t max_length;
    bool padded;
    char *label[8];
    int labels;
    dataset *rows;
    tensor_table *table;
    float *parameters;
    input_format input;
} maker;

static status copy_file(const char *folder, const char *name, const char *to_folder)
{
    char *from, *to, *text;
    size_t bytes;
    TRY(file_join(folder, name, &from));
    TRY(file_join(to_folder, name, &to));
    TRY(file_read_all(from, 0, &text, &bytes));
    TRY(file_write_atomic(to, text, bytes));
    free(from);
    free(to);
    free(text);
    return STATUS_OK;
}

static status put_json(const char *folder, const char *name, json_t *j)
{
    char *path, *text;
    TRY(sealed_text(j, &text));
    TRY(file_join(folder, name, &path));
    TRY(file_write_atomic(path, text, strlen(text)));
    json_decref(j);
    free(path);
    free(text);
    return STATUS_OK;
}

static status make_weights(maker *m)
{
    model_config config;
    large_file file;
    char *path, *weights;
    TRY(file_join(m->model, "config.json", &path));
    TRY(model_config_read(path, &config));
    TRY(tensor_table_create(&config, m->labels, false, &m->table));
    free(path);
    if (posix_memalign((void **)&m->parameters, 64, (size_t)m->table->parameters * sizeof(float)) != 0)
        return fail(STATUS_RESOURCE, "out of memory");
    model_init_range(m->table, m->seed, 0, m->table->parameters, m->parameters);
    for (int64_t i = 0; i < m->table->parameters; i++) /* larger than at the start of training, so that scores are far apart */
        m->parameters[i] *= m->parameters[i] == 1.0f ? 1.0f : 4.0f;
    TRY(file_join(m->run, "step-000007", &weights));
    TRY(file_make_folder(weights));
    TRY(copy_file(m->model, "config.json", weights));
    TRY(copy_file(m->model, "vocab.txt", weights));
    TRY(file_join(weights, "model.safetensors", &path));
    TRY(weights_save(path, m->table, m->parameters, &file));
    TRY(large_file_end(&file, NULL));
    free(path);
    char state[32];
    uint64_t hash;
    TRY(network_state_hash(m->table, m->parameters, NULL, &hash));
    snprintf(state, sizeof state, "%016llx", (unsigned long long)hash);
    TRY(put_json(weights, "state.json", json_pack("{s:i, s:s}", "step", 7, "state", state)));
    TRY(file_join(m->run, "last", &path));
    TRY(file_write_atomic(path, "step-000007\n", 12));
    free(path);
    free(weights);
    return STATUS_OK;
}

static status describe(maker *m)
{
    char *path, *pieces;
    size_t bytes;
    int64_t lines;
    json_t *labels = json_array();
    TRY(file_join(m->model, "vocab.txt", &path));
    TRY(pieces_read(path, &pieces, &bytes));
    TRY(pieces_find_specials(path, pieces, bytes, &m->input, &lines));
    free(pieces);
    free(path);
    for (int i = 0; i < m->labels; i++)
        json_array_append_new(labels, json_string(m->label[i]));
    return put_json(m->run, "run.json",
                    json_pack("{s:i, s:i, s:s, s:s, s:I, s:s, s:s, s:{s:i, s:i, s:i}, s:o}", "format", 1, "arithmetic", ARITHMETIC_VERSION,
                              "recipe_sha256", "0000000000000000000000000000000000000000000000000000000000000000", "tokenizer",
                              dataset_tokenizer(m->rows), "max_length", (json_int_t)m->max_length, "pooling", m->padded ? "padded" : "real",
                              "truncate", m->truncate, "vocabulary", "cls", m->input.cls, "sep", m->input.sep, "pad", m->input.pad, "labels",
                              labels));
}

static status score_rows(maker *m, FILE *to)
{
    bert_limits limits = {m->max_length, 1, m->max_length};
    backend_limits room = bert_backend_limits(m->table, &limits);
    backend *be;
    bert *net;
    batch_builder *builder;
    int32_t ids[512];
    float score[8];
    TRY(backend_open_cpu(&room, NULL, CPU_ISA_PLAIN, &be));
    TRY(bert_create(be, m->table, m->parameters, &limits, BERT_SCORING, &net));
    TRY(batch_builder_create(m->max_length, 1, m->labels, &builder));
    m->input.max_length = m->max_length;
    m->input.truncate = strcmp(m->truncate, "tail") == 0 ? TRUNCATE_TAIL : strcmp(m->truncate, "head-tail") == 0 ? TRUNCATE_HEAD_TAIL : TRUNCATE_HEAD;
    for (int64_t row = 0; row < dataset_rows(m->rows); row++) {
        char id[200];
        size_t bytes;
        int64_t n;
        TRY(input_read(&m->input, m->rows, row, ids, &n));
        batch_builder_begin(builder, 0);
        batch_builder_add(builder, ids, n, m->padded ? m->max_length : 0, m->input.pad, 0, NULL);
        bert_forward(net, batch_builder_view(builder));
        bert_probabilities(net, batch_builder_view(builder), score);
        TRY(dataset_id(m->rows, row, id, sizeof id, &bytes));
        fprintf(to, "%s", id);
        for (int c = 0; c < m->labels; c++)
            fprintf(to, ",%.9g", (double)score[c]);
        fprintf(to, "\n");
    }
    batch_builder_free(builder);
    bert_free(net);
    be->ops->close(be);
    return STATUS_OK;
}

static status make(maker *m)
{
    char *data = (char *)m->data;
    atomic_file f;
    TRY(dataset_open(&data, 1, &(dataset_limits){.memory = 1 << 28}, &m->rows));
    TRY(file_make_folder(m->run));
    TRY(make_weights(m));
    TRY(describe(m));
    TRY(file_atomic_begin(m->expected, &f));
    fprintf(f.stream, "id");
    for (int i = 0; i < m->labels; i++)
        fprintf(f.stream, ",%s", m->label[i]);
    fprintf(f.stream, "\n");
    TRY(score_rows(m, f.stream));
    TRY(file_atomic_commit(&f));
    dataset_free(m->rows);
    tensor_table_free(m->table);
    free(m->parameters);
    return STATUS_OK;
}

int main(int argc, char **argv)
{
    if (argc < 9) {
        fprintf(stderr, "make_run RUN MODEL DATA SEED real|padded MAX_LENGTH TRUNCATE EXPECTED_CSV [LABEL,...]\n");
        return 2;
    }
    maker m = {.run = argv[1],
               .model = argv[2],
               .data = argv[3],
               .seed = strtoull(argv[4], NULL, 10),
               .padded = strcmp(argv[5], "padded") == 0,
               .max_length = strtoll(argv[6], NULL, 10),
               .truncate = argv[7],
               .expected = argv[8]};
    char *names = argc > 9 ? argv[9] : (char[]){"toxic"};
    for (char *name; m.labels < 8 && (name = strsep(&names, ",")) != NULL;)
        m.label[m.labels++] = name;
    status st = comm_open(&argc, &argv);
    if (st == STATUS_OK)
        st = make(&m);
    if (st != STATUS_OK)
        fprintf(stderr, "make_run: %s\n", status_message());
    comm_close();
    return st;
}
