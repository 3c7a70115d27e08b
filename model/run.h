/* A run folder as `train` writes it, and which of its weights are meant: what infer needs to read rows the way the run did.
 *
 *     run r;
 *     TRY(run_open("runs/one", "best", &r));            // "last" (NULL too), "best", "epoch-2", "step-000812"
 *     load(r.weights_folder); ... r.input.max_length, r.labels, r.tokenizer ...
 *     run_close(&r);
 *
 * Files of a run: run.json (how rows are read and what the run was made of, written at its start), recipe.conf (the options that can change
 * results), metrics.jsonl, `last` and `best` (the name of a folder beside them), step-NNNNNN/ and epoch-N/ (model folders with a
 * state.json), provenance.json (written last of all: the run is finished). Local; reads only.
 */
#ifndef FRETSAW_MODEL_RUN_H
#define FRETSAW_MODEL_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/hash.h"
#include "common/status.h"
#include "model/input.h"

/* Of the CPU's rules for numbers (docs/reproducibility.md): a change of any of them raises it. */
enum { ARITHMETIC_VERSION = 1 };

typedef struct run {
    char *folder;               /* of the run */
    char *weights;              /* the folder's name that the choice stands for: "step-000812" */
    char *weights_folder;       /* its path: a model folder with config.json, vocab.txt and model.safetensors */
    bool finished;              /* provenance.json is there; if not, training has stopped or goes on */
    int64_t step;               /* optimizer steps behind the weights */
    input_format input;         /* max_length, truncate, ids of [CLS], [SEP], [PAD] */
    bool padded;                /* --pooling padded: rows are filled up to max_length and pooled over the padding too */
    int64_t labels;             /* C */
    char **label;               /* names */
    char *tokenizer;            /* identity text of the tokens it was trained on */
    char *read_with;            /* how the CSVs behind them were read (store/manifest.h); NULL: not known */
    int arithmetic;             /* version */
    char recipe_hash[HASH_HEX]; /* SHA-256 of recipe.conf's options */
    char identity[HASH_HEX];    /* SHA-256 of run.json: recipe, data, initial weights together */
    char config_hash[HASH_HEX]; /* SHA-256 of the config.json beside the weights; empty where run.json does not say */
    char weights_hash[17];      /* state hash of the weights, 16 hex digits */
} run;

/* STATUS_INPUT names what is missing or damaged and what the run has instead. `out` is all zero then; run_close is fine on it. */
status run_open(const char *folder, const char *which, run *out);
void run_close(run *r);

/* Whether the tokens' identity names the vocabulary with this SHA-256. */
bool run_vocabulary_matches(const char *tokenizer, const char *vocabulary_sha256);

#endif
