/* A vocabulary as the bytes of a vocab.txt: from one, or from the tokenizer.json that takes its place.
 *
 *     char *text; size_t bytes;
 *     TRY(pieces_read("mbert/tokenizer.json", &text, &bytes));      // a piece a line, in the order of their ids
 *     TRY(pieces_find_specials(path, text, bytes, &input, &lines));
 *     free(text);
 *
 * What a tokenizer.json says besides its pieces is preprocess's to obey or refuse. Its pieces give the bytes, and so the SHA-256, of the vocab.txt that
 * preprocess takes it for. Local.
 */
#ifndef FRETSAW_MODEL_PIECES_H
#define FRETSAW_MODEL_PIECES_H

#include "model/input.h"

/* The vocabulary of a folder: its vocab.txt, without that its tokenizer.json. STATUS_INPUT when there is neither. The caller frees *path. */
status pieces_find(const char *folder, char **path);
/* `path` ending in .json is a tokenizer.json. The caller frees *text, which has a NUL behind it. STATUS_INPUT where ids are not 0 to n-1, each once. */
status pieces_read(const char *path, char **text, size_t *bytes);
/* Special ids by their names: STATUS_INPUT (naming `path`) when [CLS], [SEP] or [PAD] is missing. *lines counts the pieces. */
status pieces_find_specials(const char *path, const char *text, size_t bytes, input_format *ids, int64_t *lines);

#endif
