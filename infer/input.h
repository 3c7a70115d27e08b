/* The rows to score: folders of shards or parts, or CSVs that become parts first.
 *
 *     TRY(input_work_folder(&settings, &folder));                  // beside --out unless told
 *     TRY(input_open(&settings, folder, &ensemble, &data));        // collective
 */
#ifndef FRETSAW_INFER_INPUT_H
#define FRETSAW_INFER_INPUT_H

#include "infer/ensemble.h"
#include "infer/settings.h"

/* Local. Where finished predictions (and the parts of CSVs) lie: --work, or "predictions" beside --out. The caller frees. */
status input_work_folder(const settings *s, char **folder);
/* Collective. Rows whose tokens are the runs': STATUS_INPUT otherwise. CSVs are tokenized with the first run's vocabulary and settings, by
 * preprocess's own stage, into parts that the next call finds finished. */
status input_open(const settings *s, const char *folder, const ensemble *e, dataset **out);

#endif
