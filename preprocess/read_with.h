/* Options of a program that reads CSVs again, as preprocess read those that a set's rows came from: its columns and its form.
 *
 *     TRY(read_with_underlay(&infer_program, infer_options, "--csv", run.read_with, run.folder));
 *
 * What recipe or command line names is stronger. Local; after options_parse.
 */
#ifndef FRETSAW_PREPROCESS_READ_WITH_H
#define FRETSAW_PREPROCESS_READ_WITH_H

#include "common/options.h"

/* `read_with` is a manifest's (store/manifest.h), NULL: not known, and nothing happens. Options that `table` lacks are passed over; preprocess's
 * --csv is --dialect there. Says in the log what is no longer the default of `for_what`, and that it came from `folder`. */
status read_with_underlay(const option_program *program, const option *table, const char *for_what, const char *read_with, const char *folder);
/* Each label by all the names that it had in those CSVs ("toxic|target"); by the one in `label` (`count` of them) where more is not known. Items are
 * good until `label` or what was filled here is freed. */
typedef struct read_with_names {
    char *text, **item; /* the names in one text, and where each label's stand */
} read_with_names;
status read_with_labels(const char *read_with, char *const *label, int64_t count, read_with_names *out);
void read_with_free_labels(read_with_names *n);
/* The value of `name` there; *bytes 0 where it is not told. Not terminated. */
const char *read_with_value(const char *read_with, const char *name, size_t *bytes);

#endif
