#include "model/state_hash.h"

#include <string.h>

#include "common/hash.h"

enum { SLICE = 1 << 18 };

typedef struct work {
    const tensor_table *table;
    const float *arena;
    int64_t first, end;
    uint64_t *sums;
} work;

static void add_slice(void *job, int64_t task, int worker)
{
    const work *w = job;
    tensor_range range;
    int64_t first = w->first + task * SLICE, end = w->end - first < SLICE ? w->end : first + SLICE;
    (void)worker;
    for (int64_t at = first; tensor_table_range(w->table, at, end, &range); at += range.count) {
        uint64_t sum = 0;
        for (int64_t i = at; i < at + range.count; i++) {
            uint32_t bits;
            memcpy(&bits, &w->arena[i], sizeof bits);
            sum += hash_mix64((uint64_t)i, bits);
        }
        __atomic_fetch_add(&w->sums[range.tensor - w->table->tensors], sum, __ATOMIC_RELAXED);
    }
}

void state_hash_add(const tensor_table *table, const float *arena, int64_t first, int64_t end, uint64_t *sums, threads *pool)
{
    work w = {table, arena, first, end, sums};
    if (end > first)
        threads_run(pool, (end - first + SLICE - 1) / SLICE, add_slice, &w);
}

uint64_t state_hash_all(const tensor_table *table, const uint64_t *sums)
{
    return hash_xxh3(sums, (size_t)table->count * sizeof *sums);
}
