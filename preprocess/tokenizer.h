/* The exact tokenizer: the ids of Hugging Face's Python BertTokenizer (transformers 4.57, Unicode 14.0) for the text after
 * " ".join(text.split()), without [CLS] and [SEP] and uncut.
 *
 *     tokenizer_create("mbert/", &(tokenizer_settings){.lower_case = TOKENIZER_AUTO}, &t);
 *     tokenizer_scratch_create(t, &s);                      // one a thread
 *     tokenizer_tokens out;
 *     TRY(tokenizer_encode(t, s, text, bytes, &out));       // out.ids[0..out.count-1], valid until the next call with s
 *     tokenizer_scratch_free(s); tokenizer_free(t);
 *
 * A tokenizer never changes after it is created: any number of threads may use it, each with a scratch of its own. The scratch
 * holds the buffers and a cache of words (at most 56 MiB); results do not depend on what it has seen. All functions are local.
 */
#ifndef FRETSAW_PREPROCESS_TOKENIZER_H
#define FRETSAW_PREPROCESS_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

typedef struct tokenizer tokenizer;
typedef struct tokenizer_scratch tokenizer_scratch;

typedef enum tokenizer_choice { TOKENIZER_AUTO, TOKENIZER_YES, TOKENIZER_NO } tokenizer_choice;
/* Whose ids, recorded in the identity: the reference's, or those of the Rust tokenizers library (transformers 5), which knows an older
 * Unicode, never composes (no NFC), and keeps unassigned code points. */
typedef enum tokenizer_match { TOKENIZER_MATCH_PYTHON, TOKENIZER_MATCH_RUST } tokenizer_match;

/* All zero is the default. AUTO takes the value of tokenizer_config.json in the vocabulary's folder where it has one. Without:
 * lower_case is yes, as BertTokenizer has it, but a vocabulary with capitals is refused then, since only the user can know;
 * strip_accents is what lower_case is; tokenize_chinese_chars is yes. */
typedef struct tokenizer_settings {
    tokenizer_choice lower_case;
    tokenizer_choice strip_accents;
    tokenizer_choice tokenize_chinese_chars;
    tokenizer_match match;
    unsigned clean; /* steps of clean.h, done to every text beforehand; recorded in the identity */
} tokenizer_settings;

/* 56 bits tell 20 million texts apart with a chance of 1 in 360 that any two are taken for one; every byte more costs each row a byte of disk. */
#define TOKENIZER_TEXT_HASH (~(uint64_t)0xFF)

typedef struct tokenizer_tokens {
    const uint32_t *ids; /* `count` ids, owned by the scratch until its next use */
    int64_t count;
    int64_t unknown;    /* how many of them are [UNK] */
    int64_t replaced;   /* U+FFFD that stand for invalid UTF-8 in the text */
    bool cleaned;       /* cleaning changed the text */
    const char *text;   /* repaired, cleaned, split and joined: `text_bytes` of valid UTF-8; owned by the scratch likewise */
    size_t text_bytes;
} tokenizer_tokens;

/* `vocab` is a folder with vocab.txt or, without that, tokenizer.json; or one of these files (then no tokenizer_config.json is read; a name in
 * .json is a tokenizer.json, see tokenizer_json.h for what it may say). settings NULL: defaults.
 * Errors: STATUS_IO unreadable; STATUS_INPUT empty, not UTF-8, a special token missing, a tokenizer_config.json that asks for what
 * this tokenizer does not do; STATUS_RESOURCE. */
status tokenizer_create(const char *vocab, const tokenizer_settings *settings, tokenizer **out);
void tokenizer_free(tokenizer *t);

status tokenizer_scratch_create(const tokenizer *t, tokenizer_scratch **out);
void tokenizer_scratch_free(tokenizer_scratch *s);

/* Tokens of text[0..n-1]: any bytes; invalid UTF-8 is replaced first, as Python's errors="replace" does, then the text is cleaned as the
 * settings say. text may be NULL when n is 0. `s` was created for `t`. Errors: STATUS_RESOURCE. */
status tokenizer_encode(const tokenizer *t, tokenizer_scratch *s, const char *text, size_t n, tokenizer_tokens *out);

/* The same in two steps. What the tokenizer keeps of the words of a text takes a while to come from memory; it is asked for at the beginning, so
 * that whoever begins the next text in the other slot before finishing this one hardly waits. The text itself may be gone by then. What finish gives
 * belongs to the scratch until its slot is begun again (the text) and until any other is finished (the ids). slot: below TOKENIZER_SLOTS;
 * tokenizer_encode and tokenizer_prepare use slot 0. Errors: STATUS_RESOURCE. */
enum { TOKENIZER_SLOTS = 2 };
status tokenizer_begin(const tokenizer *t, tokenizer_scratch *s, int slot, const char *text, size_t n);
status tokenizer_finish(const tokenizer *t, tokenizer_scratch *s, int slot, tokenizer_tokens *out);
/* Gives back the memory of a slot's text, which is as large as the longest that was begun there. */
void tokenizer_forget(tokenizer_scratch *s, int slot);

/* The same as far as the text goes, without its ids: `count` and `unknown` are 0. */
status tokenizer_prepare(const tokenizer *t, tokenizer_scratch *s, const char *text, size_t n, tokenizer_tokens *out);

/* The row file's `text_hash`: XXH3-64 of k->text with 0 for its lowest byte. */
uint64_t tokenizer_text_hash(const tokenizer_tokens *k);

/* Ids the vocabulary gives to the special tokens. */
typedef struct tokenizer_specials {
    uint32_t pad, unk, cls, sep, mask;
} tokenizer_specials;
tokenizer_specials tokenizer_special_ids(const tokenizer *t);
/* Lines of the vocabulary: the ids are 0 to this less one. */
int64_t tokenizer_vocabulary_size(const tokenizer *t);
bool tokenizer_lower_case(const tokenizer *t);
/* The piece of an id, as the reference's convert_ids_to_tokens() has it: "[UNK]" where no piece has that id, which is also so for a
 * line that a later equal line replaces. *bytes receives its length; not NUL-terminated; valid as long as t. */
const char *tokenizer_piece(const tokenizer *t, uint32_t id, size_t *bytes);

/* Text of ids as the reference's decode(ids, skip_special_tokens, clean_up_tokenization_spaces=clean_up) gives it (its default for
 * clean_up is true). *text is NUL-terminated, *bytes long without the NUL, the caller frees it. Errors: STATUS_RESOURCE. */
status tokenizer_decode(const tokenizer *t, const uint32_t *ids, int64_t count, bool skip_special, bool clean_up, char **text, size_t *bytes);

/* What besides the tokenizer decides a row's ids; written into the identity. */
typedef struct tokenizer_row_rules {
    int64_t max_tokens; /* 0: none */
    const char *na;     /* "pandas" or "keep" */
    const char *fill;   /* text in place of a missing one */
} tokenizer_row_rules;
/* The identity: sorted lines key=value, LF after each (algorithm, cjk, clean, fill, lower, match, max_tokens, na, strip_accents,
 * unicode, vocab). In values, backslash, LF and CR are written \\ \n \r. The caller frees *text (NUL-terminated). */
status tokenizer_identity(const tokenizer *t, const tokenizer_row_rules *rules, char **text);

#endif
