/* Weights of a model folder in and out, by the names of the notebook's module.
 *
 *     weights_file *file;
 *     TRY(weights_open("mbert/", &file));                            // the folder's file, or a file
 *     TRY(tensor_table_create(&config, outputs, weights_have_pooler(file), &table));
 *     TRY(weights_load(file, table, seed, arena, &report));          // arena: table->parameters floats on the host
 *     printf("%s", report.notes);
 *     TRY(weights_save("runs/one/.best.tmp/model.safetensors", table, arena, &file));
 *     TRY(large_file_end(&file, &hash));
 *
 * Names may have the prefix "bert." or not, and LayerNorm.gamma and .beta instead of .weight and .bias. The pooler is kept when
 * the table has one; position_ids, cls.* (pretraining heads) and other strangers outside the encoder are left out and noted. Local.
 */
#ifndef FRETSAW_MODEL_WEIGHTS_H
#define FRETSAW_MODEL_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/large_file.h"
#include "common/status.h"
#include "model/tensors.h"
#include "model/weights_file.h"

/* The file of a model folder: model.safetensors, else pytorch_model.bin; a path to a file is itself. The caller frees *out.
 * STATUS_INPUT when there is none, or only one in several pieces (*.index.json), which is not supported. */
status weights_find(const char *folder, char **out);
/* weights_find and weights_file_open. Close with weights_file_close. */
status weights_open(const char *folder, weights_file **out);
/* True when the file has bert.pooler.dense, under either name. */
bool weights_have_pooler(const weights_file *file);

typedef struct weights_report {
    int loaded;       /* tensors */
    bool head_loaded; /* out.weight and out.bias came from the file; else they were initialised */
    char notes[1024]; /* lines for the log, each with its newline: what was left out, and what became of the head */
} weights_report;

/* Everything is checked before the first float is written. STATUS_INPUT: checksums that differ (weights_file_check), tensors that are missing (all listed), a shape that is not the
 * config's (both are told), an encoder tensor that the config has no place for, a name that comes twice. The head is loaded when
 * out.weight and out.bias are there with the table's shapes, else initialised from `seed` (model_init.h). */
status weights_load(const weights_file *file, const tensor_table *table, uint64_t seed, float *arena, weights_report *report);
/* The same, spread over a pool (NULL: the caller alone). */
status weights_load_threads(const weights_file *file, const tensor_table *table, uint64_t seed, float *arena, weights_report *report, threads *pool);

/* All tensors of the table as safetensors: transformers' BertModel.from_pretrained and the notebook's module read it. The file is written, hashed, and
 * open for the caller's large_file_end; nothing is there after an error. */
status weights_save(const char *path, const tensor_table *table, const float *arena, large_file *file);

#endif
