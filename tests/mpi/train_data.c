#include "mpi/train_data.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "common/hash.h"
#include "common/rng.h"
#include "store/identity.h"
#include "store/manifest.h"

static const char config[] =
    "{\"model_type\": \"bert\", \"vocab_size\": %lld, \"hidden_size\": 48, \"num_hidden_layers\": 2, \"num_attention_heads\": 3, "
    "\"intermediate_size\": 80,"
    " \"max_position_embeddings\": 64, \"type_vocab_size\": 2, \"hidden_act\": \"gelu\", \"pad_token_id\": 0, \"hidden_dropout_prob\": 0.1,"
    " \"attention_probs_dropout_prob\": 0.1, \"layer_norm_eps\": 1e-12, \"initializer_range\": 0.05}\n";

static status write_model(const char *folder, const train_data *d, char sha256[HASH_HEX])
{
    static const char *const special[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    char text[4096], *path;
    int n = snprintf(text, sizeof text, config, (long long)d->vocabulary);
    TRY(file_join(folder, "config.json", &path));
    TRY(file_write_atomic(path, text, (size_t)n));
    free(path);
    atomic_file f;
    TRY(file_join(folder, "vocab.txt", &path));
    TRY(file_atomic_begin(path, &f));
    for (int64_t i = 0; i < d->vocabulary; i++)
        if (i < 5)
            fprintf(f.stream, "%s\n", special[i]);
        else
            fprintf(f.stream, "w%" PRId64 "\n", i);
    TRY(file_atomic_commit(&f));
    status st = hash_sha256_file(path, sha256);
    free(path);
    return st;
}

/* The row file's structs hold texts that may be changed. */
static char label_names[4][8] = {"toxic", "rude", "threat", "spam"}, no_text[] = "", source_name[] = "made.csv", stage_name[] = "shard";

static uint32_t draw(const train_data *d, int64_t row, int64_t what)
{
    uint32_t w[4];
    rng_philox((uint64_t)d->seed, (uint32_t[4]){(uint32_t)what, 99u << 24, (uint32_t)row, 0}, w);
    return w[0];
}

/* A row is toxic when its words from the upper half of the vocabulary outnumber the others: pooling can find that. */
static void make_row(const train_data *d, int64_t row, uint32_t *ids, float *label, rowfile_row *out, char id[32])
{
    /* Mostly short, some long, some empty; whole numbers only, so that the rows are the same with any mathematics library. */
    int64_t n = draw(d, row, 0) % 18 + (draw(d, row, 1) % 4 ? 0 : draw(d, row, 4) % 60), upper = 0, lean = draw(d, row, 2) % 3;
    n = n > d->longest ? d->longest : n;
    for (int64_t i = 0; i < n; i++) {
        uint32_t word = 5 + draw(d, row, 10 + i) % (uint32_t)(d->vocabulary - 5);
        if (lean && draw(d, row, 1000 + i) % 3 == 0)
            word = lean == 1 ? 5 + word % 4 : (uint32_t)d->vocabulary - 1 - word % 4;
        ids[i] = word;
        upper += 2 * word > (uint32_t)d->vocabulary ? 1 : -1;
    }
    for (int64_t c = 0; c < d->labels; c++)
        label[c] = d->unlabelled && row % d->unlabelled == 0 ? NAN : (float)((upper > c) ^ (draw(d, row, 3) % 20 == 0));
    int bytes = snprintf(id, 32, "row%" PRId64, row);
    *out = (rowfile_row){.id = id, .id_bytes = (size_t)bytes, .number = row, .label = label, .token = ids, .tokens = n, .text_hash = (uint64_t)d->seed << 32 | (uint64_t)row};
}

static status write_file(const char *path, const train_data *d, const rowfile_meta *meta, int64_t first, int64_t end, rowfile_summary *summary)
{
    rowfile_writer *w;
    uint32_t *ids;
    float label[16];
    char id[32];
    TRY(memory_new(&ids, (size_t)(d->longest + 1) * sizeof *ids, "ids"));
    TRY(rowfile_create(path, meta, &w));
    for (int64_t row = first; row < end; row++) {
        rowfile_row r;
        make_row(d, row, ids, label, &r, id);
        TRY(rowfile_append(w, &r));
    }
    free(ids);
    return rowfile_close(w, summary);
}

status train_data_write(const char *folder, const char *name, const train_data *d)
{
    char vocabulary[HASH_HEX], tokenizer[512], *rows, *label[16], *lang = no_text, **paths;
    TRY(file_make_folder(folder));
    TRY(write_model(folder, d, vocabulary));
    snprintf(tokenizer, sizeof tokenizer, "algorithm=wordpiece\nvocab=%s\n", vocabulary);
    for (int64_t c = 0; c < d->labels; c++)
        label[c] = label_names[c % 4];
    rowfile_source source = {.name = source_name};
    memset(source.sha256, 'a', 64);
    rowfile_meta meta = {.tokenizer = tokenizer, .sources = 1, .source = &source, .langs = 1, .lang = &lang, .labels = d->labels, .label = label};
    TRY(file_join(folder, name, &rows));
    TRY(file_make_folder(rows));
    manifest m = {.stage = stage_name, .inputs = no_text, .identity = no_text, .tokenizer = tokenizer, .files = d->files, .rows = d->rows};
    TRY(memory_new(&m.file, (size_t)d->files * sizeof *m.file, "files"));
    TRY(memory_new(&paths, (size_t)d->files * sizeof *paths, "files"));
    for (int64_t i = 0; i < d->files; i++) {
        rowfile_summary s;
        char file[64];
        snprintf(file, sizeof file, "shard-%05" PRId64 "-of-%05" PRId64 ".h5", i, d->files);
        TRY(file_join(rows, file, &paths[i]));
        TRY(write_file(paths[i], d, &meta, i * d->rows / d->files, (i + 1) * d->rows / d->files, &s));
        m.file[i] = (manifest_file){.name = strdup(file), .rows = s.rows, .tokens = s.tokens, .bytes = s.bytes};
        memcpy(m.file[i].sha256, s.sha256, sizeof s.sha256);
        m.tokens += s.tokens;
    }
    TRY(data_identity_of_files(tokenizer, d->rows, paths, d->files, m.data_identity));
    TRY(manifest_write(rows, &m));
    for (int64_t i = 0; i < d->files; i++) {
        free(paths[i]);
        free(m.file[i].name);
    }
    free(paths);
    free(m.file);
    free(rows);
    return STATUS_OK;
}
