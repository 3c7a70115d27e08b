/* Greedy longest match: a word's pieces, found in a trie over the bytes of the vocabulary.
 *
 *     wordpiece_trie trie;
 *     TRY(wordpiece_build(keys, count, &trie));              // keys sorted by their bytes
 *     n = wordpiece_split(&trie, word, bytes, ids);          // 0: no cover, the word is [UNK]
 *     wordpiece_free(&trie);
 *
 * The trie is a double array: a node's child for byte c is the slot base ^ c when that slot carries the label c, so a step is one
 * load and one compare, and the longest piece from a place is one walk. Pieces inside a word are the subtree of "##".
 * A built trie never changes; all functions are local.
 */
#ifndef FRETSAW_PREPROCESS_WORDPIECE_H
#define FRETSAW_PREPROCESS_WORDPIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

enum { WORDPIECE_LONGEST_WORD = 100 }; /* code points; a longer word is [UNK] */

typedef struct wordpiece_key {
    const char *text;
    uint32_t bytes, id;
} wordpiece_key;

/* A slot: bits 0-8 label + 1 (0: free), 9-31 base, 32-63 id + 1 (0: no piece ends here). */
typedef struct wordpiece_trie {
    uint64_t *slot;
    uint64_t first, inside; /* the nodes where a word begins and where it goes on */
} wordpiece_trie;

/* Builds the trie of keys in ascending order of bytes (as memcmp, shorter first), no two equal, none empty; ids below 2^32 - 1.
 * Errors: STATUS_RESOURCE; STATUS_INPUT when the keys need more than 2^23 nodes. */
status wordpiece_build(const wordpiece_key *keys, size_t count, wordpiece_trie *out);
void wordpiece_free(wordpiece_trie *t);
/* The id of exactly this piece. */
bool wordpiece_find(const wordpiece_trie *t, const char *piece, size_t bytes, uint32_t *id);
/* Cuts a normalised word of 1 to 100 code points: ids has room for 100. Returns how many pieces, 0 where none covers it. */
size_t wordpiece_split(const wordpiece_trie *t, const char *word, size_t bytes, uint32_t *ids);

#endif
