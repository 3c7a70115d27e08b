/* Inside the tokenizer: the settings turned into one table, code point -> what it adds to a word, and the struct itself.
 *
 *     uint64_t a = tokenizer_action(t, c);
 *     switch (a & TOKENIZER_KIND) ...                        // see tokenizer_encode.c
 *
 * An action: bits 0-7 kind, 8-11 bytes and 12-15 code points of the replacement, 16-63 its UTF-8, lowest byte first, or the id of a sign.
 */
#ifndef FRETSAW_PREPROCESS_TOKENIZER_TABLE_H
#define FRETSAW_PREPROCESS_TOKENIZER_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "preprocess/tokenizer.h"
#include "preprocess/unicode.h"
#include "preprocess/vocabulary.h"

enum tokenizer_kind {
    KIND_COPY,         /* adds itself to the word */
    KIND_REPLACE,      /* adds the replacement */
    KIND_NOTHING,      /* adds nothing: dropped, or a stripped mark */
    KIND_SIGN,         /* is a word of its own, punctuation or CJK, with this id */
    KIND_HANGUL,       /* adds its two or three jamo */
    KIND_FULL,         /* the neighbours matter: the whole stretch goes through normalise.h */
    TOKENIZER_KIND = 0xFF,
};

/* Classes of bytes, in the sense of tokenizer_scan.h. */
enum tokenizer_class { CLASS_SPACE, CLASS_SIGN, CLASS_WORD, CLASS_OTHER /* control characters and all bytes from 0x80 */ };

enum { ACTION_BLOCK_BITS = 8, ACTION_BLOCK = 1 << ACTION_BLOCK_BITS, ACTION_BYTES = 6 };

struct tokenizer {
    vocabulary vocabulary;
    tokenizer_settings settings; /* as resolved: no AUTO */
    bool lower, strip, cjk, rust;
    uint16_t block[UNICODE_LIMIT >> ACTION_BLOCK_BITS];
    uint64_t *cell;
    uint8_t class[256];
    uint32_t sign[128]; /* id of an ASCII sign as a word */
};

static inline uint64_t tokenizer_action(const tokenizer *t, uint32_t c)
{
    return t->cell[(size_t)t->block[c >> ACTION_BLOCK_BITS] << ACTION_BLOCK_BITS | (c & (ACTION_BLOCK - 1))];
}

/* What the followed tokenizer takes c for. */
static inline const unicode_record *tokenizer_record(const tokenizer *t, uint32_t c)
{
    return t->rust ? unicode_rust_get(c) : unicode_get(c);
}

/* Fills block, cell, class and sign from lower, strip, cjk and the vocabulary. Local. Errors: STATUS_RESOURCE. */
status tokenizer_fill_tables(tokenizer *t);

#endif
