/* Packs bytes as gzip members or zstd frames, for tests.
 *
 *     size_t n = packed_case(PACKED_GZIP, bytes, count, 3, out, ends);      // three members, cut at random
 */
#ifndef FRETSAW_TESTS_PACKED_CASE_H
#define FRETSAW_TESTS_PACKED_CASE_H

#include <stddef.h>

#include "preprocess/packed.h"

/* `out` has room for twice the bytes and 200 for each part. ends[i] (NULL: not wanted): where part i ends. Returns the bytes of all. */
size_t packed_case(packed_kind kind, const uint8_t *p, size_t n, int parts, uint8_t *out, size_t *ends);

#endif
