/* The only globals a pickle of tensors may name, and what calling them means. Used by torchbin_pickle.c. Local.
 *
 *     TRY(rebuild_find_global(m, "torch", 5, "FloatStorage", 12, &v));
 */
#ifndef FRETSAW_MODEL_TORCHBIN_REBUILD_H
#define FRETSAW_MODEL_TORCHBIN_REBUILD_H

#include <stdbool.h>

#include "model/torchbin_pickle.h"

/* STATUS_INPUT for every name but collections.OrderedDict, torch._utils._rebuild_tensor(_v2), torch._utils._rebuild_parameter and torch.*Storage. */
status rebuild_find_global(pickle_machine *m, const char *module, size_t module_length, const char *name, size_t name_length, pickle_value *out);
/* A persistent id, ("storage", type, key, place, elements[, view]), as a STORAGE. */
status rebuild_storage(pickle_machine *m, pickle_value id, pickle_value *out);
/* Calls a tensor-building global. */
status rebuild_call(pickle_machine *m, pickle_value callable, pickle_value arguments, pickle_value *out);
bool rebuild_is_dict(pickle_value callable);
/* Fills the empty dict on top of the stack from the arguments of OrderedDict: none, or one list of pairs. */
status rebuild_fill_dict(pickle_machine *m, pickle_value arguments);

#endif
