/* Which model a training starts from: its files, and their SHA-256, taken on a thread of its own while other inputs are opened.
 *
 *     initial_model m = {0}; TRY(comm_agree(initial_find(o, &m)));
 *     initial_begin_hash(&m);                        // rank 0 starts to read
 *     ... open data ...
 *     TRY(initial_end_hash(&m));                     // collective: every rank has m.hash
 *     initial_free(&m);
 */
#ifndef FRETSAW_TRAIN_INITIAL_H
#define FRETSAW_TRAIN_INITIAL_H

#include "common/hash.h"
#include "train/options.h"

typedef struct initial_model {
    char *folder; /* of the pretrained model; NULL with --init random */
    char *config_path, *vocabulary_path;
    char *vocabulary; /* as the bytes of a vocab.txt (model/pieces.h) */
    size_t vocabulary_bytes;
    char vocabulary_hash[HASH_HEX];
    char hash[HASH_HEX];                /* SHA-256 of the weights file, or of the config with --init random */
    char file[64];                      /* its base name */
    struct initial_hashing *hashing;    /* private */
} initial_model;

/* Local. STATUS_INPUT where a file is missing. */
status initial_find(const train_options *o, initial_model *m);
void initial_begin_hash(initial_model *m); /* local; an error is told by initial_end_hash */
status initial_end_hash(initial_model *m); /* collective */
void initial_free(initial_model *m);       /* local */

#endif
