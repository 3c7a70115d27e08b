/* Whether the files of a checkpoint or of an epoch's weights are as they were written. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/files.h"
#include "train/checkpoint.h"
#include "train/state.h"

const char *const checkpoint_file[CHECKPOINT_FILES] = {"config.json", "vocab.txt", "model.safetensors"};

status checkpoint_hash_file(const char *folder, int i, uint64_t *hash)
{
    char *path;
    TRY(file_join(folder, checkpoint_file[i], &path));
    status st = hash_xxh3_file(path, hash);
    free(path);
    return st;
}

status checkpoint_check_files(const char *folder, const checkpoint_state *state)
{
    for (int i = 0; i < CHECKPOINT_FILES; i++) {
        uint64_t hash;
        TRY(checkpoint_hash_file(folder, i, &hash));
        if (hash != state->file[i])
            return fail(STATUS_INPUT, "%s/%s: the file is damaged (its hash is %016" PRIx64 ", state.json has %016" PRIx64 ")", folder,
                        checkpoint_file[i], hash, state->file[i]);
    }
    return STATUS_OK;
}

status checkpoint_check_folder(const char *folder, const tensor_table *table)
{
    checkpoint_state state;
    uint64_t *hashes;
    char *path = NULL;
    TRY(memory_new(&hashes, (size_t)table->count * sizeof *hashes, "state hashes"));
    status st = file_join(folder, "state.json", &path);
    if (st == STATUS_OK)
        st = state_read(path, table, &state, hashes);
    if (st == STATUS_OK)
        st = checkpoint_check_files(folder, &state);
    free(path);
    free(hashes);
    return st;
}
