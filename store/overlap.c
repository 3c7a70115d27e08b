#include "store/overlap.h"

#include <stdlib.h>
#include <string.h>

#include "common/comm.h"

/* Hashes of a round's rows, each once, by open addressing. 0 is an empty slot; for the hash 0 there is one more, with 1 where it is among them. */
typedef struct text_table {
    uint64_t *key, slots; /* a power of two, at least twice the rows */
    uint8_t *seen;        /* in the other set */
    uint64_t block[ROWFILE_CHUNK];
} text_table;

static uint64_t find(const text_table *t, uint64_t hash)
{
    uint64_t at = (hash * 0x9E3779B97F4A7C15u >> 32) & (t->slots - 1);
    if (hash == 0)
        return t->slots;
    while (t->key[at] && t->key[at] != hash)
        at = (at + 1) & (t->slots - 1);
    return at;
}

static void put(text_table *t, uint64_t hash)
{
    t->key[find(t, hash)] = hash ? hash : 1;
}

static void look_up(text_table *t, uint64_t hash)
{
    uint64_t at = find(t, hash);
    t->seen[at] |= t->key[at] != 0;
}

/* Rows [first, end) of a set, counted over all its files, block by block. `each` returns how many rows to count. */
static status visit(dataset *d, text_table *t, int64_t first, int64_t end, int64_t (*each)(text_table *, const uint64_t *, int64_t), int64_t *sum)
{
    int64_t before = 0;
    for (int64_t i = 0; i < dataset_files(d) && before < end; before += dataset_file_rows(d, i++)) {
        int64_t rows = dataset_file_rows(d, i), at = first > before ? first - before : 0, stop = end - before < rows ? end - before : rows;
        for (int64_t n; at < stop; at += n) {
            n = stop - at < ROWFILE_CHUNK ? stop - at : ROWFILE_CHUNK;
            TRY(dataset_text_hashes(d, i, at, n, t->block));
            *sum += each(t, t->block, n);
        }
    }
    return STATUS_OK;
}

static int64_t put_block(text_table *t, const uint64_t *hash, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++)
        put(t, hash[i]);
    return 0;
}

static int64_t look_up_block(text_table *t, const uint64_t *hash, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++)
        look_up(t, hash[i]);
    return 0;
}

static int64_t count_block(text_table *t, const uint64_t *hash, int64_t rows)
{
    int64_t seen = 0;
    for (int64_t i = 0; i < rows; i++)
        seen += t->seen[find(t, hash[i])];
    return seen;
}

static status count(dataset *of, dataset *in, int64_t round, int64_t *rows)
{
    text_table *t;
    int64_t all = dataset_rows(of), unused = 0;
    status st;
    TRY(memory_new(&t, sizeof *t, "hashes of texts"));
    round = round < all ? round : all;
    for (t->slots = 64; (int64_t)t->slots < 2 * round;)
        t->slots *= 2;
    TRY_DONE(memory_new(&t->key, (t->slots + 1) * sizeof *t->key, "hashes of texts"));
    TRY_DONE(memory_new(&t->seen, t->slots + 1, "hashes of texts"));
    for (int64_t first = 0; first < all; first += round) {
        int64_t end = all - first < round ? all : first + round;
        memset(t->key, 0, (t->slots + 1) * sizeof *t->key);
        memset(t->seen, 0, t->slots + 1);
        TRY_DONE(visit(of, t, first, end, put_block, &unused));
        TRY_DONE(visit(in, t, 0, dataset_rows(in), look_up_block, &unused));
        TRY_DONE(visit(of, t, first, end, count_block, rows));
    }
done:
    free(t->key);
    free(t->seen);
    free(t);
    return st;
}

status overlap_count(dataset *of, dataset *in, int64_t round, int64_t *rows)
{
    *rows = 0;
    TRY(comm_agree(comm_rank() == 0 ? count(of, in, round, rows) : STATUS_OK));
    comm_broadcast(rows, sizeof *rows, 0);
    return STATUS_OK;
}
