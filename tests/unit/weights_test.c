/* Weights in and out: every reader of a foreign file, and models by name. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files.h"
#include "common/hash.h"
#include "model/model_init.h"
#include "model/safetensors.h"
#include "model/weights.h"
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

/* ---- files of tensors ---- */

START_TEST(safetensors_verdicts)
{
    const char *folder = support_data("weights/safetensors_cases");
    if (!folder) {
        support_skip("data/weights");
        return;
    }
    char path[1000], *list;
    size_t n;
    snprintf(path, sizeof path, "%s/expected.tsv", folder);
    ck_ok(file_read_all(path, 0, &list, &n));
    int seen = 0;
    char *line = strchr(list, '\n') + 1;
    while (*line) {
        char *next = strchr(line, '\n'), *tab = strchr(line, '\t');
        snprintf(path, sizeof path, "%s/%.*s", folder, (int)(tab - line), line);
        bool good = strncmp(strchr(tab + 1, '\t') + 1, "OK", 2) == 0;
        weights_file *file = NULL;
        status st = weights_file_open(path, &file);
        ck_assert_msg((st == STATUS_OK) == good, "%s: %s", path, st == STATUS_OK ? "accepted" : status_message());
        if (st != STATUS_OK)
            ck_assert_msg(st == STATUS_INPUT && strstr(status_message(), path), "%s", status_message());
        else
            weights_file_close(file);
        seen++;
        line = next ? next + 1 : line + strlen(line);
    }
    ck_assert_int_eq(seen, 19);
    free(list);
}
END_TEST

START_TEST(hostile_pickles_are_refused)
{
    const char *folder = support_data("weights/pytorch_hostile");
    if (!folder) {
        support_skip("data/weights");
        return;
    }
    char **names, path[1000];
    size_t n;
    ck_ok(file_list(folder, &names, &n));
    ck_assert_uint_eq(n, 5);
    for (size_t i = 0; i < n; i++) {
        weights_file *file;
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        ck_fails(weights_file_open(path, &file), STATUS_INPUT, names[i]);
    }
    file_free_names(names, n);
    snprintf(path, sizeof path, "%s/pytorch_magic_bypass.pt", folder);
    weights_file *file;
    ck_fails(weights_file_open(path, &file), STATUS_INPUT, "__builtin__.eval");
    snprintf(path, sizeof path, "%s/broken_model.pkl", folder);
    ck_fails(weights_file_open(path, &file), STATUS_INPUT, "builtins.exec");
}
END_TEST

/* One file of torch.save: its tensors' number, and the first float tensor's values where there is one. */
static void check_torch(const char *name, int tensors, const char *tensor_name, const char *type, int64_t count, const float *values)
{
    char path[200];
    snprintf(path, sizeof path, "weights/pytorch/%s", name);
    const char *full = support_data(path);
    ck_assert_msg(full, "%s is absent", path);
    weights_file *file;
    if (tensors < 0) {
        ck_fails(weights_file_open(full, &file), STATUS_INPUT, "numpy");
        return;
    }
    ck_ok(weights_file_open(full, &file));
    ck_assert_msg(file->count == (size_t)tensors, "%s: %zu tensors", name, file->count);
    if (tensors) {
        const weights_entry *e = weights_file_find(file, tensor_name);
        ck_assert_msg(e, "%s: no tensor named '%s'", name, tensor_name);
        ck_assert_str_eq(e->type_name, type);
        ck_assert_int_eq(e->count, count);
        if (values) {
            float *x = malloc((size_t)count * sizeof *x);
            ck_ok(weights_entry_read(file, e, x));
            ck_assert_mem_eq(x, values, (size_t)count * sizeof *x);
            free(x);
        }
    }
    weights_file_close(file);
}

START_TEST(real_torch_files)
{
    if (!support_data("weights/pytorch")) {
        support_skip("data/weights");
        return;
    }
    check_torch("bumblebee/numpy_arrays.zip.pt", -1, NULL, NULL, 0, NULL);
    check_torch("bumblebee/numpy_arrays.legacy.pt", -1, NULL, NULL, 0, NULL);
    check_torch("bumblebee/ordered_dict.zip.pt", 0, NULL, NULL, 0, NULL);
    check_torch("bumblebee/ordered_dict.legacy.pt", 0, NULL, NULL, 0, NULL);
    check_torch("bumblebee/noncontiguous_tensor.zip.pt", 1, "", "LongStorage", 12, NULL);
    check_torch("bumblebee/noncontiguous_tensor.legacy.pt", 1, "", "LongStorage", 12, NULL);
    check_torch("bumblebee/storage_view.legacy.pt", 0, NULL, NULL, 0, NULL); /* views of a storage, no tensor */
    check_torch("bumblebee/state_dict_base.zip.pt", 2, "conv.weight", "FloatStorage", 24, NULL);
    check_torch("bumblebee/state_dict_full.zip.pt", 5, "base.conv.bias", "FloatStorage", 2, NULL);
    check_torch("bumblebee/tensors.zip.pt", 12, "1", "FloatStorage", 2, (const float[]){-1, 1});
    check_torch("bumblebee/tensors.legacy.pt", 12, "1", "FloatStorage", 2, (const float[]){-1, 1});
    check_torch("bumblebee/tensors.legacy.pt", 12, "0", "DoubleStorage", 2, (const float[]){-1, 1});
    check_torch("bumblebee/tensors.zip.pt", 12, "2", "HalfStorage", 2, (const float[]){-1, 1});
    check_torch("bumblebee/tensors.zip.pt", 12, "9", "BFloat16Storage", 2, (const float[]){-1, 1});
    check_torch("candle/fortran_tensor_3d.pth", 1, "tensor_fortran", "LongStorage", 24, NULL);
    check_torch("candle/test.pt", 1, "test", "LongStorage", 8, NULL);
    check_torch("candle/test_with_key.pt", 1, "model_state_dict.test", "LongStorage", 8, NULL);
}
END_TEST

/* A safetensors file of one header and `data` zero bytes. */
static void write_header(const char *path, const char *header, size_t data)
{
    unsigned char start[8] = {(unsigned char)strlen(header), (unsigned char)(strlen(header) >> 8)};
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert(fwrite(start, 1, 8, f) == 8 && fputs(header, f) >= 0);
    while (data-- > 0)
        fputc(0, f);
    ck_assert(fclose(f) == 0);
}

START_TEST(headers_are_checked)
{
    static const struct {
        const char *header, *message;
        size_t data;
    } cases[] = {
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", "leave a gap", 8},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}}",
         "leave a gap", 12},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", "overlap",
         8},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
         "duplicate", 8},
        {"{\"a\":{\"dtype\":\"F33\",\"shape\":[1],\"data_offsets\":[0,4]}}", "unknown type \"F33\"", 4},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", "no whole number", 4},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", "bad offsets", 4},
        {"{\"__metadata__\":{\"a\":1}}", "is no string", 0},
        {"{\"a\":[]}", "is no object", 0},
        {"[]", "no JSON object", 0},
    };
    char path[600];
    snprintf(path, sizeof path, "%s/x.safetensors", support_scratch());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weights_file *file;
        write_header(path, cases[i].header, cases[i].data);
        ck_fails(weights_file_open(path, &file), STATUS_INPUT, cases[i].message);
    }
}
END_TEST

/* A zip archive whose directory gives one storage more bytes than the file has, or fewer than its tensor needs. */
START_TEST(zip_sizes_are_checked)
{
    const char *from = support_data("weights/pytorch/bumblebee/state_dict_full.zip.pt");
    if (!from) {
        support_skip("data/weights");
        return;
    }
    static const char name[] = "data/1";
    char *bytes, path[600];
    size_t n;
    ck_ok(file_read_all(from, 0, &bytes, &n));
    snprintf(path, sizeof path, "%s/x.pt", support_scratch());
    char *at = bytes + n - strlen(name); /* the last mention of the name is the directory's */
    while (memcmp(at, name, strlen(name)) != 0)
        at--;
    char *entry = at;
    while (memcmp(entry, "PK\1\2", 4) != 0)
        entry--;
    weights_file *file;
    memcpy(entry + 20, "\0\0\1\0\0\0\1\0", 8); /* stored and real size: 65,536 */
    ck_ok(file_write_atomic(path, bytes, n));
    ck_fails(weights_file_open(path, &file), STATUS_INPUT, "beyond the file");
    memcpy(entry + 20, "\7\0\0\0\7\0\0\0", 8);
    ck_ok(file_write_atomic(path, bytes, n));
    ck_fails(weights_file_open(path, &file), STATUS_INPUT, "has 7 bytes instead of 8");
    memcpy(entry + 20, "\7\0\0\0\10\0\0\0", 8);
    ck_ok(file_write_atomic(path, bytes, n));
    ck_fails(weights_file_open(path, &file), STATUS_INPUT, "compressed");
    free(bytes);
}
END_TEST

/* One flipped bit in any entry's bytes, or in what the directory says of them, is found by the checksum and named. */
START_TEST(zip_checksums_are_checked)
{
    const char *from = support_data("weights/pytorch/bumblebee/state_dict_full.zip.pt");
    if (!from) {
        support_skip("data/weights");
        return;
    }
    char path[600], named[100];
    weights_file *file;
    threads *pool;
    support_seed();
    ck_ok(threads_create(3, &pool));
    ck_ok(weights_file_open(from, &file));
    ck_ok(weights_file_check(file, pool));
    ck_ok(weights_file_check(file, NULL));
    size_t blocks = file->block_count;
    ck_assert_uint_gt(blocks, 4);
    snprintf(path, sizeof path, "%s/x.pt", support_scratch());
    for (size_t i = 0; i < blocks; i++) {
        const weights_block *b = &file->blocks[i];
        if (b->bytes == 0 || memmem(b->name, b->name_length, "data.pkl", 8)) /* a changed pickle may be refused before */
            continue;
        weights_file *other;
        char *bytes = malloc(file->bytes);
        memcpy(bytes, file->map, file->bytes);
        size_t at = (size_t)(b->data - (const unsigned char *)file->map) + support_below(b->bytes);
        bytes[at] = (char)(bytes[at] ^ 1 << support_below(8));
        ck_ok(file_write_atomic(path, bytes, file->bytes));
        snprintf(named, sizeof named, "\"%.*s\" in it has CRC-32", (int)b->name_length, b->name);
        if (weights_file_open(path, &other) == STATUS_OK) { /* "byteorder" is looked at while opening */
            ck_fails(weights_file_check(other, pool), STATUS_INPUT, named);
            weights_file_close(other);
        } else {
            ck_assert(memmem(b->name, b->name_length, "byteorder", 9) != NULL);
        }
        free(bytes);
    }
    threads_free(pool);
    weights_file_close(file);
}
END_TEST

/* The checksum of a whole by its parts, of any length. */
START_TEST(checksums_join)
{
    support_seed();
    static unsigned char bytes[3000000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)support_below(256);
    ck_assert_uint_eq(hash_crc32("123456789", 9), 0xcbf43926u);
    for (int k = 0; k < 20; k++) {
        size_t cut = support_below(sizeof bytes);
        ck_assert_uint_eq(hash_crc32_join(hash_crc32(bytes, cut), hash_crc32(bytes + cut, sizeof bytes - cut), sizeof bytes - cut),
                          hash_crc32(bytes, sizeof bytes));
    }
}
END_TEST

/* A tensor whose shape, offset or stride reaches beyond its storage: the pickle's numbers changed one at a time. */
START_TEST(tensors_stay_in_their_storage)
{
    static const struct {
        const char *from, *to;
        size_t length;
    } changes[] = {
        {"K\0K\2\x85", "K\0K\3\x85", 5}, /* offset 0, shape [2]: of 2 elements */
        {"K\0K\2\x85", "K\1K\2\x85", 5},
        {"K\2\x85q\x11K\1\x85", "K\2\x85q\x11K\2\x85", 8}, /* stride 1 */
    };
    const char *from = support_data("weights/pytorch/bumblebee/state_dict_full.zip.pt");
    if (!from) {
        support_skip("data/weights");
        return;
    }
    char path[600];
    snprintf(path, sizeof path, "%s/x.pt", support_scratch());
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char *bytes;
        size_t n;
        ck_ok(file_read_all(from, 0, &bytes, &n));
        char *at = memmem(bytes, n, changes[i].from, changes[i].length);
        ck_assert_msg(at, "change %zu finds no place", i);
        memcpy(at, changes[i].to, changes[i].length);
        ck_ok(file_write_atomic(path, bytes, n));
        weights_file *file;
        ck_fails(weights_file_open(path, &file), STATUS_INPUT, "beyond its storage");
        free(bytes);
    }
}
END_TEST

/* Real files, cut anywhere or with one bit changed, are read or refused, never worse (the sanitizers watch). */
START_TEST(damaged_files_are_refused)
{
    static const char *const names[] = {"weights/pytorch/bumblebee/state_dict_full.zip.pt", "weights/pytorch/bumblebee/tensors.legacy.pt",
                                        "weights/safetensors_cases/ok_metadata.safetensors"};
    support_seed();
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const char *from = support_data(names[k]);
        if (!from) {
            support_skip("data/weights");
            return;
        }
        char *bytes, path[600];
        size_t n;
        ck_ok(file_read_all(from, 0, &bytes, &n));
        snprintf(path, sizeof path, "%s/x.%s", support_scratch(), k == 2 ? "safetensors" : "pt");
        for (int i = 0; i < 400; i++) {
            char *copy = malloc(n);
            size_t keep = i % 2 ? n : (size_t)support_below(n);
            memcpy(copy, bytes, n);
            if (i % 2)
                copy[support_below(n)] ^= (char)(1 << support_below(8));
            FILE *f = fopen(path, "wb");
            ck_assert(f && fwrite(copy, 1, keep, f) == keep && fclose(f) == 0);
            free(copy);
            weights_file *file = NULL;
            status st = weights_file_open(path, &file);
            ck_assert(st == STATUS_OK || st == STATUS_INPUT);
            for (size_t e = 0; st == STATUS_OK && e < file->count; e++) {
                float *x = malloc((size_t)file->entries[e].count * sizeof *x + 1);
                if (x && weights_entry_read(file, &file->entries[e], x) == STATUS_OK)
                    ck_assert_int_ge(file->entries[e].count, 0);
                free(x);
            }
            if (st == STATUS_OK)
                weights_file_close(file);
        }
        free(bytes);
    }
}
END_TEST

/* ---- models ---- */

/* A random arena of a table whose gaps are zero. */
static float *random_arena(const tensor_table *t)
{
    float *arena = calloc((size_t)t->parameters, sizeof *arena);
    ck_assert_ptr_nonnull(arena);
    for (int i = 0; i < t->count; i++)
        for (int64_t k = 0; k < t->tensors[i].count; k++)
            arena[t->tensors[i].first + k] = support_normal();
    return arena;
}

/* Writes the table's tensors under other names: `prefix` instead of "bert.", gamma and beta, without tensor `left_out`, one more named `extra`. */
static void write_renamed(const char *path, const tensor_table *t, const float *arena, bool bare, bool old_names, int left_out, const char *extra)
{
    safetensors_item items[64];
    char names[64][120];
    size_t n = 0;
    for (int i = 0; i < t->count; i++) {
        const tensor *x = &t->tensors[i];
        const char *from = bare && strncmp(x->name, "bert.", 5) == 0 ? x->name + 5 : x->name;
        const char *norm = old_names ? strstr(from, "LayerNorm.") : NULL;
        if (i == left_out)
            continue;
        if (norm)
            snprintf(names[n], sizeof names[n], "%.*sLayerNorm.%s", (int)(norm - from), from, strstr(norm, "weight") ? "gamma" : "beta");
        else
            snprintf(names[n], sizeof names[n], "%s", from);
        items[n] = (safetensors_item){names[n], x->dims, x->shape, arena + x->first};
        n++;
    }
    if (extra)
        items[n++] = (safetensors_item){extra, 1, t->tensors[EMBED_NORM_BIAS].shape, arena};
    large_file f;
    ck_ok(large_file_begin(path, 0, LARGE_FILE_PLAIN, &f));
    ck_ok(safetensors_write(&f, items, n));
    ck_ok(large_file_end(&f, NULL));
}

START_TEST(weights_go_round)
{
    support_seed();
    model_config c = parse("");
    tensor_table *t;
    char path[600];
    large_file out;
    uint64_t hash, again;
    weights_file *file;
    weights_report report;
    for (int pooler = 0; pooler < 2; pooler++) {
        ck_ok(tensor_table_create(&c, 2, pooler, &t));
        float *arena = random_arena(t), *back = malloc((size_t)t->parameters * sizeof *back);
        snprintf(path, sizeof path, "%s/model.safetensors", support_scratch());
        ck_ok(weights_save(path, t, arena, &out));
        ck_ok(large_file_end(&out, &hash));
        ck_ok(hash_xxh3_file(path, &again));
        ck_assert_uint_eq(hash, again);
        for (int way = 0; way < 4; way++) {
            if (way)
                write_renamed(path, t, arena, way & 1, way & 2, -1, way == 3 ? "cls.predictions.bias" : NULL);
            memset(back, 0xff, (size_t)t->parameters * sizeof *back);
            ck_ok(weights_open(path, &file));
            ck_assert(weights_have_pooler(file) == (bool)pooler);
            ck_ok(weights_load(file, t, 1, back, &report));
            ck_assert_mem_eq(back, arena, (size_t)t->parameters * sizeof *back);
            ck_assert(report.head_loaded && report.loaded == t->count);
            ck_assert((strstr(report.notes, "1 tensors of the file") != NULL) == (way == 3));
            weights_file_close(file);
        }
        free(arena);
        free(back);
        tensor_table_free(t);
    }
}
END_TEST

START_TEST(wrong_weights_are_named)
{
    support_seed();
    model_config c = parse(""), wider = parse(", \"type_vocab_size\": 3"), deeper = parse("");
    deeper.layers = 1;
    tensor_table *t, *other, *shallow;
    ck_ok(tensor_table_create(&c, 2, false, &t));
    ck_ok(tensor_table_create(&wider, 2, false, &other));
    ck_ok(tensor_table_create(&deeper, 2, false, &shallow));
    float *arena = random_arena(t), *back = calloc((size_t)t->parameters + 1000, sizeof *back);
    char path[600];
    weights_file *file;
    weights_report report;
    const char *folder = support_scratch();
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    ck_fails(weights_open(folder, &file), STATUS_INPUT, "neither model.safetensors nor");

    write_renamed(path, t, arena, true, false, 9, NULL);
    ck_ok(weights_open(folder, &file));
    ck_fails(weights_load(file, t, 1, back, &report), STATUS_INPUT, t->tensors[9].name);
    ck_assert(strstr(status_message(), "1 of") && back[0] == 0);
    weights_file_close(file);

    write_renamed(path, t, arena, false, false, -1, NULL);
    ck_ok(weights_open(folder, &file));
    ck_fails(weights_load(file, other, 1, back, &report), STATUS_INPUT, "[2, 32], the config says [3, 32]");
    ck_fails(weights_load(file, shallow, 1, back, &report), STATUS_INPUT, "bert.encoder.layer.1");
    ck_assert(back[0] == 0);
    weights_file_close(file);

    write_renamed(path, t, arena, false, false, -1, "embeddings.LayerNorm.bias");
    ck_ok(weights_open(folder, &file));
    ck_fails(weights_load(file, t, 1, back, &report), STATUS_INPUT, "the same tensor");
    weights_file_close(file);

    int head = (int)(tensor_out_bias(t) - t->tensors);
    write_renamed(path, t, arena, false, false, head, NULL);
    ck_ok(weights_open(folder, &file));
    ck_ok(weights_load(file, t, 7, back, &report));
    ck_assert(!report.head_loaded && report.loaded == t->count - 2 && strstr(report.notes, "another shape"));
    float start[2];
    model_init_range(t, 7, tensor_out_bias(t)->first, 2, start);
    ck_assert_mem_eq(start, back + tensor_out_bias(t)->first, sizeof start);
    weights_file_close(file);

    const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n";
    ck_ok(file_write_atomic(path, pointer, sizeof pointer - 1));
    ck_fails(weights_open(folder, &file), STATUS_INPUT, "Git LFS pointer");
    ck_ok(file_remove(path));
    snprintf(path, sizeof path, "%s/model.safetensors.index.json", folder);
    ck_ok(file_write_atomic(path, "{}", 2));
    ck_fails(weights_open(folder, &file), STATUS_INPUT, "several files");
    free(arena);
    free(back);
    tensor_table_free(t);
    tensor_table_free(other);
    tensor_table_free(shallow);
}
END_TEST

START_TEST(public_tiny_model)
{
    const char *folder = support_data("weights/coldfire_tiny_bert");
    if (!folder) {
        support_skip("data/weights");
        return;
    }
    char path[600];
    model_config c;
    tensor_table *t;
    weights_file *file;
    weights_report report;
    snprintf(path, sizeof path, "%s/config.json", folder);
    ck_ok(model_config_read(path, &c));
    ck_ok(weights_open(folder, &file));
    ck_ok(tensor_table_create(&c, 1, weights_have_pooler(file), &t));
    float *arena = malloc((size_t)t->parameters * sizeof *arena);
    ck_ok(weights_load(file, t, 3, arena, &report));
    ck_assert(!report.head_loaded && report.loaded == t->count - 2);
    ck_assert_msg(strstr(report.notes, ": has no output layer (out.*), as is usual of a pretrained model: a new one is made from --seed\n") != NULL &&
                  strstr(report.notes, "model.safetensors") != NULL, "%s", report.notes);
    free(arena);
    weights_file_close(file);
    tensor_table_free(t);
}
END_TEST

/* Numbers of another type than float32, contiguous and not. */
START_TEST(other_types_convert)
{
    static const uint16_t half[] = {0x3c00, 0xc000, 0x0001, 0x83ff, 0x7bff, 0x7c00, 0x8000, 0x3555};
    static const float half_value[] = {1, -2, 0x1p-24f, -0x1.ff8p-15f, 65504, INFINITY, -0.0f, 0x1.554p-2f};
    static const double wide[] = {1, -2.5, 1e-50, 0.1};
    float out[8];
    weights_file file = {.path = (char *)(uintptr_t) "x"};
    weights_entry e = {.name = (char *)(uintptr_t) "t",
                       .type = WEIGHTS_F16,
                       .dims = 1,
                       .shape = {8},
                       .stride = {1},
                       .count = 8,
                       .data = (const unsigned char *)half};
    ck_ok(weights_entry_read(&file, &e, out));
    ck_assert_mem_eq(out, half_value, sizeof out);
    e = (weights_entry){
        .name = e.name, .type = WEIGHTS_F64, .dims = 2, .shape = {2, 2}, .stride = {1, 2}, .count = 4, .data = (const unsigned char *)wide};
    ck_ok(weights_entry_read(&file, &e, out)); /* transposed */
    ck_assert(out[0] == 1 && out[1] == 0 && out[2] == -2.5f && out[3] == 0.1f);
}
END_TEST

int main(void)
{
    threads_set_rounding();
    return support_run("weights", (const TTest *[]){safetensors_verdicts, hostile_pickles_are_refused, headers_are_checked, real_torch_files,
                                                    zip_sizes_are_checked, zip_checksums_are_checked, checksums_join, tensors_stay_in_their_storage, damaged_files_are_refused, weights_go_round,
                                                    wrong_weights_are_named, public_tiny_model, other_types_convert, NULL});
}
