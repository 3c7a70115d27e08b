/* Numbers of things, for a person.
 *
 *     log_info("%s on %s", count_of(ranks, "rank"), count_of(nodes, "node"));      // "1 rank on 2 nodes"
 *
 * Local; the text lasts for 15 further calls on the same thread.
 */
#ifndef FRETSAW_COMMON_COUNT_H
#define FRETSAW_COMMON_COUNT_H

#include <stdint.h>

/* "1 row", "0 rows", "12 rows": `one` is the name of one, whose plural ends with s. */
const char *count_of(int64_t n, const char *one);
/* Of tables for a person: 1234567 (n >= 0) as "1,234,567"; "1 row", "1,234 rows". */
const char *count_grouped(int64_t n);
const char *count_grouped_of(int64_t n, const char *one);

#endif
