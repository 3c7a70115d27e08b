/* The runs of all ranks, between the writing half (spill_write.c) and the merging half (spill_merge.c). */
#ifndef FRETSAW_SHARD_SPILL_RUNS_H
#define FRETSAW_SHARD_SPILL_RUNS_H

#include "shard/spill.h"
#include "shard/spill_record.h"

struct spill_runs {
    char *folder;
    int64_t labels, shards, runs;
    const int64_t *first;
    int64_t *bound; /* runs x (shards + 1): bytes of its file at which each shard begins */
    int *rank;      /* whose file each run is in */
};

status spill_file_path(const char *folder, int rank, char **path);

#endif
