/* Hugging Face's tokenizer.json of a BERT tokenizer: its vocabulary, and what its normaliser says of case, accents and CJK.
 *
 *     TRY(tokenizer_json_read("mbert/tokenizer.json", &vocabulary, &settings));   // choices already made stay
 *
 * Obeyed: WordPiece's vocab; BertNormalizer's lowercase, strip_accents and handle_chinese_chars. Demanded, since nothing else is done
 * here: clean_text, BertPreTokenizer, "##", [UNK], words of up to 100 characters, [CLS] text [SEP], and no added tokens but BERT's five
 * as they are. Padding and truncation are the reader's and not looked at. The vocabulary's SHA-256 is that of the vocab.txt with the same pieces.
 * All functions are local. Errors: STATUS_INPUT with the path and the member that is not supported; STATUS_IO; STATUS_RESOURCE.
 */
#ifndef FRETSAW_PREPROCESS_TOKENIZER_JSON_H
#define FRETSAW_PREPROCESS_TOKENIZER_JSON_H

#include <jansson.h>

#include "preprocess/tokenizer.h"
#include "preprocess/vocabulary.h"

status tokenizer_json_read(const char *path, vocabulary *out, tokenizer_settings *settings);
/* Reads a file that must be one JSON object; the caller drops its reference. */
status tokenizer_json_load(const char *path, json_t **out);
/* A choice left to AUTO takes the object's true or false; null and absent leave it. */
status tokenizer_json_choose(const char *path, const json_t *object, const char *key, tokenizer_choice *choice);

#endif
