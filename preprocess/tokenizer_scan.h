/* The tokenizer's two walks over bytes: split-and-join of white space, and where the words of joined text begin and end. Sixteen bytes at
 * a time where the processor has SSE2 (all x86-64), one by one elsewhere, with the same results.
 *
 *     n = scan_join(text, bytes, joined);                    // joined has room for bytes + SCAN_PADDING
 *     memset(joined + n, ' ', SCAN_PADDING);
 *     scan_edges e; scan_begin(&e);
 *     while ((words = scan_words(&e, joined, n)) > 0)        // word k: joined[e.at[2k]] to joined[e.at[2k + 1] - 1]
 *
 * A word here is a run of bytes that are neither space nor one of the ASCII signs 33-47, 58-64, 91-96, 123-126. All local; nothing fails.
 */
#ifndef FRETSAW_PREPROCESS_TOKENIZER_SCAN_H
#define FRETSAW_PREPROCESS_TOKENIZER_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SCAN_PADDING = 128, /* spaces behind joined text: whole blocks are read */
    SCAN_BATCH = 32,    /* words that one call gives at least, as long as there are so many */
    SCAN_BLOCK = 64,
};

typedef struct scan_edges {
    size_t block;                           /* where the next block begins */
    uint64_t outside;                       /* 1: the byte before it is no part of a word */
    size_t count, used;                     /* edges found, and those already given */
    size_t at[2 * SCAN_BATCH + SCAN_BLOCK]; /* beginnings and ends in turns */
} scan_edges;

/* " ".join(text.split()) of valid UTF-8, the white space being Python's; returns the bytes written to `out`, which may be
 * written SCAN_PADDING bytes past that. */
size_t scan_join(const char *text, size_t n, char *out);

static inline void scan_begin(scan_edges *e)
{
    e->block = e->count = e->used = 0;
    e->outside = 1;
}
/* The next words of p[0..n-1], behind which SCAN_PADDING spaces stand; returns how many, 0 at the end. */
size_t scan_words(scan_edges *e, const char *p, size_t n);

#endif
