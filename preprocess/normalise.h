/* The reference's normalisation of one word of code points, in full: lower case, NFC, NFD without Mn marks. The tokenizer's tables
 * do the same for most words code point by code point; this is the path for words where the neighbours matter.
 *
 *     normalise_word w = {0};
 *     TRY(normalise_push(&w, c)); ...                       // the code points of a word, already cleaned
 *     TRY(normalise_nfc(&w)); TRY(normalise_strip(&w));     // w.point[0..w.count-1]
 *     normalise_clear(&w);                                  // for the next word; normalise_free(&w) at the end
 *
 * Everything is local; the only error is STATUS_RESOURCE.
 */
#ifndef FRETSAW_PREPROCESS_NORMALISE_H
#define FRETSAW_PREPROCESS_NORMALISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

typedef struct normalise_word {
    uint32_t *point, *spare; /* `room` code points each */
    size_t count, room;
    bool rust; /* decompose and strip as the Rust tokenizers library does; zero: by Unicode 14.0 */
} normalise_word;

status normalise_push(normalise_word *w, uint32_t code_point);
static inline void normalise_clear(normalise_word *w)
{
    w->count = 0;
}
void normalise_free(normalise_word *w);

/* Canonical decomposition with marks in canonical order; then also composed again. Unicode's NFD and NFC. */
status normalise_nfd(normalise_word *w);
status normalise_nfc(normalise_word *w);
/* NFD, then every code point of category Mn leaves. */
status normalise_strip(normalise_word *w);

#endif
