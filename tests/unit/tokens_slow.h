/* The reference's algorithm, and that of the Rust tokenizers, written out plainly over arrays of code points, one step after the other, with a search in the sorted
 * vocabulary for every substring: slow, and obvious. What the fast tokenizer is held against on random texts and settings.
 *
 *     slow_rules r = {.piece = pieces, .pieces = n, .lower = true, .strip = true, .cjk = true};
 *     slow_sort(&r);                                     // once; free(r.order) at the end
 *     count = slow_encode(&r, points, n, ids);               // ids has room for SLOW_IDS
 */
#ifndef FRETSAW_TESTS_TOKENS_SLOW_H
#define FRETSAW_TESTS_TOKENS_SLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SLOW_IDS = 65536, SLOW_POINTS = 32768 };

typedef struct slow_rules {
    char *const *piece; /* by id, NUL-terminated */
    size_t pieces;
    uint32_t *order; /* ids by piece, equal ones by id: by slow_sort() */
    bool lower, strip, cjk;
    bool rust; /* the Rust tokenizers' algorithm instead */
} slow_rules;

void slow_sort(slow_rules *r);
size_t slow_encode(const slow_rules *r, const uint32_t *text, size_t n, uint32_t *ids);

#endif
