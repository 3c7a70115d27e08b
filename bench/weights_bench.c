/* How fast the weights of a model come from the page cache into parameters, every check of the format included.
 *
 *     weights_bench MODEL_FOLDER_OR_FILE CONFIG.json THREADS ROUNDS
 *
 * Each round opens the file, loads it into fresh memory and closes it, as training does; beside it the SHA-256 that run.json keeps, which training
 * takes on a thread of its own while the data are opened, and a plain copy of as many bytes into fresh memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/files.h"
#include "common/hash.h"
#include "common/shared_memory.h"
#include "model/weights.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int smaller(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, smaller);
    return x[n / 2];
}

static status load(const char *model, const model_config *config, threads *pool, double *seconds, size_t *bytes)
{
    weights_file *file;
    weights_report report;
    tensor_table *table;
    void *arena;
    double begin = now();
    TRY(weights_open(model, &file));
    TRY(tensor_table_create(config, 1, weights_have_pooler(file), &table));
    TRY(shared_memory_private((size_t)table->parameters * sizeof(float), "parameters", &arena));
    TRY(weights_load_threads(file, table, 1, arena, &report, pool));
    *bytes = file->bytes;
    weights_file_close(file);
    *seconds = now() - begin;
    shared_memory_free(arena);
    tensor_table_free(table);
    return STATUS_OK;
}

static status copy(const void *map, size_t bytes, double *seconds)
{
    void *to;
    double begin = now();
    TRY(shared_memory_private(bytes, "a copy", &to));
    memcpy(to, map, bytes);
    *seconds = now() - begin;
    shared_memory_free(to);
    return STATUS_OK;
}

static status run(const char *model, const char *config_path, int count, int rounds)
{
    model_config config;
    threads *pool;
    char *path, hex[HASH_HEX];
    const void *map;
    size_t bytes = 0;
    double *took;
    TRY(model_config_read(config_path, &config));
    TRY(threads_create(count, &pool));
    TRY(weights_find(model, &path));
    TRY(memory_new(&took, 3 * (size_t)rounds * sizeof *took, "times"));
    for (int i = 0; i < rounds; i++) {
        TRY(load(model, &config, pool, &took[i], &bytes));
        double begin = now();
        TRY(hash_sha256_file(path, hex));
        took[rounds + i] = now() - begin;
        TRY(file_map(path, &map, &bytes));
        TRY(copy(map, bytes, &took[2 * rounds + i]));
        file_unmap(map, bytes);
    }
    double best = (double)bytes * 1e-9;
    printf("%s: %.0f MB, %d threads, median of %d: loaded with checks at %.2f GB/s; its SHA-256 %.2f GB/s; a plain copy by one thread %.2f GB/s\n", path,
           (double)bytes * 1e-6, count, rounds, best / median(took, rounds), best / median(took + rounds, rounds), best / median(took + 2 * rounds, rounds));
    free(took);
    free(path);
    threads_free(pool);
    return STATUS_OK;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: %s MODEL CONFIG.json THREADS ROUNDS\n", argv[0]);
        return 2;
    }
    status st = run(argv[1], argv[2], (int)strtol(argv[3], NULL, 10), (int)strtol(argv[4], NULL, 10));
    if (st != STATUS_OK)
        fprintf(stderr, "%s\n", status_message());
    return (int)st;
}
