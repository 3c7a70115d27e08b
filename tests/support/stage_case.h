/* The preprocess stage with the options that its program would give, for tests.
 *
 *     stage_options o;
 *     stage_case(&o, paths, 2, "out");           // the defaults, the sample's vocabulary
 *     o.split_bytes = 65536;
 *     ck_ok(stage_run(&o, NULL));
 */
#ifndef FRETSAW_TESTS_STAGE_CASE_H
#define FRETSAW_TESTS_STAGE_CASE_H

#include "preprocess/stage.h"

/* Paths and out stay the caller's. */
void stage_case(stage_options *o, char *const *paths, int64_t count, const char *out);
/* A list of constant texts. */
option_list stage_list(const char *const *item, size_t n);

#endif
