/* A WordPiece vocabulary: vocab.txt, one piece a line, its id the line's number from 0.
 *
 *     vocabulary v;
 *     TRY(vocabulary_read("mbert/vocab.txt", &v));
 *     if (vocabulary_find(&v, "##ing", 5, &id)) ...
 *     vocabulary_free(&v);
 *
 * Read as the reference reads it: lines end at LF, CR LF or CR and at nothing else (U+2028 is a piece in some), nothing is
 * stripped, a last line end starts no further line; of equal lines the last one's id counts. All functions are local.
 */
#ifndef FRETSAW_PREPROCESS_VOCABULARY_H
#define FRETSAW_PREPROCESS_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hash.h"
#include "common/status.h"
#include "preprocess/wordpiece.h"

enum { VOCABULARY_SPECIALS = 5 };
/* [PAD] [UNK] [CLS] [SEP] [MASK], as indices of `special`. */
enum { VOCABULARY_PAD, VOCABULARY_UNK, VOCABULARY_CLS, VOCABULARY_SEP, VOCABULARY_MASK };
extern const char *const vocabulary_special_text[VOCABULARY_SPECIALS];

typedef struct vocabulary {
    char *text;           /* the file */
    wordpiece_key *piece; /* by id; `count` of them; its id differs from its index where a later equal line counts */
    int64_t count;
    wordpiece_trie trie;
    uint32_t special[VOCABULARY_SPECIALS];
    int64_t capitals;      /* pieces with an ASCII capital outside [..] and <..>: what a cased vocabulary is known by */
    char sha256[HASH_HEX]; /* of the file's bytes */
} vocabulary;

/* Errors, with the path: STATUS_INPUT no such file, empty, not UTF-8 (with line and byte), a special token missing; STATUS_IO. */
status vocabulary_read(const char *path, vocabulary *out);
/* The same from count > 0 NUL-terminated pieces in order of their ids; `path` is for messages. sha256 is that of the vocab.txt that has these
 * pieces with LF after each. Errors: STATUS_INPUT a special token missing; STATUS_RESOURCE. */
status vocabulary_from_pieces(const char *path, const char *const *pieces, size_t count, vocabulary *out);
void vocabulary_free(vocabulary *v);
bool vocabulary_find(const vocabulary *v, const char *piece, size_t bytes, uint32_t *id);
/* The piece of an id, as the reference's ids_to_tokens has it; NULL where none has it. */
const wordpiece_key *vocabulary_piece(const vocabulary *v, uint32_t id);

#endif
