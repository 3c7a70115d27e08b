/* What a tokenizer says as text: ids decoded as the reference does, and its identity. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preprocess/clean.h"
#include "preprocess/tokenizer.h"
#include "preprocess/tokenizer_table.h"
#include "preprocess/utf8.h"

/* Every `from` becomes `to`, which is no longer, from left to right as str.replace(). Returns the new length. */
static size_t replace_all(char *text, size_t n, const char *from, const char *to)
{
    size_t from_bytes = strlen(from), to_bytes = strlen(to), written = 0;
    for (size_t i = 0; i < n;) {
        if (n - i >= from_bytes && memcmp(text + i, from, from_bytes) == 0) {
            memmove(text + written, to, to_bytes);
            written += to_bytes;
            i += from_bytes;
        } else {
            text[written++] = text[i++];
        }
    }
    return written;
}

/* str.strip(): valid UTF-8, stripped in place. */
static size_t strip_spaces(char *text, size_t n)
{
    size_t begin = 0, bytes;
    while (begin < n && unicode_get(utf8_get(text + begin, &bytes))->flags & UNICODE_SPACE)
        begin += bytes;
    while (n > begin) {
        size_t last = n - 1;
        while (((unsigned char)text[last] & 0xC0) == 0x80)
            last--;
        if (!(unicode_get(utf8_get(text + last, &bytes))->flags & UNICODE_SPACE))
            break;
        n = last;
    }
    memmove(text, text + begin, n - begin);
    return n - begin;
}

static bool is_special(const char *piece, size_t bytes)
{
    for (int i = 0; i < VOCABULARY_SPECIALS; i++)
        if (strlen(vocabulary_special_text[i]) == bytes && memcmp(piece, vocabulary_special_text[i], bytes) == 0)
            return true;
    return false;
}

status tokenizer_decode(const tokenizer *t, const uint32_t *ids, int64_t count, bool skip_special, bool clean_up, char **text, size_t *bytes)
{
    static const char *const artifacts[][2] = {{" .", "."},     {" ?", "?"},   {" !", "!"},   {" ,", ","},     {" ' ", "'"},
                                               {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    size_t room = 1, n = 0, length;
    *text = NULL;
    for (int64_t i = 0; i < count; i++) {
        tokenizer_piece(t, ids[i], &length);
        room += length + 1;
    }
    TRY(memory_new(text, room, "decoded text"));
    bool first = true;
    for (int64_t i = 0; i < count; i++) {
        const char *piece = tokenizer_piece(t, ids[i], &length);
        if (skip_special && is_special(piece, length))
            continue;
        if (!first)
            (*text)[n++] = ' ';
        first = false;
        memcpy(*text + n, piece, length);
        n += length;
    }
    n = replace_all(*text, n, " ##", "");
    n = strip_spaces(*text, n);
    for (size_t i = 0; clean_up && i < sizeof artifacts / sizeof artifacts[0]; i++)
        n = replace_all(*text, n, artifacts[i][0], artifacts[i][1]);
    (*text)[n] = 0;
    *bytes = n;
    return STATUS_OK;
}

/* A value on one line. */
static void put_value(FILE *f, const char *key, const char *value)
{
    fprintf(f, "%s=", key);
    for (const char *p = value; *p; p++) {
        if (*p == '\\')
            fputs("\\\\", f);
        else if (*p == '\n')
            fputs("\\n", f);
        else if (*p == '\r')
            fputs("\\r", f);
        else
            fputc(*p, f);
    }
    fputc('\n', f);
}

status tokenizer_identity(const tokenizer *t, const tokenizer_row_rules *rules, char **text)
{
    size_t bytes;
    char tokens_text[32] = "none", clean[CLEAN_NAME];
    *text = NULL;
    if (rules->max_tokens > 0)
        snprintf(tokens_text, sizeof tokens_text, "%lld", (long long)rules->max_tokens);
    FILE *f = open_memstream(text, &bytes);
    if (!f)
        return fail(STATUS_RESOURCE, "out of memory: the tokenizer's identity");
    put_value(f, "algorithm", "wordpiece");
    put_value(f, "cjk", t->cjk ? "yes" : "no");
    clean_name(t->settings.clean, clean);
    put_value(f, "clean", clean);
    put_value(f, "fill", rules->fill ? rules->fill : "");
    put_value(f, "lower", t->lower ? "yes" : "no");
    put_value(f, "match", t->rust ? "rust" : "python");
    put_value(f, "max_tokens", tokens_text);
    put_value(f, "na", rules->na ? rules->na : "keep");
    put_value(f, "strip_accents", t->strip ? "yes" : "no");
    put_value(f, "unicode", UNICODE_VERSION);
    put_value(f, "vocab", t->vocabulary.sha256);
    bool bad = ferror(f);
    if (fclose(f) != 0 || bad) {
        free(*text);
        *text = NULL;
        return fail(STATUS_RESOURCE, "out of memory: the tokenizer's identity");
    }
    return STATUS_OK;
}
