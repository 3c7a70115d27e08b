/* The sub-program `preprocess view`: shows a person what the network gets for a text or a pair of texts.
 *
 *     view_options o = {.vocab = "mbert/", .text = {"You are kind.", NULL}, .max_length = 16, .pad = true};
 *     TRY(view_run(&o, stdout));
 *
 * prints the settings, the cleaned text if there is cleaning, one line a token (position, id, attention mask, token type, piece), the decoded text, and each row of
 * numbers on one line, to copy.
 */
#ifndef FRETSAW_PREPROCESS_VIEW_H
#define FRETSAW_PREPROCESS_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/status.h"
#include "preprocess/tokenizer.h"

typedef enum view_truncate { VIEW_HEAD, VIEW_TAIL, VIEW_HEAD_TAIL } view_truncate; /* which tokens stay */

typedef struct view_options {
    const char *vocab;
    tokenizer_settings settings;
    const char *text[2]; /* NUL-terminated; text[1] NULL: a single text; text[0] NULL: read from `in` */
    FILE *in;            /* where the texts come from when text[0] is NULL; NULL: stdin */
    bool pair;           /* with `in`: its first line is the first text, the rest the second */
    int64_t max_length;  /* 0: uncut; else at least 3, specials included */
    bool pad;            /* up to max_length, which must be given then */
    view_truncate truncate;
} view_options;

/* One text ([CLS] a [SEP]) or a pair ([CLS] a [SEP] b [SEP], token types 0 and 1) as the network reads it. */
typedef struct view_encoding {
    int64_t length; /* entries of each array, padding included */
    uint32_t *ids, *mask, *types;
    int64_t cut; /* tokens left out to keep to max_length */
    int64_t unknown, replaced;
    char *text[2]; /* as they were tokenized: repaired, cleaned, split and joined; NUL-terminated; text[1] NULL without a second one */
    size_t text_bytes[2];
} view_encoding;

/* Local. Encodes a pair (b NULL: one text) as the reference's __call__(a, b, truncation=True, max_length=...) does; a pair is cut
 * longest_first. Errors: STATUS_USAGE for a max_length of 1 or 2, or pad without max_length; STATUS_RESOURCE. The caller frees with
 * view_encoding_free, also after an error. */
status view_encode(const tokenizer *t, const char *a, size_t a_bytes, const char *b, size_t b_bytes, const view_options *o, view_encoding *out);
void view_encoding_free(view_encoding *e);

/* Local. Runs the whole sub-program and writes to `out`. Errors: those of tokenizer_create and view_encode; STATUS_IO when `out` or
 * `in` fails. */
status view_run(const view_options *o, FILE *out);

#endif
