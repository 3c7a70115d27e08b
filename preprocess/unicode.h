/* What the tokenizer needs to know of Unicode 14.0: categories, Python's white space, lower case, canonical decomposition and
 * composition. The data is generated (make_unicode.py), so the ids do not move with a system library.
 *
 *     const unicode_record *r = unicode_get(c);              // any c <= U+10FFFF
 *     if (r->flags & UNICODE_DROP) continue;
 *     size_t n = unicode_decompose(c, parts);                // full canonical decomposition
 *
 * All functions are local and do not fail.
 */
#ifndef FRETSAW_PREPROCESS_UNICODE_H
#define FRETSAW_PREPROCESS_UNICODE_H

#include <stddef.h>
#include <stdint.h>

#define UNICODE_VERSION "14.0.0"

enum {
    UNICODE_LIMIT = 0x110000,
    UNICODE_BLOCK_BITS = 7,
    UNICODE_MOST_PARTS = 4, /* code points in the longest canonical decomposition, lower-casing before it included */
};

enum unicode_flag {
    UNICODE_DROP = 1,        /* the reference's cleaning drops it: NUL, U+FFFD, category C but for tab, LF and CR */
    UNICODE_SPACE = 2,       /* str.split() splits there */
    UNICODE_PUNCTUATION = 4, /* category P, and the ASCII signs 33-47, 58-64, 91-96, 123-126 */
    UNICODE_CJK = 8,         /* set apart by spaces: the reference's eight ranges */
    UNICODE_MARK = 16,       /* category Mn */
    UNICODE_LOWER = 32,      /* has a lower case of its own */
    UNICODE_DECOMPOSES = 64, /* its canonical decomposition is not itself */
    UNICODE_NFC = 128,       /* beside others NFC may change it: a combining class, or not "yes" in NFC_Quick_Check */
};

typedef struct unicode_record {
    uint8_t flags;
    uint8_t combining; /* canonical combining class */
} unicode_record;

typedef struct unicode_pair {
    uint32_t from, to;
} unicode_pair;
typedef struct unicode_decomposition {
    uint32_t from;
    uint16_t first, count; /* into unicode_parts */
} unicode_decomposition;
typedef struct unicode_composition {
    uint32_t first, second, composed;
} unicode_composition;

/* The generated tables (unicode_data.c), each sorted by its first members. */
extern const uint16_t unicode_blocks[UNICODE_LIMIT >> UNICODE_BLOCK_BITS];
extern const uint8_t unicode_cells[];
extern const unicode_record unicode_records[];
extern const unicode_pair unicode_lowers[];
extern const size_t unicode_lowers_count;
extern const unicode_decomposition unicode_decompositions[];
extern const size_t unicode_decompositions_count;
extern const uint32_t unicode_parts[];
extern const unicode_composition unicode_compositions[];
extern const size_t unicode_compositions_count;

static inline const unicode_record *unicode_get(uint32_t c)
{
    return &unicode_records[unicode_cells[((uint32_t)unicode_blocks[c >> UNICODE_BLOCK_BITS] << UNICODE_BLOCK_BITS) |
                                          (c & ((1u << UNICODE_BLOCK_BITS) - 1))]];
}

/* Lower case of c alone, as Python's str.lower() of that one character: out[0..1]; returns how many (2 for U+0130 only). */
size_t unicode_lower(uint32_t c, uint32_t out[2]);
/* Full canonical decomposition of c (itself where it has none), Hangul included, in out; returns how many. */
size_t unicode_decompose(uint32_t c, uint32_t out[UNICODE_MOST_PARTS]);
/* The primary composite of first + second, Hangul included; 0 where there is none. */
uint32_t unicode_compose(uint32_t first, uint32_t second);

#endif
